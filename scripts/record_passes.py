#!/usr/bin/env python3
"""Writes passes/testdata/passes.json: what passes of torch.fx make of programs, one section a pass.

    third_party/reference/bin/python scripts/record_passes.py > passes/testdata/passes.json
"""
import contextlib
import io
import json
import operator
import sys

import torch
import torch.fx as fx
import torch.nn as nn
import torch.nn.functional as F

if not torch.__version__.startswith("2.15.0"):
    sys.exit("expected torch 2.15.0, got " + torch.__version__)

from torch.fx.experimental import partitioner_utils  # noqa: E402
from torch.fx.experimental.accelerator_partitioner import Partitioner, set_parents_and_children as link  # noqa: E402
from torch.fx.experimental.normalize import NormalizeArgs  # noqa: E402
from torch.fx.experimental.partitioner_utils import Device, NodeLatency, PartitionerConfig, PartitionMode  # noqa: E402
from torch.fx.operator_schemas import normalize_function  # noqa: E402
from torch.fx.passes import graph_manipulation, param_fetch, splitter_base  # noqa: E402
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner  # noqa: E402
from torch.fx.passes.operator_support import OperatorSupportBase  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402
from torch.fx.passes.reinplace import reinplace  # noqa: E402
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


class Chain(nn.Module):
    """What the tests of the partitioner of torch.fx use: a linear layer among additions."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.c = nn.Parameter(torch.rand(4))

    def forward(self, a, b):
        add_1 = a + b
        linear = self.linear(add_1)
        add_2 = linear + a
        add_3 = add_2 + self.c
        add_4 = add_3 + b
        return torch.relu(add_4), add_2


class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb0 = nn.EmbeddingBag(40, 4)
        self.emb1 = nn.EmbeddingBag(40, 4)
        self.lin = nn.Linear(4, 4)

    def forward(self, a, b, offset):
        x = self.lin(a + 1.0)
        y = self.emb0(b, offset)
        z = self.emb1(b, offset)
        return torch.relu(torch.cat((x, y, z), 0) * 2.0)


def place(make, inputs, memory, mode, **options):
    torch.manual_seed(0)
    m = make()
    gm = fx.symbolic_trace(m)
    graph_manipulation.get_size_of_all_nodes(gm, inputs)
    devices = [Device(f"dev_{i}", size, i) for i, size in enumerate(memory)]
    config = {}
    latency = {}
    if mode in ("cost_aware", "kl_based"):
        latency = {n: NodeLatency(1.0, 2.0 if n.op == "call_module" else 0.5) for n in gm.graph.nodes}
        config = {"transfer_rate_bytes_per_sec": options["rate"], "node_to_latency_mapping": latency}
    if mode == "aot_based":
        config = {"node_to_partition_mapping": {n: options["numbers"][n.name] for n in gm.graph.nodes if n.name in options["numbers"]},
                  "partition_to_logical_device_mapping": {int(k): v for k, v in options["devices"].items()}}
    out = {"program": make.__name__, "code": gm.code, "inputs": [[list(i.shape), str(i.dtype)] for i in inputs], "memory": memory, "mode": mode, "options": options}
    p = Partitioner()
    try:
        r = quiet(p.partition_graph, gm, m, PartitionerConfig(devices, PartitionMode[mode], saturate_host=options.get("saturate", False), **config))
    except RuntimeError as e:
        return {**out, "error": str(e)}
    out["groups"] = [{"id": g.partition_id, "nodes": sorted(n.name for n in g.nodes), "bytes": g.used_mem_bytes, "devices": list(g.logical_device_ids)} for g in p.partitions]
    out["parts"] = [{"call": n.submodule_node.name, "inputs": [i.name for i in n.input_nodes], "outputs": sorted(o.name for o in n.output_nodes),
                     "devices": list(n.logical_device_ids), "bytes": n.size_bytes} for n in r.dag.nodes]
    out["modules"] = modules(r.module_with_submodules)
    if latency:
        link(p.partitions)
        lat = partitioner_utils.get_partition_to_latency_mapping(p.partitions, latency)
        out["latency"] = [list(lat[g]) for g in p.partitions]
        out["total"] = partitioner_utils.get_latency_of_partitioned_graph(p.partitions, lat, options["rate"])
    return out


def placements():
    a = [torch.rand(4), torch.rand(4)]
    e = [torch.rand(2, 4), torch.tensor([1, 2, 3, 4]), torch.tensor([0, 2])]
    by_hand = {"add": 0, "linear": 0, "add_1": 0, "add_2": 1, "add_3": 1, "relu": 1}
    return [
        place(Chain, a, [125, 500, 150], "size_based"), place(Chain, a, [4, 4], "size_based"), place(Chain, a, [60, 60, 60, 60], "size_based"),
        place(Chain, a, [125, 125, 125], "size_based"), place(Chain, a, [150, 140, 48, 120], "size_based"), place(Chain, a, [130, 80], "size_based"),
        place(Chain, a, [112, 112, 112, 112], "size_based"), place(Chain, a, [200, 120], "size_based"), place(Chain, a, [], "size_based"),
        place(Sparse, e, [1000, 1000], "sparse_nn"), place(Sparse, e, [1000, 1100], "sparse_nn"), place(Sparse, e, [700, 700, 700], "sparse_nn"),
        place(Sparse, e, [600, 600, 600], "sparse_nn"), place(Sparse, e, [1300, 1300], "sparse_nn"), place(Sparse, e, [1400, 1400, 1400], "sparse_nn"), place(Sparse, e, [2500], "sparse_nn"),
        place(Chain, a, [125, 125, 125, 125], "cost_aware", rate=2.0), place(Chain, a, [180, 180, 60], "cost_aware", rate=200.0),
        place(Chain, a, [125, 125, 125, 125], "aot_based", numbers=by_hand, devices={"0": [0], "1": [1, 2]}),
        place(Chain, a, [200, 200, 300, 250, 220], "size_based", saturate=True), place(Chain, a, [300, 350, 400, 340], "size_based", saturate=True),
    ]


def basic(x):
    a = x.clone()
    return a.add_(1)


def with_view(x):
    a = x.clone()
    a_view = a.view(-1)
    b = a + 1
    c = b + 1
    return a_view + c.view(-1)


def different_metadata(x):
    a = x.clone()
    b = a + 1
    return torch.ge(b, a)


def overlapping_memory(x):
    return torch.ones(1).expand(4, 4).add(1)


def scatter_op(a):
    b = a.clone()
    c = b[0]
    d = c[0]
    d.add_(1)
    return b


def scatter_twice(a):
    b = a.clone()
    c = b[:, 1]
    c.copy_(torch.ones(2))
    c.copy_(torch.zeros(2))
    return b


def scatter_other_view(a):
    """The same part of the base by another view."""
    b = a.clone()
    c = b[1, :]
    d = b.narrow(0, 1, 1)
    e = c.add(1)
    return torch.select_scatter(b, e, 0, 1) + d.sum()


def scatter_select(a_):
    a = a_ * 2
    b = a[:, 1]
    c = a[1]
    b_updated = b.add(1)
    return torch.select_scatter(a, b_updated, 1, 1)


def scatter_wrong(a_):
    a = a_ * 2
    b = a[:, 1]
    b_updated = b.add(1)
    return torch.select_scatter(a, b_updated, 0, 1)


def scatter_after_use(a_):
    a = a_ * 2
    b = a[:, 1]
    b_updated = b.add(1)
    c = torch.select_scatter(a, b_updated, 1, 1)
    return c + a


def out_node_updated(x):
    y = torch.zeros(2, 2)
    z = y[0]
    z.add_(1)
    return y


def index_mutation(x):
    y = torch.zeros(4)
    y[x] = 1
    return y


def slices(x):
    a = x.clone()
    b = torch.ops.aten.slice.Tensor(a, 0, 0, 2)
    c = torch.mul(b, 3)
    d = torch.ops.aten.slice_scatter.default(a, c, 0, 0, 2)
    return torch.relu(d)


def splits(x):
    a = x.clone()
    b, c = a.split(2)
    d = b + 1
    return d, c


def same_operand(x):
    a = x.clone()
    return torch.mul(a, a)


def reinplaced():
    out = []
    float44, long4 = torch.ones(4, 4), torch.tensor([1, 2])
    for f, arg in ((basic, float44), (with_view, float44), (different_metadata, float44), (overlapping_memory, float44), (scatter_op, float44),
                   (scatter_twice, torch.ones(2, 2)), (scatter_other_view, torch.ones(2, 2)), (scatter_select, float44), (scatter_wrong, float44),
                   (scatter_after_use, float44), (out_node_updated, float44), (index_mutation, long4), (slices, float44), (splits, float44), (same_operand, float44)):
        gm = make_fx(torch.func.functionalize(f))(arg.clone())
        made = {"name": f.__name__, "code": gm.code, "shape": list(arg.shape), "dtype": str(arg.dtype),
                "constants": {k: [list(v.shape), v.flatten().tolist()] for k, v in gm.named_buffers()}}
        made["after"] = reinplace(gm, arg.clone()).code
        out.append(made)
    return out


# What is partitioned: additions are supported, and permute, which computes nothing.
PARTITIONED = {
    "forward1": """add = a + b
linear = self.linear(add)
add_1 = linear + c
add_2 = add_1 + b
relu = add_2.relu()
add_3 = relu + linear
add_4 = add_3 + add_3
add_5 = add_2 + add_4
return add_5, add_1""",
    "forward2": "add = a + b\nadd_1 = add + b\nrelu_1 = add_1.relu()\nadd_3 = add_1 + relu_1\nadd_4 = add_1 + add_3\nreturn add_4, add_1",
    "forward3": "add = a + b\nadd_1 = a + c\nadd_2 = b + c\nreturn add, add_1, add_2",
    "forward4": "add = a + b\nadd_1 = a + c\nadd_2 = b + c\nreturn torch.where(add > 0, add_1, add_2)",
    "forward5": "add = a + 1\nrelu = add.relu()\nadd_1 = add + 2\nreturn relu, add_1",
    "forward6": "add = a + 1\nrelu = add.relu()\nrelu_1 = add.relu()\nreturn relu, relu_1",
    "forward7": "add = a + 1\nadd_1 = add + 2\nadd_2 = add + 1\nadd_3 = add_2 + 1\nreturn add_3, add_1",
    "forward8": "add = a + 1\nadd_1 = add + 2\nadd_2 = add + 1\nadd_3 = add_2 + add_1\nreturn add_3",
    "forward9": "add = a + 1\nadd_1 = add + 1\nadd_2 = add + 1\nadd_3 = add + 1\nreturn torch.stack([add_1, add_2, add_3])",
    "forward10": "add = a + 1\nadd_1 = add + 1\nadd_2 = add + 1\nadd_3 = add + add_2\nreturn torch.stack([add_1, add_2, add_3])",
    "forward11": "add = a + 1\nadd_1 = add.relu()\nadd_2 = add + add_1\nadd_3 = add.relu()\nreturn torch.stack([add_1, add_2, add_3])",
    "forward12": "b0 = a + 1.0\nc0 = a + 1.5\nx0 = b0.relu()\nx1 = c0.relu()\nb1 = b0 + x1\nc2 = x0 + c0\nreturn b1, c2",
    "forward13": "a0, a1, a2, a3 = a.split(1, 0)\nb1 = a0 + b\nc1 = a1 + c\nreturn b1 + c1",
    "forward14": "a0, a1 = torch.ops.aten.std_mean(a)\nout = a0 + 1.0\nreturn out",
    "forward15": "a0 = torch.ops.aten.view(a, [2, 2])\na1 = torch.ops.aten.permute(a0, [1, 0])\na2 = a1 + 1.0\na3 = torch.ops.aten.permute(a2, [1, 0])\na4 = a3 + 1.0\na5 = torch.ops.aten.permute(a4, [1, 0])\nreturn torch.ops.aten.permute(a5, [1, 0])",
    "forward16": "a0 = a - 1.0\na1 = torch.ops.aten.view(a0, [2, 2])\na2 = torch.ops.aten.permute(a1, [1, 0])\na3 = a2 + 1.0\na4 = torch.ops.aten.permute(a3, [1, 0])\na5 = a4 + 1.0\na6 = torch.ops.aten.permute(a5, [1, 0])\na7 = torch.ops.aten.permute(a6, [1, 0])\nreturn a7 - 1.0",
    "forward17": "a0, a1, a2, a3, a4, a5, a6 = a + b, a + c, b + c, a + a, b + b, c + c, b * c\nreturn [a0 + a1, a2, a3, a4, a5, a6]",
    "forward18": "a0, a1 = torch.ops.aten.var_mean(a)\nreturn a0",
}


class Lin(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        scope = {"torch": torch}
        exec("def forward(self, a, b, c):\n    " + body.replace("\n", "\n    "), scope)
        self.body = scope["forward"]

    def forward(self, a, b, c):
        return self.body(self, a, b, c)


class Additions(OperatorSupportBase):
    def is_node_supported(self, submodules, node):
        return node.op == "call_function" and node.target in {operator.add, operator.getitem, torch.ops.aten.view, torch.ops.aten.permute,
                                                              torch.ops.aten.std_mean, torch.ops.aten.var_mean}


def partitioned():
    out = []
    for name, body in PARTITIONED.items():
        for options in ({}, {"allows_single_node_partition": True}, {"non_compute_ops": ["torch.ops.aten.view", "_operator.getitem", "torch.ops.aten.permute"]}):
            gm = fx.symbolic_trace(Lin(body))
            p = CapabilityBasedPartitioner(gm, Additions(), **options)
            parts = p.propose_partitions()
            made = {"name": name, "code": gm.code, "options": options}
            made["partitions"] = [sorted(n.name for n in part.nodes) for part in parts]
            if "non_compute_ops" in options:
                p.remove_bookend_non_compute_ops(parts)
                made["trimmed"] = [sorted(n.name for n in part.nodes) for part in parts]
            out.append(made)
    return out


SECTIONS = [normalize_function_cases, normalize_args, accelerator_splits, split_simple, node_sizes, param_fetch_attrs, source_partitions, placements, reinplaced, partitioned]
if __name__ == "__main__":
    json.dump({f.__name__: f() for f in SECTIONS}, sys.stdout, indent=1, sort_keys=True)
    print()
