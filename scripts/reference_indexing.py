#!/usr/bin/env python3
"""Record random indexing of PyTorch, read and assigned, for a test to repeat bit by bit.

    third_party/reference/bin/python scripts/reference_indexing.py --fixtures ../shared/fixtures --out DIR [--calls N] [--seed N]

Tensors of all ranks to 4 and of several dtypes, views too, are indexed by ints, slices, None, ..., bools, tensors of ints, bools
and bytes, lists and what is nested of these; some of them out of range, of a wrong type or shape. Values of assignments are
tensors that broadcast, or do not, numbers, and tensors of other dtypes. The layout is that of reference_calls.py, and the same
test repeats the calls.
"""
import argparse
import collections
import os
import random

import torch

import reference_calls

DTYPES = [torch.float32] * 4 + [torch.int64, torch.float64, torch.bool, torch.uint8, torch.complex64, torch.float16, torch.bfloat16, torch.int32]
SHAPES = [(), (1,), (5,), (0,), (3, 4), (1, 4), (3, 1), (0, 3), (2, 3, 4), (2, 1, 4), (2, 3, 0), (2, 3, 2, 2)]


class Maker:
    def __init__(self, seed):
        self.pick = random.Random(seed)
        self.g = torch.Generator().manual_seed(seed)

    def tensor(self, shape, dtype):
        return torch.randint(-9, 10, shape, generator=self.g).to(dtype)

    def subject(self):
        pick, dtype = self.pick, self.pick.choice(DTYPES)
        x = self.tensor(pick.choice(SHAPES), dtype)
        r = pick.random()
        if r < .15 and x.dim() >= 2:
            return x.transpose(0, -1)
        if r < .25 and x.dim() >= 1:
            return self.tensor((2 * x.shape[0], *x.shape[1:]), dtype)[::2]
        if r < .3 and x.dim() >= 1:
            return x[:1].expand(3, *x.shape[1:]) if x.shape[0] else x
        return x

    def edge(self, n):
        return self.pick.choice([None, None, 0, 1, -1, n, n - 1, -n, n + 2, -n - 2, 2])

    def slice(self, n):
        step = self.pick.choice([None, None, None, 1, 2, 3, n + 1])
        return slice(self.edge(n), self.edge(n), -1 if self.pick.random() < .03 else 0 if self.pick.random() < .02 else step)

    def number(self, n):
        if n == 0 or self.pick.random() < .04:
            return self.pick.choice([n, -n - 1, n + 7])
        return self.pick.randrange(-n, n)

    def indices(self, n, shape):
        """A tensor of numbers that index a dimension of size n."""
        dtype = self.pick.choice([torch.int64] * 6 + [torch.int32, torch.int16, torch.int8])
        low, high = (-n, n) if n else (0, 1)
        if self.pick.random() < .04:
            high += 1
        if n == 0 and self.pick.random() < .7:
            shape = (0,)
        return torch.randint(low, high, shape, generator=self.g).to(dtype)

    def mask(self, shape):
        shape = list(shape)
        if shape and self.pick.random() < .05:
            shape[-1] += 1
        return (torch.rand(shape, generator=self.g) < .5).to(self.pick.choice([torch.bool] * 5 + [torch.uint8]))

    def index(self, shape):
        """What indexes a tensor of a shape: one thing or a tuple of them."""
        pick, items, at = self.pick, [], 0
        together = pick.choice([(), (2,), (1,), (3,), (2, 1), (2, 2)])  # the shape that tensors of one index have
        dots = False
        length = pick.choice([1, 1, 1, 2, 2, 3, 4])
        while len(items) < length:
            n = shape[at] if at < len(shape) else 3
            kind = pick.choices("ismMltnebz", [8, 12, 5, 3, 4, 8, 4, 3 if not dots else 0, 2, 1])[0]
            if at >= len(shape) and kind not in "neb" and pick.random() < .9:
                break
            used = 1
            if kind == "i":
                item = self.number(n)
            elif kind == "s":
                item = self.slice(n)
            elif kind == "m":
                item = self.mask(shape[at:at + 1] or (3,))
            elif kind == "M":
                used = pick.choice([1, 2, 2, 0])
                item = self.mask(shape[at:at + used])
                used = item.dim()
            elif kind == "l":
                item = pick.choice([lambda: [self.number(n), self.number(n)], lambda: [bool(pick.getrandbits(1)) for _ in range(n)], lambda: [], lambda: [[self.number(n)], [self.number(n)]],
                                    lambda: [self.number(n)], lambda: (self.number(n), self.number(n))])()
            elif kind == "t":
                some = together if pick.random() < .85 else pick.choice([(2,), (4,), ()])
                item = self.indices(n, some)
            elif kind == "n":
                item, used = None, 0
            elif kind == "e":
                item, used, dots = ..., len(shape) - at - pick.choice([0, 0, 1]), True
            elif kind == "b":
                item, used = pick.choice([True, False]), 0
            else:
                item = pick.choice([torch.tensor(self.number(n)), torch.tensor(True), 1.5, "a", torch.tensor(1.0), [1.5], ["a"], [None], [slice(0, 1)], torch.tensor(1, dtype=torch.uint8)])
            items.append(item)
            at = max(at + used, 0)
        if len(items) == 1 and pick.random() < .7:
            return items[0]
        return tuple(items) if pick.random() < .97 else list(items)

    def value(self, x, part):
        """A value for x[index], of which part was read; None where that failed."""
        pick = self.pick
        if part is None or pick.random() < .3:
            return pick.choice([7, -1.5, True, 0, 2 + 1j, 300, self.tensor((), x.dtype), "a", None, [1, 2]] if pick.random() < .15 else [7, -3, 1.5, True, 2**40, self.tensor((), x.dtype)])
        shape = list(part.shape)
        r = pick.random()
        if r < .3 and shape:
            shape = shape[pick.randrange(len(shape)):]
        elif r < .45 and shape:
            shape[pick.randrange(len(shape))] = 1
        elif r < .55:
            shape = [1] * pick.choice([1, 2]) + shape
        elif r < .6 and shape:
            shape[-1] += 1
        return self.tensor(shape, x.dtype if pick.random() < .75 else pick.choice(DTYPES))


def calls(maker, n):
    for _ in range(n):
        x = maker.subject()
        index = maker.index(x.shape)
        yield "operator.getitem", [x, index]
        try:
            part = x[index]
        except Exception:
            part = None
        yield "operator.setitem", [x if maker.pick.random() < .9 else x.clone(), index, maker.value(x, part)]


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--fixtures", required=True, help="folder of recorded cases: its scripts")
    ap.add_argument("--out", required=True)
    ap.add_argument("--calls", type=int, default=2000, help="of each kind")
    ap.add_argument("--seed", type=int, default=1)
    a = ap.parse_args()
    golden = reference_calls.recorder(a.fixtures)
    os.makedirs(a.out, exist_ok=True)
    file, counts = golden.TensorFile(), collections.Counter()
    with open(os.path.join(a.out, "calls.jsonl"), "w") as f:
        for name, args in calls(Maker(a.seed), a.calls):
            try:
                rec = reference_calls.record(golden, name, golden.resolve(name), args, {})
                f.write(reference_calls.line_of(golden, rec, file) + "\n")
            except golden.Unsupported:
                counts["left out"] += 1
                continue
            counts[name + (" refused" if "error" in rec else "")] += 1
    file.write(os.path.join(a.out, "tensors.safetensors"))
    print("random indexing recorded:", ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())), f"seed {a.seed}, torch {torch.__version__}")


if __name__ == "__main__":
    main()
