#!/usr/bin/env python3
"""Record what PyTorch makes of random calls on this machine, right and wrong ones, for a test to repeat bit by bit.

    third_party/reference/bin/python scripts/reference_random_calls.py --fixtures ../shared/fixtures --out DIR [--calls N] [--seed N]

N calls of each kind: functions that are bound to C++ by their signatures, right and with wrong arguments; operators of
torch.ops; functions of operator, math and Python itself; changed calls of the functions that are Python code; and calls
with odd arguments (random_odd.py). The layout is that of reference_calls.py, and the same test repeats them.
"""
import argparse
import collections
import json
import os
import signal

import torch

import random_arguments
import random_odd
import reference_call_cases
import reference_calls

SECONDS = 8  # of one call


class TooLong(BaseException):
    pass


def stop(*_):
    raise TooLong


# What is right to differ in, and is not recorded:
LEFT_OUT = {
    "builtins.slice": "a slice of tensors is no value that is recorded",
    "torch.ops.aten.promote_types": "torch.ops has the number of a dtype, which is a dtype in Go",
    "torch.ops.aten.result_type": "as that",
    "torch.ops.aten.can_cast": "as that",
    "torch.ops.aten.nuclear_norm": "a list of the wrong length is refused before its kernel, which of two faults names the other one",
    "torch.nn.functional.embedding_bag": "its kernel checks no offsets: PyTorch's process ends at some",
    "torch.ops.aten.multilabel_margin_loss_forward": "its second result is not written where there is nothing to do",
    "torch.ops.aten.set": "memory that nothing was written to",
    "torch.ops.aten.get_gradients": "distributed autograd",
}


def composed_calls(maker, resolve, n):
    """Changed calls of functions that are Python code; calls that are right, so that one thing is wrong at most."""
    by_name = collections.defaultdict(list)
    for name, args, kwargs in reference_call_cases.calls():
        if not random_arguments.NOT_COMPARED.search(name) and name.startswith("torch."):
            by_name[name].append((args, kwargs))
    names = sorted(by_name)
    while n:
        name = maker.pick.choice(names)
        args, kwargs = maker.pick.choice(by_name[name])
        try:
            resolve(name)(*random_arguments.copied(args), **random_arguments.copied(kwargs))
        except Exception:
            continue
        yield name, *maker.changed(args, kwargs, int(name.startswith("torch.Tensor.")))
        n -= 1


def too_big(v):
    """Whether a value holds an int that has more than 64 bits."""
    if isinstance(v, int):
        return not -2**63 <= v < 2**63
    return isinstance(v, (list, tuple)) and any(map(too_big, v))


def record(golden, name, args, kwargs, file):
    """The line of a call, None where it cannot be compared."""
    try:
        function = golden.resolve(name)
    except (AttributeError, ModuleNotFoundError):
        return None
    signal.alarm(SECONDS)
    try:
        rec = reference_calls.record(golden, name, function, args, kwargs)
        if too_big(rec.get("out")):
            # an int has 64 bits in Go: what is bigger is an error there
            rec = {k: v for k, v in rec.items() if k not in ("out", "changed", "aten")} | {"error": "unsupported", "message": "", "said": False}
        return reference_calls.line_of(golden, rec, file)
    except golden.Unsupported:
        return None
    except TooLong:
        return None
    finally:
        signal.alarm(0)


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--fixtures", required=True, help="folder of recorded cases: its scripts")
    ap.add_argument("--out", required=True)
    ap.add_argument("--calls", type=int, default=1000, help="of each kind")
    ap.add_argument("--kinds", default="typed,wrong,operators,python,composed,odd,odd_operators")
    ap.add_argument("--seed", type=int, default=1)
    a = ap.parse_args()
    golden = reference_calls.recorder(a.fixtures)
    signal.signal(signal.SIGALRM, stop)

    maker, odd = random_arguments.Maker(a.seed), random_odd.Maker(a.seed)
    kinds = {
        "typed": (maker.typed(.1) for _ in range(a.calls)), "wrong": (maker.typed(1) for _ in range(a.calls)), "operators": (maker.overload(.3) for _ in range(a.calls)),
        "odd": (odd.typed(.15) for _ in range(a.calls)), "odd_operators": (odd.overload(.15) for _ in range(a.calls)),
        "python": (maker.python() for _ in range(a.calls)), "composed": composed_calls(maker, golden.resolve, a.calls),
    }
    os.makedirs(a.out, exist_ok=True)
    file, counts = golden.TensorFile(), collections.Counter()
    with open(os.path.join(a.out, "calls.jsonl"), "w") as f:
        for kind in a.kinds.split(","):
            calls = kinds[kind]
            for name, args, kwargs in calls:
                if any(name.startswith(left_out) for left_out in LEFT_OUT):
                    continue
                line = record(golden, name, args, kwargs, file)
                if line:
                    f.write(line + "\n")
                    counts[kind] += 1
    file.write(os.path.join(a.out, "tensors.safetensors"))
    print("random calls recorded:", ", ".join(f"{n} {kind}" for kind, n in counts.items()), f"seed {a.seed}, torch {torch.__version__}")


if __name__ == "__main__":
    main()
