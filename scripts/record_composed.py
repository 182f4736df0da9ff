#!/usr/bin/env python3
"""Write torchops/composed.txt: the functions of PyTorch that are Python code and compute, with their
signatures and the call that torch.fx records for them.

    third_party/reference/bin/python scripts/record_composed.py > torchops/composed.txt

A line is, separated by tabs: the names, first the one that torch.fx prints; the name in Python's messages; the
parameters; what is recorded by position; what is recorded by keyword; the parameters that are looked at, of which one
must be traced for the call to be recorded. All are empty for a function that does not hand itself to torch.fx: its
trace is that of what it calls. Methods of Tensor are recorded as they were called.
"""
import ast
import inspect
import sys
import types

import torch
import torch.masked
import torch.nn.functional as F
import torch.signal.windows as windows
from torch.fx.node import _get_qualified_name
from torch.masked import _ops as masked

TORCH = "2.15.0"

# Functions of torch.nn.functional that are tools of its authors.
TOOLS = {"assert_int_or_pair", "boolean_dispatch", "has_torch_function", "handle_torch_function"}

# Methods of Tensor that are no computation: of pickle, of hooks and autograd, of numpy and DLPack, of printing, of
# storages.
OBJECT = {
    "__array__", "__array_wrap__", "__deepcopy__", "__dir__", "__dlpack__", "__dlpack_device__", "__format__", "__hash__",
    "__reduce_ex__", "__repr__", "__setstate__", "backward", "is_shared", "register_hook",
    "register_post_accumulate_grad_hook", "share_memory_", "storage", "storage_type",
}


def default(node):
    value = eval(ast.unparse(node), {"torch": torch})
    return str(value) if isinstance(value, torch.layout) else repr(value)


def parameters(fn):
    """The parameters of a function definition as text that Go reads."""
    a, out = fn.args, []

    def text(p, d):
        annotation = ast.unparse(p.annotation) if p.annotation else ""
        return p.arg + (f": {annotation}" if annotation else "") + ("" if d is None else f" = {default(d)}")

    plain = a.posonlyargs + a.args
    for p, d in zip(plain, [None] * (len(plain) - len(a.defaults)) + a.defaults):
        out.append(text(p, d))
        if a.posonlyargs and p is a.posonlyargs[-1]:
            out.append("/")
    if a.vararg:
        out.append("*" + a.vararg.arg)
    elif a.kwonlyargs:
        out.append("*")
    out += [text(p, d) for p, d in zip(a.kwonlyargs, a.kw_defaults)]
    return ", ".join(out)


def parameters_in(expression, fn):
    """The parameters that an expression names; of one that is made of all of them, the parameter that holds them."""
    names = [n.id for n in ast.walk(expression) if isinstance(n, ast.Name)]
    known = {p.arg for p in fn.args.posonlyargs + fn.args.args + fn.args.kwonlyargs}
    rest = fn.args.vararg and fn.args.vararg.arg
    return [n if n in known else rest for n in names if n in known or rest]


class Module:
    """The function definitions of a module, and which of them hands which function to torch.fx."""

    def __init__(self, module, within=None):
        self.functions, self.hands = {}, {}
        body = ast.parse(inspect.getsource(module)).body
        if within:
            body = next(n for n in body if isinstance(n, ast.ClassDef) and n.name == within).body
        scope = vars(module) | {"torch": torch}
        for fn in ast.walk(ast.Module(body, [])):
            if not isinstance(fn, ast.FunctionDef) or any("overload" in ast.unparse(d) for d in fn.decorator_list):
                continue
            self.functions[fn.name] = fn
            for node in ast.walk(fn):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "handle_torch_function":
                    target, looked_at, *positional = node.args
                    recorded = [ast.unparse(p) for p in positional], [k.arg for k in node.keywords], parameters_in(looked_at, fn)
                    self.hands[id(eval(ast.unparse(target), scope))] = fn, recorded
                    break

    def row(self, names, obj, forms=True):
        fn, recorded = self.hands.get(id(obj), (None, ([], [], [])))
        fn = self.functions.get(obj.__name__, fn)
        if not forms:
            recorded = [], [], []
        qualname = fn.name if not names[0].startswith("torch.Tensor.") else "Tensor." + fn.name
        return "\t".join([" ".join(names), qualname, parameters(fn), *map(", ".join, recorded)])


def of_module(module, prefix, homes):
    """The functions of a module by the names under which torch.fx prints them and under which they are called."""
    source = {}
    for name, obj in sorted(vars(module).items()):
        if name.startswith("_") or not isinstance(obj, types.FunctionType):
            continue
        if obj.__module__ not in homes or name in TOOLS:
            continue
        home = sys.modules[obj.__module__]
        source.setdefault(home, Module(home))
        if obj.__name__ not in source[home].functions and id(obj) not in source[home].hands:
            continue
        printed = _get_qualified_name(obj)
        names = [printed] + [n for n in (f"{prefix}.{name}", f"{obj.__module__}.{obj.__name__}") if n != printed]
        yield names, source[home].row(list(dict.fromkeys(names)), obj)


def main():
    if torch.__version__.split("+")[0] != TORCH:
        sys.exit(f"torch {TORCH} is wanted, this is {torch.__version__}")
    rows = {}
    for names, row in of_module(F, "torch.nn.functional", ["torch.nn.functional"]):
        rows[names[0]] = row
    for names, row in of_module(torch, "torch", ["torch.functional", "torch._lowrank", "torch._lobpcg", "torch._linalg_utils"]):
        rows[names[0]] = row
    methods = Module(torch._tensor, "Tensor")
    for name, obj in sorted(vars(torch.Tensor).items()):
        if isinstance(obj, types.FunctionType) and name not in OBJECT and name in methods.functions:
            if not name.startswith("_") or name.endswith("__"):
                others = sorted(n for n, o in vars(torch.Tensor).items() if o is obj and n != name)
                rows["torch.Tensor." + name] = methods.row(["torch.Tensor." + n for n in [name] + others], obj, forms=False)
    source = Module(masked)
    for name in torch.masked.__all__:
        obj = getattr(torch.masked, name)
        if isinstance(obj, types.FunctionType) and name in source.functions:
            rows["torch.masked." + name] = source.row([f"torch.masked.{name}", f"torch.masked._ops.{name}"], obj)
    source = Module(windows.windows)
    for name in windows.__all__:
        rows[name] = source.row([f"torch.signal.windows.windows.{name}", f"torch.signal.windows.{name}"], getattr(windows, name))
    print(f"# Made by scripts/record_composed.py with torch {TORCH}: names, name in messages, parameters, recorded by position, recorded by keyword, looked at.")
    for row in sorted(rows.values()):
        print(row)


if __name__ == "__main__":
    main()
