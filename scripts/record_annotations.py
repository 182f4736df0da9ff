#!/usr/bin/env python3
"""Writes passes/annotations.txt: what torch.nn's classes and functions say of themselves.

    third_party/reference/bin/python scripts/record_annotations.py > passes/annotations.txt

Lines, fields separated by tabs:
    class <qualified name> <names in __constants__> <return annotation of forward>
    function <qualified name> <return annotation>
"""
import inspect
import sys

import torch
from torch._jit_internal import boolean_dispatched
from torch.fx.node import _get_qualified_name, _type_repr

if not torch.__version__.startswith("2.15.0"):
    sys.exit("expected torch 2.15.0, got " + torch.__version__)


def returns(f):
    try:
        a = inspect.signature(f).return_annotation
    except (TypeError, ValueError):
        return ""
    return "" if a is inspect.Signature.empty or a is None else _type_repr(a)


rows = []
for name in sorted(dir(torch.nn)):
    c = getattr(torch.nn, name)
    if isinstance(c, type) and issubclass(c, torch.nn.Module) and c.__name__ == name:
        constants = " ".join(getattr(c, "__constants__", []))
        rows.append(("class", f"{c.__module__}.{name}", constants, returns(c.forward)))
for name in sorted(dir(torch.nn.functional)):
    f = getattr(torch.nn.functional, name)
    if not callable(f) or getattr(f, "__module__", "") != "torch.nn.functional":
        continue
    d = boolean_dispatched.get(f)
    if d is not None:
        if inspect.signature(d["if_true"]).return_annotation != inspect.signature(d["if_false"]).return_annotation:
            continue
        note = returns(d["if_true"])
    else:
        note = returns(f)
    if note:
        rows.append(("function", "torch.nn.functional." + name, note))
print("# torch 2.15.0; made by scripts/record_annotations.py")
for r in rows:
    print("\t".join(r))
