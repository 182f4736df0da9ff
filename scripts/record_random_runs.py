#!/usr/bin/env python3
"""Writes passes/testdata/random_runs.json: what passes of torch.fx that run a graph make of random graphs, one line a graph.

    third_party/reference/bin/python scripts/record_random_runs.py [GRAPHS [SEED]] > passes/testdata/random_runs.json

Shapes, constants, cuts between an accelerator and the host, drawings, writes in place, batch norms and orders of passes. Beside
record_random_passes.py, whose passes look at graphs alone.
"""
import contextlib
import io
import json
import operator
import random
import sys
import warnings


import pydot_stand_in  # noqa: F401

warnings.simplefilter("ignore")
import torch  # noqa: E402
import torch.fx as fx  # noqa: E402
import torch.nn as nn  # noqa: E402
from torch.fx.experimental.const_fold import split_const_subgraphs  # noqa: E402
from torch.fx.experimental.optimization import fuse  # noqa: E402
from torch.fx.passes import splitter_base  # noqa: E402
from torch.fx.passes.graph_drawer import FxGraphDrawer  # noqa: E402
from torch.fx.passes.infra.pass_manager import PassManager, this_before_that_pass_constraint  # noqa: E402
from torch.fx.passes.operator_support import OperatorSupportBase  # noqa: E402
from torch.fx.passes.reinplace import reinplace  # noqa: E402
from torch.fx.passes.shape_prop import ShapeProp, TensorMetadata  # noqa: E402

if not torch.__version__.startswith("2.15.0"):
    sys.exit("expected torch 2.15.0, got " + torch.__version__)
aten = torch.ops.aten


def numbers(pick, *shape):
    """A tensor of small exact numbers."""
    n = torch.Size(shape).numel()
    return torch.tensor([pick.randint(-8, 8) / 4 for _ in range(n)]).reshape(shape)


def attributes(root):
    return {name: {"shape": list(t.shape), "values": t.flatten().tolist(), "trained": t.requires_grad} for name, t in root.state_dict(keep_vars=True).items()}


class Growing:
    """A random graph that is run while it grows, so that only what works is added."""

    def __init__(self, pick, root, inputs):
        self.pick, self.root, self.graph, self.values = pick, root, fx.Graph(), []
        self.inputs = inputs
        for name, v in inputs.items():
            self.values.append((self.graph.placeholder(name), v))

    def take(self, fits=lambda v: isinstance(v, torch.Tensor)):
        found = [p for p in self.values if fits(p[1])]
        return self.pick.choice(found[-3:] if self.pick.random() < 0.6 else found) if found else (None, None)

    def add(self, op, target, args, kwargs=None):
        env = dict(self.values)
        def plain(a):
            return fx.node.map_arg(a, lambda n: env[n])
        a, k = plain(tuple(args)), plain(kwargs or {})
        try:
            if op == "call_function":
                v = target(*a, **k)
            elif op == "call_method":
                v = getattr(a[0], target)(*a[1:], **k)
            elif op == "call_module":
                v = self.root.get_submodule(target)(*a, **k)
            else:
                v = operator.attrgetter(target)(self.root)
        except Exception:
            return
        self.values.append((self.graph.create_node(op, target, tuple(args), kwargs or {}), v))

    def done(self, most=3):
        pool = [n for n, v in self.values if isinstance(v, torch.Tensor)]
        last = self.pick.sample(pool[-4:], self.pick.randint(1, min(most, len(pool))))
        self.graph.output(last[0] if len(last) == 1 else tuple(last))
        return fx.GraphModule(self.root, self.graph)


def module(pick):
    """A graph of functions, methods, a layer, sizes and several results."""
    root = nn.Module()
    root.v = nn.Parameter(numbers(pick, 3), requires_grad=pick.random() < 0.7)
    root.w = nn.Parameter(numbers(pick, 2, 3))
    root.register_buffer("u", numbers(pick, 3, 2))
    root.sub = nn.Module()
    root.sub.lin = nn.Linear(3, 3)
    with torch.no_grad():
        root.sub.lin.weight.copy_(numbers(pick, 3, 3))
        root.sub.lin.bias.copy_(numbers(pick, 3))
    root.sub.lin.requires_grad_(pick.random() < 0.7)
    g = Growing(pick, root, {"x": numbers(pick, 2, 3), "y": numbers(pick, 1, 2, 2, 3)})
    whole = lambda v: isinstance(v, int) and not isinstance(v, bool)  # noqa: E731
    for _ in range(pick.randint(2, 14)):
        kind, a, b = pick.randint(0, 14), g.take()[0], g.take()[0]
        if kind < 3:
            g.add("get_attr", pick.choice(["v", "w", "u", "sub.lin.weight"]), ())
        elif kind < 5:
            g.add("call_function", pick.choice([operator.add, operator.mul, torch.sub, torch.maximum]), (a, b))
        elif kind < 6:
            g.add("call_function", pick.choice([torch.relu, torch.neg, torch.abs]), (a,))
        elif kind < 7:
            g.add("call_method", *pick.choice([("t", (a,)), ("contiguous", (a,)), ("detach", (a,)), ("unsqueeze", (a, 0)), ("double", (a,)), ("permute", (a, 0, 3, 1, 2)), ("view", (a, -1))]))
        elif kind < 8:
            g.add("call_module", "sub.lin", (a,))
        elif kind < 9:
            g.add("call_function", *pick.choice([(torch.max, (a, -1)), (torch.chunk, (a, 2)), (torch.gt, (a, 0)), (getattr, (a, "shape"))]))
        elif kind < 10:
            g.add("call_function", operator.getitem, (g.take(lambda v: isinstance(v, tuple))[0], pick.randint(0, 1)))
        elif kind < 11:
            g.add("call_method", *pick.choice([("size", (a, 0)), ("dim", (a,)), ("numel", (a,))]))
        elif kind < 12:
            g.add("call_function", operator.add, (g.take(whole)[0], pick.choice([1, g.take(whole)[0]])))
        elif kind < 13:
            g.add("call_function", operator.mul, (a, g.take(whole)[0]))
        elif kind < 14:
            g.add("call_function", torch.cat, ([a, b], 0))
        else:
            g.add("call_function", torch.ones_like, (a,), {"dtype": torch.float32})
    return g.done(), g.inputs


def shown(v):
    if isinstance(v, TensorMetadata):
        return [str(v.dtype), list(v.shape), v.requires_grad, list(v.stride), v.memory_format and str(v.memory_format)]
    return [shown(x) for x in v] if isinstance(v, (tuple, list)) else v


def codes(gm):
    return {path: m.code for path, m in gm.named_modules() if isinstance(m, fx.GraphModule)}


def tried(f):
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return f()
    except Exception as e:
        return {"error": type(e).__name__ + ": " + str(e).split("\n")[0]}


class ByName(OperatorSupportBase):
    def __init__(self, names):
        self.names = names

    def is_node_supported(self, modules, n):
        return n.name in self.names


def calls(gm):
    return [n.name for n in gm.graph.nodes if n.op.startswith("call_")]


def folded(gm, skip):
    f = split_const_subgraphs(gm, lambda n: n.name in skip)
    made = {"code": f.code, "const": None, "attrs": []}
    if f.const_subgraph_module is not None:
        made["const"] = f.const_subgraph_module.code
        f.run_folding()
        v = getattr(f, f.fx_const_folded_attrs_name)
        made["attrs"] = [[list(t.shape), t.double().flatten().tolist(), t.requires_grad] for t in ([v] if isinstance(v, torch.Tensor) else v)]
    return made


def running(make, pick):
    """What passes make of copies of one module."""
    gm, inputs = make()
    result = {"code": gm.code, "attributes": attributes(gm)}
    result["inputs"] = [{"shape": list(t.shape), "values": t.flatten().tolist()} for t in inputs.values()]
    ShapeProp(gm).propagate(*inputs.values())
    result["shapes"] = [[n.name, shown(n.meta.get("tensor_meta")), n.meta["type"].__module__ + "." + n.meta["type"].__qualname__] for n in gm.graph.nodes if n.op != "output"]
    dot = FxGraphDrawer(gm, "m", ignore_getattr=pick.random() < 0.3).get_dot_graph()
    result["dot"] = {"nodes": [[n.args[0], n.attrs["label"], n.attrs["fillcolor"].strip('"')] for n in dot.nodes], "edges": [list(e.args) for e in dot.edges]}
    gm, _ = make()
    skip = [n for n in calls(gm) if pick.random() < 0.15]
    result["fold"] = {"skip": skip, "made": tried(lambda: folded(gm, skip))}
    gm, inputs = make()
    names = [n for n in calls(gm) if pick.random() < 0.6]
    options = {"min_acc_module_size": pick.choice([1, 1, 2]), "allow_non_tensor": pick.random() < 0.4, "skip_fusion": pick.random() < 0.4,
               "move_non_tensor_nodes_on_boundary": pick.random() < 0.4}
    result["cut"] = {"names": names, "options": options,
                     "made": tried(lambda: codes(splitter_base._SplitterBase(gm, list(inputs.values()), ByName(names), splitter_base._SplitterSettingBase(**options))()))}
    return result


def functional(pick):
    """A graph of operators without effects."""
    g = Growing(pick, nn.Module(), {"x": torch.ones(4, 4), "z": torch.ones(4)})
    for _ in range(pick.randint(3, 12)):
        kind, a, b, i = pick.randint(0, 9), g.take()[0], g.take()[0], pick.randint(0, 1)
        if kind < 2:
            g.add("call_function", pick.choice([aten.add.Tensor, aten.mul.Tensor]), (a, pick.choice([b, 1])))
        elif kind < 3:
            g.add("call_function", pick.choice([aten.clone.default, aten.neg.default, aten.relu.default, aten.ge.Scalar]), (a,) if pick.random() < 0.9 else (a, 0))
        elif kind < 5:
            g.add("call_function", aten.select.int, (a, 0, i))
        elif kind < 6:
            g.add("call_function", aten.slice.Tensor, (a, 0, i, 3))
        elif kind < 7:
            g.add("call_function", aten.view.default, (a, [-1]))
        elif kind < 8:
            g.add("call_function", aten.select_scatter.default, (a, b, 0, i))
        elif kind < 9:
            g.add("call_function", aten.slice_scatter.default, (a, b, 0, i, 3))
        else:
            g.add("call_function", aten.expand.default, (a, [4, 4]))
    return g.done(2), g.inputs


def normed(pick):
    """Layers with batch norms behind them, two thirds of which can go."""
    layers, d = [], pick.choice([1, 2])
    for _ in range(pick.randint(1, 3)):
        c = pick.choice([2, 3])
        last = layers[-1].num_features if layers else 2
        conv = getattr(nn, f"Conv{d}d")(last, c, 1, bias=pick.random() < 0.5)
        norm = getattr(nn, f"BatchNorm{d}d")(c, affine=pick.random() < 0.8, track_running_stats=pick.random() < 0.9)
        for t in list(conv.parameters()) + [p for p in norm.parameters()]:
            t.data = numbers(pick, *t.shape)
            t.requires_grad_(pick.random() < 0.8)
        if norm.track_running_stats:
            norm.running_mean, norm.running_var = numbers(pick, c), numbers(pick, c).abs() + 0.3
        layers += [conv, norm]
    m = nn.Sequential(*layers).eval()
    layers = [{"bias": l.bias is not None} if i % 2 == 0 else {"affine": l.affine, "stats": l.track_running_stats} for i, l in enumerate(layers)]
    made = {"dims": d, "layers": layers, "attributes": attributes(m)}
    f = fuse(m)
    made["code"], made["fused"] = f.code, {k: v for k, v in attributes(f).items() if "num_batches" not in k}
    return made


def ordered(pick):
    """Passes with constraints, in the order that satisfies these."""
    n = pick.randint(1, 6)
    passes = [lambda gm: None for _ in range(n)]
    for i, p in enumerate(passes):
        p.__name__ = str(i)
    pairs = [[pick.randrange(n), pick.randrange(n)] for _ in range(pick.randint(0, 6))]
    pm = PassManager(passes=passes, constraints=[this_before_that_pass_constraint(passes[a], passes[b]) for a, b in pairs if a != b])
    made = tried(lambda: (pm.solve_constraints(), [int(p.__name__) for p in pm.passes])[1])
    if isinstance(made, dict):
        made["error"] = made["error"].split(" within")[0]  # behind it stand addresses
    return {"passes": n, "before": [p for p in pairs if p[0] != p[1]], "order": made}


def main() -> None:
    count, seed = int(sys.argv[1]) if len(sys.argv) > 1 else 40, int(sys.argv[2]) if len(sys.argv) > 2 else 0
    torch.set_num_threads(1)
    rows = []
    for i in range(count):
        made = running(lambda i=i: module(random.Random(f"{seed} {i}")), random.Random(f"{seed} {i} choices"))
        gm, inputs = functional(random.Random(f"{seed} {i} functional"))
        made["functional"] = {"code": gm.code, "written": tried(lambda: reinplace(gm, *[t.clone() for t in inputs.values()]).code)}
        made["normed"] = normed(random.Random(f"{seed} {i} normed"))
        made["ordered"] = ordered(random.Random(f"{seed} {i} ordered"))
        rows.append(json.dumps(made, sort_keys=True))
    print("[\n" + ",\n".join(rows) + "\n]")


if __name__ == "__main__":
    main()
