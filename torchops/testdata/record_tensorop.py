"""Records Python's operators and subscripts on tensors, for tensorop_test.go.

    python record_tensorop.py > tensorop.jsonl

A line is a function, its arguments and the text of its result, or the class of
its error. A tensor is {"t": [dtype, sizes, elements]}; after setitem and the
augmented assignments, the text is that of the first argument.
"""
import itertools
import json
import operator

import torch

assert torch.__version__.startswith("2.15.0"), torch.__version__
torch.manual_seed(0)


def encode(v):
    if isinstance(v, bool) or v is None or isinstance(v, str):
        return v
    if isinstance(v, int):
        return {"i": str(v)}
    if isinstance(v, float):
        return {"f": v.hex()}
    if isinstance(v, complex):
        return {"c": [v.real.hex(), v.imag.hex()]}
    if isinstance(v, torch.Tensor):
        return {"t": [str(v.dtype).removeprefix("torch."), list(v.shape), [str(x) if isinstance(x, complex) else x for x in v.reshape(-1).tolist()]]}
    if isinstance(v, slice):
        return {"slice": [encode(v.start), encode(v.stop), encode(v.step)]}
    if v is Ellipsis:
        return {"ellipsis": True}
    if isinstance(v, tuple):
        return {"tuple": [encode(x) for x in v]}
    if isinstance(v, list):
        return [encode(x) for x in v]
    raise TypeError(type(v))


def case(name, *args):
    module, function = name.split(".")
    if function in ("mod", "imod") and isinstance(args[0], str):
        return  # formats a text
    if function in ("iadd", "imul") and isinstance(args[0], list):
        return  # changes the list; values of a run are not changed
    line = {"fn": name, "args": [encode(a) for a in args]}
    args = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
    try:
        out = getattr({"operator": operator, "builtins": __builtins__, "math": __import__("math")}[module], function)(*args)
        line["text"] = str(args[0] if function == "setitem" else out)
    except Exception as e:
        line["error"], line["message"] = type(e).__name__, str(e)
    print(json.dumps(line, separators=(",", ":")))


f = torch.tensor([[1.5, -2.0, 0.25], [3.0, -0.5, 4.0]])
n = torch.tensor([[7, -7, 3], [2, -5, 1]])
i32 = torch.tensor([3, -2, 5], dtype=torch.int32)
u8 = torch.tensor([200, 3, 7], dtype=torch.uint8)
b = torch.tensor([True, False, True])
half = torch.tensor([1.5, 2.5, -3.0], dtype=torch.float16)
z = torch.tensor([1 + 2j, -1j, 3.0])
s = torch.tensor(2)
sf = torch.tensor(2.5, dtype=torch.float64)

binary = "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift eq ne lt le gt ge".split()
inplace = "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift".split()
operands = [f, n, i32, u8, b, half, z, s, sf, 2, -3, 2.5, True, 1j, None, "a", [1, 2]]
for name in binary + inplace:
    for x, y in itertools.product(operands, operands):
        if isinstance(x, torch.Tensor) or isinstance(y, torch.Tensor):
            case("operator." + name, x, y)
for name in "neg pos abs invert not_ truth index".split():
    for x in [f, n, u8, b, z, s, sf, torch.tensor(0), torch.tensor(True), torch.tensor([1])]:
        case("operator." + name, x)
for name in "ceil floor trunc sqrt isnan".split():
    for x in [f, s, sf, torch.tensor([2.5]), torch.tensor(-1.5)]:
        case("math." + name, x)
for name in "len sum max min float int bool abs round list tuple".split():
    for x in [f, s, sf, n, torch.tensor([2.5]), torch.tensor([1.0, 3.0, 2.0])]:
        case("builtins." + name, x)
case("builtins.max", s, torch.tensor(3)); case("builtins.min", s, 1); case("builtins.max", s, s + 0)
for x in [s, 7, -5, 2.0, 9, None, "a"]:
    case("operator.contains", n, x)

t = torch.arange(24).reshape(2, 3, 4)
mask = torch.tensor([[True, False, True], [False, True, False]])
ix = torch.tensor([1, 0])
S = slice
indices = [
    0, 1, -1, 2, -3, True, False, None, ..., S(None), S(0, 1), S(1, None), S(None, -1), S(None, None, 2), S(5, 9), S(None, None, -1), S(0, 2, 0),
    (), (0,), (0, 1), (0, 1, 2), (0, 1, 2, 3), (..., 0), (0, ...), (..., None), (None, 0), (S(None), 1), (S(None), S(1, 3), None, 2),
    (..., S(None, None, 2), 1), (0, True), (True, 0), (False, 0), (S(None), 7), (0, S(None), ...), (..., ...),
    ix, mask, (mask, 0), (mask, S(0, 2)), (mask, None), (mask, ix[:1]), (S(None), ix), (ix, S(None), ix), (ix, ix, ix), (0, ix), (ix, 0), (..., ix),
    (None, ix), (ix, None), torch.tensor(1), torch.tensor(True), torch.tensor(False), (torch.tensor(1), torch.tensor(0)), torch.tensor([[0, 1], [1, 0]]),
    [0, 1], [1], [], [True, False], [[0, 1], [1, 0]], ([0, 1], [1, 2]), (S(None), [0, 2]), (0, [1, 2], 3), ([0, 1], S(None), [1, 2]),
    1.5, "a", (0, 1.5), ([1.5],), ([0], [True, False, True]), S(torch.tensor(1), None), S(0, torch.tensor(2)), (S(None), S(torch.tensor(0), 2)),
    torch.tensor([2]), torch.tensor([0.5]), torch.tensor([1, 0], dtype=torch.uint8),
]
for index in indices:
    case("operator.getitem", t, index)
for index in [0, (), ..., None, True, False, S(0, 1), torch.tensor(True), (0, 0)]:
    case("operator.getitem", torch.tensor(3.5), index)
case("operator.getitem", [10, 20, 30], s)
case("operator.getitem", (1, 2, 3), torch.tensor([1]))

values = [9, 2.5, True, torch.tensor(7), torch.arange(4), torch.zeros(1, 1, 4, dtype=torch.int64), torch.ones(4), "a", None]
for index in [0, (0, 1), (..., 0), S(None), ..., (), None, True, False, S(1, None), (S(None), 1), ix, (ix, 0), mask, (mask, 0), [0, 1], ([0, 1], 0), torch.tensor(1), (0, ix), 5, 1.5]:
    for v in values:
        case("operator.setitem", t, index, v)
