"""Records what print(tensor) prints, for print_test.go.

    python record_print.py > print.jsonl

Each case is a tensor, as dtype, sizes and the bytes of its elements in base64
(to be repeated where they are too few), and the text. Refuses another torch.
"""
import base64
import json
import random
import sys

import torch

assert torch.__version__.startswith("2.15.0"), torch.__version__
torch.manual_seed(0)
rng = random.Random(0)
cases = []
PERIOD = 61  # elements after which long tensors repeat, to keep the file small


def repeat(t, shape):
    """The elements of t over and over."""
    n = torch.Size(shape).numel()
    return t.reshape(-1)[:PERIOD].repeat(n // PERIOD + 1)[:n].reshape(shape)


def add(name, t):
    """Records a tensor; meta ones have no bytes. What Python cannot print is left out."""
    try:
        text = str(t)
    except (NotImplementedError, RuntimeError) as e:
        print(f"left out: {name}: {e}", file=sys.stderr)
        return
    case = {"name": name, "dtype": str(t.dtype).removeprefix("torch."), "sizes": list(t.shape), "text": text}
    if t.is_meta:
        case["meta"] = True
    else:
        flat = t.contiguous().reshape(-1)
        if t.numel() > PERIOD and torch.equal(flat[PERIOD:].view(torch.uint8), flat[:-PERIOD].view(torch.uint8)):
            flat = flat[:PERIOD]
        case["data"] = base64.b64encode(bytes(flat.view(torch.uint8).tolist())).decode() if t.numel() else ""
    cases.append(case)


def repeat_rows(raw, rows, n):
    """The bytes of rows elements over and over, until there are n elements."""
    raw = raw.reshape(rows, -1)
    return raw.repeat(n // max(rows, 1) + 1, 1)[:n].reshape(-1)


floats = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
float8 = [torch.float8_e5m2, torch.float8_e4m3fn, torch.float8_e5m2fnuz, torch.float8_e4m3fnuz]
ints = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32, torch.uint64]
complexes = [torch.complex64, torch.complex128, torch.complex32, torch.bcomplex32]
everything = floats + float8 + [torch.float8_e8m0fnu, torch.float4_e2m1fn_x2] + ints + complexes + [torch.bool]

inf, nan = float("inf"), float("nan")
shapes = [(), (1,), (3,), (2, 3), (1, 1, 1), (2, 1, 3), (2, 2, 2, 2), (25,), (3, 17)]
empties = [(0,), (0, 3), (2, 0), (3, 0, 2), (1, 0, 0, 4)]
long = [(1000,), (1001,), (7, 200), (6, 200), (200, 7), (101, 10), (3, 5, 100), (8, 8, 8, 8), (2, 1, 3, 400), (1001, 1), (1, 1001)]

# every dtype, from random bytes
for dtype in everything:
    size = torch.empty(0, dtype=dtype).element_size()
    for shape in shapes + [(1001,), (7, 150)]:
        n = min(PERIOD, torch.Size(shape).numel())
        if dtype == torch.bool:
            raw = torch.tensor([rng.randrange(2) for _ in range(n)], dtype=torch.uint8)
        else:
            raw = torch.tensor([rng.randrange(256) for _ in range(n * size)], dtype=torch.uint8)
        raw = repeat_rows(raw, n, torch.Size(shape).numel())
        add(f"{dtype} bytes {shape}", raw.view(dtype).reshape(shape))
    for shape in empties:
        add(f"{dtype} empty {shape}", torch.empty(shape, dtype=dtype))

# floating point: the choice of format
value_sets = {
    "whole": [1.0, 2.0, -3.0],
    "whole large": [1e8, 1.0, 5.0],
    "whole spread": [1.0, 1001.0],
    "whole at the edge": [1.0, 1000.0],
    "fractions": [0.1, 0.25, -3.14159],
    "tiny": [1e-5, 2e-5],
    "just small": [1e-4, 2e-4],
    "spread": [0.001, 10.0],
    "huge": [1e20, 3e21],
    "zeros": [0.0, 0.0],
    "minus zero": [-0.0, 1.0],
    "minus zeros": [-0.0, -0.0],
    "minus zero fraction": [-0.0, 0.5],
    "nonfinite": [inf, -inf, nan],
    "nonfinite whole": [inf, 1.0, -inf, nan],
    "nonfinite fraction": [inf, 1.5, -inf, nan],
    "nonfinite tiny": [inf, 1e-9, nan],
    "nonfinite and zero": [nan, 0.0],
    "rounding half": [0.00005, 0.00015, 0.99995],
    "rounds up": [9.99996, 0.5],
    "negative wide": [-12345.678, 1.5],
    "big integer float": [123456789.0],
    "under 1e8": [99999999.0, 99999.5],
    "subnormal": [1e-40, 1e-310],
}
for name, values in value_sets.items():
    for dtype in floats:
        add(f"{name} {dtype}", torch.tensor(values, dtype=torch.float64).to(dtype))
    add(f"{name} scalar", torch.tensor(values[0]))
    re = torch.tensor(values, dtype=torch.float64)
    add(f"{name} complex", torch.complex(re, re.flip(0)))
    add(f"{name} complex64", torch.complex(re.float(), -re.float()))
for shape in long + shapes:
    add(f"randn {shape}", repeat(torch.randn(PERIOD), shape))
    add(f"randn wide {shape}", repeat(torch.randn(PERIOD) * 100, shape))
    add(f"int {shape}", repeat(torch.randint(-1000, 1000, (PERIOD,)), shape))
    add(f"bool {shape}", repeat(torch.randint(0, 2, (PERIOD,)).bool(), shape))
    add(f"complex {shape}", repeat(torch.randn(PERIOD, dtype=torch.complex64), shape))
    add(f"half {shape}", repeat(torch.randn(PERIOD).half(), shape))
for n in (8, 9, 10, 11, 12, 13, 14, 19, 20, 26, 27, 40):
    add(f"arange {n}", torch.arange(n))
    add(f"arange float {n}", torch.arange(n).float())
    add(f"linspace {n}", torch.linspace(0, 1, n))
    add(f"complex line {n}", torch.linspace(0, 1, n) * (1 + 1j))
add("deep", torch.randn(1, 1, 1, 1, 1, 1, 2))
add("deep int", torch.arange(3).reshape([1] * 40 + [3]))
add("suffix wraps", torch.arange(14, dtype=torch.int32) * 1000)
add("suffix fits", torch.arange(4, dtype=torch.int32))
for n in range(9, 16):
    add(f"suffix at the edge {n}", torch.arange(n, dtype=torch.int16))
add("int64 limits", torch.tensor([-(2**63), 2**63 - 1]))
add("uint64 limits", torch.tensor([0, 2**64 - 1], dtype=torch.uint64))
for dtype in (torch.float32, torch.int64, torch.float16, torch.bool, torch.complex64):
    for shape in ((), (2, 3), (0,)):
        add(f"meta {dtype} {shape}", torch.empty(shape, dtype=dtype, device="meta"))
for i in range(60):
    shape = [rng.randrange(1, 12) for _ in range(rng.randrange(0, 5))]
    scale = 10.0 ** rng.randrange(-6, 10)
    t = torch.randn(shape, dtype=torch.float64) * scale
    if rng.random() < 0.3:
        t = t.round()
    if rng.random() < 0.3 and t.numel():
        t.view(-1)[rng.randrange(t.numel())] = rng.choice([inf, -inf, nan, 0.0])
    add(f"random {i}", t.to(rng.choice(floats)))

for case in cases:
    print(json.dumps(case, separators=(",", ":")))
