"""The Python side of scripts/benchir: torch.fx on the same graphs, one timed step for each line of input.

    echo "build chain 10000" | third_party/reference/bin/python scripts/bench_ir.py

Input: STEP GRAPH NODES. Output: one JSON object a line, {"seconds": s, "text": sha256 of what the step made}.
The collector runs before a step, outside its time, and is on during it, as it is for users.
"""

import copy
import gc
import hashlib
import json
import operator
import sys
import time

import torch
import torch.fx as fx

MASK = (1 << 64) - 1


def chain(n):
    g = fx.Graph()
    y, x = g.placeholder("y"), g.placeholder("x")
    for _ in range((n - 3) // 3):
        x = g.call_function(torch.add, (x, y))
        x = g.call_function(torch.relu, (x,))
        x = g.call_function(torch.neg, (x,))
    g.output(x)
    return g


def dag(n):
    """Values with several users, lists, literals and keyword arguments; some nodes are dead."""
    g = fx.Graph()
    values = [g.placeholder("x"), g.placeholder("w")]
    state = 1
    made = 3

    def pick():
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) & MASK
        back = (state >> 33) % 64
        return values[len(values) - 1 - back % len(values)]

    i = 0
    while made < n:
        kind = i % 8
        i += 1
        made += 1
        if kind == 0:
            v = g.call_function(torch.add, (pick(), values[1]), {"alpha": 2})
        elif kind == 1:
            v = g.call_function(torch.clamp, (pick(),), {"min": -1.0, "max": 1.5})
        elif kind == 2:
            v = g.call_function(operator.mul, (pick(), 0.5))
        elif kind == 3:
            v = g.call_function(torch.cat, ([pick(), pick(), pick()],), {"dim": 1})
        elif kind == 4:
            v = g.call_method("reshape", (pick(), [2, -1]))
        elif kind == 5 and made < n:
            made += 1
            v = g.call_function(torch.relu, (g.call_function(torch.add, (pick(), pick())),))
        elif kind == 6:
            g.call_function(torch.neg, (pick(),))
            continue
        else:
            v = g.call_function(torch.sum, (pick(), [0, 1]), {"keepdim": True})
        values.append(v)
    g.output((values[-1], {"last": values[-2]}))
    return g


def pattern(a, b):
    return torch.relu(torch.add(a, b))


def replacement(a, b):
    return torch.sin(torch.sub(a, b))


graphs = {}


def graph(kind, n):
    if (kind, n) not in graphs:
        graphs.clear()
        graphs[kind, n] = {"chain": chain, "dag": dag}[kind](n)
    return graphs[kind, n]


def prepare(step, kind, n):
    """What to time, and how to get the text of its result."""
    if step == "build":
        return lambda: {"chain": chain, "dag": dag}[kind](n), str
    g = graph(kind, n)
    if step == "copy":
        return lambda: copy.deepcopy(g), str
    if step == "lint":
        return g.lint, lambda _: ""
    if step == "print":
        return lambda: str(g), str
    if step == "code":
        return lambda: g.python_code("self"), lambda c: c.src
    if step == "dce":
        c = copy.deepcopy(g)
        return c.eliminate_dead_code, lambda _: str(c)
    if step == "replace":
        gm = fx.GraphModule(torch.nn.Module(), copy.deepcopy(g))
        # the text is made on both sides; compiling and running it is Python's alone
        gm.recompile = lambda: gm.graph.python_code("self")
        return lambda: fx.replace_pattern(gm, pattern, replacement), lambda _: str(gm.graph)
    raise ValueError(f"step: expected build, copy, lint, print, code, dce or replace, got {step!r}")


print(json.dumps({"torch": torch.__version__, "python": sys.version.split()[0]}), flush=True)
for line in sys.stdin:
    step, kind, n = line.split()
    run, text = prepare(step, kind, int(n))
    gc.collect()
    start = time.perf_counter()
    result = run()
    seconds = time.perf_counter() - start
    digest = hashlib.sha256(text(result).encode()).hexdigest()
    print(json.dumps({"seconds": seconds, "text": digest}), flush=True)
