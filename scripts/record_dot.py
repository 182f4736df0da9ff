#!/usr/bin/env python3
"""Writes passes/testdata/dot.json: the labels, colours and edges of FxGraphDrawer.

    third_party/reference/bin/python scripts/record_dot.py > passes/testdata/dot.json

pydot is not needed: a stand-in keeps what the drawer hands to it.
"""
import json
import sys

import pydot_stand_in  # noqa: F401
import torch  # noqa: E402
import torch.fx as fx
import torch.nn as nn

if not torch.__version__.startswith("2.15.0"):
    sys.exit("expected torch 2.15.0, got " + torch.__version__)
from torch.fx.passes.graph_drawer import FxGraphDrawer  # noqa: E402
from torch.fx.passes.shape_prop import ShapeProp  # noqa: E402


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))

    def forward(self, x, y):
        a = torch.clamp(x + self.w, min=0.0, max=1.0)
        b = a.view(-1, 3).sum(dim=[0, 1])
        c = torch.cat([a] * 10, dim=1)
        d = torch.permute(c, (1, 0)).reshape([1, 2, 3, 15, 1, 1, 1, 1, 1, 1])
        e = torch.full((2,), 1.5, dtype=torch.float64) + b
        f = getattr(y, "shape")
        return {"b": b, "d": d[0, ..., 1:]}, e


gm = fx.symbolic_trace(M())
ShapeProp(gm).propagate(torch.ones(3, 3), torch.ones(2))
out = {"code": gm.code, "drawings": {}}
for label, options in {"plain": {}, "names": {"skip_node_names_in_args": False}, "no get_attr": {"ignore_getattr": True}}.items():
    dot = FxGraphDrawer(gm, "m", **options).get_dot_graph()
    out["drawings"][label] = {
        "nodes": [[n.args[0], n.attrs["label"], n.attrs["fillcolor"].strip('"')] for n in dot.nodes],
        "edges": [list(e.args) for e in dot.edges],
    }
out["meta"] = {n.name: [str(n.meta["tensor_meta"].dtype), list(n.meta["tensor_meta"].shape), list(n.meta["tensor_meta"].stride), n.meta["tensor_meta"].requires_grad]
               for n in gm.graph.nodes if hasattr(n.meta.get("tensor_meta"), "dtype")}
json.dump(out, sys.stdout, indent=1)
