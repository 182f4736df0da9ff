#!/usr/bin/env python3
"""The Python half of the comparison of saved folders, bit by bit.

    reference_folders.py make OUT     for each case a folder that GraphModule.to_folder wrote, inputs and results
    reference_folders.py check OUT    import and run the folders OUT/<case>/go that Go wrote

Both run on one thread without gradients, in evaluation mode.
"""
import collections
import importlib
import json
import operator
import os
import sys
import warnings

import torch
import torch.fx
import torch.nn as nn
import torch.utils._pytree as pytree
from safetensors.torch import load_file, save_file


def r(*shape):
    return torch.randn(*shape)


def ints(high, *shape):
    return torch.randint(high, shape)


# class, arguments, keywords, inputs
LAYERS = [
    ("Linear", (3, 4), {}, lambda: [r(2, 3)]),
    ("Linear", (3, 4), {"bias": False, "dtype": torch.float64}, lambda: [r(2, 3).double()]),
    ("Bilinear", (3, 4, 2), {}, lambda: [r(2, 3), r(2, 4)]),
    ("Identity", (), {}, lambda: [r(2, 3)]),
    ("Conv1d", (2, 3, 3), {"padding": "same", "padding_mode": "circular"}, lambda: [r(2, 2, 6)]),
    ("Conv2d", (2, 4, (3, 1)), {"stride": 2, "dilation": 2, "groups": 2, "bias": False}, lambda: [r(2, 2, 9, 8)]),
    ("Conv3d", (1, 2, 2), {"padding": 1}, lambda: [r(1, 1, 4, 4, 4)]),
    ("ConvTranspose1d", (2, 3, 3), {"stride": 2, "output_padding": 1}, lambda: [r(2, 2, 5)]),
    ("ConvTranspose2d", (2, 3, 3), {}, lambda: [r(2, 2, 5, 5)]),
    ("BatchNorm1d", (3,), {}, lambda: [r(4, 3)]),
    ("BatchNorm2d", (3,), {"affine": False}, lambda: [r(2, 3, 4, 4)]),
    ("BatchNorm3d", (3,), {"bias": False}, lambda: [r(2, 3, 4, 4, 4)]),
    ("GroupNorm", (2, 4), {"eps": 0.01}, lambda: [r(2, 4, 3)]),
    ("LayerNorm", ((3, 4),), {}, lambda: [r(2, 3, 4)]),
    ("LayerNorm", (4,), {"bias": False, "dtype": torch.bfloat16}, lambda: [r(2, 4).bfloat16()]),
    ("RMSNorm", (4,), {}, lambda: [r(2, 4)]),
    ("InstanceNorm1d", (3,), {"affine": True, "track_running_stats": True}, lambda: [r(2, 3, 5)]),
    ("LocalResponseNorm", (2,), {"alpha": 0.01}, lambda: [r(2, 4, 3)]),
    ("Embedding", (5, 3), {"padding_idx": 1}, lambda: [ints(5, 2, 3)]),
    ("EmbeddingBag", (5, 3), {"mode": "max"}, lambda: [ints(5, 2, 3)]),
    ("RNN", (3, 4), {"nonlinearity": "relu"}, lambda: [r(5, 2, 3)]),
    ("LSTM", (3, 4), {"num_layers": 2, "bidirectional": True, "proj_size": 2}, lambda: [r(5, 2, 3)]),
    ("GRU", (3, 4), {"batch_first": True, "dropout": 0.2, "num_layers": 2}, lambda: [r(2, 5, 3)]),
    ("GRUCell", (3, 4), {"bias": False}, lambda: [r(2, 3)]),
    ("LSTMCell", (3, 4), {}, lambda: [r(2, 3)]),
    ("RNNCell", (3, 4), {"nonlinearity": "relu"}, lambda: [r(2, 3)]),
    ("MultiheadAttention", (4, 2), {"kdim": 3, "vdim": 5, "add_bias_kv": True, "batch_first": True}, lambda: [r(2, 3, 4), r(2, 6, 3), r(2, 6, 5)]),
    ("MultiheadAttention", (4, 2), {"bias": False, "add_zero_attn": True}, lambda: [r(3, 2, 4), r(3, 2, 4), r(3, 2, 4)]),
    ("TransformerEncoderLayer", (4, 2), {"dim_feedforward": 6, "activation": "gelu", "norm_first": True}, lambda: [r(3, 2, 4)]),
    ("TransformerDecoderLayer", (4, 2, 6), {"layer_norm_eps": 0.001, "bias": False}, lambda: [r(3, 2, 4), r(5, 2, 4)]),
    ("PReLU", (3,), {"init": 0.1}, lambda: [r(2, 3)]),
    ("GELU", (), {"approximate": "tanh"}, lambda: [r(2, 3)]),
    ("Hardtanh", (-0.5, 0.5), {}, lambda: [r(2, 3)]),
    ("Softmax", (1,), {}, lambda: [r(2, 3)]),
    ("Threshold", (0.1, -2), {}, lambda: [r(2, 3)]),
    ("Dropout", (0.3,), {}, lambda: [r(2, 3)]),
    ("MaxPool2d", (2,), {"ceil_mode": True, "return_indices": True}, lambda: [r(1, 2, 5, 5)]),
    ("AvgPool2d", ((2, 1),), {"divisor_override": 3}, lambda: [r(1, 2, 5, 5)]),
    ("AdaptiveAvgPool2d", ((2, None),), {}, lambda: [r(1, 2, 5, 5)]),
    ("AdaptiveMaxPool1d", (2,), {"return_indices": True}, lambda: [r(1, 2, 5)]),
    ("LPPool2d", (2, 2), {}, lambda: [r(1, 2, 4, 4)]),
    ("ReflectionPad2d", (1,), {}, lambda: [r(1, 2, 4, 4)]),
    ("ConstantPad1d", ((1, 2), 3.5), {}, lambda: [r(1, 2, 4)]),
    ("Upsample", (), {"scale_factor": 2, "mode": "bilinear", "align_corners": True}, lambda: [r(1, 2, 4, 4)]),
    ("UpsamplingNearest2d", (), {"size": (3, 5)}, lambda: [r(1, 2, 4, 4)]),
    ("Flatten", (), {"start_dim": 2}, lambda: [r(1, 2, 4, 4)]),
    ("Unflatten", (1, (2, 2)), {}, lambda: [r(1, 4, 3)]),
    ("PixelShuffle", (2,), {}, lambda: [r(1, 4, 3, 3)]),
    ("Fold", ((4, 5), (2, 2)), {}, lambda: [r(1, 8, 12)]),
    ("CosineSimilarity", (), {"dim": 0}, lambda: [r(2, 3), r(2, 3)]),
    ("CrossEntropyLoss", (), {"weight": torch.tensor([0.5, 1.0, 2.0]), "label_smoothing": 0.1}, lambda: [r(4, 3), ints(3, 4)]),
    ("BCEWithLogitsLoss", (), {"pos_weight": torch.tensor([2.0]), "reduction": "sum"}, lambda: [r(4, 1), torch.rand(4, 1)]),
    ("NLLLoss", (), {"ignore_index": 1, "reduction": "none"}, lambda: [r(4, 3), ints(3, 4)]),
    ("HuberLoss", (), {"delta": 0.5}, lambda: [r(4, 3), r(4, 3)]),
    ("BCELoss", (), {"weight": torch.tensor([0.5, 2.0])}, lambda: [torch.rand(3, 2), torch.rand(3, 2)]),
    ("CTCLoss", (), {"blank": 1, "zero_infinity": True}, lambda: [r(5, 2, 4).log_softmax(2), torch.tensor([[2, 3], [3, 2]]), torch.tensor([5, 4]), torch.tensor([2, 1])]),
    ("CosineEmbeddingLoss", (0.1,), {}, lambda: [r(3, 4), r(3, 4), torch.tensor([1, -1, 1])]),
    ("GaussianNLLLoss", (), {"full": True}, lambda: [r(3, 4), r(3, 4), torch.rand(3, 4)]),
    ("KLDivLoss", (), {"log_target": True, "reduction": "batchmean"}, lambda: [r(3, 4), r(3, 4)]),
    ("MarginRankingLoss", (0.2,), {}, lambda: [r(3), r(3), torch.tensor([1, -1, 1])]),
    ("MultiLabelMarginLoss", (), {}, lambda: [r(2, 4), torch.tensor([[1, 0, -1, 2], [3, -1, 0, 1]])]),
    ("MultiMarginLoss", (), {"p": 2, "margin": 0.5, "weight": torch.tensor([1.0, 0.5, 2.0])}, lambda: [r(4, 3), ints(3, 4)]),
    ("PoissonNLLLoss", (), {"log_input": False, "full": True}, lambda: [torch.rand(3, 4), torch.rand(3, 4)]),
    ("SmoothL1Loss", (), {"beta": 0.3}, lambda: [r(3, 4), r(3, 4)]),
    ("TripletMarginLoss", (), {"swap": True, "p": 1.0}, lambda: [r(3, 4), r(3, 4), r(3, 4)]),
    ("AdaptiveLogSoftmaxWithLoss", (6, 10, [2, 5]), {"div_value": 2.0, "head_bias": True}, lambda: [r(4, 6), ints(10, 4)]),
    ("AlphaDropout", (0.2,), {}, lambda: [r(2, 3)]),
    ("ELU", (0.5,), {}, lambda: [r(2, 3)]),
    ("GLU", (0,), {}, lambda: [r(4, 3)]),
    ("LeakyReLU", (0.2, True), {}, lambda: [r(2, 3)]),
    ("Softshrink", (0.2,), {}, lambda: [r(2, 3)]),
    ("RReLU", (0.1, 0.4), {}, lambda: [r(2, 3)]),
    ("LogSoftmax", (0,), {}, lambda: [r(2, 3)]),
    ("AvgPool1d", (3,), {"stride": 2, "count_include_pad": False, "padding": 1}, lambda: [r(1, 2, 7)]),
    ("AvgPool3d", (2,), {}, lambda: [r(1, 1, 4, 4, 4)]),
    ("MaxPool1d", (2,), {"dilation": 2}, lambda: [r(1, 2, 7)]),
    ("MaxUnpool1d", (2,), {}, lambda: [r(1, 1, 2), torch.tensor([[[0, 3]]])]),
    ("FractionalMaxPool2d", (2,), {"output_size": (2, 3), "_random_samples": torch.rand(1, 2, 2)}, lambda: [r(1, 2, 5, 6)]),
    ("ChannelShuffle", (2,), {}, lambda: [r(1, 4, 2, 2)]),
    ("PairwiseDistance", (), {"p": 1.0, "keepdim": True}, lambda: [r(2, 3), r(2, 3)]),
    ("Unfold", ((2, 3),), {"stride": 2}, lambda: [r(1, 2, 5, 6)]),
    ("ZeroPad2d", ((1, 0, 2, 1),), {}, lambda: [r(1, 2, 3, 3)]),
    ("TransformerEncoder", (nn.TransformerEncoderLayer(4, 2, 6), 2), {"norm": nn.LayerNorm(4)}, lambda: [r(3, 2, 4)]),
    ("TransformerDecoder", (nn.TransformerDecoderLayer(4, 2, 6, activation="gelu"), 2), {}, lambda: [r(3, 2, 4), r(5, 2, 4)]),
    ("Transformer", (4, 2, 1, 2, 6), {"batch_first": True}, lambda: [r(2, 3, 4), r(2, 5, 4)]),
]


class Holder(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.m = m


def layer(cls, args, kwargs, inputs):
    """A graph module that calls one layer."""
    m = getattr(nn, cls)(*args, **kwargs)
    for t in list(m.parameters()) + list(m.buffers()):
        if t.is_floating_point() and "Loss" not in cls:
            t.uniform_(0.1, 1)
    graph = torch.fx.Graph()
    graph.output(graph.call_module("m", tuple(graph.placeholder(f"x{i}") for i in range(len(inputs)))))
    return torch.fx.GraphModule(Holder(m), graph), inputs


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(r(3))
        self.register_buffer("steps", torch.arange(3))
        self.lin = nn.Linear(3, 3)
        self.act = nn.Softplus(beta=2)

    def forward(self, x):
        return self.act(self.lin(x) * self.gain + self.steps)


class Keep(torch.fx.Tracer):
    """Keeps graph modules and sequences whole."""

    def is_leaf_module(self, m, path):
        return isinstance(m, (torch.fx.GraphModule, nn.Sequential)) or super().is_leaf_module(m, path)


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.fx.symbolic_trace(Inner())
        deep = Inner()
        deep.below = torch.fx.symbolic_trace(Inner())
        deep.forward = lambda x: deep.below(deep.lin(x))
        self.scale = nn.Parameter(torch.tensor(0.5))
        self.register_buffer("mask", torch.tensor([True, False, True]))
        self.body = nn.Sequential(collections.OrderedDict(drop=nn.Dropout(0.5), norm=nn.LayerNorm(3), inner=nn.Sequential(nn.Linear(3, 3), nn.ReLU6())))
        self.blocks = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])
        self.tied = nn.Linear(3, 3, bias=False)
        self.tied.weight = self.blocks[1].weight
        self.box = nn.Module()
        self.box.second = torch.fx.symbolic_trace(Inner())
        self.box.shift = nn.Parameter(r(3))

    def forward(self, x):
        x = self.first(x) * self.scale
        x = torch.where(self.mask, x, -x)
        x = self.body(x)
        for block in self.blocks:
            x = block(x)
        return self.box.second(self.tied(x)) + self.box.shift


def nested():
    root = Outer()
    graph = Keep().trace(root)
    return torch.fx.GraphModule(root, graph), [r(2, 3)]


class Held(nn.Module):
    def __init__(self):
        super().__init__()
        self.ws = nn.ParameterList([nn.Parameter(r(3)), nn.Parameter(r(2, 3))])
        self.named = nn.ParameterDict({"a": nn.Parameter(r(3)), "b": nn.Parameter(r(1))})
        self.none = nn.ParameterList()
        self.box = nn.ModuleDict({"inside": nn.ParameterList([nn.Parameter(r(3))])})


def held():
    """A graph that takes parameters out of their containers."""
    g = torch.fx.Graph()
    x = g.placeholder("x")
    item = lambda v, key: g.call_function(operator.getitem, (v, key))
    x = g.call_function(torch.add, (x, item(g.get_attr("ws"), 0)))
    x = g.call_function(torch.add, (x, item(item(g.get_attr("ws"), -1), 1)))
    x = g.call_function(torch.mul, (x, item(g.get_attr("named"), "a")))
    x = g.call_function(torch.sub, (x, item(g.get_attr("box.inside"), 0)))
    g.call_function(len, (g.get_attr("none"),))
    g.output(x)
    return torch.fx.GraphModule(Held(), g), [r(2, 3)]


def flat(out):
    return {f"o{i}": t.contiguous().clone() for i, t in enumerate(x for x in pytree.tree_leaves(out) if x is not None)}


def cases():
    for i, (cls, args, kwargs, inputs) in enumerate(LAYERS):
        yield f"{i:02d}_{cls}", lambda: layer(cls, args, kwargs, inputs())
    yield "nested", nested
    yield "held", held


def make():
    for seed, (name, build) in enumerate(cases()):
        torch.manual_seed(seed)
        gm, inputs = build()
        gm.eval()
        os.makedirs(name)
        os.chdir(name)
        save_file({f"i{i}": t for i, t in enumerate(inputs)}, "inputs.safetensors")
        expected = flat(gm(*inputs))  # which may write its inputs
        gm.to_folder("python", "M")
        save_file(expected, "expected.safetensors")
        os.chdir("..")


def check():
    for name, _ in cases():
        os.chdir(name)
        sys.path.insert(0, os.getcwd())
        m = importlib.import_module("go").M().eval()
        # copies are aligned, as kernels round otherwise where their inputs are not
        given = {name: t.clone() for name, t in load_file("inputs.safetensors").items()}
        out, expected = flat(m(*(given[f"i{i}"] for i in range(len(given))))), load_file("expected.safetensors")
        assert out.keys() == expected.keys(), name
        for key, t in out.items():
            assert t.dtype == expected[key].dtype and torch.equal(t, expected[key]), (name, key, t, expected[key])
        state = torch.load("python/state_dict.pt")
        assert list(m.state_dict()) and set(m.state_dict()) == set(state) or not state, (name, set(m.state_dict()) ^ set(state))
        for key, t in m.state_dict().items():
            assert t.dtype == state[key].dtype and torch.equal(t, state[key]), (name, key)
        assert {k for k, _ in m.named_parameters(remove_duplicate=False)} == set(json.load(open("parameters.json"))), name
        sys.path.pop(0)
        for module in [k for k in sys.modules if k == "go" or k.startswith("go.")]:
            del sys.modules[module]
        os.chdir("..")


def parameters():
    """The parameters of what Python imports of its own folders; a check of the check."""
    for name, _ in cases():
        os.chdir(name)
        sys.path.insert(0, os.getcwd())
        m = importlib.import_module("python").M()
        with open("parameters.json", "w") as f:
            json.dump([k for k, _ in m.named_parameters(remove_duplicate=False)], f)
        sys.path.pop(0)
        for module in [k for k in sys.modules if k == "python" or k.startswith("python.")]:
            del sys.modules[module]
        os.chdir("..")


def main():
    command, out = sys.argv[1:]
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    os.makedirs(out, exist_ok=True)
    os.chdir(out)
    if command == "make":
        make()
        # strings are not quoted in what torch.fx writes of convolutions, so that Python cannot import it: quote them
        for root, _, files in os.walk("."):
            if "module.py" in files:
                path = os.path.join(root, "module.py")
                text = open(path).read().replace("padding_mode=circular", "padding_mode='circular'").replace("padding=same", "padding='same'")
                open(path, "w").write(text)
        parameters()
    else:
        check()


main()
