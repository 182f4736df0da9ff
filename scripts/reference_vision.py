#!/usr/bin/env python3
"""The Python half of examples/vision's comparison with torchvision, bit by bit.

    reference_vision.py make OUT     for each network: its state dict, an input, what it returns, and its folder
    reference_vision.py check OUT    import and run the folders OUT/<network>/go that Go wrote

Both run on one thread without gradients. In training mode the generator is seeded before the run, as dropout draws
from it, and the state after the run is kept, since batch norms change theirs.
"""
import json
import os
import sys
import warnings

import torch
import torch.fx
from safetensors.torch import load_file, save_file

import record_vision

SEED = 11


def leaves(out):
    return [out] if isinstance(out, torch.Tensor) else list(out)


def run(net, x, train):
    torch.manual_seed(SEED)
    return {f"{'train' if train else 'eval'}.{i}": t.clone() for i, t in enumerate(leaves(net.train(train)(x)))}


def make(name):
    net = record_vision.make(name)
    for m in net.modules():  # a fresh batch norm is the identity, which would hide faults
        if isinstance(m, torch.nn.BatchNorm2d):
            torch.nn.init.normal_(m.running_mean, std=0.1)
            torch.nn.init.uniform_(m.running_var, 0.5, 1.5)
    os.makedirs(name)
    os.chdir(name)
    save_file(net.state_dict(), "state.safetensors")
    torch.save(net.state_dict(), "state.pt")
    x = torch.randn(2, 3, 224, 224)
    save_file({"x": x}, "input.safetensors")
    torch.fx.symbolic_trace(net.eval()).to_folder("python", "Net")
    expected = run(net, x, False)
    expected.update(run(net, x, True))
    save_file(expected, "expected.safetensors")
    save_file(net.state_dict(), "after.safetensors")
    os.chdir("..")


def check(name):
    os.chdir(name)
    sys.path.insert(0, os.getcwd())
    import go
    x = load_file("input.safetensors")["x"].clone()  # aligned
    expected = load_file("expected.safetensors")
    net = go.Net()
    state = load_file("state.safetensors")
    assert set(net.state_dict()) == set(torch.load("python/state_dict.pt"))
    for key, t in net.state_dict().items():
        assert torch.equal(t, state[key]), key
    out = run(net, x, False)
    for key, t in out.items():
        assert torch.equal(t, expected[key]), (name, key)
    sys.path.pop(0)
    for module in [m for m in sys.modules if m == "go" or m.startswith("go.")]:
        del sys.modules[module]
    os.chdir("..")


def main():
    command, out = sys.argv[1:]
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    os.makedirs(out, exist_ok=True)
    os.chdir(out)
    for name in record_vision.NETWORKS:
        {"make": make, "check": check}[command](name)
    print(json.dumps({command: list(record_vision.NETWORKS)}))


main()
