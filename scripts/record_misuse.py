#!/usr/bin/env python3
"""List what the functions of PyTorch that are Python code ask first of a tensor: an attribute, or a function of C++.

    third_party/reference/bin/python scripts/record_misuse.py > torchops/misuse.txt

A line is a function, a parameter that is a tensor, and the attribute, separated by tabs: what is no tensor there ends
in "'float' object has no attribute 'dim'". Parameters that are not listed go to a parser first, which says "must be
Tensor". Found by putting other things in the places of the tensors of calls that are right.
"""
import collections
import inspect
import re
import sys
import warnings

import torch

import reference_call_cases

TORCH = "2.15.0"
WRONG = [1.5, "x", [1], torch.strided, 2 + 1j]
CALLS = 40  # of each function


def resolve(name):
    parts = name.split(".")
    obj = torch
    for part in parts[1:]:
        obj = getattr(obj, part)
    return obj


def attribute(function, args, kwargs, replace):
    """The attribute that is asked of what is no tensor, whatever that is; None where something else is said."""
    asked = set()
    for wrong in WRONG:
        a, k = replace(wrong)
        torch.manual_seed(0)
        try:
            function(*a, **k)
        except AttributeError as e:
            found = re.search(r"object has no attribute '(\w+)'", str(e))
            asked.add(found and found.group(1))
        except Exception as e:
            asked.add(None)
        else:
            asked.add(None)
    return asked.pop() if len(asked) == 1 else None


def main():
    if torch.__version__.split("+")[0] != TORCH:
        sys.exit(f"torch: expected {TORCH}, got {torch.__version__}")
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    found, done = collections.defaultdict(collections.Counter), collections.Counter()
    for name, args, kwargs in reference_call_cases.calls():
        if done[name] >= CALLS or not name.startswith("torch.") or name.startswith("torch.Tensor."):
            continue
        function = resolve(name)
        try:
            parameters = list(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            continue
        if parameters[0] == "args":  # of boolean_dispatch
            parameters = ["input"]
        try:
            function(*args, **kwargs)
        except Exception:
            continue
        done[name] += 1
        for i, v in enumerate(args):
            if isinstance(v, torch.Tensor) and i < len(parameters):
                found[name, parameters[i]][attribute(function, args, kwargs, lambda w: ([*args[:i], w, *args[i + 1:]], kwargs))] += 1
        for key, v in kwargs.items():
            if isinstance(v, torch.Tensor):
                found[name, key][attribute(function, args, kwargs, lambda w: (args, kwargs | {key: w}))] += 1
    print(f"# Made by scripts/record_misuse.py with torch {TORCH}: functions, parameters, what is asked of a tensor first.")
    for (name, parameter), counts in sorted(found.items()):
        asked, n = counts.most_common(1)[0]
        if asked:
            print(name, parameter, asked, sep="\t")


if __name__ == "__main__":
    main()
