#!/usr/bin/env python3
"""Write ir/testdata/numbers.json: the numbers and spellings of PyTorch's dtypes,
device kinds, layouts and memory formats, from the installed headers, the schema
of torch.export and torch itself.

    python scripts/record_numbers.py > ir/testdata/numbers.json
"""

import json
import re
import sys
import warnings
from pathlib import Path

warnings.simplefilter("ignore")
import torch
from torch._export.serde import schema, serialize
from torch.utils._dtype_abbrs import dtype_abbrs

PINNED = "2.15.0"
INCLUDE = Path(torch.__file__).parent / "include"
CORE = INCLUDE / "torch" / "headeronly" / "core"


def enumerators(header: str, name: str) -> dict[str, int]:
    """The members of a C++ enum and their numbers."""
    body = re.search(r"enum class " + name + r"[^{]*\{(.*?)\};", (CORE / header).read_text(), re.S).group(1)
    out, next_number = {}, 0
    for member in re.sub(r"//.*", "", body).split(","):
        if m := re.match(r"\s*(\w+)(?:\s*=\s*(\d+))?\s*$", member):
            next_number = int(m.group(2)) if m.group(2) else next_number
            out[m.group(1)] = next_number
            next_number += 1
    return {k: v for k, v in out.items() if not re.match(r"NumOptions|COMPILE_TIME", k)}


def scalar_types() -> dict[str, int]:
    text = (CORE / "ScalarType.h").read_text()
    body = re.search(r"#define AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS\(_\)(.*?)\n\n", text, re.S).group(1)
    return {m.group(1): int(m.group(2)) for m in re.finditer(r"_\([^/]*, (\w+)\) /\* (\d+) \*/", body)}


@torch.jit.script
def number(x: torch.Tensor) -> int:
    return x.dtype


def dtype_number(d: torch.dtype, types: dict[str, int]) -> int:
    """Asks TorchScript, where a dtype is its number; for a dtype that no tensor
    can have, the header by name."""
    try:
        return number(torch.empty((0,), dtype=d))
    except Exception:
        return {k.lower(): v for k, v in types.items()}[str(d)[len("torch.") :]]


def main() -> None:
    if torch.__version__.split("+")[0] != PINNED:
        sys.exit(f"torch: expected {PINNED}, got {torch.__version__}")
    types = scalar_types()
    to_export = serialize._TORCH_TO_SERIALIZE_DTYPE
    dtypes = {str(v) for v in vars(torch).values() if isinstance(v, torch.dtype)}
    rows = []
    for name in dtypes:
        d = getattr(torch, name[len("torch.") :])
        rows.append(
            {
                "python": name,
                "c10": dtype_number(d, types),
                "export": int(to_export.get(d, 0)),
                "size": d.itemsize,
                "short": dtype_abbrs.get(d),
                "float": d.is_floating_point,
                "complex": d.is_complex,
            }
        )
    assert sorted(r["c10"] for r in rows) == sorted(types.values()), "a dtype is missing"
    layouts, formats = enumerators("Layout.h", "Layout"), enumerators("MemoryFormat.h", "MemoryFormat")
    python_layouts = ["strided", "sparse_coo", "sparse_csr", "_mkldnn", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"]
    python_formats = ["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"]
    spellings = {"PrivateUse1": "privateuseone"}
    devices = [[spellings.get(k, k.lower()), v] for k, v in enumerators("DeviceType.h", "DeviceType").items()]
    devices = [d for d in devices if d[0] != "metal"]  # Python cannot name it
    for name, _ in devices:
        torch.device(name)  # fails for a spelling that is wrong
    data = {
        "torch": PINNED,
        "script": "scripts/record_numbers.py",
        "dtypes": sorted(rows, key=lambda r: r["c10"]),
        "devices": devices,
        "layouts": [
            [f"torch.{p}", n, int(serialize._TORCH_TO_SERIALIZE_LAYOUT.get(getattr(torch, p), 0))]
            for p, n in zip(python_layouts, layouts.values(), strict=True)
        ],
        "memory_formats": [
            [f"torch.{p}", n, int(serialize._TORCH_TO_SERIALIZE_MEMORY_FORMAT.get(getattr(torch, p), 0))]
            for p, n in zip(python_formats, formats.values(), strict=True)
        ],
    }
    print(json.dumps(data, indent=1))


if __name__ == "__main__":
    main()
