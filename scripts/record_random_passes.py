#!/usr/bin/env python3
"""Writes passes/testdata/random.json: what passes of torch.fx make of random graphs, one line a graph.

    third_party/reference/bin/python scripts/record_random_passes.py [GRAPHS [SEED]] > passes/testdata/random.json

The graphs have functions, methods, several results and parameters. What a pass chose at random, parts, tags,
moves, stands with what it made or the text of its error.
"""
import json
import operator
import random
import sys
import warnings

warnings.simplefilter("ignore")
import torch  # noqa: E402
import torch.fx as fx  # noqa: E402
import torch.nn as nn  # noqa: E402
from torch.fx.passes.canonicalize import _canonical_node_key, canonicalize_graph  # noqa: E402
from torch.fx.passes.dialect.common.cse_pass import CSEPass  # noqa: E402
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner  # noqa: E402
from torch.fx.passes.operator_support import create_op_support  # noqa: E402
from torch.fx.passes.split_module import split_module  # noqa: E402
from torch.fx.passes.split_utils import split_by_tags  # noqa: E402
from torch.fx.passes.tools_common import legalize_graph, stable_topological_sort  # noqa: E402

if not torch.__version__.startswith("2.15.0"):
    sys.exit("expected torch 2.15.0, got " + torch.__version__)

SUPPORTED = ("operator.add", "operator.mul", "operator.getitem", "torch.relu", "torch.functional.split")


def module(pick):
    """A random graph over two arguments and two parameters."""
    root = nn.Module()
    root.v, root.w = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    g = fx.Graph()
    values, lists = [g.placeholder("x"), g.placeholder("y", default_value=1) if pick.random() < 0.3 else g.placeholder("y")], []
    for _ in range(pick.randint(1, 10)):
        kind = pick.random()
        a, b = pick.choice(values), pick.choice(values)
        if kind < 0.3:
            values.append(g.call_function(pick.choice([operator.add, operator.mul]), (a, b)))
        elif kind < 0.5:
            values.append(g.call_function(pick.choice([torch.relu, torch.neg, torch.sin]), (a,)))
        elif kind < 0.6:
            values.append(g.call_method(pick.choice(["cos", "abs"]), (a,)))
        elif kind < 0.7:
            values.append(g.call_function(operator.add, (a, pick.choice([1, 1.0, 2]))))
        elif kind < 0.8:
            values.append(g.get_attr(pick.choice(["v", "w"])))
        elif kind < 0.9 or not lists:
            lists.append(g.call_function(torch.split, (a, 1)))
        else:
            values.append(g.call_function(operator.getitem, (pick.choice(lists), pick.randint(0, 1))))
    last = pick.sample(values, pick.randint(1, min(3, len(values))))
    g.output(last[0] if len(last) == 1 else tuple(last))
    return fx.GraphModule(root, g)


def calls(gm):
    return [n for n in gm.graph.nodes if n.op in ("call_function", "call_method")]


def codes(gm):
    return {path: m.code for path, m in gm.named_modules() if isinstance(m, fx.GraphModule)}


def tried(f):
    try:
        return f()
    except Exception as e:
        return {"error": str(e).split("\n")[0]}


def made(copy, pick):
    """What the passes make of copies of one module."""
    result = {"code": copy().code, "graph": str(copy().graph)}

    parts = {n.name: pick.randint(0, 2) for n in calls(copy())}
    options = {"keep_original_order": pick.random() < 0.5, "keep_original_node_name": pick.random() < 0.3,
               "keep_original_input_name": pick.random() < 0.7, "tuple_return": pick.random() < 0.3}
    gm = copy()
    result["split"] = {"parts": parts, "options": options, "made": tried(lambda: codes(split_module(gm, gm, lambda n: parts[n.name], **options)))}

    order, tags = ["a", "b", "c"], {}
    gm = copy()
    for n in calls(gm):  # mostly in an order that works
        least = max([order.index(tags[i.name]) for i in n.all_input_nodes if i.name in tags], default=0)
        tags[n.name] = order[pick.randint(least if pick.random() < 0.9 else 0, 2)]
        n.tag = tags[n.name]
    present = [t for t in order if t in tags.values()]
    result["tags"] = {"tags": tags, "order": present, "made": tried(lambda: codes(split_by_tags(gm, present)))}

    gm = copy()
    options = {"allows_single_node_partition": pick.random() < 0.5, "skip_horizontal_fusion": pick.random() < 0.3}
    support = create_op_support(lambda _, n: n.op == "call_function" and fx.node._get_qualified_name(n.target).replace("_operator", "operator") in SUPPORTED)
    p = CapabilityBasedPartitioner(gm, support, **options)
    found = p.propose_partitions()
    names = [[n.name for n in q.nodes] for q in found]

    def fuse():
        out = p.fuse_partitions(found)
        out.recompile()
        return codes(out)

    result["partition"] = {"options": options, "partitions": names, "made": tried(fuse)}

    moves = []
    nodes = [n.name for n in calls(copy())]
    for _ in range(pick.randint(0, 3)):
        moves.append(pick.sample(nodes, 2) if len(nodes) > 1 else [])
    moves = [m for m in moves if m]

    def moved():
        gm = copy()
        n = {n.name: n for n in gm.graph.nodes}
        for to, what in moves:
            n[to].append(n[what])
        return gm

    result["sort"] = {"moves": moves, "stable": [n.name for n in stable_topological_sort(moved()).graph.nodes],
                      "legalized": [n.name for n in legalize_graph(moved()).graph.nodes]}

    result["cse"] = CSEPass()(copy()).graph_module.code
    gm = copy()
    group = pick.random() < 0.5

    def key(n, placed):
        return (0, len(placed)) if n.op == "placeholder" else _canonical_node_key(n, placed)

    renamed = canonicalize_graph(gm.graph, key, lambda n: True, group_getitems=group)
    gm.recompile()
    result["canonical"] = {"group": group, "renamed": renamed, "code": gm.code}
    return result


def main() -> None:
    count, seed = int(sys.argv[1]) if len(sys.argv) > 1 else 60, int(sys.argv[2]) if len(sys.argv) > 2 else 0
    rows = []
    for i in range(count):
        rows.append(json.dumps(made(lambda i=i: module(random.Random(f"{seed} {i}")), random.Random(f"{seed} {i} choices")), sort_keys=True))
    print("[\n" + ",\n".join(rows) + "\n]")


if __name__ == "__main__":
    main()
