"""Records what torch.fx's matcher and rewriter do with random graphs and patterns.

python differential.py > differential.json, under torch 2.15.0. Half of the patterns are cut
out of the graph they are looked for in, so that most of these match. Cases in
which torch.fx fails, or leaves a graph in a wrong order, say so. Matches that
would form a cycle are left out here where torch.fx forgets to: it drops the result
of that check when matches may overlap.
"""

import json
import operator
import random
import sys

import torch
import torch.fx as fx
from torch.fx.passes.utils.fuser_utils import validate_partition
from torch.fx.passes.utils.matcher_utils import SubgraphMatcher
from torch.fx.subgraph_rewriter import replace_pattern_with_filters

assert torch.__version__.startswith("2.15.0"), torch.__version__

UNARY = (torch.relu, torch.neg, torch.sin)
BINARY = (torch.add, operator.mul, torch.sub)
LITERALS = (0, 1, 1.0, True, 2)


def step(r, g, values):
    kind = r.random()
    pick = lambda: r.choice(values[-4:] if r.random() < 0.7 else values)  # noqa: E731
    if kind < 0.45:
        return g.call_function(r.choice(UNARY), (pick(),))
    if kind < 0.85:
        other = r.choice(LITERALS) if r.random() < 0.3 else pick()
        return g.call_function(r.choice(BINARY), (pick(), other))
    items = [pick() for _ in range(r.randint(1, 3))]
    return g.call_function(torch.cat, (items if r.random() < 0.5 else tuple(items),), {"dim": r.choice((0, 1))})


def graph(r, inputs, steps, outputs):
    g = fx.Graph()
    values = [g.placeholder(f"x{i}") for i in range(inputs)]
    for _ in range(steps):
        values.append(step(r, g, values))
    loose = [v for v in values[inputs:] if not v.users] or values[-1:]
    out = loose if outputs is None else r.sample(values[inputs:], min(outputs, steps))
    g.output(out[0] if len(out) == 1 else tuple(out))
    g.eliminate_dead_code()
    return g


def cut(r, g):
    """A pattern that is a piece of g: some nodes, what they read from outside as placeholders."""
    body = [n for n in g.nodes if n.op == "call_function"]
    start = r.choice(body)
    chosen = {start}
    for _ in range(r.randint(0, 3)):
        near = [m for n in chosen for m in (*n.all_input_nodes, *n.users) if m.op == "call_function" and m not in chosen]
        if near:
            chosen.add(r.choice(near))
    p, copied = fx.Graph(), {}
    ordered = [n for n in g.nodes if n in chosen]
    for n in ordered:
        for m in n.all_input_nodes:
            if m not in chosen and m not in copied:
                copied[m] = p.placeholder(f"p{len(copied)}")
    for n in ordered:
        copied[n] = p.node_copy(n, lambda m: copied[m])
    returned = [n for n in ordered if any(u not in chosen for u in n.users)]
    out = [copied[n] for n in returned]
    p.output(out[0] if len(out) == 1 else tuple(out))
    return p


def replacement(r, p):
    inputs = [n for n in p.nodes if n.op == "placeholder"]
    results = len(p.output_node().all_input_nodes)
    g = fx.Graph()
    values = [g.placeholder(n.name) for n in inputs]
    made = []
    for _ in range(r.randint(0 if values else 1, 3)):
        made.append(step(r, g, values + made)) if values or made else None
    choices = values + made
    out = [r.choice(choices[-3:]) for _ in range(results)]
    g.output(out[0] if results == 1 else tuple(out))
    return g


def code(g):
    return fx.GraphModule(torch.nn.Module(), g).code


def text(v):
    return v.name if isinstance(v, fx.Node) else repr(v)


def record(seed):
    r = random.Random(seed)
    g = graph(r, r.randint(1, 3), r.randint(3, 14), None)
    if r.random() < 0.6:
        p = cut(r, g)
    else:
        p = graph(r, r.randint(1, 2), r.randint(1, 3), r.choice((None, 1, 2)))
        for n in list(p.nodes):
            if n.op == "placeholder" and not n.users:
                p.erase_node(n)
    options = {
        "match_output": r.random() < 0.1,
        "match_placeholder": r.random() < 0.1,
        "remove_overlapping_matches": r.random() < 0.7,
        "ignore_literals": r.random() < 0.2,
    }
    case = {"seed": seed, "graph": code(g), "pattern": code(p), **options}
    try:
        matches = SubgraphMatcher(p, **options).match(g)
        matches = [m for m in matches if validate_partition([v for k, v in m.nodes_map.items() if k.op not in ("placeholder", "output")])]
        case["matches"] = [[[k.name, text(v)] for k, v in m.nodes_map.items()] for m in matches]
    except Exception as e:
        case["error"] = type(e).__name__
        return case
    with_ = replacement(r, p)
    case["replacement"] = code(with_)
    gm = fx.GraphModule(torch.nn.Module(), g)
    try:
        done = replace_pattern_with_filters(gm, p, with_, ignore_literals=options["ignore_literals"])
    except Exception as e:
        case["replace_error"] = type(e).__name__
        return case
    case["replaced"] = [[n.name for n in d.replacements] for d in done]
    try:
        gm.graph.lint()
        case["after"] = gm.code
    except Exception:
        case["disorder"] = True
    return case


cases = [record(seed) for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 150)]
print("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]")
