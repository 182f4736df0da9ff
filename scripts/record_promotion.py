#!/usr/bin/env python3
"""Record how PyTorch promotes types: torch.result_type, a + b and a / b for all pairs.

A line is the left dtype, the right operand (a dtype, the same without dimensions
as "dtype()", or the kind of a number), and the dtype of the three results, "-"
where PyTorch raises.

Usage: record_promotion.py > torchops/testdata/promotion.txt
"""

import torch

NAMES = ("bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex32 complex64 complex128 "
         "float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz float8_e8m0fnu").split()
NUMBERS = {"bool": True, "int": 2, "float": 2.5, "complex": 2j}


def outcome(f, *args):
    try:
        r = f(*args)
    except (RuntimeError, TypeError):
        return "-"
    return str(r.dtype if isinstance(r, torch.Tensor) else r).removeprefix("torch.")


def main():
    print(f"# made by scripts/record_promotion.py with torch {torch.__version__.split('+')[0]}")
    for left in NAMES:
        x = torch.ones(2, dtype=torch.float32).to(getattr(torch, left))
        others = [(n, torch.ones(2).to(getattr(torch, n))) for n in NAMES]
        others += [(n + "()", torch.tensor(1.0).to(getattr(torch, n))) for n in NAMES]
        others += [("number:" + n, v) for n, v in NUMBERS.items()]
        for name, y in others:
            print(left, name, outcome(torch.result_type, x, y), outcome(torch.add, x, y), outcome(torch.div, x, y))


if __name__ == "__main__":
    main()
