#!/usr/bin/env python3
"""Write examples/vision/testdata/vision.json.gz: how torch.fx traces networks of torchvision, in eval and in
training mode, and the weights that they are made with under a seed, by digest.

    python scripts/record_vision.py examples/vision/testdata/vision.json.gz
"""
import gzip
import hashlib
import json
import sys
import warnings

import torch
import torch.fx
import torchvision.models as models

PINNED = "2.15.0"
SEED = 7
NETWORKS = {
    "resnet18": {},
    "mobilenet_v2": {},
    "googlenet": {"init_weights": True},  # with auxiliary classifiers, as its class is by default
    "densenet121": {},
}


def make(name):
    torch.manual_seed(SEED)
    return getattr(models, name)(weights=None, **NETWORKS[name])


def digest(t):
    return hashlib.sha256(t.detach().contiguous().numpy().tobytes()).hexdigest()[:16]


def record(name):
    net = make(name)
    state = [[key, str(t.dtype), list(t.shape), digest(t)] for key, t in net.state_dict().items()]
    traces = {}
    for mode in ("eval", "train"):
        gm = torch.fx.symbolic_trace(net.train(mode == "train"))
        traces[mode] = {"class": gm._get_name(), "code": gm.code, "graph": str(gm.graph)}
    return {"seed": SEED, "state": state, "traces": traces, "next": torch.rand(()).item()}


def main():
    if not torch.__version__.startswith(PINNED):
        sys.exit(f"expected torch {PINNED}, got {torch.__version__}")
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    text = json.dumps({name: record(name) for name in NETWORKS}, indent=1)
    with open(sys.argv[1], "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
        z.write(text.encode())


if __name__ == "__main__":
    main()
