#!/usr/bin/env python3
"""Write ir/callables.txt: what kind of object Python has under a function's name.

torch.fx prints a function as Python's str does where it shows raw values (the
tabular form, function arguments inside containers), and str differs between
functions bound to C++ and functions written in Python.

    python scripts/record_callables.py > ir/callables.txt

Each line is a kind and the qualified names of that kind:

    builtin-method    <built-in method NAME of type object at 0x...>
    builtin-function  <built-in function NAME>
    class             <class 'NAME'>
    qualname          NAME:QUALNAME, a Python function with another qualified name
    tensor-function   methods of torch.Tensor that are written in Python

Names of torch._C.*, operator and math that are not listed are built-in
functions; anything else that is not listed is a Python function.
"""

import builtins
import math
import operator
import sys
import types
import warnings

warnings.simplefilter("ignore")
import torch
import torch.overrides
from torch.fx.node import _get_qualified_name

PINNED = "2.15.0"


def main() -> None:
    if torch.__version__.split("+")[0] != PINNED:
        sys.exit(f"torch: expected {PINNED}, got {torch.__version__}")
    kinds: dict[str, set[str]] = {
        k: set() for k in ("builtin-method", "builtin-function", "class", "qualname", "tensor-function")
    }
    modules = {"torch": torch, "torch.nn.functional": torch.nn.functional, "builtins": builtins, "operator": operator}
    objects = [(m, n, getattr(mod, n)) for m, mod in modules.items() for n in dir(mod)]
    for group in torch.overrides.get_overridable_functions().values():
        objects += [("", "", f) for f in group]
    for where, name, obj in objects:
        if not callable(obj) or name.startswith("__") and where != "operator":
            continue
        try:
            qualified = _get_qualified_name(obj)
        except Exception:
            continue
        if where == "builtins":
            qualified = f"builtins.{name}"
        elif where == "operator":
            qualified = f"operator.{name}"
        elif qualified.startswith("torch.Tensor.") or not qualified.startswith("torch."):
            continue
        text = str(obj)
        if isinstance(obj, type):
            kinds["class"].add(qualified)
        elif isinstance(obj, types.FunctionType):
            if obj.__qualname__ != obj.__name__:
                kinds["qualname"].add(f"{qualified}:{obj.__qualname__}")
        elif text.startswith("<built-in method") and "of type object" in text:
            kinds["builtin-method"].add(qualified)
        elif text.startswith("<built-in function"):
            if not qualified.startswith(("torch._C.", "operator.", "math.")):
                kinds["builtin-function"].add(qualified)
    for name in dir(torch.Tensor):
        obj = getattr(torch.Tensor, name)
        if isinstance(obj, types.FunctionType) and _get_qualified_name(obj) == f"torch.Tensor.{name}":
            if torch.fx.graph._is_from_torch(obj):
                kinds["tensor-function"].add(name)
    print(f"# torch {PINNED}, Python {sys.version_info[0]}.{sys.version_info[1]}; made by scripts/record_callables.py")
    for kind, names in kinds.items():
        print(kind, *sorted(names))


if __name__ == "__main__":
    main()
