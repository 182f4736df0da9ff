"""Records facts.json: what PyTorch says and does about the effects of operators.

Run it with the reference Python, which has torch 2.15.0:

    python ir/testdata/effects/record.py

operators: for every operator of the embedded catalogue that has any, the
positions of arguments that are written (marked so in the schema, parsed by
libtorch) or written without a mark, the pairs [return, argument] that share
memory by their alias sets and, where these are more, the pairs that might for
all that libtorch can tell of lists, and whether it has the tag of random numbers.

observed: calls on the CPU and the positions of the tensors that they changed,
marked or not, for the operators that keep running statistics.
"""

import json
import pathlib

import torch
from torch._C import _SchemaArgument, _SchemaArgType, _SchemaInfo

assert torch.__version__.startswith("2.15.0"), torch.__version__
here = pathlib.Path(__file__).parent


def facts(schema):
    info = _SchemaInfo(schema)
    inputs = [_SchemaArgument(_SchemaArgType.input, i) for i in range(len(schema.arguments))]
    returns = [_SchemaArgument(_SchemaArgType.output, i) for i in range(len(schema.returns))]
    f = {}
    if writes := [i for i, a in enumerate(schema.arguments) if a.alias_info and a.alias_info.is_write]:
        f["writes"] = writes
    if unmarked := [i for i, a in enumerate(inputs) if info.is_mutable(a) and i not in writes]:
        f["unmarked"] = unmarked
    if any(r.alias_info for r in schema.returns):
        pairs = [(r, i) for r in range(len(returns)) for i in range(len(inputs))]
        f["shares"] = [[r, i] for r, i in pairs if info.may_alias(returns[r], inputs[i])]
        f["contains"] = [[r, i] for r, i in pairs if info.may_contain_alias(returns[r], inputs[i])]
        if f["contains"] == f["shares"]:
            del f["contains"]
    overload = torch._C._get_operation_overload(schema.name, schema.overload_name)
    if overload and torch.Tag.nondeterministic_seeded in overload[2]:
        f["random"] = True
    return f


def operators():
    out = {}
    for line in (here / "../../catalogue_2.15.0.txt").read_text().splitlines():
        op = line.split("(")[0]
        name, _, overload = op.partition(".")
        if f := facts(torch._C._get_schema(name, overload)):
            out[op] = f
    return out


def observed():
    torch.manual_seed(0)
    x, w = torch.randn(4, 3, 5), torch.ones(3)
    stats = lambda: (torch.zeros(3), torch.ones(3))
    ops = torch.ops.aten
    calls = [
        (ops.batch_norm.default, lambda t: (x, w, w, *stats(), t, 0.1, 1e-5, False)),
        (ops._batch_norm_impl_index.default, lambda t: (x, w, w, *stats(), t, 0.1, 1e-5, False)),
        (ops.native_batch_norm.default, lambda t: (x, w, w, *stats(), t, 0.1, 1e-5)),
        (ops.instance_norm.default, lambda t: (x, w, w, *stats(), t, 0.1, 1e-5, False)),
        (ops._native_batch_norm_legit.default, lambda t: (x, w, w, *stats(), t, 0.1, 1e-5)),
        (ops._native_batch_norm_legit_functional.default, lambda t: (x, w, w, *stats(), t, 0.1, 1e-5)),
        (ops._native_batch_norm_legit_no_training.default, lambda t: (x, w, w, *stats(), 0.1, 1e-5)),
        (ops._batch_norm_with_update.default, lambda t: (x, w, w, *stats(), 0.1, 1e-5)),
        (ops._batch_norm_with_update_functional.default, lambda t: (x, w, w, *stats(), 0.1, 1e-5)),
        (ops._batch_norm_no_update.default, lambda t: (x, w, w, *stats(), 0.1, 1e-5)),
        (ops.batch_norm_update_stats.default, lambda t: (x, *stats(), 0.1)),
    ]
    out = []
    for op, make in calls:
        for training in (True, False):
            args = make(training)
            before = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
            op(*args)
            changed = [i for i, a in enumerate(args) if isinstance(a, torch.Tensor) and not torch.equal(a, before[i])]
            name = op.name().removesuffix(".default")
            out.append({"op": name, "training": training, "changed": changed})
    return out


if __name__ == "__main__":
    text = json.dumps({"torch": torch.__version__, "operators": operators(), "observed": observed()})
    text = text.replace('}, "', '},\n"').replace('{"op"', '\n{"op"')
    (here / "facts.json").write_text(text + "\n")
