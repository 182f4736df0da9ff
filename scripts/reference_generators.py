#!/usr/bin/env python3
"""Record what PyTorch draws: random functions with generators of several seeds and with the default one, for a test to repeat bit by bit.

    third_party/reference/bin/python scripts/reference_generators.py --fixtures ../shared/fixtures --out DIR

The layout is that of reference_calls.py, and the same test repeats the calls. Beyond it:

    generator   the seed of the generator that is given as the keyword generator; absent where the default one draws
    next        what that generator draws next, torch.rand(4): both have moved on as far
"""
import argparse
import collections
import itertools
import json
import os

import torch

import reference_calls

SEEDS = [0, 1, 42, 2**32 - 1, 2**63 - 1]
SHAPES = [(), (3,), (4, 5), (16,), (3, 40), (0, 2)]
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def plain(shape, dtype):
    return torch.zeros(shape).to(dtype)


def unit(shape, dtype=torch.float32):
    """Probabilities."""
    n = int(torch.tensor(shape).prod()) if shape else 1
    return (torch.arange(n) % 7 / 7).reshape(shape).to(dtype)


def views(x):
    """A tensor as it is, transposed, and with gaps."""
    yield x
    if x.dim() == 2:
        yield x.t()
        yield x[:, ::2]


def inplace_calls():
    for shape, dtype in itertools.product(SHAPES, FLOATS):
        for x in views(plain(shape, dtype)):
            for name, args in (("normal_", []), ("normal_", [2.0, 0.5]), ("uniform_", []), ("uniform_", [-1, 3]), ("exponential_", []), ("exponential_", [2.5]), ("cauchy_", []),
                               ("log_normal_", [0.5, 0.25]), ("geometric_", [0.3]), ("bernoulli_", []), ("bernoulli_", [0.25]), ("random_", []), ("random_", [7]), ("random_", [-3, 9])):
                yield "torch.Tensor." + name, [x, *args], {}
            yield "torch.Tensor.bernoulli_", [x, unit(tuple(x.shape), torch.float64)], {}
    for shape, dtype in itertools.product(SHAPES, (torch.int64, torch.int32, torch.uint8, torch.int8, torch.bool)):
        x = plain(shape, dtype)
        for args in ([], [2], [0, 2]):
            yield "torch.Tensor.random_", [x, *args], {}
        yield "torch.Tensor.bernoulli_", [x, 0.5], {}
        yield "torch.Tensor.geometric_", [x, 0.5], {}
    for args in ([-(2**62), None], [0, 2**40], [5, 5]):
        yield "torch.Tensor.random_", [plain((9,), torch.int64), *args], {}
    for shape in ((3,), (4, 5)):
        yield "torch.Tensor.normal_", [torch.zeros(shape, dtype=torch.complex64)], {}


def function_calls():
    for shape, dtype in itertools.product(SHAPES, [None, *FLOATS]):
        kw = {"dtype": dtype} if dtype else {}
        for name in ("rand", "randn"):
            yield "torch." + name, [list(shape)], kw
        for name in ("rand_like", "randn_like"):
            yield "torch." + name, [plain(shape, torch.float32)], kw
        yield "torch.randint", [9, list(shape)], kw
        yield "torch.randint", [-4, 5, list(shape)], kw
        yield "torch.randint_like", [plain(shape, torch.float32), 9], kw
        yield "torch.randint_like", [plain(shape, torch.float32), -4, 5], kw
    for dtype in (torch.complex64, torch.complex128):
        for name in ("rand", "randn"):
            yield "torch." + name, [[4, 5]], {"dtype": dtype}
    for n, dtype in itertools.product((0, 1, 2, 10, 100, 70000), (None, torch.int32, torch.int64, torch.float32)):
        if n < 1000 or dtype is None:
            yield "torch.randperm", [n], {"dtype": dtype} if dtype else {}
    for shape, dtype in itertools.product(((3,), (4, 5), (40,)), FLOATS[:2]):
        mean, std = unit(shape, dtype), unit(shape, dtype) + 0.5
        yield "torch.normal", [mean, std], {}
        yield "torch.normal", [mean, 2.0], {}
        yield "torch.normal", [1.5, std], {}
        yield "torch.normal", [1.5, 0.5, list(shape)], {"dtype": dtype}
        yield "torch.normal", [mean.unsqueeze(0), std], {}
    for shape, dtype in itertools.product(SHAPES, FLOATS):
        p = unit(shape, dtype)
        yield "torch.bernoulli", [p], {}
        yield "torch.bernoulli", [p, 0.25], {}
        yield "torch.Tensor.bernoulli", [p], {}
        yield "torch.poisson", [p * 20], {}
        yield "torch.binomial", [torch.full(shape, 12.0, dtype=dtype), p], {}
        yield "torch._standard_gamma", [p + 0.5], {}
        if shape and shape[-1]:
            yield "torch._sample_dirichlet", [p + 0.5], {}
            for n, again in ((1, False), (2, False), (5, True)):
                yield "torch.multinomial", [p + 0.1, n, again], {}
                yield "torch.Tensor.multinomial", [p + 0.1, n, again], {}
        x = p - 0.5
        yield "torch.rrelu", [x, 0.1, 0.4, True], {}
        yield "torch.rrelu_", [x.clone(), 0.1, 0.4, True], {}
        yield "torch._C._nn.rrelu_with_noise", [x, plain(shape, dtype), 0.1, 0.4, True], {}
    yield "torch.rand", [3], {"size": [3]}
    yield "torch.randint", [5, 5, [3]], {}
    yield "torch.multinomial", [torch.tensor([0.0, 0.0]), 1], {}
    yield "torch.normal", [0.0, -1.0, [3]], {}
    yield "torch.bernoulli", [torch.tensor([2.0])], {}
    for op, args in (("rand.generator", [[4, 5]]), ("randn.generator", [[40]]), ("randint.generator", [7, [9]]), ("randint.low_generator", [-3, 7, [9]]), ("randperm.generator", [9])):
        yield "torch.ops.aten." + op, args, {}
    for op, args in (("normal_", [plain((9,), torch.float32)]), ("uniform_", [plain((9,), torch.float32)]), ("bernoulli.p", [plain((9,), torch.float32), 0.4]), ("exponential_", [plain((9,), torch.float64)])):
        yield "torch.ops.aten." + op, args, {}


def default_calls():
    """What draws from the default generator alone."""
    F = "torch.nn.functional."
    for shape, dtype in itertools.product(((4, 5), (3, 40), (2, 3, 4), (2, 3, 4, 5), (2, 2, 3, 4, 5)), FLOATS):
        x = unit(shape, dtype) + 1
        for p, inplace in itertools.product((0.0, 0.3, 1.0), (False, True)):
            for name in ("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d"):
                yield F + name, [x, p], {"training": True, "inplace": inplace}
            for name in ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout"):
                yield "torch." + name + "_" * inplace, [x, p, True], {}
            yield "torch.native_dropout", [x, p, True], {}
        for inplace in (False, True):
            yield F + "rrelu", [x - 1.5], {"training": True, "inplace": inplace}
        yield F + "gumbel_softmax", [x], {"tau": 0.7, "hard": True}
    yield F + "fractional_max_pool2d", [unit((2, 3, 9, 8)), 2], {"output_size": [4, 3]}
    yield F + "fractional_max_pool3d", [unit((2, 3, 9, 8, 7)), 2], {"output_ratio": (0.5, 0.4, 0.5)}
    yield F + "scaled_dot_product_attention", [unit((2, 2, 4, 8)), unit((2, 2, 5, 8)), unit((2, 2, 5, 8))], {"dropout_p": 0.5}


class Drawing:
    """A function with a generator of a seed, None for the default one, and what that draws after the first call."""

    def __init__(self, function, seed):
        self.function, self.seed, self.next = function, seed, None

    def __call__(self, *args, **kwargs):
        if self.seed is not None:
            kwargs = {"generator": torch.Generator().manual_seed(self.seed), **kwargs}
        out = self.function(*args, **kwargs)
        if self.next is None:
            self.next = torch.rand(4, generator=kwargs.get("generator")).tolist()
        return out


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--fixtures", required=True, help="folder of recorded cases: its scripts")
    ap.add_argument("--out", required=True)
    a = ap.parse_args()
    golden = reference_calls.recorder(a.fixtures)
    os.makedirs(a.out, exist_ok=True)
    file, counts = golden.TensorFile(), collections.Counter()
    seeds = itertools.cycle(SEEDS)
    with open(os.path.join(a.out, "calls.jsonl"), "w") as f:
        for kind, calls in (("given", itertools.chain(inplace_calls(), function_calls())), ("default", itertools.chain(inplace_calls(), function_calls(), default_calls()))):
            for name, args, kwargs in calls:
                draw = Drawing(golden.resolve(name), next(seeds) if kind == "given" else None)
                try:
                    rec = reference_calls.record(golden, name, draw, args, kwargs)
                except golden.Unsupported:
                    continue
                rec.pop("aten", None)
                line = json.loads(reference_calls.line_of(golden, rec, file))
                if draw.seed is not None:
                    line["generator"] = draw.seed
                if "error" not in rec:
                    line["next"] = draw.next
                f.write(json.dumps(line, separators=(",", ":")) + "\n")
                counts[kind] += 1
    file.write(os.path.join(a.out, "tensors.safetensors"))
    print("random draws recorded:", ", ".join(f"{n} with the generator {kind}" for kind, n in counts.items()), f"torch {torch.__version__}")


if __name__ == "__main__":
    main()
