#!/usr/bin/env python3
"""Record which operators PyTorch sees below its dispatcher, for the tests of tracer.Record.

    third_party/reference/bin/python scripts/record_below.py --fixtures ../shared/fixtures --out tracer/testdata/below.json

For each program of pt2/2.15.0, run with its first inputs under no_grad:

    leaf   the targets of make_fx(ep.module())
    top    the targets of the program itself, as its graph lists them; null where some are called under vmap

and the same of networks, with what torch.export gives for top.

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
import torchvision
from torch import nn
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


def networks():
    """Networks that Go has, by the name of their test, with an input."""
    layer = dict(d_model=8, nhead=2, dim_feedforward=16)
    image = torch.randn(2, 3, 64, 64)
    # traced first, which makes x + y of x += y: Go has no such operator
    yield "resnet18", torch.fx.symbolic_trace(torchvision.models.resnet18(weights=None).eval()), (image,)
    yield "resnet18 training", torch.fx.symbolic_trace(torchvision.models.resnet18(weights=None).train()), (image,)
    yield "mobilenet_v2", torchvision.models.mobilenet_v2(weights=None).eval(), (image,)
    yield "densenet121", torchvision.models.densenet121(weights=None).eval(), (image,)
    yield "transformer encoder", nn.TransformerEncoder(nn.TransformerEncoderLayer(**layer), 2).eval(), (torch.randn(5, 2, 8),)
    yield "transformer encoder training", nn.TransformerEncoder(nn.TransformerEncoderLayer(**layer), 2).train(), (torch.randn(5, 2, 8),)
    yield "transformer encoder batch first", nn.TransformerEncoder(nn.TransformerEncoderLayer(**layer, batch_first=True), 2).eval(), (torch.randn(2, 5, 8),)
    yield "attention", nn.MultiheadAttention(8, 2).eval(), (torch.randn(5, 2, 8),) * 3
    yield "lstm", nn.LSTM(4, 6, 2, bidirectional=True).eval(), (torch.randn(5, 2, 4),)
    yield "gru", nn.GRU(4, 6, batch_first=True).eval(), (torch.randn(2, 5, 4),)
    yield "lstm cell", nn.LSTMCell(4, 6), (torch.randn(2, 4),)


def record_network(module, args):
    top = operators(torch.export.export(module, args).graph)
    with torch.no_grad():
        leaf = operators(make_fx(lambda args: module(*args))(args).graph)
    return {"top": top, "leaf": leaf}


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
        json.dump({"programs": cases, "networks": {name: record_network(m, args) for name, m, args in networks()}}, f, indent=0, sort_keys=True)
        f.write("\n")
    for name, case in cases.items():
        if "skip" in case:
            print(f"{name}: {case['skip']}")


if __name__ == "__main__":
    main()
