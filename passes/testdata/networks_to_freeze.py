"""Export small networks, with what PyTorch computes of them, for TestFrozenAgainstPython.

    python networks_to_freeze.py FOLDER

writes NAME.pt2 and NAME.safetensors for each, as exported and after the core decompositions (NAME_core), and
list.json: [name, sets of inputs, inputs of a set, results, rewrites that have to be made]. Attention is written in the
spellings that torch/_inductor/fx_passes/fuse_attention.py knows, without dropout, and some more.
"""
import json
import math
import sys
import warnings

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn
from torch.export import Dim, export

assert torch.__version__.startswith("2.15."), torch.__version__
warnings.filterwarnings("ignore")
torch.manual_seed(0)
r = torch.randn
MASK, CAUSAL, LEAST = r(2, 1, 1, 6), torch.ones(6, 6).tril().bool(), torch.finfo(torch.float32).min

ATTENTION = {
    "divided": lambda q, k, v: torch.matmul(q, k.transpose(-2, -1)).div(4.0).softmax(-1).matmul(v),
    "multiplied": lambda q, k, v: F.dropout((q @ k.transpose(-2, -1) * 0.25).softmax(-1), 0.1, False) @ v,
    "added": lambda q, k, v: torch.softmax(q @ k.transpose(-2, -1) / 4 + MASK, -1) @ v,
    "permuted": lambda q, k, v: ((q.permute(0, 2, 1, 3) @ k.permute(0, 2, 1, 3).transpose(-2, -1)) / math.sqrt(16)).softmax(-1) @ v.permute(0, 2, 1, 3),
    "keys_permuted": lambda q, k, v: (q @ k.permute(0, 1, 3, 2) / 4).softmax(-1) @ v,
    "queries_scaled": lambda q, k, v: torch.softmax((q / 4.0) @ k.transpose(-2, -1), -1) @ v,
    "keys_scaled": lambda q, k, v: torch.softmax(q @ (k * 0.25).transpose(-2, -1), -1) @ v,
    "softmax_of_float32": lambda q, k, v: F.softmax(q @ k.transpose(-2, -1) * 0.25, dim=-1, dtype=torch.float32).to(q.dtype) @ v,
    "matrices": lambda q, k, v: torch.bmm(torch.bmm(q.view(6, 6, 16), k.reshape(6, 6, 16).transpose(1, 2)).softmax(-1), v.view(6, 6, 16)),
    "matrices_of_heads": lambda q, k, v: torch.bmm((torch.bmm(q.view(6, -1, 16), k.reshape(6, -1, 16).transpose(1, 2)).view(2, 3, 6, -1) + MASK).view(6, 6, -1).softmax(-1), v.reshape(6, -1, 16)).view(2, 3, 6, 16),
    "baddbmm": lambda q, k, v: torch.bmm(torch.baddbmm(torch.zeros(6, 6, 6), q.view(6, 6, 16), k.reshape(6, 6, 16).transpose(1, 2), alpha=0.25).softmax(-1), v.view(6, 6, 16)),
    "where": lambda q, k, v: torch.where(CAUSAL, q @ k.transpose(-2, -1) / torch.full([], 4.0), torch.full([], LEAST)).softmax(-1) @ v,
    "masked_fill": lambda q, k, v: (q @ k.transpose(-2, -1) / 4).masked_fill(CAUSAL == 0, float("-inf")).softmax(-1) @ v,
    "expanded_heads": lambda q, k, v: (q @ k[:, :1].expand(2, 3, 6, 16).transpose(-2, -1) / 4).softmax(-1) @ v[:, :1].expand(2, 3, 6, 16),
}
# fused as exported only: decompositions make something else of them
EXPORTED = {
    "einsum": lambda q, k, v: torch.einsum("bhqk,bhkd->bhqd", (torch.einsum("bhqd,bhkd->bhqk", q, k) * 0.25).softmax(-1), v),
    "safe_softmax": lambda q, k, v: torch.ops.aten._safe_softmax(torch.ops.aten.mul.Scalar(q, 0.5) @ torch.ops.aten.mul.Scalar(k.transpose(-2, -1), 0.5) + MASK, -1) @ v,
}


class Lambda(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, q, k, v):
        return self.f(q, k, v)


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(32, 64, bias=False), nn.Linear(32, 64, bias=False), nn.Linear(64, 32, bias=False)
        self.q, self.k, self.v, self.o, self.norm = nn.Linear(32, 32), nn.Linear(32, 32, bias=False), nn.Linear(32, 32), nn.Linear(32, 32), nn.LayerNorm(32)

    def forward(self, x):
        b, t, _ = x.shape
        h = self.norm(x)
        q, k, v = (layer(h).view(b, t, 4, 8).transpose(1, 2) for layer in (self.q, self.k, self.v))
        a = (q @ k.transpose(-2, -1) / math.sqrt(8)).softmax(-1)
        x = x + self.o((a @ v).transpose(1, 2).reshape(b, t, 32))
        return x + self.down(F.silu(self.gate(x)) * self.up(x))


class RMSNorm(nn.Module):
    """That of Llama, or with one more than its weight that of Gemma."""

    def __init__(self, size, more=0.0):
        super().__init__()
        self.weight, self.more = nn.Parameter(r(size) * 0.1 + 1 - more), more

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
        return h.to(x.dtype) * (self.more + self.weight)


def rotate_halves(x, angles):
    cos, sin = torch.cat((angles, angles), -1).cos(), torch.cat((angles, angles), -1).sin()
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


def rotate_pairs(x, angles):
    even, odd, cos, sin = x[..., 0::2], x[..., 1::2], angles.cos(), angles.sin()
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


def expand_heads(x, times):
    b, heads, t, size = x.shape
    return x[:, :, None].expand(b, heads, times, t, size).reshape(b, heads * times, t, size)


class Decoder(nn.Module):
    """A layer of a language model with groups of queries, behind a causal mask and one of padding."""

    def __init__(self, rotate, repeat, norm=lambda size: RMSNorm(size), normed=False, activation=F.silu):
        super().__init__()
        self.rotate, self.repeat, self.activation = rotate, repeat, activation
        self.q, self.k, self.v = (nn.Linear(32, n, bias=False) for n in (48, 16, 16))
        self.o = nn.Linear(48, 32, bias=False)
        self.gate, self.up, self.down = nn.Linear(32, 64, bias=False), nn.Linear(32, 64, bias=False), nn.Linear(64, 32, bias=False)
        self.before, self.behind = norm(32), norm(32)
        self.q_norm, self.k_norm = (norm(8), norm(8)) if normed else (nn.Identity(), nn.Identity())
        self.register_buffer("frequencies", 10000.0 ** (-torch.arange(0, 8, 2) / 8))

    def forward(self, x, mask):
        b, t, _ = x.shape
        h, at = self.before(x), torch.arange(t)
        q, k, v = (layer(h).view(b, t, -1, 8).transpose(1, 2) for layer in (self.q, self.k, self.v))
        angles = at[None, :, None].float() * self.frequencies
        q, k = self.rotate(self.q_norm(q), angles[:, None]), self.rotate(self.k_norm(k), angles[:, None])
        seen = (at[None, :] <= at[:, None])[None, None] & mask.bool()[torch.arange(b)[:, None, None, None], at[None, None, None, :]]
        a = F.scaled_dot_product_attention(q, self.repeat(k, 3), self.repeat(v, 3), seen, scale=8**-0.5)
        x = x + self.o(a.transpose(1, 2).reshape(b, t, 48))
        h = self.behind(x)
        return x + self.down(self.activation(self.gate(h)) * self.up(h))


def sentences():
    return [(r(n, t, 32), torch.ones(n, t, dtype=torch.long).index_fill_(1, torch.arange(t - 2, t), 0)) for n, t in ((5, 7), (2, 4), (3, 11))]


WORDS = ({0: Dim("b"), 1: Dim("t")},) * 2
DECODERS = {
    "llama_of_groups": Decoder(rotate_halves, expand_heads),
    "qwen_of_groups": Decoder(rotate_halves, lambda x, n: x.repeat_interleave(n, 1), normed=True),
    "gemma_of_groups": Decoder(rotate_pairs, lambda x, n: x.repeat_interleave(n, -3), norm=lambda size: RMSNorm(size, 1.0), activation=lambda x: F.gelu(x, approximate="tanh")),
    "llama_with_rms_norm": Decoder(rotate_pairs, expand_heads, norm=lambda size: nn.RMSNorm(size, 1e-6)),
}


def line():
    return nn.Sequential(nn.Conv1d(4, 16, 5, 2, 2), nn.BatchNorm1d(16), nn.GELU(), nn.Conv1d(16, 16, 3, padding=1, groups=16), nn.ReLU(), nn.ConvTranspose1d(16, 8, 4, 2, 1), nn.BatchNorm1d(8), nn.Tanh())


def volume():
    return nn.Sequential(nn.Conv3d(3, 8, 3, 1, 1), nn.BatchNorm3d(8), nn.ReLU(), nn.MaxPool3d(2), nn.ConvTranspose3d(8, 8, 3, 2, 1, 1, groups=2), nn.BatchNorm3d(8, affine=False), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 4 * 6 * 6, 5), nn.BatchNorm1d(5))


class Recurrent(nn.Module):
    def __init__(self, layer=nn.LSTM, **options):
        super().__init__()
        self.layer = layer(6, 4, **options)

    def forward(self, x):
        return self.layer(x)


class WithState(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LSTM(6, 4, num_layers=2)

    def forward(self, x, h, c):
        return self.layer(x, (h, c))


def batches(*shape, sizes=(5, 2, 1, 0)):
    return [(r(n, *shape),) for n in sizes]


ANY = ({0: Dim("b")},)
# name: module, sets of inputs, dynamic shapes, rewrites of what is exported, and of what is decomposed (None: not exported so)
NETWORKS = {
    **{name: (Lambda(f), [(r(2, 3, 6, 16), r(2, 3, 6, 16), r(2, 3, 6, 16)) for _ in range(2)], None, ["fuse-attention"], ["fuse-attention"]) for name, f in ATTENTION.items()},
    **{name: (Lambda(f), [(r(2, 3, 6, 16), r(2, 3, 6, 16), r(2, 3, 6, 16))], None, ["fuse-attention"], []) for name, f in EXPORTED.items()},
    "llama": (Llama(), batches(5, 32), ANY, ["fuse-attention", "merge-linears", "pack-linears"], ["fuse-attention", "merge-linears", "pack-linears"]),
    **{name: (module, sentences(), WORDS, ["group-heads"], []) for name, module in DECODERS.items()},
    "line": (line(), batches(4, 32), ANY, ["fold-batch-norm", "pack-convolutions"], ["fold-batch-norm", "pack-convolutions"]),
    "volume": (volume(), batches(3, 4, 6, 6, sizes=(2, 5)), ANY, ["fold-batch-norm", "pack-convolutions", "pack-linears"], ["fold-batch-norm", "pack-convolutions"]),
    "lstm": (Recurrent(batch_first=True), batches(7, 6), ANY, ["pack-lstms"], []),
    "lstm_of_two_directions": (Recurrent(batch_first=True, bidirectional=True, num_layers=2, dropout=0.3), batches(7, 6), ANY, ["pack-lstms"], None),
    "lstm_without_bias": (Recurrent(batch_first=True, bias=False), batches(7, 6), ANY, ["pack-lstms"], None),
    "lstm_of_a_state": (WithState(), [(r(7, n, 6), r(2, n, 4), r(2, n, 4)) for n in (5, 2, 0)], ({1: Dim("b")},) * 3, ["pack-lstms"], None),
    "lstm_that_projects": (Recurrent(batch_first=True, proj_size=3), batches(7, 6), ANY, [], []),
    "gru": (Recurrent(nn.GRU, batch_first=True), batches(7, 6), ANY, [], []),
    "attention_with_weights": (nn.MultiheadAttention(48, 3, batch_first=True), [(r(2, 6, 48),) * 3], None, ["pack-linears"], []),
    "encoder": (nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu"), [(r(2, 6, 32),), (r(2, 6, 32),)], None, ["pack-linears"], []),
    "decoder": (nn.TransformerDecoderLayer(32, 4, 64, batch_first=True), [(r(2, 6, 32), r(2, 5, 32))], None, ["pack-linears"], []),
}


def main(folder):
    listed = []
    for name, (module, sets, dynamic, rewrites, core) in NETWORKS.items():
        module = module.eval()
        for norm in module.modules():
            if isinstance(norm, nn.modules.batchnorm._BatchNorm):
                norm.running_mean.normal_()
                norm.running_var.uniform_(0.5, 2)
        values, results = {}, []
        with torch.no_grad():
            for i, args in enumerate(sets):
                results = [t for t in torch.utils._pytree.tree_leaves(module(*args)) if t is not None]
                values |= {f"{i}.i{j}": t.contiguous().clone() for j, t in enumerate(args)} | {f"{i}.o{j}": t.contiguous().clone() for j, t in enumerate(results)}
            program = export(module, sets[0], dynamic_shapes=dynamic)
        for suffix, made in (("", rewrites), ("_core", core)):
            if made is None:
                continue
            torch.export.save(program.run_decompositions() if suffix else program, f"{folder}/{name}{suffix}.pt2")
            save_file(values, f"{folder}/{name}{suffix}.safetensors")
            listed.append({"name": name + suffix, "sets": len(sets), "inputs": len(sets[0]), "results": len(results), "rewrites": made})
    with open(f"{folder}/list.json", "w") as f:
        json.dump(listed, f)


main(sys.argv[1])
