#!/usr/bin/env python3
"""Writes passes/testdata/passes.json: what passes of torch.fx make of programs, one section a pass.

    third_party/reference/bin/python scripts/record_passes.py > passes/testdata/passes.json
"""
import contextlib
import io
import json
import sys

import torch
import torch.fx as fx
import torch.nn as nn
import torch.nn.functional as F

if not torch.__version__.startswith("2.15.0"):
    sys.exit("expected torch 2.15.0, got " + torch.__version__)

from torch.fx.experimental.normalize import NormalizeArgs  # noqa: E402
from torch.fx.operator_schemas import normalize_function  # noqa: E402
from torch.fx.passes import graph_manipulation, param_fetch, splitter_base  # noqa: E402
from torch.fx.passes.operator_support import OperatorSupportBase  # noqa: E402
from torch.fx.passes.shape_prop import ShapeProp  # noqa: E402
from torch.fx.passes.split_module import split_module_simple  # noqa: E402
from torch.fx.passes.utils import source_matcher_utils  # noqa: E402

T = torch.Tensor


def call(f, *args, **kwargs):
    """One call: its code, the types of its arguments, and what becomes of it."""
    g = fx.Graph()
    env = {}

    def lower(v, name):
        if v is T:
            env[name] = g.placeholder(name)
            return env[name]
        return v

    a = tuple(lower(v, f"x{i}") for i, v in enumerate(args))
    k = {key: lower(v, key + "_v") for key, v in kwargs.items()}
    types = lambda v: T if isinstance(v, fx.Node) else type(v)
    out = {}
    n = g.call_function(f, a, k)
    g.output(n)
    out["code"] = g.python_code("self").src
    for flag in (False, True):
        key = "kwargs" if flag else "positional"
        for typed in (False, True):
            tt = {}
            if typed:
                tt = {"arg_types": tuple(map(types, a)), "kwarg_types": {key: types(v) for key, v in k.items()}}
            try:
                r = normalize_function(f, a, k, normalize_to_only_use_kwargs=flag, **tt)
            except Exception as e:
                out[key + (" typed" if typed else "")] = type(e).__name__
                continue
            if r is None:
                out[key + (" typed" if typed else "")] = None
                continue
            h = fx.Graph()
            val = {p: h.placeholder(p.name) for p in g.nodes if p.op == "placeholder"}
            args2 = fx.node.map_arg(r.args, lambda p: val[p])
            kwargs2 = fx.node.map_arg(r.kwargs, lambda p: val[p])
            h.output(h.call_function(f, args2, kwargs2))
            out[key + (" typed" if typed else "")] = h.python_code("self").src
    return out


def normalize_function_cases():
    return [
        call(torch.add, T, T), call(torch.add, T, T, alpha=2), call(torch.add, T, 3), call(torch.add, T, other=T),
        call(torch.div, T, T, rounding_mode="floor"), call(torch.mul, T, 2.5), call(torch.relu, T), call(torch.relu, input=T),
        call(torch.sum, T, 1), call(torch.sum, T, dim=[0, 1], keepdim=True), call(torch.mean, T), call(torch.nonzero, T),
        call(torch.clamp, T, 0.0, 1.0), call(torch.clamp, T, min=0), call(torch.transpose, T, 0, 1), call(torch.cat, [1, 2], dim=1),
        call(torch.flatten, T, 1), call(torch.conv2d, T, T), call(torch.matmul, T, T), call(torch.zeros, (2, 3)),
        call(torch.softmax, T, -1), call(torch.rand, (2,)), call(torch.full, (2, 2), 1.5), call(torch.topk, T, 3),
        call(torch.ops.aten.add.Tensor, T, T), call(torch.ops.aten.add.Tensor, T, T, alpha=2), call(torch.ops.aten.add, T, T),
        call(torch.ops.aten.batch_norm.default, T, None, None, T, T, False, 0.1, 1e-5, True),
        call(torch.ops.aten.uniform_.default, T), call(torch.ops.aten.normal_.default, T, 0.0, 1.0), call(torch.ops.aten.relu.default, T, T),
        call(F.relu, T), call(F.relu, T, inplace=True), call(F.dropout, T, 0.3, training=False), call(F.max_pool2d, T, 2),
        call(F.max_pool2d, T, 2, stride=1, ceil_mode=True), call(F.batch_norm, T, T, T), call(F.linear, T, T), call(F.gelu, T),
        call(F.interpolate, T, scale_factor=2.0, mode="nearest"), call(F.layer_norm, T, (3,)), call(F.cross_entropy, T, T, reduction="sum"),
        call(F.adaptive_avg_pool2d, T, (1, 1)), call(F.pad, T, (1, 1)), call(F.embedding_bag, T, T), call(F.softmax, T, dim=1),
        call(F.relu, T, T, T), call(F.relu), call(torch.functional.einsum, "ij,jk->ik", T, T), call(torch.functional.norm, T),
    ]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3, padding=1)
        self.bn = nn.BatchNorm2d(3)
        self.lin = nn.Linear(3, 4)
        self.pool = nn.MaxPool2d(2)
        self.attn = nn.EmbeddingBag(10, 3)
        self.seq = nn.Sequential(nn.ReLU(), nn.Dropout(0.1))

    def forward(self, x, ids):
        a = self.pool(F.relu(self.bn(self.conv(x))))
        b = F.adaptive_avg_pool2d(a, 1).flatten(1)
        c = torch.add(self.lin(b), b.sum(), alpha=2)
        d = self.attn(ids, offsets=None)
        e = torch.div(c, 2.0)
        f = torch.mul(d, d)
        return self.seq(e), F.softmax(f, dim=-1), torch.flatten(a, 1, -1)


def traced():
    torch.manual_seed(0)
    gm = fx.symbolic_trace(Net().eval())
    args = (torch.ones(1, 2, 4, 4), torch.tensor([[1, 2]]))
    ShapeProp(gm).propagate(*args)
    return gm, args


def node_types(gm):
    return {n.name: torch.fx.node._type_repr(n.meta["type"]) for n in gm.graph.nodes if "type" in n.meta}


def normalize_args():
    gm, args = traced()
    before, types = gm.code, node_types(gm)
    out = NormalizeArgs(gm).transform()
    gm2, _ = traced()
    positional = NormalizeArgs(gm2, normalize_to_only_use_kwargs=False).transform()
    return {"code": before, "types": types, "kwargs": out.code, "positional": positional.code}


def modules(gm):
    """The code of a module and of the graph modules in it."""
    return {"": gm.code, **{name: m.code for name, m in gm.named_children() if isinstance(m, fx.GraphModule)}}


def quiet(f, *args, **kwargs):
    with contextlib.redirect_stdout(io.StringIO()):
        return f(*args, **kwargs)


# Programs of functions alone: the calls whose names start with one of the prefixes are the accelerator's.
def diamond(a):
    b = torch.tanh(a)
    c = torch.sigmoid(a)
    return b + c


def turns(x, y):
    a = torch.relu(x)
    b = torch.neg(a)
    c = torch.relu(b + y)
    d = torch.relu(y)
    return torch.relu(c * d), b


def sizes(x):
    a = torch.relu(x)
    n = a.size(0)
    m = n + 1
    b = torch.neg(x)
    return torch.relu(b) * m


def shapes(x, y):
    a = torch.relu(x)
    s = a.shape
    n = s[0]
    b = torch.neg(y).reshape(n, -1)
    c = torch.relu(b)
    k = n * 2
    return torch.relu(c) + k


def late(x):
    a = torch.relu(x)
    n = a.size(0)
    m = n * 2
    b = torch.neg(a)
    return b + m


SPLITS = [
    ("diamond", diamond, ["tanh", "sigmoid"], {}), ("turns", turns, ["relu"], {}), ("turns, small", turns, ["relu"], {"min_acc_module_size": 2}),
    ("sizes", sizes, ["relu", "size", "add", "mul"], {}), ("sizes, free", sizes, ["relu", "size", "add"], {"allow_non_tensor": True}),
    ("shapes", shapes, ["relu", "getattr", "getitem", "mul"], {}),
    ("shapes, free", shapes, ["relu", "getattr", "getitem", "mul"], {"allow_non_tensor": True}),
    ("shapes, no fusion", shapes, ["relu", "getattr", "getitem", "mul"], {"allow_non_tensor": True, "skip_fusion": True}),
    ("moved", late, ["relu", "size", "mul"], {"allow_non_tensor": True, "skip_fusion": True, "move_non_tensor_nodes_on_boundary": True}),
    ("all", diamond, ["tanh", "sigmoid", "add"], {}), ("none", diamond, [], {}),
]


class ByName(OperatorSupportBase):
    def __init__(self, prefixes):
        self.prefixes = prefixes

    def is_node_supported(self, submodules, node):
        return node.op in ("call_function", "call_method") and any(node.name.startswith(p) for p in self.prefixes)


def splitter(f, prefixes, options):
    gm = fx.symbolic_trace(f)
    args = [torch.ones(2, 3) for n in gm.graph.nodes if n.op == "placeholder"]
    return gm, args, splitter_base._SplitterBase(gm, args, ByName(prefixes), splitter_base._SplitterSettingBase(**options))


def accelerator_splits():
    out = []
    for name, f, prefixes, options in SPLITS:
        gm, args, s = splitter(f, prefixes, options)
        made = {"name": name, "code": gm.code, "types": node_types(gm), "prefixes": prefixes, "options": options,
                "events": {k: v for k, v in s_events(gm, prefixes, options).items()}}
        made["modules"] = modules(quiet(s))
        made["map"] = s.get_node_submodule_map()
        gm, args, s = splitter(f, prefixes, options)
        if not options.get("move_non_tensor_nodes_on_boundary"):
            made["preview"] = quiet(s.split_preview)
        made["support"] = sorted(quiet(s.node_support_preview).split("\n"))
        out.append(made)
    return out


def s_events(gm, prefixes, options):
    finder = splitter_base.FxNetAccNodesFinder(gm, ByName(prefixes), options.get("allow_non_tensor", False))
    finder()
    return finder.tracker.to_dict()


def split_simple():
    out = []
    for f, at in ((turns, lambda n, i: i // 2), (turns, lambda n, i: i), (diamond, lambda n, i: 0), (shapes, lambda n, i: i // 3)):
        gm = fx.symbolic_trace(f)
        numbers = {n: at(n, i) for i, n in enumerate(n for n in gm.graph.nodes if n.op.startswith("call_"))}
        made = split_module_simple(gm, numbers, partition_affix="p")
        out.append({"code": gm.code, "numbers": {n.name: v for n, v in numbers.items()}, "modules": modules(made)})
    return out


class Sized(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 5)
        self.conv = nn.Conv2d(1, 2, 3, bias=False)

    def forward(self, x, y):
        return self.lin(x) + 1.0, self.conv(y).to(torch.float64)


def node_sizes():
    gm = fx.symbolic_trace(Sized())
    graph_manipulation.get_size_of_all_nodes(gm, [torch.ones(3, 4), torch.ones(1, 1, 5, 5)])
    return {"code": gm.code, "sizes": {n.name: list(n.size_bytes) for n in gm.graph.nodes if hasattr(n, "size_bytes")}}


def param_fetch_attrs():
    out = {}
    for name, m in {"linear": nn.Linear(2, 3), "linear, no bias": nn.Linear(2, 3, bias=False), "conv": nn.Conv2d(2, 4, (3, 5), stride=2, padding=1, groups=2),
                    "bn": nn.BatchNorm2d(3, eps=0.01), "avg": nn.AdaptiveAvgPool2d(1), "max": nn.MaxPool2d(3, ceil_mode=True), "relu": nn.ReLU(inplace=True)}.items():
        a = param_fetch.extract_attrs_for_lowering(m)
        out[name] = {k: list(v.shape) if isinstance(v, torch.Tensor) else repr(v) for k, v in a.items()}
    return out


class Sourced(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 2, 3)
        self.conv2 = nn.Conv2d(2, 2, 3)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        a = self.pool(self.relu(self.conv1(x)))
        b = self.relu(self.conv2(a))
        c = self.linear(b.flatten(1))
        return torch.nn.functional.relu(torch.nn.functional.linear(c, self.linear.weight)).sub(1)


def source_partitions():
    """Graphs of torch.export, whose nodes say what they came from."""
    out = []
    args = (torch.ones(1, 1, 8, 8),)
    for kind in ("strict", "plain"):
        ep = torch.export.export(Sourced(), args, strict=kind == "strict")
        m = ep.module() if kind == "plain" else ep.graph_module
        g = ep.graph
        for wanted in ([nn.Conv2d, nn.ReLU, nn.MaxPool2d], [nn.Linear], ["linear", "relu"], [torch.nn.functional.relu, torch.nn.functional.linear]):
            parts = source_matcher_utils.get_source_partitions(g, wanted)
            names = lambda nodes: [n.name for n in nodes]
            text = lambda s: s if isinstance(s, str) else s.__module__ + "." + s.__qualname__
            out.append({"kind": kind, "wanted": [text(w) for w in wanted],
                        "partitions": [{"source": text(k), "nodes": names(p.nodes), "inputs": names(p.input_nodes), "outputs": names(p.output_nodes),
                                        "params": names(p.params)} for k, ps in parts.items() for p in ps]})
        text = lambda f: f.__module__ + "." + getattr(f, "__qualname__", f.__name__) if not isinstance(f, str) else f
        meta = {}
        for n in g.nodes:
            m = {}
            if "source_fn_stack" in n.meta:
                m["source_fn_stack"] = ";".join(f"{a},{text(b)}" for a, b in n.meta["source_fn_stack"])
            if "torch_fn" in n.meta:
                m["torch_fn"] = ";".join(n.meta["torch_fn"])
            if "nn_module_stack" in n.meta:
                m["nn_module_stack"] = [[str(i), p, text(c)] for i, (p, c) in enumerate(n.meta["nn_module_stack"].values())]
            meta[n.name] = m
        out.append({"kind": kind, "code": g.python_code("self").src, "meta": meta})
    return out


SECTIONS = [normalize_function_cases, normalize_args, accelerator_splits, split_simple, node_sizes, param_fetch_attrs, source_partitions]
if __name__ == "__main__":
    json.dump({f.__name__: f() for f in SECTIONS}, sys.stdout, indent=1, sort_keys=True)
    print()
