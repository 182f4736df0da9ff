#!/usr/bin/env python3
"""Record which operators PyTorch sees below its dispatcher, for the tests of tracer.Record.

    third_party/reference/bin/python scripts/record_below.py --fixtures ../shared/fixtures --out tracer/testdata/below.json

For each program of pt2/2.15.0, run with its first inputs under no_grad:

    leaf   the targets of make_fx(ep.module())
    top    the targets of the program itself, as its graph lists them; null where some are called under vmap

Targets are the operators alone: no getitem, no sizes (aten::sym_size and its kin are no calls of an operator when they run), no arithmetic on these. A program with higher-order operators
has none of its own; it is left out, and so is one that make_fx cannot run, with the reason.
"""
import argparse
import json
import logging
import os
import sys
import warnings

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from safetensors.torch import load_file

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)


def operators(graph):
    """The names of the operators, None where some run on the batched tensors of vmap."""
    if "_functorch.predispatch" in str([n.target.__module__ for n in graph.nodes if callable(n.target)]):
        return None
    out = []
    for n in graph.nodes:
        if n.op == "call_function" and isinstance(n.target, torch._ops.OpOverload):
            if not n.target.name().startswith("aten::sym_"):
                out.append(n.target.name())
        elif n.op == "call_function" and isinstance(n.target, torch._ops.HigherOrderOperator):
            raise ValueError(f"higher-order operator {n.target.name()}")
    return out


def record(folder, restore):
    meta = json.load(open(os.path.join(folder, "meta.json")))
    if not meta["sets"]:
        return {"skip": "no inputs"}
    try:
        program = torch.export.load(os.path.join(folder, "model.pt2"))
        tensors = load_file(os.path.join(folder, "inputs.0.safetensors"))
        leaves = [restore(d, tensors) for d in meta["sets"][0]["inputs"]]
        module = program.module()
        if "fixtures" in str(module.graph):
            return {"skip": "needs operators that no library here has"}
        top = operators(module.graph)
        args, kwargs = torch.utils._pytree.tree_unflatten(leaves, program.call_spec.in_spec)

        def run(args):
            return module(*args, **kwargs)

        with torch.no_grad():
            torch.manual_seed(0)
            leaf = operators(make_fx(run)(args).graph)
        return {"top": top, "leaf": leaf}
    except Exception as e:  # what cannot be recorded is listed, not lost
        return {"skip": f"{type(e).__name__}: {str(e).splitlines()[0][:160]}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fixtures", required=True)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    sys.path.insert(0, options.fixtures)
    from check_pt2 import restore

    root = os.path.join(options.fixtures, "pt2", "2.15.0")
    cases = {name: record(os.path.join(root, name), restore) for name in sorted(os.listdir(root))}
    with open(options.out, "w") as f:
        json.dump(cases, f, indent=0, sort_keys=True)
        f.write("\n")
    for name, case in cases.items():
        if "skip" in case:
            print(f"{name}: {case['skip']}")


if __name__ == "__main__":
    main()
