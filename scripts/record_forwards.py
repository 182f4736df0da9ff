#!/usr/bin/env python3
"""Writes nn/internal/layers/forwards.txt: the signatures of forward of the layers in layers.txt.

    third_party/reference/bin/python scripts/record_forwards.py > nn/internal/layers/forwards.txt

A line is <class>(<parameters>) -> <annotation>, where an annotation is what torch.fx keeps of the type.
"""
import importlib
import inspect
import re
import sys
from pathlib import Path

import torch
from torch.fx.node import _type_repr

if not torch.__version__.startswith("2.15.0"):
    sys.exit("expected torch 2.15.0, got " + torch.__version__)


def annotation(mark, a):
    return "" if a is inspect.Signature.empty else mark + _type_repr(a)


print("# torch 2.15.0; made by scripts/record_forwards.py")
table = Path(__file__).parent.parent / "nn/internal/layers/layers.txt"
for module, name in re.findall(r"^(\w+)\.(\w+)\(", table.read_text(), re.M):
    sig = inspect.signature(getattr(importlib.import_module("torch.nn.modules." + module), name).forward)
    items = []
    for p in list(sig.parameters.values())[1:]:
        items.append(p.name + annotation(": ", p.annotation) + ("" if p.default is p.empty else "=" + repr(p.default)))
    print(f"{name}({', '.join(items)}){annotation(' -> ', sig.return_annotation)}")
