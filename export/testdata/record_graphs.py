#!/usr/bin/env python3
"""Record what PyTorch makes of exported programs, as texts for the tests of package export.

    python record_graphs.py --fixtures ../../../shared/fixtures --out graphs         # the committed cases
    python record_graphs.py --fixtures ../../../shared/fixtures --out DIR --all      # every case, for a live comparison:
    TORCHFX_GRAPHS=DIR go test ./export -run TestGraphsAreEqualToPython

Needs torch 2.15.0 and torchvision (make reference). Each case becomes one file in the txtar form, of another release's program
`<release>--<case>.txtar` (of those that torch 2.15.0 loads: schema 8, and cond of 2.6 not):

    graph, code                  torch.export.load(f).graph, .graph_module.code
    sub/<path>                   the graph of a subgraph module
    module/graph, module/code    torch.export.load(f).module().graph, .code
    module/sub/<path>            the graph of a subgraph module there
    guards                       the conditions that module() checks, one a line
    state                        the names of the state dict, sorted, one a line
    schemas                      the operators of fixtures:: that the program needs, one a line
"""
import argparse
import os
import sys
import warnings

CASES = """argument_names batchnorm_train buffer_mutation_functional cond_if constant_inputs custom_op dynamic_derived effect_token
input_mutation_functional lstm map_op namedtuple_io no_example_inputs no_inputs none_output odd_outputs pytree_inputs
scan_op strict_export symint_input tensor_lists tied_weights unbacked while_loop associative_scan_op
2.6.0--dynamic_derived 2.7.1--pytree_inputs 2.8.0--batchnorm_train_core 2.9.1--symint_output""".split()


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--fixtures", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--all", action="store_true")
    a = ap.parse_args()

    warnings.simplefilter("ignore")
    import torch

    if not torch.__version__.startswith("2.15.0"):
        sys.exit(f"needs torch 2.15.0, got {torch.__version__}")
    import torchvision  # noqa: F401  registers its operators
    from torch.export import _unlift

    sys.path.insert(0, a.fixtures)
    import make_pt2  # registers the custom operators and classes of the fixtures

    sys.modules["__main__"].Pair, sys.modules["__main__"].Point = make_pt2.Pair, make_pt2.Point
    guards = []
    convert = _unlift._convert_guards_code_to_fn

    def noting(code, paths):
        guards[:] = code
        return convert(code, paths)

    _unlift._convert_guards_code_to_fn = noting
    os.makedirs(a.out, exist_ok=True)
    programs = os.path.join(a.fixtures, "pt2")
    cases = CASES
    if a.all:
        cases = [case if r == "2.15.0" else f"{r}--{case}" for r in sorted(os.listdir(programs)) if r != "2.5.1"
                 for case in sorted(os.listdir(os.path.join(programs, r)))]
        cases.remove("2.6.0--cond_if")
    for case in cases:
        release, _, name = case.rpartition("--")
        ep = torch.export.load(os.path.join(programs, release or "2.15.0", name, "model.pt2"))
        parts = {"graph": ep.graph, "code": ep.graph_module.code}
        parts |= {f"sub/{n}": m.graph for n, m in ep.graph_module.named_modules() if n and isinstance(m, torch.fx.GraphModule)}
        guards.clear()
        m = ep.module()
        parts |= {"module/graph": m.graph, "module/code": m.code}
        parts |= {f"module/sub/{n}": s.graph for n, s in m.named_modules() if n and isinstance(s, torch.fx.GraphModule)}
        parts |= {"guards": "\n".join(guards), "state": "\n".join(sorted(m.state_dict()))}
        ops = {n.target for g in [ep.graph] for n in g.nodes if isinstance(n.target, torch._ops.OpOverload)}
        ops |= {x for n in ep.graph.nodes for x in n.args if isinstance(x, torch._ops.OpOverload)}
        parts["schemas"] = "\n".join(sorted(str(o._schema) for o in ops if o.namespace == "fixtures"))
        with open(os.path.join(a.out, case + ".txtar"), "w") as f:
            f.write(f"Recorded by record_graphs.py with torch {torch.__version__}.\n")
            for name, text in parts.items():
                f.write(f"-- {name} --\n{str(text).strip(chr(10))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
