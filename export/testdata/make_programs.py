#!/usr/bin/env python3
"""Make the small programs that the tests and examples of package export open.

    python make_programs.py        # writes programs/*.pt2 beside this script

Needs torch 2.15.0 (make reference).
"""
import os
import re
import sys

import torch
from torch.export import Dim, export

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")


class Linear(torch.nn.Module):
    """A linear layer with a batch of 2 to 64."""

    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(3, 2)

    def forward(self, x):
        return self.l(x)


class State(torch.nn.Module):
    """Weights that share storage, a transposed one, buffers that change, one of them not persistent, and a constant."""

    def __init__(self):
        super().__init__()
        w = torch.arange(12.0).reshape(3, 4)
        self.a = torch.nn.Parameter(w)
        self.b = torch.nn.Parameter(w)
        self.b = self.a  # tied
        self.register_buffer("rows", w[1:].t())  # a view of the same storage
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("scratch", torch.ones(4), persistent=False)

    def forward(self, x):
        self.count.add_(1)
        self.scratch.mul_(2)
        return x @ self.a @ self.b.t() + self.rows.sum() + self.scratch.sum() + torch.tensor(0.5), self.count.clone()


class Derived(torch.nn.Module):
    """Dimensions 2*h and h + 1 of a hidden h, nested arguments, a fixed number, a None."""

    def forward(self, d, *, n, nothing=None):
        return d["p"][0].sum() + d["q"].sum() * n


def save(ep, path, **kwargs):
    """Saves without the paths of the machine that ran this script."""
    for n in ep.graph.nodes:
        n.meta.pop("from_node", None)
        if trace := n.meta.get("stack_trace"):
            trace = re.sub(r'"[^"]*/site-packages/', '"', trace)
            n.meta["stack_trace"] = re.sub(r'"[^"]*/(make_programs.py)"', r'"\1"', trace)
    torch.export.save(ep, path, **kwargs)


def main():
    if not torch.__version__.startswith("2.15.0"):
        sys.exit(f"needs torch 2.15.0, got {torch.__version__}")
    os.makedirs(HERE, exist_ok=True)
    torch.manual_seed(0)
    batch = Dim("batch", min=2, max=64)
    save(export(Linear(), (torch.randn(4, 3),), dynamic_shapes={"x": {0: batch}}), os.path.join(HERE, "linear.pt2"))
    state = export(State(), (torch.ones(2, 3),))
    save(state, os.path.join(HERE, "state.pt2"), extra_files={"notes/readme.txt": "made by make_programs.py"})
    save(state.run_decompositions(), os.path.join(HERE, "state_core.pt2"))
    h = Dim("h", min=2, max=10)
    save(
        export(
            Derived(),
            ({"p": [torch.ones(8)], "q": torch.ones(5, dtype=torch.int64)},),
            {"n": 3, "nothing": None},
            dynamic_shapes={"d": {"p": [{0: 2 * h}], "q": {0: h + 1}}, "n": None, "nothing": None},
        ),
        os.path.join(HERE, "derived.pt2"),
    )


if __name__ == "__main__":
    main()
