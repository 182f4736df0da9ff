"""Export attention in many spellings, with what PyTorch computes of it, for TestAttentionSpellings.

    python attention_spellings.py FOLDER [NAME...]

writes a program for each spelling and form, the values of two sets of inputs, of which the second hides all places of
one batch from every query, and list.json. A spelling is a function of query, key and value, [batch, head, place,
feature], and of a mask of truth values, [batch, place], that says which keys count.
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
B, H, L, S, D = 2, 3, 5, 7, 16
INF, LEAST = float("inf"), torch.finfo(torch.float32).min
CAUSAL = torch.ones(L, S).tril(S - L).bool()


def causal(q, k):
    """A mask of queries that see no later key, made in the graph."""
    rows, columns = torch.arange(q.shape[-2]), torch.arange(k.shape[-2])
    return columns[None, :] <= rows[:, None] + (k.shape[-2] - q.shape[-2])


def least(t):
    return torch.finfo(t.dtype).min


def padding(m):
    return m[:, None, None, :]


def shown(mask, hidden, q):
    return torch.where(mask, torch.zeros([], dtype=q.dtype), torch.full([], hidden, dtype=q.dtype))


def scores(q, k):
    return q @ k.transpose(-2, -1) / 4


def out(s, v):
    return s.softmax(-1) @ v


def merged(t):
    """[batch, place, 3 heads features], as one product makes query, key and value."""
    return t.transpose(1, 2).reshape(t.shape[0], t.shape[2], H * D)


def split(t):
    return t.view(t.shape[0], t.shape[1], H, D).transpose(1, 2)


def gpt2(q, k, v, m):
    q, k, v = (split(t) for t in torch.cat([merged(q[:, :, :, :]), merged(k[:, :, :L]), merged(v[:, :, :L])], -1).split(H * D, 2))
    s = q @ k.transpose(-1, -2) / torch.full([], D ** 0.5, dtype=q.dtype)
    s = torch.where(torch.ones(L, L).tril().bool(), s, torch.full([], least(s), dtype=s.dtype))
    return F.dropout(s.softmax(-1).type(v.dtype) @ v, 0.1, False).permute(0, 2, 1, 3).contiguous()


def merged_chunks(q, k, v, m):
    q, k, v = torch.cat([merged(q), merged(k[:, :, :L]), merged(v[:, :, :L])], -1).chunk(3, -1)
    q, k, v = (t.unflatten(-1, (H, D)).transpose(1, 2) for t in (q, k, v))
    return out(scores(q, k), v).transpose(1, 2).flatten(2)


def unbound(q, k, v, m):
    qkv = torch.stack([q, k[:, :, :L], v[:, :, :L]], 2).permute(2, 0, 1, 3, 4)  # timm's order of sizes
    q, k, v = qkv.unbind(0)
    return (((q * D ** -0.5) @ k.transpose(-2, -1)).softmax(dim=-1) @ v).transpose(1, 2).reshape(q.shape[0], L, H * D)


def permuted(q, k, v, m):
    q, k, v = (t.transpose(1, 2).contiguous() for t in (q, k, v))
    q, v, k = q.permute(0, 2, 1, 3), v.permute(0, 2, 1, 3), k.permute(0, 2, 3, 1)
    return ((q @ k) / math.sqrt(D)).softmax(-1) @ v


def grouped(expand):
    def f(q, k, v, m):
        k, v = expand(k[:, :1]), expand(v[:, :1])
        return out(scores(q, k), v)
    return f


def repeat_kv(t):
    b, h, s, d = t.shape
    return t[:, :, None].expand(b, h, H, s, d).reshape(b, h * H, s, d)


def bloom(q, k, v, m):
    q, k, v = q.reshape(-1, L, D), k.reshape(-1, S, D), v.reshape(-1, S, D)
    alibi = (torch.arange(S) * torch.tensor([[0.5], [0.25], [0.125]])).to(q.dtype).repeat(q.shape[0] // H, 1).unsqueeze(1)
    s = alibi.baddbmm(q, k.transpose(1, 2), beta=1.0, alpha=0.25).view(-1, H, L, S)
    s = s + (~padding(m)).to(s.dtype) * least(s)
    p = F.softmax(s, dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.bmm(p.view(-1, L, S), v).view(-1, H, L, D)


def windows(q, k, v, m):
    """Swin: a bias of heads, and behind a view one of windows."""
    bias, shift = torch.linspace(-1, 1, H * L * S).view(H, L, S).to(q.dtype), torch.where(CAUSAL.repeat(2, 1, 1), 0.0, -100.0).to(q.dtype)
    s = (q * 0.25) @ k.transpose(-2, -1) + bias.unsqueeze(0)
    s = s.view(q.shape[0] // 2, 2, H, L, S) + shift.unsqueeze(1).unsqueeze(0)
    return s.view(-1, H, L, S).softmax(-1) @ v


def bart(q, k, v, m):
    q, k, v = (q * D ** -0.5).reshape(-1, L, D), k.reshape(-1, S, D), v.reshape(-1, S, D)
    s = torch.bmm(q, k.transpose(1, 2)).view(-1, H, L, S) + shown(padding(m), least(q), q)
    return torch.bmm(s.view(-1, L, S).softmax(-1), v).view(-1, H, L, D).transpose(1, 2).reshape(-1, L, H * D)


def t5(q, k, v, m):
    bias = torch.linspace(-2, 2, H * L * S).view(1, H, L, S).to(q.dtype)
    position_bias = bias + (1.0 - padding(m).to(q.dtype)) * least(q)
    s = torch.matmul(q, k.transpose(3, 2))
    s += position_bias
    return F.dropout(F.softmax(s.float(), dim=-1).type_as(s), 0.1, False) @ v


def fill(value):
    return lambda q, k, v, m: out(scores(q, k).masked_fill(~padding(m), value), v)


def in_order(left, right, letters):
    return lambda q, k, v, m: torch.einsum(right, torch.einsum(left, *(t.movedim(1, 2) if letters else t for t in (q, k))).div(4).softmax(-1), v.movedim(1, 2) if letters else v)


# name: function, and why it stays, "" where it does not; before a colon, in which form alone
SPELLINGS = {
    # products, scales
    "divided": (lambda q, k, v, m: out(scores(q, k), v), ""),
    "scaled_before": (lambda q, k, v, m: out((q * 0.25) @ k.transpose(-2, -1), v), ""),
    "scaled_both": (lambda q, k, v, m: out((q * D ** -0.25) @ (k * D ** -0.25).transpose(-2, -1), v), ""),
    "scaled_keys_turned": (lambda q, k, v, m: out(q @ (k.mT * 0.25), v), ""),
    "scaled_by_root_in_graph": (lambda q, k, v, m: out(q @ k.mT / torch.sqrt(torch.tensor(q.shape[-1], dtype=q.dtype)), v), ""),
    "scaled_twice": (lambda q, k, v, m: out((q / 2) @ k.mT * 0.5, v), ""),
    "not_scaled": (lambda q, k, v, m: out(q @ k.mT, v), ""),
    "scaled_by_heads": (lambda q, k, v, m: out(F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT * torch.tensor([[[2.0]], [[3.0]], [[1.5]]], dtype=q.dtype), v), ""),
    "temperature": (lambda q, k, v, m: out(q @ k.mT / torch.mean(q * q), v), ""),
    "temperature_of_one": (lambda q, k, v, m: out(q @ k.mT * torch.full([1], 0.25, dtype=q.dtype), v), ""),
    "swapped": (lambda q, k, v, m: out(q @ k.swapaxes(-1, -2) / 4, v), ""),
    "moved": (lambda q, k, v, m: out(q @ k.movedim(-1, -2) / 4, v), ""),
    "five_dimensions": (lambda q, k, v, m: out(scores(q[:, None], k[:, None]), v[:, None]), ""),
    "two_dimensions": (lambda q, k, v, m: out(scores(q[0, 0], k[0, 0]), v[0, 0]), ""),
    "three_dimensions": (lambda q, k, v, m: out(scores(q[:, 0], k[:, 0]), v[:, 0]), ""),
    "batches_of_matrices": (lambda q, k, v, m: torch.bmm(torch.bmm(q[:, 0], k[:, 0].mT).mul(0.25).softmax(-1), v[:, 0]), ""),
    "baddbmm": (lambda q, k, v, m: torch.bmm(torch.baddbmm(torch.zeros(1, L, S, dtype=q.dtype), q[:, 0], k[:, 0].mT, beta=0, alpha=0.25).softmax(-1), v[:, 0]), ""),
    # einsum
    "einsum": (in_order("bhqd,bhkd->bhqk", "bhqk,bhkd->bhqd", False), ""),
    "einsum_places_first": (in_order("bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd", True), ""),
    "einsum_of_dots": (in_order("...qd,...kd->...qk", "...qk,...kd->...qd", False), ""),
    "einsum_spaced": (in_order("b h i d, b h j d -> b h i j", "b h i j, b h j d -> b h i d", False), ""),
    "einsum_three": (lambda q, k, v, m: torch.einsum("bij,bjd->bid", (torch.einsum("bid,bjd->bij", q[:, 0], k[:, 0]) / 4).softmax(-1), v[:, 0]), ""),
    "einsum_masked": (lambda q, k, v, m: torch.einsum("bhij,bhjd->bhid", torch.einsum("bhid,bhjd->bhij", q * 0.25, k).masked_fill(~padding(m), max(-1e9, least(q))).softmax(-1), v), ""),
    "einsum_and_matmul": (lambda q, k, v, m: (torch.einsum("bhqd,bhkd->bhqk", q, k) / 4).softmax(-1) @ v, ""),
    "einsum_heads_last": (lambda q, k, v, m: torch.einsum("bqhk,bkhd->bqhd", (torch.einsum("bqhd,bkhd->bqhk", q.movedim(1, 2), k.movedim(1, 2)) / 4).softmax(-1), v.movedim(1, 2)), "its scores lie otherwise"),
    # one mask
    "added": (lambda q, k, v, m: out(scores(q, k) + shown(padding(m), least(q), q), v), ""),
    "added_of_ones": (lambda q, k, v, m: out(scores(q, k) + (1.0 - padding(m).to(q.dtype)) * -1e4, v), ""),
    "subtracted": (lambda q, k, v, m: out(scores(q, k) - 1e4 * (1.0 - padding(m).to(q.dtype)), v), ""),
    "added_infinities": (lambda q, k, v, m: out(scores(q, k) + torch.zeros(m.shape, dtype=q.dtype).masked_fill(~m, -INF)[:, None, None], v), ""),
    "added_before_scale": (lambda q, k, v, m: out((q @ k.mT + shown(padding(m), -INF, q)) / 4, v), ""),
    "added_in_place": (lambda q, k, v, m: out(scores(q, k).add_(shown(padding(m), -INF, q)), v), ""),
    "added_wider": (lambda q, k, v, m: F.softmax(scores(q, k).float() + torch.where(padding(m), 0.0, LEAST), -1).to(q.dtype) @ v, "float64: masked scores are rounded to float32"),
    "added_bias": (lambda q, k, v, m: out(q @ k.mT + torch.linspace(-3, 3, H * L * S, dtype=q.dtype).view(H, L, S), v), ""),
    "added_rows": (lambda q, k, v, m: out(scores(q, k) + torch.linspace(-3, 3, L, dtype=q.dtype)[:, None], v), ""),
    "filled_infinity": (fill(-INF), ""),
    "filled_1e4": (fill(-1e4), ""),
    "filled_65504": (fill(-65504.0), ""),
    "filled_1e9": (lambda q, k, v, m: out(scores(q, k).masked_fill(~padding(m), max(-1e9, least(q))), v), ""),
    "filled_least": (lambda q, k, v, m: out(scores(q, k).masked_fill(~padding(m), least(q)), v), ""),
    "filled_in_place": (lambda q, k, v, m: out(scores(q, k).masked_fill_(~padding(m), least(q)), v), ""),
    "filled_zeros": (lambda q, k, v, m: out(scores(q, k).masked_fill(padding(m).to(q.dtype) == 0, -INF), v), ""),
    "filled_before_scale": (lambda q, k, v, m: out((q @ k.mT).masked_fill(~padding(m), -1e4) * 0.25, v), "a score of -2500 is not hidden"),
    "filled_shallow": (fill(-10.0), "a score of -10 is not hidden"),
    "where_number": (lambda q, k, v, m: out(torch.where(padding(m), scores(q, k), -1e4), v), ""),
    "where_number_first": (lambda q, k, v, m: out(torch.where(~padding(m), -INF, scores(q, k)), v), ""),
    "where_tensor": (lambda q, k, v, m: out(torch.where(padding(m), scores(q, k), torch.tensor(-1e4, dtype=q.dtype)), v), ""),
    "where_tensor_like": (lambda q, k, v, m: out((lambda s: torch.where(padding(m).expand(s.shape), s, torch.full_like(s, -1e4)))(scores(q, k)), v), ""),
    "where_ones": (lambda q, k, v, m: out((lambda s: torch.where(padding(m) > 0, s, -1e4 * torch.ones_like(s)))(scores(q, k)), v), ""),
    # causal masks
    "causal_buffer": (lambda q, k, v, m: out(scores(q, k).masked_fill(~CAUSAL, -INF), v), ""),
    "causal_buffer_where": (lambda q, k, v, m: out(torch.where(CAUSAL, scores(q, k), -1e4), v), ""),
    "causal_tril": (lambda q, k, v, m: out(scores(q, k).masked_fill(torch.tril(torch.ones(q.shape[-2], k.shape[-2]), diagonal=2) == 0, -INF), v), ""),
    "causal_triu": (lambda q, k, v, m: out(scores(q, k) + torch.triu(torch.full((q.shape[-2], k.shape[-2]), -INF, dtype=q.dtype), 3), v), ""),
    "causal_arange": (lambda q, k, v, m: out(scores(q, k).masked_fill(~causal(q, k), least(q)), v), ""),
    "causal_infinity": (lambda q, k, v, m: out(torch.where(causal(q, k), scores(q, k), -INF), v), ""),
    "strictly_causal_infinity": (lambda q, k, v, m: out(scores(q, k).masked_fill(torch.ones(L, S).tril(-1) == 0, -INF), v), ""),
    "strictly_causal_1e4": (lambda q, k, v, m: out(scores(q, k).masked_fill(torch.ones(L, S).tril(-1) == 0, -1e4), v), ""),
    # two masks
    "causal_and_padding_added": (lambda q, k, v, m: out(scores(q, k) + shown(causal(q, k), -INF, q) + shown(padding(m), -INF, q), v), ""),
    "causal_and_padding_1e4": (lambda q, k, v, m: out(scores(q, k) + shown(causal(q, k), -1e4, q) + (1.0 - padding(m).to(q.dtype)) * -1e4, v), ""),
    "causal_where_padding_added": (lambda q, k, v, m: out(torch.where(CAUSAL, scores(q, k), -INF) + shown(padding(m), -INF, q), v), ""),
    "causal_filled_padding_filled": (lambda q, k, v, m: out(scores(q, k).masked_fill(~CAUSAL, -1e4).masked_fill(~padding(m), -1e4), v), ""),
    "causal_infinity_padding_infinity": (lambda q, k, v, m: out(scores(q, k).masked_fill(~causal(q, k), -INF).masked_fill(~padding(m), -INF), v), ""),
    "causal_least_padding_infinity": (lambda q, k, v, m: out(scores(q, k).masked_fill(~CAUSAL, least(q)).masked_fill(~padding(m), -INF), v), ""),
    "padding_added_causal_filled": (lambda q, k, v, m: out((scores(q, k) + shown(padding(m), -1e4, q)).masked_fill(~CAUSAL, -INF), v), ""),
    "bias_and_filled": (lambda q, k, v, m: out((q @ k.mT + torch.linspace(-3, 3, H * L * S, dtype=q.dtype).view(H, L, S)).masked_fill(~padding(m), least(q)), v), ""),
    "filled_and_bias": (lambda q, k, v, m: out(scores(q, k).masked_fill(~padding(m), least(q)) + torch.linspace(-3, 3, H * L * S, dtype=q.dtype).view(H, L, S), v), "float16: what is added to a score that is hidden by a number counts where all are hidden"),
    "filled_and_padding": (lambda q, k, v, m: out(torch.where(CAUSAL, scores(q, k), torch.full([], least(q), dtype=q.dtype)) + shown(padding(m), least(q), q), v), "float16: what is added to a score that is hidden by a number counts where all are hidden"),
    "three_masks": (lambda q, k, v, m: out((scores(q, k) + torch.linspace(-3, 3, H * L * S, dtype=q.dtype).view(H, L, S) + shown(padding(m), -INF, q)).masked_fill(~causal(q, k), -INF), v), ""),
    # softmax
    "softmax_of_float32": (lambda q, k, v, m: F.softmax(scores(q, k), dim=-1, dtype=torch.float32).to(q.dtype) @ v, ""),
    "softmax_cast": (lambda q, k, v, m: F.softmax(scores(q, k).float(), -1).type_as(q) @ v, ""),
    "softmax_of_float64": (lambda q, k, v, m: F.softmax(scores(q, k), -1, dtype=torch.float64).to(q.dtype) @ v, ""),
    "safe_softmax": (lambda q, k, v, m: torch.ops.aten._safe_softmax(scores(q, k).masked_fill(~padding(m), -INF), -1) @ v, ""),
    "the_operator": (lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, padding(m).expand(-1, 1, L, -1)), ""),
    "the_operator_causal": (lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, is_causal=True), ""),
    "dropout_in_eval": (lambda q, k, v, m: F.dropout(scores(q, k).softmax(-1), 0.1, False) @ v, ""),
    "weights_copied": (lambda q, k, v, m: scores(q, k).softmax(-1).contiguous().clone() @ v, ""),
    "weights_returned": (lambda q, k, v, m: (lambda w: (w @ v, w))(scores(q, k).softmax(-1)), "the weights are a result"),
    "weights_masked_again": (lambda q, k, v, m: scores(q, k).masked_fill(~padding(m), least(q)).softmax(-1).masked_fill(~padding(m), 0) @ v, "weights are masked behind the softmax"),
    "masked_by_product": (lambda q, k, v, m: (lambda b: out(scores(q, k) * b + -1e4 * (1 - b), v))(CAUSAL.to(q.dtype)), "scores times a mask"),
    # heads
    "gpt2": (gpt2, ""),
    "merged_chunks": (merged_chunks, ""),
    "unbound": (unbound, ""),
    "permuted": (permuted, ""),
    "one_head_for_all": (lambda q, k, v, m: out(scores(q, k[:, :1]), v[:, :1]), ""),
    "heads_expanded": (grouped(lambda t: t.expand(-1, H, -1, -1)), ""),
    "heads_repeated": (grouped(lambda t: t.repeat_interleave(H, 1)), ""),
    "heads_reshaped": (grouped(repeat_kv), ""),
    # models
    "t5": (t5, "float64: masked scores are rounded to float32"),
    "bart": (bart, ""),
    "bloom": (bloom, "float64: masked scores are rounded to float32"),
    "windows": (windows, ""),
}


class Lambda(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, q, k, v, m):
        return self.f(q, k, v, m)


def inputs(dtype, batch=B):
    made = lambda n: torch.randn(batch, H, n, D).to(dtype)
    keep = torch.rand(batch, S) > 0.3
    keep[:, 0] = True
    return [made(L), made(S), made(S), keep]


FIXED = ("two_dimensions", "windows")  # of which torch.export fixes the batch
DYNAMIC = ({0: Dim.AUTO}, {0: Dim.AUTO}, {0: Dim.AUTO}, {0: Dim.AUTO})


def main(folder, *names):
    listed = []
    torch.manual_seed(0)
    for name, (f, stays) in SPELLINGS.items():
        if names and name not in names:
            continue
        module = Lambda(f).eval()
        for form, dtype in (("", torch.float32), ("core", torch.float32), ("any", torch.float32), ("float64", torch.float64), ("bfloat16", torch.bfloat16), ("float16", torch.float16)):
            sets = [inputs(dtype), inputs(dtype)]
            if form == "any" and name not in FIXED:
                sets += [inputs(dtype, 6), inputs(dtype, 0)]
            sets[1][3][1] = False
            values = {}
            with torch.no_grad():
                for i, args in enumerate(sets):
                    results = torch.utils._pytree.tree_leaves(module(*args))
                    values |= {f"{i}.i{j}": t.contiguous().clone() for j, t in enumerate(args)} | {f"{i}.o{j}": t.contiguous().clone() for j, t in enumerate(results)}
                program = export(module, tuple(sets[0]), dynamic_shapes=DYNAMIC if form == "any" and name not in FIXED else None)
            path = f"{folder}/{name}.{form or 'exported'}"
            torch.export.save(program.run_decompositions() if form == "core" else program, path + ".pt2")
            save_file(values, path + ".safetensors")
            listed.append({"spelling": name, "form": form or "exported", "sets": len(sets), "inputs": 4, "results": len(results), "stays": stays})
    with open(f"{folder}/list.json", "w") as out:
        json.dump(listed, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
