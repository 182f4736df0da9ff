#!/usr/bin/env python3
"""Record what PyTorch computes on this very machine, for `torchfx parity` to repeat bit by bit.

    third_party/reference/bin/python scripts/reference_cases.py --fixtures ../shared/fixtures --out third_party/reference-cases

Cases are the programs of the fixtures, those of reference_programs.py (called made_…) and the networks of reference_models.py. Each is loaded afresh
for each input set and run as ep.module()(*args, **kwargs) on one thread under no_grad. The layout is
that of the fixtures (their README.md), with these differences in meta.json:

    "compare": "bits"      every element has the recorded bits, signs of zero and NaN payloads included
    sets[k].seed           the default generator was seeded with this, because the program draws from it
    sets[k].files.nodes    values of the nodes of ep.module().graph, for programs with small ones: key
                           <node> for a tensor, <node>.<i> for item i of several results

The folder is not kept in the repository: another processor rounds differently.
"""
import argparse
import copy
import json
import logging
import os
import re
import shutil
import sys
import tempfile
import time
import warnings

import torch
import torch.utils._pytree as pytree
from safetensors.torch import load_file, save_file

import reference_models
import reference_programs

TORCH = "2.15.0"
SEED = 0
NODES_LIMIT = 16 << 20  # bytes of node values kept of one input set

EXCLUDED = {
    "auto_functionalized": "needs the operator fixtures::bump_, which no library here has",
    "custom_op": "needs the operators fixtures::scale_shift and fixtures::halves, which no library here has",
    "custom_op_mutating": "needs the operator fixtures::bump_, which no library here has",
    "effect_token": "needs the operator fixtures::logged, which no library here has",
    "joint_graph": "has no input sets: a graph only",
}


def bits(t):
    """The elements of a tensor as bytes."""
    t = t.detach()
    if t.is_complex():
        t = torch.view_as_real(t.resolve_conj())
    return t.resolve_neg().contiguous().flatten().view(torch.uint8)


def changed(before, after):
    return before.shape != after.shape or not torch.equal(bits(before), bits(after))


class Recorder(torch.fx.Interpreter):
    """Keeps a copy of each tensor that a node yields, until they are too many."""

    def __init__(self, module):
        super().__init__(module)
        self.values, self.size = {}, 0

    def run_node(self, n):
        out = super().run_node(n)
        if n.op == "output" or self.size > NODES_LIMIT:
            return out
        several = isinstance(out, (list, tuple))
        for i, v in enumerate(out if several else [out]):
            # tensors inside vmap have no elements of their own to keep
            if isinstance(v, torch.Tensor) and not torch._C._functorch.is_functorch_wrapped_tensor(v):
                make_pt2.leaf(v, f"{n.name}.{i}" if several else n.name, self.values)
                self.size += v.numel() * v.element_size()
        return out


def run(path, leaves):
    """One run of a freshly loaded program. Returns what to record."""
    ep = torch.export.load(path)
    module = ep.module()
    args, kwargs = pytree.tree_unflatten(leaves, ep.call_spec.in_spec)
    state = {n: t.detach().clone() for n, t in make_pt2.state_of(module).items()}
    inputs = [v.clone() if isinstance(v, torch.Tensor) else v for v in leaves]
    torch.manual_seed(SEED)
    before = torch.get_rng_state()
    outputs = pytree.tree_flatten(module(*args, **kwargs))[0]
    random = not torch.equal(before, torch.get_rng_state())
    state = [n for n, t in make_pt2.state_of(module).items() if changed(state[n], t)]
    inputs = [i for i, v in enumerate(inputs) if isinstance(v, torch.Tensor) and changed(v, leaves[i])]
    return outputs, random, {n: make_pt2.state_of(module)[n] for n in sorted(state)}, inputs


def node_values(path, leaves):
    """The values of all nodes, or None when they are too large to keep."""
    r = Recorder(torch.export.load(path).module())
    torch.manual_seed(SEED)
    r.run(*leaves, enable_io_processing=False)
    return r.values if r.values and r.size <= NODES_LIMIT else None


def record(path, k, leaves, folder):
    """Run input set k and write its files. Returns its entry of meta.json."""
    given, expected = {}, {}
    entry = {"inputs": [make_pt2.leaf(v, f"i{i}", given) for i, v in enumerate(leaves)]}
    spare = copy.deepcopy(leaves)
    outputs, random, state, inputs = run(path, leaves)
    entry["outputs"] = [make_pt2.leaf(v, f"o{i}", expected) for i, v in enumerate(outputs)]
    for name, t in state.items():
        make_pt2.leaf(t, f"state:{name}", expected)
    for i in inputs:
        make_pt2.leaf(leaves[i], f"input:{i}", expected)
    entry["changed_state"], entry["changed_inputs"] = list(state), inputs
    if random:
        entry["seed"] = SEED
    entry["files"] = {"inputs": f"inputs.{k}.safetensors", "expected": f"expected.{k}.safetensors"}
    save_file(given, os.path.join(folder, entry["files"]["inputs"]))
    save_file(expected, os.path.join(folder, entry["files"]["expected"]))
    if os.path.getsize(path) < NODES_LIMIT:
        nodes = node_values(path, spare)
        if nodes:
            entry["files"]["nodes"] = f"nodes.{k}.safetensors"
            save_file(nodes, os.path.join(folder, entry["files"]["nodes"]))
    return entry


def write_case(out, name, fill):
    """Make a case in a folder aside and move it into place. fill(folder) returns (covers, sets)."""
    start = time.time()
    folder = tempfile.mkdtemp(prefix=f".{name}-", dir=out)
    try:
        covers, sets = fill(folder)
        path = os.path.join(folder, "model.pt2")
        with torch.no_grad():
            entries = [record(path, k, leaves, folder) for k, leaves in enumerate(sets)]
        meta = {"case": name, "torch": torch.__version__, "cpu": torch.backends.cpu.get_cpu_capability(), "covers": covers,
                "rtol": 0, "atol": 0, "compare": "bits", "no_grad": True, "sets": entries, "reject": []}
        with open(os.path.join(folder, "meta.json"), "w") as f:
            json.dump(meta, f, indent=1)
            f.write("\n")
        shutil.rmtree(os.path.join(out, name), ignore_errors=True)
        os.chmod(folder, 0o755)
        os.rename(folder, os.path.join(out, name))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    print(f"{name}: {len(entries)} input sets, {time.time() - start:.1f} s", flush=True)


def fixture(source):
    def fill(folder):
        with open(os.path.join(source, "meta.json")) as f:
            meta = json.load(f)
        shutil.copyfile(os.path.join(source, "model.pt2"), os.path.join(folder, "model.pt2"))
        sets = []
        for s in meta["sets"]:
            tensors = load_file(os.path.join(source, s["files"]["inputs"]))
            sets.append([check_pt2.restore(d, tensors) for d in s["inputs"]])
        return meta["covers"], sets
    return fill


def network(name):
    def fill(folder):
        sets = reference_models.export(name, os.path.join(folder, "model.pt2"))
        return ["trained weights" if name == "minilm" else "random weights, seed 0"], [pytree.tree_flatten(s)[0] for s in sets]
    return fill


def program(name):
    def fill(folder):
        sets = reference_programs.export(name, os.path.join(folder, "model.pt2"))
        return ["exported on the spot"], [pytree.tree_flatten(s)[0] for s in sets]
    return fill


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--fixtures", required=True, help="folder of recorded cases: its scripts and its pt2/" + TORCH)
    ap.add_argument("--out", required=True)
    ap.add_argument("--only", default="", metavar="REGEXP", help="only the cases whose name matches")
    a = ap.parse_args()
    if torch.__version__.split("+")[0] != TORCH:
        sys.exit(f"torch: expected {TORCH}, got {torch.__version__}")
    # make_pt2 registers the pytree classes of the fixtures, and knows how a case is described
    sys.path.insert(0, a.fixtures)
    sys.dont_write_bytecode = True
    global make_pt2, check_pt2
    import check_pt2
    import make_pt2
    torch.set_num_threads(1)
    # sample inputs with classes of their own, which torch.load warns of before it loads them
    logging.getLogger("torch._export.serde.serialize").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", message="TypedStorage is deprecated")
    os.makedirs(a.out, exist_ok=True)

    programs = os.path.join(a.fixtures, "pt2", TORCH)
    cases = {n: fixture(os.path.join(programs, n)) for n in sorted(os.listdir(programs))}
    cases |= {"made_" + n: program(n) for n in reference_programs.PROGRAMS}
    cases |= {n: network(n) for n in reference_models.MODELS}
    done = 0
    for name, fill in cases.items():
        if not re.search(a.only, name):
            continue
        if name in EXCLUDED:
            print(f"{name}: left out: {EXCLUDED[name]}")
            shutil.rmtree(os.path.join(a.out, name), ignore_errors=True)
            continue
        write_case(a.out, name, fill)
        done += 1
    print(f"{done} cases recorded in {a.out}, torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}")


if __name__ == "__main__":
    main()
