#!/usr/bin/env python3
"""Lists the public members of torch.fx and its modules, one a line; with a file of lines "member | ...", those it lacks.

    third_party/reference/bin/python scripts/record_members.py [scripts/upstreamtests/members.txt]

members.txt says what each is called here.
"""
import importlib
import inspect
import pkgutil
import sys

import torch
import torch.fx

if not torch.__version__.startswith("2.15.0"):
    sys.exit("expected torch 2.15.0, got " + torch.__version__)

names = set()
for info in pkgutil.walk_packages(torch.fx.__path__, "torch.fx."):
    if any(part.startswith("_") or part in ("tests", "test", "migrate_gradual_types") for part in info.name.split(".")[2:]):
        continue
    try:
        module = importlib.import_module(info.name)
    except Exception:
        continue
    public = getattr(module, "__all__", None)
    if public is None:
        public = [n for n, v in vars(module).items() if not n.startswith("_") and getattr(v, "__module__", "") == info.name and (inspect.isclass(v) or inspect.isfunction(v))]
    names.update(f"{info.name}.{n}" for n in public if getattr(getattr(module, n, None), "__module__", info.name) == info.name)
for n in getattr(torch.fx, "__all__", []):
    v = getattr(torch.fx, n, None)
    if getattr(v, "__module__", "").startswith("torch.fx"):
        names.add(f"{v.__module__}.{n}")
if len(sys.argv) > 1:
    with open(sys.argv[1]) as f:
        rules = [line.split(" | ")[0] for line in f if not line.startswith("#")]
    covers = lambda r, n: n == r or r.endswith("*") and n.startswith(r[:-1])
    names = {n for n in names if not any(covers(r, n) for r in rules)}
    if names:
        sys.exit("not in " + sys.argv[1] + ":\n" + "\n".join(sorted(names)))
else:
    print(*sorted(names), sep="\n")
