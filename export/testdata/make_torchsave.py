#!/usr/bin/env python3
"""Writes the files of testdata/torchsave and what is in them (cases.json).

    python make_torchsave.py      # torch 2.15.0

Each case is a file of torch.save and a description of its value, as
torch.load(weights_only=True) gives it; or the words that a refusal must have.
"""
import collections
import json
import math
import os

import numpy as np
import torch

assert torch.__version__.startswith("2.15.0"), torch.__version__
OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torchsave")
cases = []


def number(x):
    return repr(x) if math.isfinite(x) else {math.inf: "inf", -math.inf: "-inf"}.get(x, "nan")


class Describer:
    def __init__(self):
        self.storages, self.containers = {}, {}

    def container(self, kind, v, items):
        if id(v) in self.containers:
            return {"again": self.containers[id(v)]}
        d = {"kind": kind, "n": len(self.containers)}
        self.containers[id(v)] = d["n"]
        d["items"] = [self(x) for x in items]
        return d

    def __call__(self, v):
        if v is None:
            return None
        if isinstance(v, torch.Tensor):
            if v.layout != torch.strided:
                parts = [torch.Tensor._indices(v), torch.Tensor._values(v)]
                return {"kind": "sparse", "layout": str(v.layout), "parts": [self(p) for p in parts], "size": list(v.shape)}
            if v.is_quantized:
                return {"kind": "quantized", "dtype": str(v.dtype), "scale": number(v.q_scale()), "values": v.int_repr().flatten().tolist()}
            d = {"kind": "tensor", "dtype": str(v.dtype), "device": str(v.device), "sizes": list(v.shape), "strides": list(v.stride()),
                 "offset": v.storage_offset(), "parameter": isinstance(v, torch.nn.Parameter), "requires_grad": v.requires_grad}
            if v.device.type != "meta":
                s = v.untyped_storage()
                d["storage"] = self.storages.setdefault(s._cdata, len(self.storages))
                self.keep = getattr(self, "keep", []) + [s]
                d["bytes"] = bytes(s.tolist()).hex()
            return d
        if isinstance(v, bool) or isinstance(v, str):
            return v
        if isinstance(v, int):
            return {"kind": "int", "value": str(v)}
        if isinstance(v, float):
            return {"kind": "float", "value": number(v)}
        if isinstance(v, complex):
            return {"kind": "complex", "value": [number(v.real), number(v.imag)]}
        if isinstance(v, (bytes, bytearray)):
            return {"kind": "bytes", "value": bytes(v).hex()}
        if isinstance(v, (torch.dtype, torch.device, torch.layout)):
            return {"kind": type(v).__name__, "value": str(v)}
        if isinstance(v, set):
            return {"kind": "set", "items": sorted(json.dumps(self(x)) for x in v)}
        if isinstance(v, dict):
            return self.container("dict", v, [x for item in v.items() for x in item])
        if isinstance(v, list):
            return self.container("list", v, v)
        if isinstance(v, tuple):
            return {"kind": "tuple", "items": [self(x) for x in v]}
        raise TypeError(type(v))


def case(name, value, what, **options):
    path = os.path.join(OUT, name + ".pt")
    torch.save(value, path, **options)
    cases.append({"name": name, "what": what, "value": Describer()(torch.load(path, weights_only=True))})


def refused(name, value, what, *says):
    path = os.path.join(OUT, name + ".pt")
    torch.save(value, path)
    try:
        torch.load(path, weights_only=True)
        raise AssertionError(f"{name} loads")
    except Exception as e:
        assert "Unsupported global" in str(e) or "weights_only" in str(e).lower(), e
    cases.append({"name": name, "what": what, "refused": list(says)})


class Net(torch.nn.Module):
    """A module of Python code: traced, it is a GraphModule."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.lin = torch.nn.Linear(3, 4, bias=False)
        self.block = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.BatchNorm1d(4, eps=1e-3))
        self.w = torch.nn.Parameter(torch.ones(4))
        self.register_buffer("scale", torch.full((4,), 2.0))

    def forward(self, x, k=1, *, up=False):
        y = self.block(self.lin(x)) * self.scale + self.w * k
        y = torch.nn.functional.gelu(y, approximate="tanh").to(torch.float64)
        return {"y": y[:, None, ..., :2], "shape": (y.shape[0], float("inf"), torch.float16)}


def whole(name, module, what):
    """A module that was saved whole: what it loads to, where that is a graph."""
    path = os.path.join(OUT, name + ".pt")
    torch.save(module, path)
    loaded = torch.load(path, weights_only=False)
    d = {"class": type(loaded).__name__, "state": sorted(loaded.state_dict())}
    if isinstance(loaded, torch.fx.GraphModule):
        d["graph"], d["code"] = str(loaded.graph), loaded.code
    cases.append({"name": name, "what": what, "module": d})


def nested():
    inner = torch.fx.symbolic_trace(Net())
    inner.eval()

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x)["y"].relu()

    class Keep(torch.fx.Tracer):
        def is_leaf_module(self, m, path):
            return isinstance(m, torch.fx.GraphModule)

    outer = Outer()
    return torch.fx.GraphModule(outer, Keep().trace(outer), "Outer")


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))


def checkpoint():
    m = model()
    opt = torch.optim.Adam(m.parameters(), lr=0.01)
    m(torch.ones(4, 3)).sum().backward()
    opt.step()
    return {"epoch": 3, "model": m.state_dict(), "optimizer": opt.state_dict(), "best": 0.25, "history": [1.0, 0.5, math.inf]}


def containers():
    shared = [1, 2]
    loop = [0]
    loop.append(loop)
    return {
        "none": None, "bools": (True, False), "ints": [0, 255, 256, 65535, 65536, -1, 2**31 - 1, -(2**31), 2**40, -(2**63), 2**100, -(2**100)],
        "floats": [0.1, -0.0, math.nan], "text": ["", "käse", "x" * 300], "bytes": bytes(range(256)), "array": bytearray(b"abc"),
        "complex": 1 - 2j, "tuples": ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)), "set": {1, "a"}, "size": torch.Size([2, 3]),
        "shared": (shared, shared), "loop": loop, 7: "int key", 1.5: "float key", None: "none key", torch.float16: torch.bfloat16,
        "device": torch.device("cuda:1"), "layout": torch.strided, "counter": collections.Counter("aab"),
        "ordered": collections.OrderedDict(b=1, a=2), "empty": [{}, [], set()],
    }


def views():
    t = torch.arange(12, dtype=torch.float32)
    return {"all": t, "t": t.view(3, 4).t(), "tail": t[8:], "step": t[1::3], "row": t.view(3, 4)[1], "empty": t[3:3],
            "scalar": t[5], "expanded": t[2].expand(2, 3)}


def dtypes():
    out = {}
    for name in ("float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex128 complex64 complex32 uint16 uint32 uint64 "
                 "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu").split():
        out[name] = torch.tensor([0, 1, 2, 1], dtype=torch.float32).to(getattr(torch, name))
    return out


def parameters():
    p = torch.nn.Parameter(torch.ones(2))
    frozen = torch.nn.Parameter(torch.zeros(3), requires_grad=False)
    return [p, frozen, p, p.detach(), torch.ones(1, requires_grad=True)]


def tied():
    m = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 3))
    m[2].weight = m[0].weight
    return m


os.makedirs(OUT, exist_ok=True)
case("state_dict", model().state_dict(), "a state dict with _metadata")
case("checkpoint", checkpoint(), "a checkpoint with the state of an optimizer")
case("containers", containers(), "every plain value, shared and cyclic lists")
case("views", views(), "views of one storage")
case("dtypes", dtypes(), "every dtype that torch.save writes")
case("parameters", parameters(), "parameters, frozen ones, tensors with requires_grad")
case("meta", {"w": torch.empty(2, 3, device="meta")}, "a tensor of the device meta")
case("sparse", torch.eye(3).to_sparse(), "a sparse tensor")
case("quantized", torch.quantize_per_tensor(torch.tensor([0.0, 1.0, 2.0]), 0.5, 10, torch.quint8), "a quantized tensor")
case("tensor", torch.ones(2, 2), "a bare tensor")
case("legacy_state_dict", model().state_dict(), "the form before torch 1.6", _use_new_zipfile_serialization=False)
case("legacy_views", views(), "views in the form before torch 1.6", _use_new_zipfile_serialization=False)
case("legacy_checkpoint", checkpoint(), "a checkpoint in the form before torch 1.6", _use_new_zipfile_serialization=False)
torch.serialization.set_crc32_options(False)
case("no_checksums", model().state_dict(), "checksums switched off: all are zero")
torch.serialization.set_crc32_options(True)
refused("module", model(), "a whole module", "torch.nn.modules.container.Sequential", "torch.nn.modules.linear.Linear", "state_dict")
refused("numpy", {"loss": np.float64(0.5)}, "a number of NumPy", "numpy", "NumPy's values")
refused("function", {"f": os.path.join}, "a function of Python", "posixpath.join", "tensors in dicts, lists and tuples")

whole("graph_module", torch.fx.symbolic_trace(Net()), "a GraphModule of torch.fx")
whole("graph_module_nested", nested(), "a GraphModule that holds another")
whole("layers", torch.nn.Sequential(torch.nn.Conv2d(3, 4, (3, 1), padding="same", bias=False), torch.nn.Dropout(0.25).eval(), torch.nn.LSTM(4, 5, 2),
                                   torch.nn.TransformerEncoderLayer(4, 2, dim_feedforward=3, activation="gelu")),
      "modules of torch.nn")
whole("tied", tied(), "layers that have one weight")
whole("python_class", Net(), "a module of Python code, which only Python has")

with open(os.path.join(OUT, "cases.json"), "w") as f:
    json.dump({"torch": torch.__version__, "cases": cases}, f, indent=1)
    f.write("\n")
print(len(cases), "cases by torch", torch.__version__)
