#!/usr/bin/env python3
"""Record what functions of Graph.on_generate_code make of a graph's code, for the tests of package ir.

    python scripts/record_hooks.py > ir/testdata/hooks.json

Each entry is what torch.fx says after the steps of a program that ir/hooks_test.go has under the same name.
It needs torch 2.15.0.
"""

from __future__ import annotations

import copy
import json
import sys

import torch
import torch.fx as fx
from torch.fx.graph import CodeGen, _BoxedCodeGen

PINNED = "2.15.0"
found: dict[str, object] = {}


def module() -> fx.GraphModule:
    return fx.symbolic_trace(lambda x, y: torch.relu(x + y) * x.sum())


def code(g) -> str:
    return getattr(g, "graph", g).python_code("self").src


def above(line):
    """Put line above what the function before makes of the body."""
    return lambda current: lambda body: [line + "\n", *(current(body) if current else body)]


def given(line):
    """Put line above the body that the function before is given."""
    return lambda current: lambda body: (current or list)([line + "\n", *body])


def instead(line):
    """Forget the function before."""
    return lambda _: lambda body: [line + "\n", *body]


def hooked(*makers) -> fx.GraphModule:
    m = module()
    for make in makers:
        m.graph.on_generate_code(make)
    return m


def watch(g) -> list:
    seen = []

    def look(body):
        seen.append(list(body))
        return body

    g.on_generate_code(lambda _: look)
    return seen


def main() -> None:
    if torch.__version__.split("+")[0] != PINNED:
        sys.exit(f"torch: expected {PINNED}, got {torch.__version__}")
    found["above"] = code(hooked(above("a"), above("b")))
    found["given"] = code(hooked(above("a"), given("b")))
    found["instead"] = code(hooked(above("a"), instead("b")))
    found["nothing left"] = code(hooked(lambda _: lambda body: []))
    found["no function"] = code(hooked(above("a"), lambda _: None))

    m, log = module(), []
    with m.graph.on_generate_code(above("a")):
        with m.graph.on_generate_code(above("b")):
            log.append(code(m))
        log.append(code(m))
    found["scopes"] = [*log, code(m)]

    m, log = module(), []
    first, second = m.graph.on_generate_code(above("a")), m.graph.on_generate_code(above("b"))
    for scope in (first, second):
        with scope:
            pass
        log.append(code(m))
    found["scopes left in the wrong order"] = log

    m = module()
    seen = watch(m.graph)
    code(m)
    m.graph.python_code("self", verbose=True)
    m.print_readable(print_output=False)
    found["pieces"] = seen
    g = fx.Graph()
    seen = watch(g)
    found["empty"] = [code(g), seen]

    m = hooked(above("a"))
    m.graph.set_codegen(_BoxedCodeGen())
    m.graph.on_generate_code(above("b"))
    found["another code generator"] = code(m)
    m = module()
    scope = m.graph.on_generate_code(above("a"))
    m.graph.set_codegen(CodeGen())
    m.graph.on_generate_code(above("b"))
    with scope:
        pass
    found["scope of another code generator"] = code(m)

    m = hooked(above("a"))
    g = fx.Graph()
    g.output(g.graph_copy(m.graph, {}))
    found["copies"] = [code(copy.deepcopy(m)), code(copy.deepcopy(m.graph)), code(fx.GraphModule(m, m.graph)), code(g)]
    json.dump(found, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
