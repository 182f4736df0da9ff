#!/usr/bin/env python3
"""Write nn/initialize/testdata/init.json: what torch.nn.init makes of tensors under a seed, by digest.

    python scripts/record_init.py nn/initialize/testdata/init.json
"""
import hashlib
import json
import sys

import torch
from torch.nn import init

PINNED = "2.15.0"
if not torch.__version__.startswith(PINNED):
    sys.exit(f"expected torch {PINNED}, got {torch.__version__}")
torch.set_num_threads(1)

CASES = [
    ("uniform_", (4, 5), [-0.25, 3.0]),
    ("normal_", (4, 5), [1.5, 0.125]),
    ("normal_", (3,), [0.0, 1.0]),
    ("constant_", (2, 3), [0.3]),
    ("xavier_uniform_", (6, 4, 3), [1.5]),
    ("xavier_normal_", (6, 4), [1.0]),
    ("kaiming_uniform_", (6, 4, 3, 3), [0.1, "fan_in", "leaky_relu"]),
    ("kaiming_uniform_", (6, 4), [0.0, "fan_out", "selu"]),
    ("kaiming_normal_", (6, 4, 3, 3), [0.0, "fan_in", "leaky_relu"]),
    ("kaiming_normal_", (6, 4, 3, 3), [0.0, "fan_out", "relu"]),
    ("kaiming_normal_", (6, 4), [0.0, "fan_out", "tanh"]),
    ("kaiming_normal_", (0, 4), [0.0, "fan_in", "relu"]),
    ("trunc_normal_", (50, 40), [0.0, 1.0, -2.0, 2.0]),
    ("trunc_normal_", (50, 40), [0.0, 0.01, -2.0, 2.0]),
    ("trunc_normal_", (50, 40), [0.5, 1.0, -0.1, 0.1]),
    ("trunc_normal_", (50, 40), [0.0, 1.0, 3.0, 4.0]),
    ("trunc_normal_", (5,), [-3.0, 0.5, -0.2, 0.7]),
    ("orthogonal_", (3, 5), [1.0]),
    ("orthogonal_", (5, 3), [0.5]),
    ("orthogonal_", (4, 2, 3), [2.0]),
]
ERRORS = [
    ("xavier_normal_", (3,), [1.0]),
    ("kaiming_normal_", (3, 3), [0.0, "fan_sum", "relu"]),
    ("kaiming_normal_", (3, 3), [0.0, "fan_in", "gelu"]),
    ("orthogonal_", (3,), [1.0]),
]


def main():
    out = []
    for seed, (name, shape, args) in enumerate(CASES + ERRORS):
        for dtype in (torch.float32, torch.float64):
            if name == "orthogonal_" and dtype == torch.float32:
                continue  # LAPACK's blocking differs between processors; one dtype is enough
            torch.manual_seed(seed)
            t = torch.empty(shape, dtype=dtype)
            case = {"function": name, "shape": shape, "dtype": str(dtype), "args": args, "seed": seed}
            try:
                getattr(init, name)(t, *args)
                case["sha256"] = hashlib.sha256(t.numpy().tobytes()).hexdigest()
                case["next"] = torch.rand(()).item()
            except ValueError as e:
                case["error"] = str(e)
            out.append(case)
    with open(sys.argv[1], "w") as f:
        json.dump(out, f, indent=1)
        f.write("\n")


main()
