#!/usr/bin/env python3
"""Compare the texts of `torchfx graph` with those that live PyTorch makes of the
same files, byte for byte.

    python scripts/compare_texts.py bin/torchfx MODEL.pt2...

Prints what differs and a summary; the exit code is 1 when something did. Files
that PyTorch or torchfx does not load are skipped with the reason. The tabular
form is compared where tabulate is installed.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib.util
import io
import logging
import re
import subprocess
import sys
import warnings

warnings.simplefilter("ignore")
import torch

logging.disable(logging.CRITICAL)
ADDRESS = re.compile(r"0x[0-9a-f]{6,16}")


def texts(gm: torch.fx.GraphModule) -> dict[str, str]:
    out = {
        "graph": str(gm.graph),
        "code": gm.code,
        "readable": gm.print_readable(print_output=False, include_stride=True, include_device=True),
    }
    if importlib.util.find_spec("tabulate"):
        table = io.StringIO()
        with contextlib.redirect_stdout(table):
            gm.graph.print_tabular()
        out["tabular"] = ADDRESS.sub(lambda m: "0x" + "0" * (len(m.group(0)) - 2), table.getvalue())
    return out


def main() -> None:
    torchfx, files = sys.argv[1], sys.argv[2:]
    equal = different = skipped = 0
    for file in files:
        try:
            program = torch.export.load(file)
            modules = {"--lifted": program.graph_module, None: program.module()}
        except Exception as e:
            skipped += 1
            print(f"skipped {file}: PyTorch: {str(e).splitlines()[0]}")
            continue
        for lifted, gm in modules.items():
            for form, want in texts(gm).items():
                command = [torchfx, "graph", file, "--format", form, "--stride", "--device"]
                run = subprocess.run(command + [lifted] * bool(lifted), capture_output=True, text=True)
                if run.returncode:
                    skipped += 1
                    print(f"skipped {file} {form}: {run.stderr.splitlines()[0]}")
                elif run.stdout == want.lstrip("\n").rstrip("\n ") + "\n":
                    equal += 1
                else:
                    different += 1
                    print(f"different {file} {form} {lifted or ''}")
                    lines = difflib.unified_diff(want.split("\n"), run.stdout.split("\n"), lineterm="", n=0)
                    print("\n".join(list(lines)[2:12]))
    print(f"{equal} equal, {different} different, {skipped} skipped")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
