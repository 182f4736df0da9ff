#!/usr/bin/env python3
"""Write nn/testdata/layers.json.gz: layers of torch.nn with their repr, their initial state under a seed, and
what they return, as the pinned torch computes it on one thread and without gradients.

    python scripts/record_nn.py nn/testdata/layers.json.gz
"""

import base64
import gzip
import hashlib
import inspect
import json
import sys
import warnings

warnings.simplefilter("ignore")
import torch
import torch.fx
import torch.nn as nn

PINNED = "2.15.0"
if not torch.__version__.startswith(PINNED):
    sys.exit(f"expected torch {PINNED}, got {torch.__version__}")
torch.set_num_threads(1)
torch.set_grad_enabled(False)


def encode(v):
    if isinstance(v, torch.Tensor):
        flat = v.detach().contiguous().view(-1)
        data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        return {"tensor": [str(v.dtype), list(v.shape), base64.b64encode(data).decode()]}
    if isinstance(v, tuple):
        v = tuple(v)
        return {"tuple": [encode(x) for x in v]}
    if isinstance(v, list):
        return {"list": [encode(x) for x in v]}
    if isinstance(v, float):
        return {"float": repr(v)}
    if isinstance(v, Later):
        return {"module": [v.make().__module__ + "." + v.cls, [encode(a) for a in v.args], {k: encode(x) for k, x in v.kwargs.items()}]}
    return v


class Later:
    """A module among the arguments of another, made after the seed is set."""

    def __init__(self, cls, *args, **kwargs):
        self.cls, self.args, self.kwargs = cls, args, kwargs

    def make(self):
        return getattr(nn, self.cls)(*self.args, **self.kwargs)


def digest(v):
    flat = v.detach().contiguous().view(-1)
    data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
    return [str(v.dtype), list(v.shape), hashlib.sha256(data).hexdigest()[:16]]


def r(*shape):
    return torch.randn(*shape)


def ints(high, *shape):
    return torch.randint(high, shape)


def u(*shape):
    return torch.rand(*shape)


C = []


def case(cls, *args, x=(), train=False, call=None, **kwargs):
    C.append((cls, args, kwargs, x, train, call or {}))


def x(*shape):
    return lambda: (r(*shape),)


for cls in "ReLU ReLU6 SELU SiLU Mish Hardsigmoid Hardswish".split():
    case(cls, x=x(2, 5))
    case(cls, inplace=True, x=x(2, 5))
for cls in "Sigmoid Tanh Tanhshrink Softsign LogSigmoid GELU Identity Hardshrink Softshrink".split():
    case(cls, x=x(2, 5))
case("GELU", approximate="tanh", x=x(2, 5))
case("Hardshrink", 0.25, x=x(2, 5))
case("Softshrink", lambd=0.25, x=x(2, 5))
for cls in "ELU CELU".split():
    case(cls, x=x(2, 5))
    case(cls, alpha=0.5, inplace=True, x=x(2, 5))
case("LeakyReLU", x=x(2, 5))
case("LeakyReLU", 0.2, inplace=True, x=x(2, 5))
case("RReLU", x=x(2, 5))
case("RReLU", x=x(2, 5), train=True)
case("Hardtanh", x=x(2, 5))
case("Hardtanh", -2.0, 0.5, True, x=x(2, 5))
case("Threshold", 0.1, 20.0, x=x(2, 5))
case("Threshold", 0.1, 20.0, inplace=True, x=x(2, 5))
case("Softplus", x=x(2, 5))
case("Softplus", beta=2.0, threshold=1.0, x=x(2, 5))
case("PReLU", x=x(2, 3, 4))
case("PReLU", 3, init=0.1, x=x(2, 3, 4))
for cls in "Softmax LogSoftmax Softmin".split():
    case(cls, dim=1, x=x(2, 5))
    case(cls, x=x(2, 5))
case("Softmax2d", x=x(2, 3, 2, 2))
case("GLU", x=x(2, 6))
case("GLU", dim=0, x=x(2, 6))
case("Linear", 4, 3, x=x(2, 4))
case("Linear", 4, 3, bias=False, x=x(4))
case("Linear", 4, 3, dtype=torch.float64, x=lambda: (r(2, 4).double(),))
case("Bilinear", 3, 4, 2, x=lambda: (r(5, 3), r(5, 4)))
case("Bilinear", 3, 4, 2, bias=False, x=lambda: (r(5, 3), r(5, 4)))
for d in (1, 2, 3):
    s = (6,) * d
    case(f"Conv{d}d", 2, 4, 3, x=x(2, 2, *s))
    case(f"Conv{d}d", 2, 4, (2,) * d, stride=2, padding=1, dilation=2, groups=2, bias=False, x=x(2, 2, *s))
    for mode in "reflect replicate circular".split():
        case(f"Conv{d}d", 2, 2, 3, padding=1, padding_mode=mode, x=x(1, 2, *s))
    case(f"Conv{d}d", 2, 2, 3, padding="same", x=x(1, 2, *s))
    case(f"Conv{d}d", 2, 2, 2, padding="same", padding_mode="circular", x=x(1, 2, *s))
    case(f"Conv{d}d", 2, 2, 2, padding="valid", x=x(1, 2, *s))
    case(f"ConvTranspose{d}d", 2, 4, 3, x=x(2, 2, *(3,) * d))
    case(f"ConvTranspose{d}d", 2, 4, 3, stride=2, padding=1, output_padding=1, groups=2, bias=False, x=x(2, 2, *(3,) * d))
    case(f"ConvTranspose{d}d", 2, 2, 3, stride=2, x=x(1, 2, *(3,) * d), call={"output_size": [8] * d})
    for train in (False, True):
        case(f"BatchNorm{d}d", 3, x=x(4, 3, *(2,) * d), train=train)
    case(f"BatchNorm{d}d", 3, eps=1e-3, momentum=None, x=x(4, 3, *(2,) * d), train=True)
    case(f"BatchNorm{d}d", 3, affine=False, x=x(4, 3, *(2,) * d))
    case(f"BatchNorm{d}d", 3, bias=False, x=x(4, 3, *(2,) * d))
    case(f"BatchNorm{d}d", 3, track_running_stats=False, x=x(4, 3, *(2,) * d))
    case(f"InstanceNorm{d}d", 3, x=x(2, 3, *(4,) * d))
    case(f"InstanceNorm{d}d", 3, affine=True, track_running_stats=True, x=x(2, 3, *(4,) * d))
    case(f"InstanceNorm{d}d", 3, affine=True, track_running_stats=True, x=x(3, *(4,) * d), train=True)
    p = (6,) * d
    case(f"MaxPool{d}d", 2, x=x(2, 3, *p))
    case(f"MaxPool{d}d", (3,) * d, stride=2, padding=1, ceil_mode=True, x=x(2, 3, *p))
    case(f"MaxPool{d}d", 2, return_indices=True, x=x(2, 3, *p))
    case(f"AvgPool{d}d", 2, x=x(2, 3, *p))
    case(f"AvgPool{d}d", 3, stride=2, padding=1, ceil_mode=True, count_include_pad=False, x=x(2, 3, *p))
    case(f"LPPool{d}d", 2, 2, x=x(2, 3, *p))
    case(f"LPPool{d}d", 1.5, 3, stride=2, ceil_mode=True, x=lambda p=p: (u(2, 3, *p),))
    case(f"LPPool{d}d", float("inf"), 2, x=x(2, 3, *p))
    case(f"AdaptiveAvgPool{d}d", 3, x=x(2, 3, *p))
    case(f"AdaptiveMaxPool{d}d", 3, x=x(2, 3, *p))
    case(f"AdaptiveMaxPool{d}d", 3, return_indices=True, x=x(2, 3, *p))
    if d > 1:
        case(f"AdaptiveAvgPool{d}d", (None, 2, 1)[:d], x=x(2, 3, *p))
        case(f"AdaptiveMaxPool{d}d", (None, 2, 1)[:d], x=x(2, 3, *p))
        case(f"FractionalMaxPool{d}d", 2, output_size=3, x=x(2, 3, *p))
        case(f"FractionalMaxPool{d}d", 2, output_ratio=(0.5,) * d, return_indices=True, x=x(2, 3, *p))
    case(f"MaxUnpool{d}d", 2, x=lambda p=p, d=d: getattr(nn.functional, f"max_pool{d}d")(r(2, 3, *p), 2, return_indices=True))
    case(f"MaxUnpool{d}d", 2, stride=2, x=lambda d=d: getattr(nn.functional, f"max_pool{d}d")(r(1, 1, *(7,) * d), 2, return_indices=True), call={"output_size": [7] * d})
    for kind in "Zero Reflection Replication Circular".split():
        case(f"{kind}Pad{d}d", 1, x=x(2, 3, *(4,) * d))
        case(f"{kind}Pad{d}d", (1, 2, 0, 1, 1, 0)[: 2 * d], x=x(2, 3, *(4,) * d))
    case(f"ConstantPad{d}d", 1, 3.5, x=x(2, 3, *(4,) * d))
    for train in (False, True):
        case("Dropout" if d == 1 else f"Dropout{d}d", 0.3, x=x(4, 6, *(2,) * d), train=train)
case("Dropout", inplace=True, x=x(4, 6), train=True)
case("Dropout1d", x=x(4, 6), train=True)
case("Dropout1d", x=x(2, 4, 6), train=True)
case("Dropout3d", x=x(4, 2, 2, 2), train=True)
for cls in "AlphaDropout FeatureAlphaDropout".split():
    case(cls, x=x(3, 4, 2))
    case(cls, 0.4, x=x(3, 4, 2), train=True)
case("GroupNorm", 2, 4, x=x(2, 4, 3))
case("GroupNorm", 2, 4, affine=False, x=x(2, 4, 3))
case("GroupNorm", 2, 4, eps=1e-3, bias=False, x=x(2, 4, 3))
case("LayerNorm", 4, x=x(2, 3, 4))
case("LayerNorm", [3, 4], elementwise_affine=False, x=x(2, 3, 4))
case("LayerNorm", (4,), eps=1e-3, bias=False, x=x(2, 3, 4))
case("RMSNorm", 4, x=x(2, 3, 4))
case("RMSNorm", [3, 4], eps=1e-3, elementwise_affine=False, x=x(2, 3, 4))
case("LocalResponseNorm", 2, x=x(2, 5, 3))
case("LocalResponseNorm", 3, alpha=1e-3, beta=0.5, k=2.0, x=x(2, 5, 3, 2))
case("Embedding", 6, 3, x=lambda: (ints(6, 2, 4),))
case("Embedding", 6, 3, padding_idx=-1, scale_grad_by_freq=True, sparse=True, x=lambda: (ints(6, 2, 4),))
case("Embedding", 6, 3, max_norm=1.0, norm_type=1.0, x=lambda: (ints(6, 5),))
case("EmbeddingBag", 6, 3, x=lambda: (ints(6, 2, 4),))
case("EmbeddingBag", 6, 3, mode="max", x=lambda: (ints(6, 2, 4),))
case("EmbeddingBag", 6, 3, mode="sum", padding_idx=2, x=lambda: (ints(6, 2, 4),))
case("EmbeddingBag", 6, 3, mode="sum", max_norm=2.0, x=lambda: (ints(6, 7),), call={"offsets": torch.tensor([0, 3, 5]), "per_sample_weights": torch.linspace(0, 1, 7)})
case("EmbeddingBag", 6, 3, include_last_offset=True, x=lambda: (ints(6, 7),), call={"offsets": torch.tensor([0, 3, 7])})
for cls in "RNN GRU LSTM".split():
    case(cls, 3, 4, x=x(5, 2, 3))
    case(cls, 3, 4, num_layers=2, bidirectional=True, batch_first=True, bias=False, x=x(2, 5, 3))
    case(cls, 3, 4, num_layers=2, dropout=0.5, x=x(5, 2, 3), train=True)
    case(cls, 3, 4, x=x(5, 3))
    state = (lambda *s: (r(*s), r(*s))) if cls == "LSTM" else r
    case(cls, 3, 4, x=lambda state=state: (r(5, 2, 3), state(1, 2, 4)))
    case(cls, 3, 4, x=lambda state=state: (r(5, 3), state(1, 4)))
    case(cls + "Cell", 3, 4, x=x(2, 3))
    case(cls + "Cell", 3, 4, bias=False, x=lambda state=state: (r(2, 3), state(2, 4)))
    case(cls + "Cell", 3, 4, x=lambda state=state: (r(3), state(4)))
case("RNN", 3, 4, nonlinearity="relu", x=x(5, 2, 3))
case("RNNCell", 3, 4, nonlinearity="relu", x=x(2, 3))
case("LSTM", 3, 4, proj_size=2, num_layers=2, x=x(5, 2, 3))


def same(*shape):
    def make():
        t = r(*shape)
        return (t, t, t)

    return make


causal = torch.triu(torch.ones(3, 3, dtype=torch.bool), 1)
padded = torch.tensor([[False, False, True], [False, False, False]])
A = "MultiheadAttention"
case(A, 4, 2, x=same(3, 2, 4))
case(A, 4, 2, x=same(3, 2, 4), call={"need_weights": False})
case(A, 4, 2, batch_first=True, x=same(2, 3, 4))
case(A, 4, 2, batch_first=True, x=same(2, 3, 4), call={"need_weights": False})
case(A, 4, 2, batch_first=True, x=same(2, 3, 4), call={"attn_mask": causal})
case(A, 4, 2, batch_first=True, x=same(2, 3, 4), call={"key_padding_mask": padded})
case(A, 4, 2, batch_first=True, x=same(2, 3, 4), call={"key_padding_mask": padded, "attn_mask": causal, "need_weights": False})
case(A, 4, 2, batch_first=True, x=same(2, 3, 4), call={"attn_mask": causal, "is_causal": True, "need_weights": False}, train=True)
case(A, 4, 2, batch_first=True, x=same(2, 3, 4), train=True)
case(A, 4, 2, dropout=0.5, x=same(3, 2, 4), train=True)
case(A, 4, 2, bias=False, x=lambda: (r(3, 2, 4), r(5, 2, 4), r(5, 2, 4)))
case(A, 4, 2, add_bias_kv=True, add_zero_attn=True, x=same(3, 2, 4), call={"attn_mask": causal, "key_padding_mask": padded})
case(A, 4, 2, kdim=3, vdim=5, x=lambda: (r(3, 2, 4), r(5, 2, 3), r(5, 2, 5)))
case(A, 4, 2, x=same(3, 4), call={"average_attn_weights": False})
case(A, 4, 2, x=same(3, 4), call={"need_weights": False})
case(A, 4, 2, x=lambda: (lambda q, k: (q, k, k))(r(3, 2, 4), r(5, 2, 4)))
L = "TransformerEncoderLayer"
for bf in (False, True):
    for nf in (False, True):
        case(L, 4, 2, dim_feedforward=6, batch_first=bf, norm_first=nf, x=x(2, 3, 4) if bf else x(3, 2, 4))
        case("TransformerDecoderLayer", 4, 2, dim_feedforward=6, batch_first=bf, norm_first=nf, x=(lambda: (r(2, 3, 4), r(2, 5, 4))) if bf else (lambda: (r(3, 2, 4), r(5, 2, 4))))
case(L, 4, 2, dim_feedforward=6, activation="gelu", batch_first=True, x=x(2, 3, 4), call={"src_mask": causal, "src_key_padding_mask": padded})
case(L, 4, 2, dim_feedforward=6, activation="gelu", x=x(3, 2, 4), call={"src_mask": causal, "src_key_padding_mask": padded})
case(L, 4, 2, dim_feedforward=6, x=x(3, 2, 4), train=True)
case(L, 4, 1, dim_feedforward=6, batch_first=True, bias=False, x=x(2, 3, 4))
case("TransformerDecoderLayer", 4, 2, dim_feedforward=6, activation="gelu", x=lambda: (r(3, 2, 4), r(5, 2, 4)), call={"tgt_mask": causal, "tgt_is_causal": True})
case("TransformerDecoderLayer", 4, 2, dim_feedforward=6, x=lambda: (r(3, 2, 4), r(5, 2, 4)), train=True)
case("Transformer", d_model=4, nhead=2, num_encoder_layers=2, num_decoder_layers=2, dim_feedforward=6, x=lambda: (r(3, 2, 4), r(5, 2, 4)))
case("Transformer", d_model=4, nhead=2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=6, batch_first=True, x=lambda: (r(2, 3, 4), r(2, 3, 4)), call={"tgt_mask": causal, "src_mask": nn.Transformer.generate_square_subsequent_mask(3)})
one, two_layers = Later(L, 4, 2, dim_feedforward=6, batch_first=True), Later(L, 4, 2, dim_feedforward=6, norm_first=True, bias=False)
case("TransformerEncoder", one, 2, x=x(2, 3, 4))
case("TransformerEncoder", two_layers, 3, norm=Later("LayerNorm", 4), x=x(3, 2, 4))
case("TransformerEncoder", two_layers, 1, enable_nested_tensor=False, x=x(3, 4), train=True)
case("TransformerEncoder", one, 2, x=x(2, 3, 4), call={"mask": nn.Transformer.generate_square_subsequent_mask(3)})
case("TransformerEncoder", one, 2, x=x(2, 3, 4), call={"mask": causal, "is_causal": True})
for name, padding in {"left": padded, "ragged": torch.tensor([[False, True, False], [False, False, True]]), "shorter": torch.tensor([[False, True, True], [False, False, True]])}.items():
    for options in ({}, {"mask_check": False}, {"enable_nested_tensor": False}):
        if name == "left" or not options.get("mask_check", True) and name == "shorter" or not options:
            case("TransformerEncoder", one, 2, **options, x=x(2, 3, 4), call={"src_key_padding_mask": padding})
case("TransformerEncoder", one, 2, norm=Later("LayerNorm", 4, eps=0.1), x=x(2, 3, 4), call={"src_key_padding_mask": padded.float().masked_fill(padded, float("-inf"))})
case("TransformerEncoder", one, 2, x=x(2, 3, 4), call={"src_key_padding_mask": padded}, train=True)
case("TransformerEncoder", one, 2, x=x(2, 3, 4), call={"src_key_padding_mask": padded, "mask": causal})
case("TransformerEncoder", Later(L, 4, 2, dim_feedforward=6, batch_first=True, activation="gelu"), 1, x=x(2, 3, 4), call={"src_key_padding_mask": padded})
case("TransformerEncoder", Later(L, 3, 1, dim_feedforward=6, batch_first=True), 1, x=x(2, 3, 3), call={"src_key_padding_mask": padded})
decoder = Later("TransformerDecoderLayer", 4, 2, dim_feedforward=6)
case("TransformerDecoder", decoder, 2, x=lambda: (r(3, 2, 4), r(5, 2, 4)))
case("TransformerDecoder", decoder, 2, norm=Later("LayerNorm", 4), x=lambda: (r(3, 2, 4), r(5, 2, 4)), call={"tgt_mask": nn.Transformer.generate_square_subsequent_mask(3)})
case("TransformerDecoder", decoder, 1, x=lambda: (r(3, 2, 4), r(5, 2, 4)), call={"tgt_key_padding_mask": padded, "memory_key_padding_mask": torch.tensor([[False] * 5, [True] + [False] * 4])}, train=True)
case("Transformer", d_model=4, nhead=2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=6, batch_first=True, x=lambda: (r(2, 3, 4), r(2, 3, 4)), call={"src_key_padding_mask": padded, "memory_key_padding_mask": padded})
case("Flatten", x=x(2, 3, 4))
case("Flatten", 0, 1, x=x(2, 3, 4))
case("Unflatten", 1, (2, 3), x=x(2, 6))
case("PixelShuffle", 2, x=x(1, 8, 2, 3))
case("PixelUnshuffle", 2, x=x(1, 2, 4, 6))
case("ChannelShuffle", 2, x=x(1, 4, 2, 2))
case("Fold", (4, 5), (2, 2), x=x(1, 12, 12))
case("Fold", 4, 2, stride=2, dilation=1, padding=0, x=x(1, 12, 4))
case("Unfold", 2, x=x(1, 3, 4, 4))
case("Unfold", (2, 3), dilation=2, padding=1, stride=2, x=x(1, 3, 6, 6))
case("Upsample", scale_factor=2, x=x(1, 2, 3))
case("Upsample", size=5, x=x(1, 2, 3, 3))
case("Upsample", size=(4, 5, 6), mode="nearest-exact", x=x(1, 2, 3, 3, 3))
case("Upsample", scale_factor=(1.5, 2.0), mode="bilinear", x=x(1, 2, 4, 4))
case("Upsample", scale_factor=1.7, mode="bilinear", align_corners=True, recompute_scale_factor=True, x=x(1, 2, 4, 4))
case("Upsample", scale_factor=2, mode="linear", x=x(1, 2, 4))
case("Upsample", scale_factor=2, mode="bicubic", align_corners=False, x=x(1, 2, 4, 4))
case("Upsample", scale_factor=2, mode="trilinear", x=x(1, 2, 2, 2, 2))
case("Upsample", size=3, mode="area", x=x(1, 2, 6, 6))
case("Upsample", scale_factor=0.5, mode="area", x=x(1, 2, 6))
case("UpsamplingNearest2d", scale_factor=2, x=x(1, 2, 3, 3))
case("UpsamplingBilinear2d", size=(5, 4), x=x(1, 2, 3, 3))
case("CosineSimilarity", x=lambda: (r(3, 4), r(3, 4)))
case("CosineSimilarity", dim=0, eps=1e-3, x=lambda: (r(3, 4), r(3, 4)))
case("PairwiseDistance", x=lambda: (r(3, 4), r(3, 4)))
case("PairwiseDistance", p=1.0, keepdim=True, x=lambda: (r(3, 4), r(3, 4)))
two = lambda: (r(3, 4), r(3, 4))
probabilities = lambda: (u(3, 4), u(3, 4))
signs = lambda: (r(3, 4), r(3, 4).sign())
three = lambda: (r(3, 4), r(3, 4), r(3).sign())
for reduction in "none mean sum".split():
    for cls in "L1Loss MSELoss SmoothL1Loss HuberLoss".split():
        case(cls, reduction=reduction, x=two)
    case("BCELoss", reduction=reduction, x=probabilities)
    case("BCEWithLogitsLoss", reduction=reduction, x=lambda: (r(3, 4), u(3, 4)))
    case("KLDivLoss", reduction=reduction, x=lambda: (u(3, 4).log(), u(3, 4)))
    case("SoftMarginLoss", reduction=reduction, x=signs)
    case("HingeEmbeddingLoss", reduction=reduction, margin=0.5, x=signs)
    case("CosineEmbeddingLoss", reduction=reduction, margin=0.2, x=three)
    case("MarginRankingLoss", reduction=reduction, margin=0.2, x=lambda: (r(4), r(4), r(4).sign()))
    case("NLLLoss", reduction=reduction, x=lambda: (r(3, 4).log_softmax(1), ints(4, 3)))
    case("CrossEntropyLoss", reduction=reduction, x=lambda: (r(3, 4), ints(4, 3)))
    case("MultiMarginLoss", reduction=reduction, x=lambda: (r(3, 4), ints(4, 3)))
    case("MultiLabelMarginLoss", reduction=reduction, x=lambda: (r(2, 4), torch.tensor([[3, 0, -1, 1], [0, -1, 1, 2]])))
    case("MultiLabelSoftMarginLoss", reduction=reduction, x=lambda: (r(3, 4), ints(2, 3, 4).float()))
    case("PoissonNLLLoss", reduction=reduction, x=lambda: (r(3, 4), u(3, 4)))
    case("GaussianNLLLoss", reduction=reduction, x=lambda: (r(3, 4), r(3, 4), u(3, 4)))
    case("TripletMarginLoss", reduction=reduction, x=lambda: (r(3, 4), r(3, 4), r(3, 4)))
    case("TripletMarginWithDistanceLoss", reduction=reduction, swap=True, x=lambda: (r(3, 4), r(3, 4), r(3, 4)))
    case("CTCLoss", reduction=reduction, x=lambda: (r(6, 2, 5).log_softmax(2), ints(4, 2, 3) + 1, torch.tensor([6, 5]), torch.tensor([3, 2])))
case("CTCLoss", zero_infinity=True, x=lambda: (r(6, 2, 5).log_softmax(2), ints(4, 2, 3) + 1, [6, 5], [3, 2]))
case("SmoothL1Loss", beta=0.0, x=two)
case("HuberLoss", delta=0.5, x=two)
case("KLDivLoss", reduction="batchmean", log_target=True, x=lambda: (u(3, 4).log(), u(3, 4).log()))
case("CrossEntropyLoss", ignore_index=1, label_smoothing=0.1, x=lambda: (r(3, 4), ints(4, 3)))
case("CrossEntropyLoss", label_smoothing=0.1, x=lambda: (r(3, 4), r(3, 4).softmax(1)))
case("NLLLoss", ignore_index=2, x=lambda: (r(3, 4).log_softmax(1), ints(4, 3)))
case("MultiMarginLoss", p=2, margin=0.5, x=lambda: (r(3, 4), ints(4, 3)))
case("PoissonNLLLoss", log_input=False, full=True, x=lambda: (u(3, 4), u(3, 4)))
case("GaussianNLLLoss", full=True, x=lambda: (r(3, 4), r(3, 4), 0.5))
case("GaussianNLLLoss", x=lambda: (r(3, 4), r(3, 4), u(3)))
case("TripletMarginLoss", p=1.0, swap=True, margin=2.0, x=lambda: (r(3, 4), r(3, 4), r(3, 4)))
weights = torch.tensor([0.5, 1.0, 2.0, 0.25])
for cls, make in [("BCELoss", probabilities), ("BCEWithLogitsLoss", lambda: (r(3, 4), u(3, 4))), ("CrossEntropyLoss", lambda: (r(3, 4), ints(4, 3))),
                  ("NLLLoss", lambda: (r(3, 4).log_softmax(1), ints(4, 3))), ("MultiMarginLoss", lambda: (r(3, 4), ints(4, 3))), ("MultiLabelSoftMarginLoss", lambda: (r(3, 4), ints(2, 3, 4).float()))]:
    case(cls, weight=weights, x=make)
case("BCEWithLogitsLoss", pos_weight=weights, x=lambda: (r(3, 4), u(3, 4)))



class One(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.m = m

    def forward(self, a):
        return self.m(a)


class Two(One):
    def forward(self, a, b):
        return self.m(a, b)


class Three(One):
    def forward(self, a, b, c):
        return self.m(a, b, c)


class Four(One):
    def forward(self, a, b, c, d):
        return self.m(a, b, c, d)


class Through(torch.fx.Tracer):
    """Goes through the layer, and stops at the layers in it."""

    def is_leaf_module(self, m, name):
        return name != "m" and super().is_leaf_module(m, name)


case("AdaptiveLogSoftmaxWithLoss", 8, 12, [3, 6, 9], x=lambda: (r(6, 8), torch.tensor([0, 11, 4, 2, 5, 10])))
case("AdaptiveLogSoftmaxWithLoss", 8, 12, [3, 6], div_value=2.0, head_bias=True, x=lambda: (r(8), torch.tensor(7)))
case("LinearCrossEntropyLoss", 4, 3, x=lambda: (r(5, 4), ints(3, 5)))
case("LinearCrossEntropyLoss", 4, 3, out_features=(2,), bias=True, reduction="sum", ignore_index=1, label_smoothing=0.1, x=lambda: (r(5, 4), ints(3, 5, 2)))


def rooted(m):
    """The code of the layer traced by itself, None where torch.fx cannot."""
    try:
        return torch.fx.symbolic_trace(m).code
    except Exception:
        return None


cases = []
for seed, (cls, args, kwargs, make, train, call) in enumerate(C):
    kwargs = {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in kwargs.items()}
    options = {k: {"dtype": str(v)} if isinstance(v, torch.dtype) else encode(v) for k, v in kwargs.items()}
    torch.manual_seed(seed)
    made = [a.make() if isinstance(a, Later) else a for a in args], {k: a.make() if isinstance(a, Later) else a for k, a in kwargs.items()}
    m = getattr(nn, cls)(*made[0], **made[1]).train(train)
    initial = {k: digest(v) for k, v in m.state_dict().items()}
    shown = repr(m)
    for t in list(m.parameters()) + list(m.buffers()):
        if t.is_floating_point():
            t.uniform_(0.1, 1)
    loaded = {k: encode(v) for k, v in m.state_dict().items()}
    inputs = make()
    recorded = []
    for i, v in enumerate(inputs):  # one object stays one object
        first = next(j for j, w in enumerate(inputs) if w is v) if isinstance(v, torch.Tensor) else i
        recorded.append({"same": first} if first < i else encode(v))
    torch.manual_seed(seed + 1)
    out = m(*inputs, **call)
    after = {k: encode(v) for k, v in m.state_dict().items()} if train else None
    try:
        root = (One, Two, Three, Four)[sum(p.default is p.empty for p in inspect.signature(m.forward).parameters.values()) - 1](m)
        graph = Through().trace(root)
        traced = torch.fx.GraphModule(root, graph).code
    except Exception as e:
        traced = None
    cases.append({
        "class": type(m).__module__ + "." + cls, "args": [encode(a) for a in args], "kwargs": options, "train": train, "seed": seed,
        "repr": shown, "initial": initial, "loaded": loaded, "inputs": recorded, "call": {k: encode(v) for k, v in call.items()},
        "output": encode(out), "after": after, "traced": traced, "root": rooted(m),
    })
# Functions of torch.nn.functional that no layer calls so.
FN = [
    ("normalize", lambda: (r(3, 4),), {}),
    ("normalize", lambda: (r(3, 4),), {"p": 1.0, "dim": 0, "eps": 0.1}),
    ("gumbel_softmax", lambda: (r(3, 4),), {"tau": 0.5}),
    ("gumbel_softmax", lambda: (r(3, 4),), {"hard": True, "dim": 0}),
    ("affine_grid", lambda: (r(2, 2, 3), [2, 3, 4, 5]), {}),
    ("affine_grid", lambda: (r(2, 3, 4), [2, 3, 2, 3, 4]), {"align_corners": True}),
    ("grid_sample", lambda: (r(1, 2, 4, 4), u(1, 3, 3, 2)), {}),
    ("grid_sample", lambda: (r(1, 2, 4, 4), r(1, 3, 3, 2)), {"mode": "nearest", "padding_mode": "border", "align_corners": True}),
    ("grid_sample", lambda: (r(1, 2, 4, 4), r(1, 3, 3, 2)), {"mode": "bicubic", "padding_mode": "reflection"}),
    ("one_hot", lambda: (ints(4, 5),), {"num_classes": 5}),
    ("pdist", lambda: (r(4, 3),), {}),
    ("scaled_dot_product_attention", lambda: (r(2, 2, 3, 4), r(2, 2, 5, 4), r(2, 2, 5, 4)), {}),
    ("scaled_dot_product_attention", lambda: (r(2, 3, 4), r(2, 3, 4), r(2, 3, 4)), {"is_causal": True}),
    ("conv_tbc", lambda: (r(5, 2, 3), r(2, 3, 4), r(4)), {"pad": 1}),
    ("linear_cross_entropy", lambda: (r(3, 4), r(5, 4), ints(5, 3)), {}),
    ("linear_cross_entropy", lambda: (r(3, 4), r(5, 2, 4), ints(5, 3, 2)), {"linear_bias": torch.ones(5, 2), "reduction": "sum", "ignore_index": 1}),
    ("mse_loss", lambda: (r(3, 4), r(3, 4)), {"weight": torch.full((3, 4), 0.5)}),
    ("mse_loss", lambda: (r(3, 4), r(4)), {"size_average": False}),
    ("l1_loss", lambda: (r(3, 4), r(3, 4)), {"weight": torch.full((3, 4), 0.5)}),
    ("l1_loss", lambda: (r(3, 4), r(3, 4)), {"weight": torch.full((3, 4), 0.5), "reduction": "sum"}),
    ("huber_loss", lambda: (r(3, 4), r(3, 4)), {"weight": torch.full((3, 4), 0.5), "reduction": "none"}),
    ("softmax", lambda: (r(3, 4),), {"dim": 0, "dtype": torch.float64}),
    ("softmin", lambda: (r(3, 4, 2),), {}),
    ("interpolate", lambda: (r(1, 2, 4, 4),), {"size": [2, 3], "mode": "bilinear", "antialias": True}),
    ("interpolate", lambda: (r(1, 2, 4, 4),), {"scale_factor": 0.5, "mode": "bicubic", "antialias": True}),
    ("interpolate", lambda: (r(1, 2, 4, 4),), {"scale_factor": 0.7, "mode": "lanczos", "antialias": True}),
    ("interpolate", lambda: (r(1, 2, 4),), {"scale_factor": [1.3], "mode": "nearest-exact"}),
    ("pad", lambda: (r(2, 3), (1, -1, 0, 2)), {"value": 1.5}),
    ("multi_head_attention_forward", lambda: (r(3, 2, 4), r(5, 2, 4), r(5, 2, 4), 4, 2, r(12, 4), r(12), None, None, False, 0.0, r(4, 4), r(4)), {"static_k": torch.ones(4, 5, 2), "static_v": torch.ones(4, 5, 2)}),
    ("embedding", lambda: (ints(6, 4), r(6, 3)), {"padding_idx": -2}),
    ("layer_norm", lambda: (r(2, 3), [3]), {}),
    ("instance_norm", lambda: (r(2, 3, 4),), {}),
    ("lp_pool2d", lambda: (u(1, 1, 4, 4), 3, 2), {}),
    ("lp_pool1d", lambda: (r(1, 1, 6), float("-inf"), 2), {}),
    ("binary_cross_entropy", lambda: (u(3, 4), u(3, 4)), {"weight": torch.full((4,), 0.5), "reduce": False}),
    ("logsigmoid", lambda: (r(3),), {}),
    ("cosine_similarity", lambda: (r(3, 4), r(4)), {"dim": -1}),
]
functions = []
for seed, (name, make, kwargs) in enumerate(FN):
    torch.manual_seed(seed)
    args = make()
    recorded = [encode(a) for a in args]
    torch.manual_seed(seed)
    out = getattr(nn.functional, name)(*args, **kwargs)
    options = {k: {"dtype": str(v)} if isinstance(v, torch.dtype) else encode(v) for k, v in kwargs.items()}
    functions.append({"function": name, "args": recorded, "kwargs": options, "seed": seed, "output": encode(out)})

# What is said of state dicts that do not fit.
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.norm = nn.BatchNorm1d(3)


messages = []
for name, change in [
    ("missing", lambda d: [d.pop("fc.weight"), d.pop("norm.running_mean")]),
    ("unexpected", lambda d: d.update({"fc.scale": torch.ones(1), "tail.bias": torch.ones(2)})),
    ("size", lambda d: d.update({"fc.weight": torch.ones(3, 5), "norm.num_batches_tracked": torch.ones(1)})),
    ("all", lambda d: [d.pop("fc.bias"), d.update({"x": torch.ones(1), "fc.weight": torch.ones(2)})]),
    ("counter", lambda d: [d.pop("norm.num_batches_tracked"), d.pop("norm.bias")]),
]:
    m = Net()
    d = dict(m.state_dict())
    change(d)
    try:
        m.load_state_dict(d)
    except RuntimeError as e:
        messages.append([name, list(d), {k: list(v.shape) for k, v in d.items()}, str(e)])
text = json.dumps({"torch": PINNED, "cases": cases, "functions": functions, "messages": messages}, separators=(",", ":"))
with open(sys.argv[1], "wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as f:
    f.write(text.encode())
print(len(cases), "cases")
