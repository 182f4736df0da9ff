#!/usr/bin/env python3
"""List the public names of PyTorch and of Python's modules that a graph can name: what they are, one a line.

    third_party/reference/bin/python scripts/public_names.py > torchops/testdata/public_names.txt
    third_party/reference/bin/python scripts/public_names.py --check torchops/testdata/public_names.txt

A line is a name and its kind, separated by a tab: function, property, class, or the type of a constant. A test of
torchops holds the list against what it can call, and against torchops/excluded_names.txt.
"""
import argparse
import math
import operator
import sys
import types
import warnings

import torch

TORCH = "2.15.0"
MODULES = {
    "torch": torch, "torch.nn.functional": torch.nn.functional, "torch.linalg": torch.linalg, "torch.fft": torch.fft, "torch.special": torch.special,
    "operator": operator, "math": math,
}


def kind_of(value):
    if isinstance(value, type):
        return "class"
    if callable(value):
        return "function"
    return type(value).__name__


def attribute_kind(value):
    if isinstance(value, (property, types.GetSetDescriptorType)):
        return "property"
    return kind_of(value)


def names():
    for prefix, module in MODULES.items():
        for name in dir(module):
            value = getattr(module, name)
            # what a module imports from the standard library or for its annotations is none of its names
            foreign = getattr(value, "__module__", None) in ("typing", "typing_extensions", "collections.abc", "builtins", "enum", "importlib")
            if name.startswith("_") or isinstance(value, types.ModuleType) or foreign and prefix.startswith("torch") and not isinstance(value, types.BuiltinFunctionType):
                continue
            yield f"{prefix}.{name}", kind_of(value)
    for name in dir(torch.Tensor):
        if name.startswith("_") and not (name.startswith("__") and name.endswith("__")):
            continue
        for owner in torch.Tensor.__mro__:
            if name in vars(owner):
                yield f"torch.Tensor.{name}", attribute_kind(vars(owner)[name])
                break


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--check", metavar="FILE", help="compare with a list and say what differs")
    a = ap.parse_args()
    if torch.__version__.split("+")[0] != TORCH:
        sys.exit(f"torch: expected {TORCH}, got {torch.__version__}")
    warnings.filterwarnings("ignore")
    lines = [f"{name}\t{kind}" for name, kind in sorted(set(names()))]
    if not a.check:
        print("\n".join(lines))
        return
    with open(a.check) as f:
        have = f.read().splitlines()
    for line in sorted(set(have) ^ set(lines)):
        print(("no such name: " if line in have else "not listed: ") + line)
    if have != lines:
        sys.exit(f"{a.check}: not the names of torch {torch.__version__}; make it anew")
    print(f"{len(lines)} public names, as listed")


if __name__ == "__main__":
    main()
