#!/usr/bin/env python3
"""Judge files that torchfx wrote: load them with PyTorch, compare, run, compare.

    third_party/reference/bin/python scripts/reference_written.py --fixtures ../shared/fixtures

Reads questions from standard input, a line each: KIND, FILE and CASE, apart by tabs. CASE is a folder as
reference_cases.py makes it. Answers with a line each: "ok", or what is wrong.

    copy        FILE is the program of the case: the graph, its values' shapes, signature, ranges, guards, calls
                and state are those of the case's model.pt2, and every input set gives the recorded bits
    rewritten   FILE was changed: the first input set gives what lies in rewritten.safetensors beside it
"""
import argparse
import json
import logging
import os
import sys
import warnings

import torch
import torch.utils._pytree as pytree
from safetensors.torch import load_file

TORCH = "2.15.0"


def description(ep):
    """All that a loaded program says, as comparable values by name."""
    values = []
    for m in ep.graph_module.modules():
        if not isinstance(m, torch.fx.GraphModule):
            continue
        # without dead code: a program that went through .module() has none of its own
        used = {n for n in m.graph.nodes if n.users or n.op != "call_function" or n.is_impure()}
        for n in m.graph.nodes:
            v = n.meta.get("val")
            if n not in used:
                continue
            if isinstance(v, torch.Tensor):
                v = (v.dtype, list(v.shape), list(v.stride()), v.device, v.requires_grad)
            meta = {k: str(x) for k, x in n.meta.items() if k != "val"}
            values.append((n.op, n.name, str(n.target), str(n.args), str(n.kwargs), str(v), meta))
    state = {k: (type(v).__name__, v.dtype, v.shape, v.stride(), v.storage_offset(), v.requires_grad) for k, v in ep.state_dict.items()}
    return {
        "nodes": values, "signature": str(ep.graph_signature), "ranges": str(ep.range_constraints), "guards": ep._guards_code,
        "calls": str(ep.module_call_graph), "state": state, "constants": sorted(ep.constants), "verifiers": str(ep.verifiers),
        "example inputs": pytree.tree_structure(ep.example_inputs),
    }


def same_bits(x, y):
    def bits(t):
        t = t.detach()
        if t.is_complex():
            t = torch.view_as_real(t.resolve_conj())
        return t.resolve_neg().contiguous().flatten().view(torch.uint8)
    return x.dtype == y.dtype and x.shape == y.shape and torch.equal(bits(x), bits(y))


def run(path, leaves):
    ep = torch.export.load(path)
    args, kwargs = pytree.tree_unflatten(leaves, ep.call_spec.in_spec)
    with torch.no_grad():
        return pytree.tree_flatten(ep.module()(*args, **kwargs))[0]


def leaves_of(case, s):
    tensors = load_file(os.path.join(case, s["files"]["inputs"]))
    return [check_pt2.restore(d, tensors) for d in s["inputs"]]


def judge_copy(path, case, meta):
    a, b = description(torch.export.load(os.path.join(case, "model.pt2"))), description(torch.export.load(path))
    for k in a:
        if a[k] != b[k]:
            if isinstance(a[k], list) and len(a[k]) == len(b[k]):
                x, y = next((x, y) for x, y in zip(a[k], b[k]) if x != y)
                return f"{k}: expected {x}, got {y}"
            return f"{k}: expected {a[k]}, got {b[k]}"
    for s in meta["sets"]:
        inputs, original = leaves_of(case, s), leaves_of(case, s)
        torch.manual_seed(s.get("seed", 0))
        want = run(os.path.join(case, "model.pt2"), original)
        torch.manual_seed(s.get("seed", 0))
        for i, (x, y) in enumerate(zip(want, run(path, inputs), strict=True)):
            if isinstance(x, torch.Tensor) and not same_bits(x, y):
                return f"output {i} has other bits"
            if not isinstance(x, torch.Tensor) and x != y:
                return f"output {i}: expected {x}, got {y}"
        for i, (x, y) in enumerate(zip(original, inputs)):
            if isinstance(x, torch.Tensor) and not same_bits(x, y):
                return f"input {i} was changed otherwise"
    return "ok"


def judge_rewritten(path, case, meta):
    want = load_file(os.path.join(os.path.dirname(path), "rewritten.safetensors"))
    for i, y in enumerate(run(path, leaves_of(case, meta["sets"][0]))):
        if f"o{i}" not in want:
            continue
        x = want[f"o{i}"]
        if y.is_complex():
            y = torch.view_as_real(y.resolve_conj())
        if x.dtype != y.dtype or x.shape != y.shape or not torch.allclose(x, y, rtol=1e-5, atol=1e-6, equal_nan=True):
            return f"output {i}: expected {x}, got {y}"
    return "ok"


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--fixtures", required=True)
    a = ap.parse_args()
    if torch.__version__.split("+")[0] != TORCH:
        sys.exit(f"torch: expected {TORCH}, got {torch.__version__}")
    sys.path.insert(0, a.fixtures)
    sys.dont_write_bytecode = True
    global check_pt2
    import check_pt2
    torch.set_num_threads(1)
    # sample inputs with classes of their own, which torch.load warns of before it loads them
    logging.getLogger("torch._export.serde.serialize").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    kinds = {"copy": judge_copy, "rewritten": judge_rewritten}
    for line in sys.stdin:
        kind, path, case = line.rstrip("\n").split("\t")
        try:
            with open(os.path.join(case, "meta.json")) as f:
                answer = kinds[kind](path, case, json.load(f))
        except Exception as e:
            answer = f"{type(e).__name__}: {e}"
        print(" | ".join(answer.splitlines()) or "an error without words", flush=True)


if __name__ == "__main__":
    main()
