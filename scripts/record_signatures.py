#!/usr/bin/env python3
"""Writes passes/signatures.txt: how Python's functions, and the layers of torch.nn, take their arguments.

    third_party/reference/bin/python scripts/record_signatures.py > passes/signatures.txt

Lines, fields separated by tabs:
    python <qualified name> <parameters>      a function written in Python
    layer <qualified name> <parameters>       forward of a class of torch.nn
    builtin <qualified name> <operator>       a function that dispatches to an operator, "aten::add"
    operator <operator> <schema> ...          its overloads in the order in which they are tried
A parameter is name or name=default, with / before positional-only ones, ! before keyword-only ones, * and ** before
those that take the rest. A schema is the name of the overload, where the catalogue of operators has it, or its text.
"""
import inspect
import math
import operator
import sys
import types

import torch
import torch.nn.functional as F
from torch._jit_internal import boolean_dispatched
from torch.fx.node import _get_qualified_name
from torch.overrides import get_overridable_functions

if not torch.__version__.startswith("2.15.0"):
    sys.exit("expected torch 2.15.0, got " + torch.__version__)

MARKS = {inspect.Parameter.POSITIONAL_ONLY: "/", inspect.Parameter.KEYWORD_ONLY: "!",
         inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def literal(v):
    if v is None or isinstance(v, (bool, int, float, str, torch.dtype)):
        return True
    return isinstance(v, (list, tuple)) and all(map(literal, v))


def parameters(f, skip_self=False):
    """The parameters as text, None where a default cannot be written."""
    out = []
    try:
        sig = inspect.signature(inspect.unwrap(f))
    except (TypeError, ValueError):
        return None
    for p in list(sig.parameters.values())[1 if skip_self else 0:]:
        text = MARKS.get(p.kind, "") + p.name
        if p.default is not p.empty:
            if not literal(p.default):
                return None
            text += "=" + repr(p.default)
        out.append(text)
    return ";".join(out)


def candidates():
    for fs in get_overridable_functions().values():
        yield from fs
    for module in (torch, F, operator, math, torch._C._nn, torch.linalg, torch.special, torch.fft):
        for name in sorted(dir(module)):
            f = getattr(module, name)
            if not name.startswith("__") and isinstance(f, (types.FunctionType, types.BuiltinFunctionType)):
                yield f
    yield from boolean_dispatched


python, builtin, operators = {}, {}, {}
for f in candidates():
    if isinstance(f, (types.MethodDescriptorType, types.WrapperDescriptorType, property)):
        continue
    try:
        name = _get_qualified_name(f)
    except Exception:
        continue
    if name.startswith("torch.Tensor."):
        continue
    if name.startswith("_operator."):
        name = name[1:]
    if not isinstance(f, types.BuiltinFunctionType):
        g = f
        if f in boolean_dispatched:
            d = boolean_dispatched[f]
            if inspect.signature(d["if_true"]).parameters != inspect.signature(d["if_false"]).parameters:
                continue
            g = d["if_true"]
        text = parameters(g)
        public = not any(part.startswith("_") for part in name.split("."))
        if text is not None and public and name.startswith(("torch.functional.", "torch.nn.functional.", "torch.nn.init.")):
            python[name] = text
        continue
    if f is torch.nonzero:
        continue
    op = torch.jit._builtins._find_builtin(f)
    if op is None:
        continue
    builtin[name] = op
    if op not in operators:
        # nothing in a graph is of the type that TorchScript's enums have
        operators[op] = [str(s) for s in torch._C._jit_get_schemas_for_operator(op) if "AnyEnumType" not in str(s)]

dispatched = set(torch._C._dispatch_get_all_op_names())


def short(schema):
    name = schema[: schema.index("(")]
    if name in dispatched:
        return name.partition(".")[2]
    return schema


print("# torch 2.15.0; made by scripts/record_signatures.py")
for name in sorted(python):
    print("python", name, python[name], sep="\t")
for name in sorted(dir(torch.nn)):
    c = getattr(torch.nn, name)
    if isinstance(c, type) and issubclass(c, torch.nn.Module) and c.__name__ == name and c is not torch.nn.Module:
        text = parameters(c.forward, skip_self=True)
        if text is not None:
            print("layer", f"{c.__module__}.{name}", text, sep="\t")
for name in sorted(builtin):
    print("builtin", name, builtin[name], sep="\t")
for op in sorted(operators):
    print("operator", op, *map(short, operators[op]), sep="\t")
