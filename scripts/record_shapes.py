#!/usr/bin/env python3
"""Record the shapes and dtypes that the functions of PyTorch take and return, for the rules in the doc comments of torchops.

    third_party/reference/bin/python scripts/record_shapes.py --fixtures ../shared/fixtures --out scripts/genapi/testdata/shapes.jsonl.gz

A line is a call that returned: "fn", "args", "kwargs" and "out", with tensors as {"t": [dtype, sizes]}, "layout" where it is
not strided, dtypes as {"dtype": name}. The calls are those of the fixtures' ops/public.jsonl, those of
reference_call_cases.py, and random ones after the signatures, for each function of torch and torch.linalg, fft and special
and each method of tensors that torchops has. Elements are not recorded.
"""
import argparse
import collections
import gzip
import io
import json
import math
import os
import random
import signal

import torch

import random_arguments
import reference_call_cases
import reference_calls

CALLS = 14  # of each function
TRIES = 250
SECONDS = 2
PREFIXES = {"torch._C._linalg.linalg_": "torch.linalg.", "torch._C._fft.fft_": "torch.fft.", "torch._C._special.special_": "torch.special."}
# what ends the process, waits, or changes its settings
NOT_CALLED = ("set_num", "manual_seed", "seed", "_rng", "from_file", "cuda", "record_stream", "mkldnn", "miopen", "cudnn", "fbgemm", "quantized", "share", "lobpcg",
              "embedding_bag", "fused_moving", "choose_qparams", "numpy", "empty_quantized", "sparse_resize", "rnn", "lstm", "gru", "set_", "batch_norm_", "ctc_loss", "storage")


class TooLong(Exception):
    pass


def stop(*_):
    raise TooLong


class Unsupported(Exception):
    pass


def described(v):
    """A value as the lines have it."""
    if isinstance(v, torch.Tensor):
        entry = {"t": [str(v.dtype).removeprefix("torch."), list(v.shape)]}
        if v.layout != torch.strided:
            entry["layout"] = str(v.layout).removeprefix("torch.")
        return entry
    if isinstance(v, torch.dtype):
        return {"dtype": str(v).removeprefix("torch.")}
    if v is None or isinstance(v, (bool, str)):
        return v
    if isinstance(v, int):
        if not -2**63 <= v < 2**63:
            raise Unsupported
        return v
    if isinstance(v, float):
        return {"f": v if math.isfinite(v) else str(v)}
    if isinstance(v, complex):
        return {"c": str(v)}
    if isinstance(v, (list, tuple)):
        return [described(item) for item in v]
    if isinstance(v, (torch.layout, torch.memory_format, torch.device)):
        return {"other": str(v)}
    raise Unsupported


def resolve(name):
    obj = torch
    for part in name.split(".")[1:]:
        obj = getattr(obj, part)
    return obj


def line(name, args, kwargs):
    """The line of a call, None where it does not return."""
    signal.alarm(SECONDS)
    try:
        rec = {"fn": name, "args": described(list(args)), "kwargs": {k: described(v) for k, v in kwargs.items()}}
        args, kwargs = random_arguments.copied(list(args)), random_arguments.copied(kwargs)
        torch.manual_seed(0)
        out = resolve(name)(*args, **kwargs)
        rec["out"] = described(out)
        return json.dumps(rec, separators=(",", ":"))
    except TooLong:
        return None
    except Exception:
        return None
    finally:
        signal.alarm(0)


def fixture_calls(golden, folder, names):
    tensors = golden.read_tensor_file(os.path.join(folder, "tensors.safetensors"))
    with open(os.path.join(folder, "public.jsonl")) as f:
        for text in f:
            rec = json.loads(text)
            if rec["fn"] not in names:
                continue
            for e in rec["tensors"]:
                if "s" in e:
                    e["data"] = tensors[e["s"]] if e["s"] is not None else b""
            try:
                d = golden.Decoder(rec["tensors"][:rec["inputs"]], golden.entry_bytes)
                yield rec["fn"], [d.value(v) for v in rec["args"]], {k: d.value(v) for k, v in rec.get("kwargs", {}).items()}
            except Exception:
                continue


def written_calls():
    """Calls of functions whose arguments must fit each other, and of those that are bound by hand."""
    for dtype in (torch.float32, torch.int64, torch.complex64, torch.float64, torch.bool):
        for shape in ((), (3,), (2, 3), (0, 2)):
            x = torch.ones(shape, dtype=dtype)
            for name in "bfloat16 byte cdouble cfloat char double float half int long short bool cpu contiguous".split():
                if name in ("cdouble", "cfloat") or not dtype.is_complex or name in ("cpu", "contiguous"):
                    yield "torch.Tensor." + name, [x], {}
            for name in "element_size get_device is_contiguous ndimension nelement numel stride tolist type dim size is_coalesced nonzero".split():
                yield "torch.Tensor." + name, [x], {}
            for name in ("get_device", "numel", "nonzero"):
                yield "torch." + name, [x], {}
            yield "torch.Tensor.copy_", [torch.zeros(shape), torch.ones(()).to(dtype) if not dtype.is_complex else torch.ones(())], {}
            yield "torch.Tensor.requires_grad_", [torch.ones(shape)], {}
            yield "torch.Tensor.is_set_to", [x, x], {}
            yield "torch.Tensor.new_tensor", [x, [[1, 2], [3, 4]]], {"dtype": torch.float32}
            yield "torch.as_tensor", [x], {}
            yield "torch.asarray", [x], {}
    n = torch.randn
    for layers, both in ((1, False), (2, True)):
        for name, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
            weights, width = [], 3
            for layer in range(layers):
                for _ in range(1 + both):
                    weights += [n(gates * 5, width), n(gates * 5, 5), n(gates * 5), n(gates * 5)]
                width = 5 * (1 + both)
            hidden = n(layers * (1 + both), 4, 5)
            for first in (False, True):
                x = n(4, 7, 3) if first else n(7, 4, 3)
                yield "torch." + name, [x, [hidden, hidden.clone()] if name == "lstm" else hidden, weights, True, layers, 0.0, False, both, first], {}
            cell = [n(gates * 5, 3), n(gates * 5, 5), n(gates * 5), n(gates * 5)]
            yield f"torch.{name}_cell", [n(4, 3), [n(4, 5), n(4, 5)] if name == "lstm" else n(4, 5), *cell], {}
    for c, groups in ((4, 1), (4, 2)):
        x = n(2, c, 5, 6)
        for stride, padding, dilation in (([1, 1], [0, 0], [1, 1]), ([2, 1], [1, 2], [1, 1]), ([1, 1], [2, 2], [2, 1])):
            yield "torch.convolution", [x, n(6, c // groups, 3, 2), n(6), stride, padding, dilation, False, [0, 0], groups], {}
        yield "torch.instance_norm", [x, None, None, None, None, True, 0.1, 1e-5, False], {}
        yield "torch.batch_norm_stats", [x, 1e-5], {}
    for mode in (0, 1):
        yield "torch.grid_sampler", [n(2, 3, 5, 6), n(2, 4, 7, 2), mode, 0, False], {}
        yield "torch.grid_sampler", [n(2, 3, 5, 6, 4), n(2, 4, 7, 2, 3), mode, 0, False], {}
    yield "torch.affine_grid_generator", [n(2, 2, 3), [2, 3, 4, 5], False], {}
    yield "torch.affine_grid_generator", [n(2, 3, 4), [2, 3, 4, 5, 6], False], {}
    yield "torch.conv_tbc", [n(7, 2, 3), n(2, 3, 4), n(4), 0], {}
    yield "torch.conv_tbc", [n(7, 2, 3), n(3, 3, 5), n(5), 1], {}
    ids, offsets = torch.tensor([1, 2, 4, 3, 0]), torch.tensor([0, 2, 3])
    for mode in (0, 1):
        yield "torch.embedding_bag", [n(6, 4), ids, offsets, False, mode], {}
    for reduction in (0, 1, 2):
        yield "torch.ctc_loss", [n(8, 2, 5).log_softmax(-1), torch.ones(2, 3, dtype=torch.int64), [8, 7], [3, 2], 0, reduction], {}
    for a, b, step in ((0, 5, 1), (1, 4, 0.5), (3, -2, -2)):
        yield "torch.range", [a, b, step], {}
    coo = torch.tensor([[0, 2., 0], [1, 0, 3]]).to_sparse()
    csr = torch.tensor([[0, 2., 0], [1, 0, 3]]).to_sparse_csr()
    csc = torch.tensor([[0, 2., 0], [1, 0, 3]]).to_sparse_csc()
    yield "torch.Tensor.coalesce", [coo], {}
    yield "torch.Tensor.sparse_mask", [n(2, 3), coo], {}
    for name in ("smm", "hspmm"):
        yield "torch." + name, [coo, n(3, 4)], {}
    yield "torch.Tensor.smm", [coo, n(3, 4)], {}
    for name in ("indices", "values"):
        yield "torch.Tensor." + name, [coo], {}
        yield f"torch.{name}_copy", [coo], {}
    for name in ("crow_indices", "col_indices"):
        yield "torch.Tensor." + name, [csr], {}
        yield f"torch.{name}_copy", [csr], {}
    for name in ("ccol_indices", "row_indices"):
        yield "torch.Tensor." + name, [csc], {}
        yield f"torch.{name}_copy", [csc], {}
    yield "torch.sparse_coo_tensor", [torch.tensor([[0, 1], [2, 0]]), n(2), [2, 3]], {}
    yield "torch.sparse_csr_tensor", [torch.tensor([0, 1, 2]), torch.tensor([0, 1]), n(2), [2, 3]], {}
    yield "torch.sparse_csc_tensor", [torch.tensor([0, 1, 2, 2]), torch.tensor([0, 1]), n(2), [2, 3]], {}
    for name in ("sparse_bsr_tensor", "sparse_bsc_tensor"):
        yield "torch." + name, [torch.tensor([0, 1, 2]), torch.tensor([0, 1]), n(2, 2, 2), [4, 4]], {}
    yield "torch.quantize_per_tensor", [n(2, 3), 0.1, 10, torch.quint8], {}
    yield "torch.quantize_per_channel", [n(2, 3), torch.ones(2), torch.zeros(2), 0, torch.quint8], {}
    q = torch.quantize_per_tensor(n(2, 3), 0.1, 10, torch.quint8)
    for name in ("int_repr", "q_scale", "q_zero_point"):
        yield "torch." + name, [q], {}
        yield "torch.Tensor." + name, [q], {}
    yield "torch.Tensor.addmv_", [n(3), n(3, 4), n(4)], {}
    yield "torch.addmv_", [n(3), n(3, 4), n(4)], {}
    a, tau = torch.geqrf(n(4, 3))
    yield "torch.Tensor.orgqr", [a, tau], {}


def public_name(bound):
    for prefix, public in PREFIXES.items():
        if bound.startswith(prefix):
            return public + bound[len(prefix):]
    return bound


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--fixtures", required=True)
    ap.add_argument("--out", required=True)
    a = ap.parse_args()
    golden = reference_calls.recorder(a.fixtures)
    signal.signal(signal.SIGALRM, stop)

    left_out = random_arguments.excluded()
    bound = {public_name(n): n for n in random_arguments.signatures()}
    composed = random_arguments.composed()
    names = sorted(n for n in set(bound) | set(composed) if n not in left_out and n.startswith(("torch.Tensor.", "torch.linalg.", "torch.fft.", "torch.special.")) or n.count(".") == 1)
    names = [n for n in names if not n.split(".")[-1].startswith("_")]
    calls, first = collections.defaultdict(list), collections.defaultdict(list)
    for name, args, kwargs in written_calls():
        first[name].append((args, kwargs))
    names = sorted(set(names) | set(first))
    known = set(names)
    for name, args, kwargs in reference_call_cases.calls():
        if name in known:
            calls[name].append((args, kwargs))
    for name, args, kwargs in fixture_calls(golden, os.path.join(a.fixtures, "ops"), known):
        calls[name].append((args, kwargs))
    text, none = io.StringIO(), []
    for name in names:
        found, pick = {}, random.Random(name)
        own = calls[name]
        pick.shuffle(own)
        for args, kwargs in first[name] + own:
            if len(found) >= max(CALLS, len(first[name])):
                break
            if rec := line(name, args, kwargs):
                found[rec] = True
        if name in bound and not any(word in name.split(".")[-1] for word in NOT_CALLED):
            maker = random_arguments.Maker(name)
            for _ in range(TRIES):
                if len(found) >= CALLS + 4:
                    break
                try:
                    _, args, kwargs = maker.typed(0, bound[name])
                except Exception:
                    continue
                if rec := line(name, args, kwargs):
                    found[rec] = True
        for rec in found:
            text.write(rec + "\n")
        if not found:
            none.append(name)
    with open(a.out, "wb") as f, gzip.GzipFile(fileobj=f, mode="wb", mtime=0, filename="") as z:
        z.write(text.getvalue().encode())
    print(f"{text.getvalue().count(chr(10))} calls of {len(names) - len(none)} functions; none of {' '.join(none)}")


if __name__ == "__main__":
    main()
