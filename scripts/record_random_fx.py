#!/usr/bin/env python3
"""Record what torch.fx says of random graphs, to compare package ir with it.

    python scripts/record_random_fx.py COUNT OUT [SEED]
    TORCHFX_RECORDINGS=OUT go test ./ir -run TestReplayRandom

The graphs make no sense as programs; they mix what the printing of names,
literals, annotations, globals and releases depends on.
"""

from __future__ import annotations

import math
import operator
import random
import sys
import typing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import record_fx as R
import torch
import torch.nn.functional as F
from record_fx import nn

WORDS = """x add add_1 relu len torch sum program_add math_sqrt _operator_abs a_01 inf input X éa getattr pytree wrap
typing_List int _ self_1 y_2_1""".split()

FUNCTIONS = [
    *(torch.add, torch.relu, F.relu, F.gelu, F.max_pool2d, torch._assert, torch.device, torch.Tensor.add, torch.Tensor.norm),
    *(operator.add, operator.getitem, operator.neg, operator.abs, operator.iadd, operator.setitem, operator.contains),
    *(operator.pow, operator.matmul, operator.invert, getattr, len, int, isinstance, math.sqrt),
    *(R.add, R.helper, R.Pair, torch.ops.aten.add.Tensor, torch.ops.aten.add),
]
OPERANDS = {operator.neg: 1, operator.invert: 1, operator.setitem: 3}

NO_PYTHON = [torch.ops.aten.relu.default, R.Color.RED, R.Level.LOW]  # their repr
LITERALS = [
    *(0, -1, 10**25, 1.5, -0.0, 1e300, 1e-7, math.inf, math.nan, True, None, ..., range(2), range(1, 9, 3)),
    *("a", "it's", '\\n"', "\n\u2028é", 1 + 2j, 1j, complex(-0.0, 3), complex(math.nan, 1)),
    *(torch.float16, torch.device("cuda", 2), torch.strided, torch.channels_last),
    *NO_PYTHON,
]

TYPES = [
    *(None, None, None, None, torch.Tensor, int, "fwd", R.Pair, typing.Any, torch.dtype, nn.Linear, type(None)),
    *(typing.List[int], typing.Optional[torch.Tensor], typing.Tuple[int, ...], typing.Union[int, str], typing.Iterable[int]),
    *(dict[str, int], int | None, typing.Dict[str, typing.Tuple[torch.Tensor, ...]]),
]


def argument(r: random.Random, nodes: list, depth: int = 0, plain: bool = False):
    """A node, a literal, or a container of these. Inside dicts and namedtuples,
    which print by repr, literals are plain: others give no Python there."""
    k, kind = r.random(), r.randrange(5)
    if nodes and k < 0.5:
        return r.choice(nodes)
    if k < 0.8 or depth > 2:
        return r.choice(LITERALS[: -len(NO_PYTHON)] if plain else LITERALS)
    plain = plain or kind in (1, 3)
    items = [argument(r, nodes, depth + 1, plain) for _ in range(r.randrange(4))]
    match kind:
        case 0:
            return tuple(items)
        case 1:
            return dict(zip("abcd", items))
        case 2:
            return slice(argument(r, nodes, 3, plain), argument(r, nodes, 3, plain), None)
        case 3:
            return R.Pair(argument(r, nodes, depth + 1, plain), argument(r, nodes, depth + 1, plain))
    return items


def step(r: random.Random, g, nodes: list):
    """One more node, or None."""
    kind = r.randrange(10)
    type_expr = r.choice(TYPES) if r.random() < 0.3 else None
    name = r.choice(WORDS) if r.random() < 0.3 else None
    if kind < 6:
        f = r.choice(FUNCTIONS)
        args = tuple(argument(r, nodes) for _ in range(OPERANDS.get(f, 2)))
        if f is getattr:
            args = (args[0], r.choice(["shape", "not ok", "T"]))
        kwargs = {}
        if getattr(f, "__module__", "") != "_operator":
            kwargs = {k: argument(r, nodes) for k in r.sample(["dim", "k", "out"], r.randrange(2))}
        n = g.create_node("call_function", f, args, kwargs, name, type_expr)
        if f in (R.helper, R.add, len) and r.random() < 0.4:
            n.meta["is_wrapped"] = True
        return n
    if kind == 6:
        method = r.choice(["sum", "__call__", "a.b", "view"])
        return g.create_node("call_method", method, (argument(r, nodes, 3), argument(r, nodes)), {}, name, type_expr)
    if kind == 7:
        path = r.choice(["layers.0", "lin", "layers.2"])
        return g.create_node("call_module", path, (argument(r, nodes),), {}, name, type_expr)
    if kind == 8:
        return g.create_node("get_attr", r.choice(["w", "layers.1.weight", "lin.bias"]), (), {}, name, type_expr)
    source = [n for n in nodes if n.op != "placeholder"]
    return g.node_copy(r.choice(source)) if source else None


def graph_module(seed: int):
    r = random.Random(seed)
    root = nn.Module()
    root.layers = nn.ModuleList([nn.Linear(1, 1) for _ in range(3)])
    root.w = nn.Parameter(torch.ones(1))
    root.lin = nn.Linear(1, 1)

    def make(g):
        nodes = []
        for i in range(r.randrange(4)):
            default = {"default_value": r.choice(LITERALS)} if r.random() < 0.3 else {}
            target = ("*" if i == 2 else "") + r.choice(WORDS) + str(i)
            nodes.append(g.placeholder(target, type_expr=r.choice(TYPES), **default))
        for i in range(r.randrange(1, 25)):
            n = step(r, g, nodes)
            if n is None:
                continue
            if r.random() < 0.2:
                n.meta["val"] = torch.empty(r.choice([(), (2,), (2, 3)]), dtype=r.choice([torch.float16, torch.bool]))
            if r.random() < 0.2:
                n.meta["stack_trace"] = f'File "f.py", line {i // 3}, in forward\n    code{i // 3}'
            nodes.append(n)
            renamed = r.choice(nodes)
            if r.random() < 0.1 and renamed.op != "placeholder":
                renamed._rename(r.choice(WORDS))
        for n in reversed(nodes):
            if not n.users and r.random() < 0.2:
                g.erase_node(n)
        if r.random() < 0.95:
            g.output(argument(r, list(g.nodes)), type_expr=r.choice(TYPES))
        return root

    return R.built(make)


def main() -> None:
    count, out = int(sys.argv[1]), Path(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    out.mkdir(parents=True, exist_ok=True)
    for s in range(seed, seed + count):
        (out / f"{s}.json").write_text(R.dump(R.record(graph_module(s))) + "\n", encoding="utf-8")
    print(f"{count} graphs in {out}, seeds {seed} to {seed + count - 1}")


if __name__ == "__main__":
    main()
