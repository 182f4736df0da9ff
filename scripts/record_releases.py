"""Record programs of older releases of torch whose operators have changed since: parity/testdata/releases.

    OLD/bin/python scripts/record_releases.py --fixtures ../shared/fixtures --out parity/testdata/releases

Run it by the Python of an environment with the release in question (torch, numpy and safetensors of pip). The cases are
those of make_pt2.py in kind and layout, and this release computes what they are compared with. A case that a release
cannot export or save fails and is left out.
"""

import argparse
import sys

ap = argparse.ArgumentParser(add_help=False)
ap.add_argument("--fixtures", required=True)
a, sys.argv[1:] = ap.parse_known_args()
sys.path.insert(0, a.fixtures)

import torch  # noqa: E402
from make_pt2 import Spec, case, main, mod, r  # noqa: E402

CASES = {}


def program(covers, forward, *args, more=(), **options):
    """Register the program of a function of tensors."""
    name = options.pop("name")
    case(covers, registry=CASES, name=name)(lambda: Spec(mod(forward), args, more=[(m,) for m in more], **options))


def definite(n):
    a = r(n, n)
    return a @ a.T + n * torch.eye(n)


def orthogonal(self, x):
    q, s = torch.qr(x)
    q1, s1 = torch.qr(x, some=False)
    q2, s2 = torch.qr(x, some=True)
    return q, s, q1, s1, q2, s2


program("aten::qr, until 2.13", orthogonal, r(5, 3), name="qr")
program("aten::cholesky, until 2.13", lambda self, x: (torch.cholesky(x), torch.cholesky(x, upper=True)), definite(4), name="cholesky")
program(["aten::stft before align_to_window (2.7)"],
        lambda self, x: torch.view_as_real(torch.stft(x, 8, window=torch.ones(8), return_complex=True)), r(2, 64), name="stft")
program(["aten::tril and triu of integers, symbols since 2.10"], lambda self, x: torch.tril(x, -1) + torch.triu(x, 1), r(4, 4), name="triangles")
program(["aten::rms_norm of integers, symbols since 2.6"], lambda self, x: torch.nn.functional.rms_norm(x, (4,)), r(3, 4), name="rms_norm")
program(["aten::nonzero_static, since 2.7 of a symbol"], lambda self, x: torch.nonzero_static(x, size=5), r(3, 4), name="nonzero_static")


def multiply_add(carry, x):
    return carry * 0.5 + x, carry * x


try:
    from torch._higher_order_ops.scan import scan
    program("scan with a dimension and a direction, until 2.6", lambda self, c, x: scan(multiply_add, c, x), r(4), r(3, 4), strict=True, name="scan_forward")
except ImportError:
    pass
try:
    from torch._higher_order_ops.invoke_subgraph import mark_compile_region

    @mark_compile_region
    def region(x, y):
        return torch.sin(x) + y

    program("invoke_subgraph", lambda self, x: region(x, region(x, x)), r(3, 4), strict=True, name="invoke_subgraph")
except ImportError:
    pass
program("cond of one result", lambda self, x: torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,)), r(3, 4), strict=True, name="cond")

if __name__ == "__main__":
    sys.exit(main(CASES, "parity/testdata/releases"))
