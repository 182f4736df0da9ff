#!/usr/bin/env python3
"""Record what torch.fx says of small graphs, for the tests of package ir.

    python scripts/record_fx.py [OUT]        (OUT defaults to ir/testdata/fx)

writes one JSON file a case: the nodes, and the texts that torch.fx made of the
same graph (code, str, readable in its variants, tabular). It needs torch 2.15.0
and tabulate. Values are tagged as Graph.JSON in package ir describes.
"""

from __future__ import annotations

import collections
import contextlib
import enum
import io
import json
import math
import operator
import re
import sys
import types
import typing
import warnings
from pathlib import Path

warnings.simplefilter("ignore")
import torch
import torch.fx as fx
import torch.nn as nn
import torch.nn.functional as F
from torch.fx.graph import _custom_builtins
from torch.fx.graph_module import _format_import_block
from torch.fx.node import _get_qualified_name, _type_repr
from torch.package import sys_importer

PINNED = "2.15.0"
ADDRESS = re.compile(r"0x[0-9a-f]{6,16}")
program = sys.modules["program"] = types.ModuleType("program")


def scrub(text: str) -> str:
    return ADDRESS.sub(lambda m: "0x" + "0" * (len(m.group(0)) - 2), text)


def of_program(obj):
    """Make obj an attribute of the module "program", as user code would be."""
    obj.__module__, obj.__qualname__ = "program", obj.__name__
    setattr(program, obj.__name__, obj)
    return obj


# ------------------------------------------------------------------- encoding


def encode(v):
    if isinstance(v, fx.Node):
        return {"node": v.name}
    if v is None or isinstance(v, bool):
        return v
    if isinstance(v, enum.Enum):
        return {"enum": f"{type(v).__module__}.{type(v).__qualname__}.{v.name}"}
    if isinstance(v, int):
        return {"int": str(v)}
    if isinstance(v, float):
        return {"float": repr(v)}
    if isinstance(v, complex):
        return {"complex": [repr(v.real), repr(v.imag)]}
    if isinstance(v, str):
        return {"str": v}
    if v is ...:
        return {"ellipsis": True}
    if isinstance(v, tuple) and hasattr(v, "_fields"):
        return {
            "namedtuple": f"{type(v).__module__}.{type(v).__qualname__}",
            "fields": [[k, encode(getattr(v, k))] for k in v._fields],
        }
    if isinstance(v, tuple):
        return {"tuple": [encode(a) for a in v]}
    if isinstance(v, list):
        return {"list": [encode(a) for a in v]}
    if isinstance(v, dict):
        return {"dict": [[encode(k), encode(a)] for k, a in v.items()]}
    if isinstance(v, slice):
        return {"slice": [encode(v.start), encode(v.stop), encode(v.step)]}
    if isinstance(v, range):
        return {"range": [v.start, v.stop, v.step]}
    for kind in ("dtype", "device", "layout", "memory_format"):
        if isinstance(v, getattr(torch, kind)):
            return {kind: str(v)}
    if callable(v):
        return {"function": _get_qualified_name(v)}
    raise SystemExit(f"no encoding for {type(v)}")


def encode_size(v):
    return int(v) if isinstance(v, int) else str(v)


def encode_val(v):
    if isinstance(v, torch.Tensor):
        sparse = v.layout != torch.strided
        return {
            "dtype": str(v.dtype),
            "shape": [encode_size(s) for s in v.shape],
            "stride": [] if sparse else [encode_size(s) for s in v.stride()],
            "device": str(v.device),
            "layout": str(v.layout),
            "requires_grad": v.requires_grad,
        }
    if isinstance(v, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return {"sym": str(v)}
    return None


def encode_node(n: fx.Node) -> dict:
    row = {
        "op": n.op,
        "name": n.name,
        "target": n.target if isinstance(n.target, str) else _get_qualified_name(n.target),
        "pretty_target": n._pretty_print_target(n.target),
        "args": [encode(a) for a in n.args],
        "kwargs": [[k, encode(a)] for k, a in n.kwargs.items()],
        "type": None if n.type is None else scrub(_type_repr(n.type)),
        "users": [u.name for u in n.users],
        "inputs": [i.name for i in n.all_input_nodes],
        "format_meta": scrub(n.format_node(include_tensor_metadata=True)),
    }
    meta = {}
    for key, v in n.meta.items():
        if key in ("val", "example_value") and encode_val(v) is not None:
            meta[key] = encode_val(v)
        elif key in ("stack_trace", "is_wrapped", "desc", "autograd_backward", "boxed_arg_indices"):
            meta[key] = v
        elif key == "custom":
            meta[key] = encode(v)
    if meta:
        row["meta"] = meta
    return row


def record(gm: fx.GraphModule) -> dict:
    code = gm.graph.python_code("self")
    out = {
        "class_name": type(gm).__name__,
        "globals": {
            k: (v if isinstance(v, str) else qualified(v)) for k, v in code.globals.items() if k not in _custom_builtins
        },
        "imports": _format_import_block(code.globals, sys_importer).split("\n"),
        "lineno_map": {str(k): v for k, v in code._lineno_map.items()},
        "prologue_start": code._prologue_start,
        "codegen": type(gm.graph._codegen).__name__,
    }
    info = getattr(gm.graph._codegen, "pytree_info", None)
    if info is not None:
        out["pytree"] = {
            "orig_args": list(info.orig_args),
            "in_spec": torch.utils._pytree.treespec_dumps(info.in_spec),
            "out_spec": None if info.out_spec is None else torch.utils._pytree.treespec_dumps(info.out_spec),
        }
    table = io.StringIO()
    with contextlib.redirect_stdout(table):
        gm.graph.print_tabular()
    readable = lambda **kw: gm.print_readable(print_output=False, **kw)
    texts = {
        "code.py": code.src,
        "graph.txt": str(gm.graph),
        "tabular.txt": table.getvalue(),
        "readable.txt": readable(),
        "readable_both.txt": readable(include_stride=True, include_device=True),
        "readable_expanded.txt": readable(expanded_def=True),
        "readable_colored.txt": readable(colored=True, include_stride=True, include_device=True),
        "code_record.py": gm.graph.python_code("self", record_func=True).src,
    }
    out["texts"] = {k: scrub(v) for k, v in texts.items()}
    out["nodes"] = [encode_node(n) for n in gm.graph.nodes]
    subs = {k: record(v) for k, v in gm.named_modules() if k and isinstance(v, fx.GraphModule) and "." not in k}
    if subs:
        out["submodules"] = subs
    return out


def qualified(obj) -> str:
    try:
        return _get_qualified_name(obj)
    except Exception:
        return f"{getattr(obj, '__module__', '?')}.{getattr(obj, '__qualname__', repr(obj))}"


# ---------------------------------------------------------------------- cases

CASES: dict[str, typing.Callable[[], fx.GraphModule]] = {}


def case(f):
    CASES[f.__name__] = f
    return f


def built(make) -> fx.GraphModule:
    """A graph module of the graph that make fills. Its code is not compiled, since
    some of it means nothing."""
    g = fx.Graph()
    root = make(g)
    compiler = fx.graph_module._forward_from_src
    fx.graph_module._forward_from_src = lambda *args: lambda self: None
    try:
        return fx.GraphModule(root if root is not None else nn.Module(), g)
    finally:
        fx.graph_module._forward_from_src = compiler


@of_program
class Color(enum.Enum):
    RED = 1


@of_program
class Level(enum.IntEnum):
    LOW = 1


Pair = of_program(collections.namedtuple("Pair", ["first", "second"]))


@of_program
def helper(x, **kwargs):
    return x


@of_program
def add(x, y):
    return x


@case
def literals():
    def make(g):
        x = g.placeholder("x")
        y = g.call_function(
            torch.add,
            (x, 1, -7, 10**30, 2.5, -0.0, 1e20, 1e16, 1e-5, 123456789012345.0, math.inf, -math.inf, math.nan),
            {"a": True, "b": None, "c": "it's", "d": 'both \' and "', "e": "tab\t\x07é\u200b😀\\", "f": ...},
        )
        z = g.call_function(
            torch.add,
            ((y,), [y, (x, y)], (), [], {"k": y, "l": {"m": [x]}}, slice(y, None, 2), range(3), range(1, 9, 2)),
            {
                "a": 1 + 2j,
                "b": 1j,
                "c": complex(-0.0, 1.5),
                "d": complex(math.inf, 1),
                "e": torch.float16,
                "f": torch.device("cuda", 1),
                "g": torch.device("cpu"),
                "h": torch.sparse_coo,
                "i": torch.channels_last,
                "j": torch.ops.aten.add.Tensor,
                "k": {"z": 1j, "d": torch.device("cpu")},
                "l": Color.RED,
                "m": [Level.LOW, {"e": Pair(1j, None)}],
                "n": Pair(x, (1,)),
                "o": [Pair(1j, Pair(x, None))],
            },
        )
        g.output((z, [x], {"a": y}))

    return built(make)


@case
def operators():
    def make(g):
        x, y = g.placeholder("x"), g.placeholder("y")
        last = x
        for name in sorted(fx.graph.magic_methods):
            if name == "div":
                continue
            f = getattr(operator, name)
            last = g.call_function(f, (last,) if name in ("pos", "neg", "invert") else (last, y))
        for name in sorted(fx.graph.inplace_methods):
            f = getattr(operator, name)
            last = g.call_function(f, (x, last, 2) if name == "setitem" else (x, last))
        last = g.call_function(operator.abs, (last,))
        last = g.call_function(operator.getitem, (last, (slice(None, 2, None), ..., None, 0)))
        g.output(g.call_function(operator.pow, (last, -2)))

    return built(make)


@case
def names_and_releases():
    def make(g):
        inp = g.placeholder("input")
        args = g.placeholder("*args")
        kw = g.placeholder("**kwargs")
        unused = g.placeholder("unused", default_value=None)
        dead = g.call_function(torch.relu, (inp,))
        a = g.call_function(len, (args,))
        b = g.call_function(torch.add, (inp, a))
        b.name = "len"
        c = g.call_function(torch.add, (b, b))
        c.name = "torch"
        d = g.call_method("sum", (c,), {"dim": 0})
        e = g.call_function(add, (d, kw))
        f = g.call_function(add, (e, e))
        f.name = "program_add"
        h = g.call_function(math.sqrt, (f,))
        g.output((h, a, c))
        g.call_function(torch.neg, (h,))

    return built(make)


@case
def paths():
    root = nn.Module()
    root.layers = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    root.w = nn.Parameter(torch.ones(2))

    def make(g):
        x = g.placeholder("x")
        y = g.call_module("layers.0", (x,))
        z = g.call_module("layers.1", (y,), {"k": 1})
        w = g.get_attr("layers.0.weight")
        v = g.get_attr("w")
        g.output([z, w, v])
        return root

    return built(make)


@case
def attributes():
    def make(g):
        x = g.placeholder("x")
        a = g.call_function(getattr, (x, "shape"))
        b = g.call_function(getattr, (x, "not here"))
        c = g.call_function(getattr, (x, "grad", None))
        d = g.call_method("a.b", (x, 1))
        e = g.call_method("__call__", (x,))
        g.output((a, b, c, d, e))

    return built(make)


@case
def annotations():
    def make(g):
        a = g.placeholder("a", type_expr=torch.Tensor)
        b = g.placeholder("b", type_expr=typing.List[int], default_value=[1])
        c = g.placeholder("c", type_expr=typing.Optional[torch.Tensor])
        d = g.placeholder("d", type_expr=dict[str, tuple[int, ...]])
        e = g.placeholder("e", type_expr=int | None)
        f = g.placeholder("f", type_expr="int")
        h = g.placeholder("h", type_expr=Pair)
        i = g.placeholder("i", type_expr=typing.Any)
        j = g.placeholder("j", type_expr=typing.Sequence[typing.Union[int, float]])
        k = g.placeholder("k", type_expr=typing.Tuple[()])
        m = g.placeholder("m", type_expr=typing.List)
        n = g.placeholder("n", type_expr=torch.device, default_value=torch.device("cpu"))
        r = g.create_node("call_function", torch.relu, (a,), {}, type_expr=torch.Tensor)
        s = g.create_node("call_method", "split", (r, 2), {}, type_expr=typing.Tuple[torch.Tensor, ...])
        g.output(s, type_expr=typing.Tuple[torch.Tensor, ...])

    return built(make)


@case
def wrapped():
    def make(g):
        x = g.placeholder("x")
        y = g.call_function(helper, (x,), {"k": 3})
        y.meta["is_wrapped"] = True
        z = g.call_function(len, (y,))
        z.meta["is_wrapped"] = True
        w = g.call_function(helper, (z,))
        w.meta["is_wrapped"] = True
        g.output(w)

    return built(make)


@case
def kinds_of_functions():
    def make(g):
        x = g.placeholder("x")
        for f in (
            torch.relu,
            F.relu,
            F.gelu,
            F.max_pool2d,
            torch.functional.split,
            torch.fft.fft,
            torch.linalg.svd,
            torch.special.erf,
            torch.Tensor.add,
            torch.Tensor.norm,
            torch.nn.Linear,
            torch.ops.aten.add,
            torch.ops.aten.relu.default,
            torch.sym_max,
            torch._assert,
            math.floor,
            isinstance,
            int,
            operator.concat,
            Pair,
            torch.device,
            torch.ops.higher_order.cond,
        ):
            x = g.call_function(f, (x, [f]) if isinstance(f, torch._ops.OpOverload) else (x,))
        g.output(x)

    return built(make)


@case
def empty():
    return built(lambda g: None)


@case
def only_placeholders():
    def make(g):
        g.placeholder("x")
        g.placeholder("y")

    return built(make)


@case
def own_self():
    def make(g):
        me = g.placeholder("self")
        g.output(g.placeholder("x"))

    return built(make)


@case
def boxed():
    def make(g):
        x, y = g.placeholder("x", default_value=1), g.placeholder("input", type_expr=int)
        g.output(g.call_function(torch.add, (x, y)))
        g.set_codegen(fx.graph._BoxedCodeGen())

    return built(make)


@case
def boxed_argument():
    def make(g):
        x, y = g.placeholder("x"), g.placeholder("y")
        a = g.call_function(torch.relu, (x,))
        b = g.call_function(torch.relu, (y,))
        c = g.call_function(helper, ([a, b, x], b), {"k": y})
        c.meta["boxed_arg_indices"] = [0]
        d = g.call_function(helper, ([c], (x, y)))
        d.meta["boxed_arg_indices"] = [0, 1]
        g.output(d)

    return built(make)


@case
def pytree():
    def f(a, b, n):
        return {"o": a["x"] + b[0][0], "p": [a["y"], b[1] * n]}

    return fx.symbolic_trace(f, {"a": {"x": fx.PH, "y": fx.PH}, "b": [(fx.PH,), fx.PH], "n": fx.PH})


@case
def pytree_module():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(2, 2)

        def forward(self, xs, y: torch.Tensor):
            return self.lin(xs[0]) + xs[1], y

    return fx.symbolic_trace(M(), {"xs": (fx.PH, fx.PH), "y": fx.PH})


@case
def verbose():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 3)

        def forward(self, x, y: int = 1):
            z = self.lin(x)
            return torch.relu(z), z.sum()

    gm = fx.symbolic_trace(M())
    n = {v.name: v for v in gm.graph.nodes}
    n["x"].meta["val"] = torch.empty(2, 4)
    n["x"].meta["desc"] = "the input"
    n["lin"].meta["val"] = torch.empty_strided((2, 3), (1, 2), dtype=torch.float16)
    n["lin"].meta["stack_trace"] = 'File "m.py", line 10, in forward\n    z = self.lin(x)\n  File "i.py", line 3, in go\n    return a + b\n'
    n["relu"].meta["example_value"] = torch.empty(2, 3, dtype=torch.bfloat16, device="meta")
    n["relu"].meta["custom"] = {"stage": 1, "long": "x" * 60}
    n["sum_1"].meta["val"] = torch.empty((), dtype=torch.complex64)
    n["sum_1"].meta["autograd_backward"] = True
    n["sum_1"].meta["stack_trace"] = 'File "m.py", line 12, in forward\n    return z.sum()'
    n["output"].meta["desc"] = ["first", "second"]
    return gm


@case
def exported():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 3)
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            self.count.add_(1)
            return {"y": self.lin(x) * x.shape[0], "z": torch.cat([x, x])}

    batch = torch.export.Dim("batch", min=2, max=64)
    ep = torch.export.export(M(), (torch.ones(3, 4),), dynamic_shapes={"x": {0: batch}})
    return plain(ep.module())


@case
def exported_kwargs():
    class M(nn.Module):
        def forward(self, x, ys, *, scale, shift=None):
            return x * scale + ys[0], ys[1]

    args = (torch.ones(2), [torch.ones(2), torch.ones(3)])
    ep = torch.export.export(M(), args, {"scale": torch.ones(1), "shift": None})
    return plain(ep.module())


@case
def exported_cond():
    class M(nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos(), (x,))

    ep = torch.export.export(M(), (torch.ones(3),))
    return plain(ep.module())


def plain(gm):
    """Shorten what depends on this machine: file names in stack traces."""
    for m in gm.modules():
        if isinstance(m, fx.GraphModule):
            for n in m.graph.nodes:
                if "stack_trace" in n.meta:
                    n.meta["stack_trace"] = re.sub(r'File ".*?([^/"]+)"', r'File "\1"', n.meta["stack_trace"])
    return gm


def dump(data: dict) -> str:
    """JSON with a node a line."""
    nodes, subs = data.pop("nodes"), data.pop("submodules", None)
    text = json.dumps(data, indent=1, ensure_ascii=False)[:-2]
    text += ',\n "nodes": [\n' + ",\n".join("  " + json.dumps(n, ensure_ascii=False) for n in nodes) + "\n ]"
    if subs:
        text += ',\n "submodules": {\n' + ",\n".join(f'"{k}": {dump(v)}' for k, v in subs.items()) + "\n }"
    return text + "\n}"


def main() -> None:
    if torch.__version__.split("+")[0] != PINNED:
        sys.exit(f"torch: expected {PINNED}, got {torch.__version__}")
    out = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "ir" / "testdata" / "fx")
    out.mkdir(parents=True, exist_ok=True)
    for name, make in CASES.items():
        data = {"torch": PINNED, "script": "scripts/record_fx.py", **record(make())}
        (out / f"{name}.json").write_text(dump(data) + "\n", encoding="utf-8")
    print(f"{len(CASES)} cases in {out}")


if __name__ == "__main__":
    main()
