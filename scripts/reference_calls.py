#!/usr/bin/env python3
"""Record what the functions of PyTorch that are Python code return on this very machine, for a test to repeat bit by bit.

    third_party/reference/bin/python scripts/reference_calls.py --fixtures ../shared/fixtures --out third_party/reference-calls

The calls are those of reference_call_cases.py and, of the recorded public calls, those of the same functions, made
anew. The layout is that of the recorded calls (README.md in the fixtures' ops): calls.jsonl and tensors.safetensors;
a line is a call that returns, or one that raises with "error" and "message". Beyond that README:

    seed   the default generator starts from it, in every call
    said   the message is Python code's own, not one of the kernels or of the argument parser

The folder is not kept in the repository: another processor rounds differently.
"""
import argparse
import collections
import json
import os
import re
import sys
import traceback
import warnings

import torch

import reference_call_cases

TORCH = "2.15.0"
SEED = 0


def first_level(golden, rec, func):
    """The overloads that the call enters the dispatcher with, in order."""
    names = []

    def sink(level, f, args, kwargs):
        if level == "first":
            names.append(golden.schema_name(f))

    d = golden.Decoder(rec["tensors"][:rec["inputs"]], golden.entry_bytes)
    args, kwargs = [d.value(v) for v in rec["args"]], {k: d.value(v) for k, v in rec["kwargs"].items()}
    try:
        torch.manual_seed(SEED)
        with golden.traced(sink):
            func(*args, **kwargs)
    except Exception:
        return None
    finally:
        golden.clear_modes()
    return names


def raised_in_python(e):
    """Whether an exception was raised by Python code of torch itself."""
    last = traceback.extract_tb(e.__traceback__)[-1]
    return "torch" in last.filename and (last.line or "").strip().startswith("raise")


def same(golden, t, fresh):
    """Whether a tensor has its bits still: a zero that became another zero has not."""
    if not golden.same_bits(t, fresh):
        return False
    if t.layout != torch.strided or not t.is_floating_point() and not t.is_complex() or t.element_size() == 1:
        return True
    t, fresh = (torch.view_as_real(x.resolve_conj().resolve_neg()) if x.is_complex() else x for x in (t, fresh))
    return torch.equal(torch.signbit(t), torch.signbit(fresh))


def record(golden, name, func, args, kwargs):
    """Encode one call, run it from its encoded form and add what came out."""
    rec = golden.encode_args(args, kwargs)
    rec.update(fn=name, inputs=len(rec["tensors"]), seed=SEED)
    torch.manual_seed(SEED)
    try:
        d, out = golden.run_decoded(rec, func)
    except Exception as e:
        rec.update(error=type(e).__name__, message=str(e).split("\nException raised from")[0], said=raised_in_python(e))
        return rec
    c = golden.Call()
    c.tensors = [dict(e) for e in rec["tensors"]]
    for i, t in sorted(d.made.items()):
        c.by_id[id(t)] = i
        c.keep.append(t)
        if t.layout == torch.strided:
            c.tensors[i]["storage"] = t.untyped_storage().data_ptr()
    changed = []
    for i, t in sorted(d.made.items()):
        fresh = golden.Decoder([dict(e) for e in rec["tensors"]], golden.entry_bytes).tensor(i)
        if t.shape != fresh.shape or t.layout == torch.strided and t.stride() != fresh.stride() or not same(golden, t.detach(), fresh.detach()):
            changed.append(i)
    if hasattr(out, "__next__"):
        out = list(out) if name.startswith("builtins.") else tuple(out)
    rec["out"] = c.value(out)
    if changed:
        rec["changed"] = {}
        for i in changed:
            t = d.made[i].detach()
            rec["changed"][str(i)] = c.tensor(t.as_strided(t.shape, t.stride(), t.storage_offset()) if t.layout == torch.strided else t)["t"]
    c.alias_outputs(rec["inputs"])
    rec["tensors"] = rec["tensors"] + c.tensors[rec["inputs"]:]
    aten = first_level(golden, rec, func)
    if aten is not None:
        rec["aten"] = aten
    return rec


def line_of(golden, rec, file):
    line = json.loads(golden.line_of(rec, file))
    line.update({k: rec[k] for k in ("seed", "said") if k in rec})
    return json.dumps(line, separators=(",", ":"))


def recorded_calls(golden, folder, names):
    """The arguments of the recorded public calls of some functions."""
    tensors = golden.read_tensor_file(os.path.join(folder, "tensors.safetensors"))
    for file in ("public.jsonl", "errors.jsonl"):
        with open(os.path.join(folder, file)) as f:
            for line in f:
                rec = json.loads(line)
                if rec["fn"] not in names:
                    continue
                for e in rec["tensors"]:
                    if "s" in e:
                        e["data"] = tensors[e["s"]] if e["s"] is not None else b""
                d = golden.Decoder(rec["tensors"][:rec["inputs"]], golden.entry_bytes)
                yield rec["fn"], [d.value(v) for v in rec["args"]], {k: d.value(v) for k, v in rec.get("kwargs", {}).items()}


def recorder(fixtures):
    """The recorder of the fixtures, in a process that calls as they were recorded."""
    if torch.__version__.split("+")[0] != TORCH:
        sys.exit(f"torch: expected {TORCH}, got {torch.__version__}")
    sys.path.insert(0, fixtures)
    sys.dont_write_bytecode = True
    import make_op_golden
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    return make_op_golden


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--fixtures", required=True, help="folder of recorded cases: its scripts and its ops/")
    ap.add_argument("--out", required=True)
    ap.add_argument("--only", default="", metavar="REGEXP", help="only the functions whose name matches")
    a = ap.parse_args()
    golden = recorder(a.fixtures)

    with open(os.path.join(os.path.dirname(__file__), "..", "torchops", "composed.txt")) as f:
        rows = [line.split("\t")[0].split() for line in f if not line.startswith("#")]
    names = {name for row in rows for name in row}
    calls = list(reference_call_cases.calls())
    calls += recorded_calls(golden, os.path.join(a.fixtures, "ops"), names)
    os.makedirs(a.out, exist_ok=True)
    file = golden.TensorFile()
    counts, left_out = collections.Counter(), collections.Counter()
    with open(os.path.join(a.out, "calls.jsonl"), "w") as f:
        for name, args, kwargs in calls:
            if not re.search(a.only, name):
                continue
            try:
                rec = record(golden, name, golden.resolve(name), args, kwargs)
            except golden.Unsupported as e:
                left_out[f"{name}: {e}"] += 1
                continue
            f.write(line_of(golden, rec, file) + "\n")
            counts[name] += 1
    file.write(os.path.join(a.out, "tensors.safetensors"))
    for what, n in sorted(left_out.items()):
        print(f"left out: {what} ({n})")
    for row in rows:
        if not any(counts[name] for name in row) and re.search(a.only, row[0]):
            print(f"no call of {row[0]}")
    print(f"{sum(counts.values())} calls of {len(counts)} functions recorded in {a.out}, torch {torch.__version__}")


if __name__ == "__main__":
    main()
