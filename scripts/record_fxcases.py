#!/usr/bin/env python3
"""Record further programs of torch.fx for the tests of package parity.

    TORCHFX_FIXTURES=DIR python scripts/record_fxcases.py [OUT]

DIR is the folder of the shared recorded cases (../shared/fixtures by default),
whose make_fx_golden.py says what a program is and writes its case; OUT defaults
to parity/testdata/fx.tar.gz, one archive of all case folders. It needs torch
2.15.0, safetensors and tabulate. What the programs have in common: the shared
cases have nothing like them, and each found a fault once.
"""

from __future__ import annotations

import gzip
import importlib.util
import io
import os
import sys
import tarfile
import tempfile
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parent.parent
PINNED = "2.15.0"


def recorder():
    folder = Path(os.environ.get("TORCHFX_FIXTURES", ROOT.parent / "shared" / "fixtures"))
    spec = importlib.util.spec_from_file_location("make_fx_golden", folder / "make_fx_golden.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pack(folder: Path, out: Path) -> None:
    """Write an archive that is the same whenever the files are."""
    with open(out, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as zipped:
        with tarfile.open(fileobj=zipped, mode="w") as tar:
            for path in sorted(p for p in folder.rglob("*") if p.is_file()):
                data = path.read_bytes()
                info = tarfile.TarInfo(str(path.relative_to(folder)))
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


def main() -> int:
    if torch.__version__.split("+")[0] != PINNED:
        print(f"record_fxcases: expected torch {PINNED}, got {torch.__version__}", file=sys.stderr)
        return 1
    sys.dont_write_bytecode = True
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "parity" / "testdata" / "fx.tar.gz"
    with tempfile.TemporaryDirectory() as tmp:
        failed = recorder().main(CASES, Path(tmp) / "fx", [])
        if not failed:
            (Path(tmp) / "fx" / "index.json").unlink()
            pack(Path(tmp) / "fx", out)
    return failed


CASES = r'''
#% types_typing
from typing import *
import collections
import collections.abc
import typing
import numbers

def f(a: Optional[List[Tuple[int, str]]], b: Dict[str, Optional[torch.Tensor]], c: Sequence[int], d: Mapping[str, int], e: Iterable[torch.Tensor],
      g: Set[int], h: FrozenSet[str], i: Type[nn.Module], j: Deque[int], k: DefaultDict[str, int], l: typing.OrderedDict[str, int], m: Union[int, str, None],
      n: torch.dtype, o: torch.device, p: torch.Size, q: nn.Linear, r: bool, s: float, t: complex, u: bytes, v: object, w: type, x: Any, y: Tuple, z: List) -> Optional[Tuple[torch.Tensor, ...]]:
    return a

def build():
    return fx.symbolic_trace(f)

#% types_qualified
import collections
import collections.abc
import typing
import enum
from typing import *

class Color(enum.Enum):
    RED = 1

class Outer:
    class Inner:
        pass

class NT(NamedTuple):
    a: int

def f(a: Color, b: Outer.Inner, c: NT, d: collections.OrderedDict, e: collections.abc.Sequence[int], g: collections.abc.Mapping[str, list[int]], h: dict, i: list, j: tuple,
      k: tuple[int, ...], l: tuple[()], m: Tuple[()], n: type[int], o: set[tuple[int, str]], p: "List[int]", q: Optional["Foo"], r: List["int"], s: Union[torch.Tensor, List[torch.Tensor]],
      t: torch.nn.Parameter, u: torch.Generator, v: torch.memory_format, w: torch.layout, x: range, y: slice, z: Ellipsis = None):
    return a

def build():
    return fx.symbolic_trace(f)

#% literals_odd
def build():
    g = fx.Graph()
    x = g.placeholder("x", default_value=(1, [2, {"a": 3.5}], None))
    y = g.placeholder("y", default_value=slice(1, None, 2))
    z = g.placeholder("z", default_value=torch.float64)
    n = g.call_function(torch.add, (x, y), {"a": b"by\x00'tes", "b": "uni\u20ac\U0001f600", "c": [True, False, None], "d": -1.5e-300, "e": float("-0.0"), "f": 2**70, "g": (), "h": [], "i": {}, "j": ((),), "k": ([],)})
    m = g.call_method("m", (n, torch.int8, torch.uint16, torch.complex32, torch.bool, torch.float8_e4m3fn, torch.quint8, torch.bits8), {"p": torch.device("meta"), "q": torch.device("cuda", 3), "r": torch.sparse_coo, "s": torch.preserve_format, "t": torch.contiguous_format, "u": torch.channels_last_3d, "v": range(0), "w": range(5, 0, -1)})
    g.output({"k": m, 1: n, None: x, (1, "a"): [y, z], True: 1.0, 2.5: "s"})
    return fx.GraphModule(nn.Module(), g)

#% module_nested
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 2))
        self.register_buffer("running", torch.zeros(2))
        self.seq = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.ReLU(inplace=True))

    def forward(self, x, scale=1):
        return self.seq(x @ self.weight) * scale + self.running

class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Inner() for _ in range(2)])
        self.d = nn.ModuleDict({"a b": nn.Tanh(), "1": nn.Sigmoid(), "ok": nn.GELU("tanh")})
        self.ps = nn.ParameterList([nn.Parameter(torch.ones(2)), nn.Parameter(torch.zeros(2))])

    def forward(self, x):
        for i, b in enumerate(self.blocks):
            x = b(x, scale=i + 1)
        return self.d["a b"](x) + self.d["1"](x) * self.d["ok"](x) + self.ps[0] - self.ps[1]

def build():
    return fx.symbolic_trace(M().eval())

def inputs():
    return (torch.randn(3, 2),)

FOLDER = "Deep"

#% run_sizes
def f(x, y):
    a = x + y * 2 - 1
    b = torch.relu(a).sum(dim=0, keepdim=True) / 3
    c = (a > 0) & (y < 1)
    d = torch.where(c, a, b)
    return d.mean(), {"c": c, "d": [d, (b, a.shape[0])]}, a.size(), d[0, 1:], torch.cat([a, d], dim=1), a.to(torch.float64), d.argmax(), d.topk(2)[1]

def build():
    return fx.symbolic_trace(f)

def inputs():
    return (torch.randn(3, 4), torch.randn(3, 4))

#% run_setitem
def build():
    g = fx.Graph()
    x = g.placeholder("x")
    y = g.call_method("clone", (x,))
    g.call_function(operator.setitem, (y, 0, 1.5))
    z = g.call_function(operator.iadd, (y, 2))
    w = g.call_function(operator.getitem, (z, slice(None, 1, None)))
    g.output((z, w, g.call_function(operator.neg, (w,)), g.call_function(len, (z,)), g.call_function(getattr, (z, "shape")), g.call_function(max, (1, 2)), g.call_function(math.sqrt, (16,))))
    return fx.GraphModule(nn.Module(), g)

def inputs():
    return (torch.randn(3, 2),)

#% codegen_variants
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.block = nn.Sequential(nn.ReLU())
        self.register_buffer("b", torch.ones(2))

    def forward(self, x: torch.Tensor, input=1, *, k: int = 2) -> torch.Tensor:
        y = self.block(self.lin(x)) + self.b * input
        y += k
        return y

def build():
    gm = fx.symbolic_trace(M())
    for i, n in enumerate(gm.graph.nodes):
        n.meta["stack_trace"] = f'  File "model.py", line {i // 2}, in forward\n    line {i // 2}\n'
    return gm

CODE = {"record": {"record_func": True}, "verbose": {"verbose": True}, "root": {"root_module": "mod"}, "expanded": {"expanded_def": True}}
READABLE = {"expanded": {"expanded_def": True}, "stride": {"include_stride": True}, "device": {"include_device": True}}

#% nodes_after_return
def build():
    g = fx.Graph()
    x = g.placeholder("x")
    a = g.call_function(torch.relu, (x,))
    g.output(a)
    g.call_method("neg", (a,))
    y = g.placeholder("y")
    return fx.GraphModule(nn.Module(), g)

#% placeholder_late
def build():
    g = fx.Graph()
    x = g.placeholder("x")
    a = g.call_function(torch.relu, (x,))
    y = g.placeholder("input", default_value=3)
    z = g.placeholder("**kw")
    b = g.call_function(torch.add, (a, y))
    g.output(b)
    return fx.GraphModule(nn.Module(), g)

#% children_of_children
def build():
    a = fx.symbolic_trace(lambda x: torch.relu(x))
    b = fx.symbolic_trace(lambda x, y: x + y)
    b.add_submodule("deep", fx.symbolic_trace(lambda q: q.sin()))
    g = fx.Graph()
    x = g.placeholder("x")
    y = g.call_module("first", (x,))
    z = g.call_module("second", (y, x))
    g.output(g.call_module("third.inner", (z,)))
    return fx.GraphModule({"first": a, "second": b, "third.inner": fx.symbolic_trace(lambda z: -z)}, g, "Nest")

def inputs():
    return (torch.randn(2),)

#% folder_state
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w16 = nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
        self.frozen = nn.Parameter(torch.ones(2), requires_grad=False)
        self.register_buffer("keep", torch.tensor([True, False]))
        self.register_buffer("tmp", torch.arange(2), persistent=False)
        self.register_buffer("none", None)
        self.bn = nn.BatchNorm1d(2)

    def forward(self, x):
        return self.bn(x * self.w16.float() + self.frozen) * self.keep + self.tmp

def build():
    return fx.symbolic_trace(M().eval())

def inputs():
    return (torch.randn(3, 2),)

FOLDER = "State"

#% concrete_ordered_dict
import collections
def f(d):
    return collections.OrderedDict([("z", d["b"]), ("y", d["a"])])

def build():
    return fx.symbolic_trace(f, concrete_args={"d": collections.OrderedDict([("b", fx.PH), ("a", fx.PH)])})

#% run_methods
def f(x):
    a = x.abs().sqrt().exp().log().neg().sin().cos().tanh().sigmoid()
    b = a.sum(-1).unsqueeze(0).repeat(2, 1).expand(2, -1).clone()
    c = x.min(dim=0)[0], x.max(1).values, x.norm(), x.std(), x.var(0), x.prod(), x.cumsum(0), x.argsort(), x.sort(descending=True)[1]
    return a, b, c, x.type(torch.float64), x.int(), x.bool().any(), (x > 0).all(), x.masked_fill(x > 0, 0.0), x.gather(0, x.long().abs().clamp(max=1)), x.chunk(2)[0], x.split(1, dim=1), x.unbind(0), x.tolist if False else x.t(), x.permute(1, 0), x.transpose(0, 1), x.contiguous(), x.view(-1), x.view(torch.int32), x.matmul(x.t()), x @ x.T, x.triu(), x.diag(), x.flip(0), x.roll(1, 0), x.round(), x.floor(), x.ceil(), x.pow(2), x.clamp(-1, 1), x.eq(x), x.ne(0), x.lt(1), x.where(x > 0, x), x.index_select(1, torch.tensor([0])), x.topk(1).indices, x.softmax(-1), x.log_softmax(0), x.relu(), x.numel(), x.stride(), x.is_floating_point(), x.dtype, x.device

def build():
    return fx.symbolic_trace(f)

def inputs():
    return (torch.randn(2, 2),)

#% run_operators
def f(x, y, i):
    return [x // 2, x % 2, 2 - x, 2 / x, 2 // x, 2 ** x, x ** 2, -x, +x, ~i, i & 3, i | 1, i ^ i, i << 1, i >> 1, x @ y, x == y, x != 1, x <= y, x >= 0, 1 < x, x[0], x[:, 1], x[..., None], x[i], x[i > 0], x[0, 1].item() if False else x[0][1], abs(x), x[-1:], x[None], x[:, [0, 1]], x[torch.tensor([True, False])]]

def build():
    return fx.symbolic_trace(f)

def inputs():
    return (torch.rand(2, 2) + 1, torch.rand(2, 2) + 1, torch.tensor([0, 1]))

#% t_names_more
from torch.fx.graph import _Namespace
def table():
    rows = []
    for text in ("a_b a_b a_b_1 a_b", "relu_1_2 relu_1 relu relu_1_2", "x9 x9_9 x9 x9_", "getattr eval lambda nonlocal print_1"):
        ns = _Namespace()
        rows.append([[c, ns.create_name(c, None)] for c in text.split()])
    return {"sequences": rows}

#% t_targets_more
def table():
    g = fx.Graph()
    targets = [torch.nn.functional.silu, torch.special.gammaln, torch.linalg.svd, torch.fft.ifft, torch.Tensor.view, torch.Tensor.sum, F.softmax, F.one_hot, F.scaled_dot_product_attention, torch.ops.aten.sym_size.int, torch.sym_max, operator.index, isinstance, print, math.floor, torch.tensor, torch.ops.prims.add.default, torch.sparse.mm, torch.utils.checkpoint.checkpoint if hasattr(torch.utils, "checkpoint") else torch.add]
    return {"callables": [[fx.node._get_qualified_name(t), fx.Node._pretty_print_target(t), g._target_to_str(t)] for t in targets], "strings": [[n, g._target_to_str(n)] for n in ("__matmul__", "0.weight", "A.B", "_", "x__")]}

#% codegen_pytree
from typing import *
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, xs: List[torch.Tensor], y: torch.Tensor, z: int) -> torch.Tensor:
        return self.lin(xs[0]) + xs[1] * y + z

def build():
    gm = fx.symbolic_trace(M(), concrete_args={"xs": [fx.PH, fx.PH]})
    return gm

CODE = {"record": {"record_func": True}, "verbose": {"verbose": True}, "root": {"root_module": "mod"}, "expanded": {"expanded_def": True}}
READABLE = {"expanded": {"expanded_def": True}}

#% codegen_stars
def f(x: torch.Tensor, *args, k=1, **kw):
    return x + args[0] * k + kw["z"]

def build():
    return fx.symbolic_trace(f)

CODE = {"record": {"record_func": True}, "verbose": {"verbose": True}, "root": {"root_module": "mod"}, "expanded": {"expanded_def": True}}

#% names_globals
fx.wrap("sqrt")
from math import sqrt
import math as m
def helper(a):
    return a
fx.wrap("helper")
def f(math_sqrt, program_helper, torch_relu, operator, builtins_len):
    return helper(sqrt(math_sqrt)) + helper(program_helper) + math_sqrt + torch_relu * operator - builtins_len

def build():
    return fx.symbolic_trace(f)

#% run_dunders
def build():
    g = fx.Graph()
    x = g.placeholder("x")
    a = g.call_method("__add__", (x, 1))
    b = g.call_method("__rsub__", (a, 1))
    c = g.call_method("__getitem__", (b, 0))
    d = g.call_method("__neg__", (c,))
    e = g.call_method("__and__", (g.call_method("int", (x,)), 1))
    h = g.call_method("__len__", (x,))
    i = g.call_method("__floordiv__", (x, 2))
    j = g.call_method("__rpow__", (x, 2))
    k = g.call_method("__abs__", (x,))
    g.output((a, b, c, d, e, h, i, j, k))
    return fx.GraphModule(nn.Module(), g)

def inputs():
    return (torch.tensor([1.5, -2.0]),)

#% run_reductions
def f(x):
    return x.max(), x.min(), x.max(dim=1), torch.max(x, 1)[1], x.amax((0, 1)), x.median(), x.mode(), x.kthvalue(1), torch.std_mean(x), torch.aminmax(x), x.cummax(0), torch.unique(x), x.nonzero(), torch.nonzero(x, as_tuple=True), x.argmin(), torch.logsumexp(x, 0), torch.norm(x), torch.linalg.norm(x), x.count_nonzero(), torch.bincount(x.int().flatten()), torch.histc(x, 2), x.prod(1)

def build():
    return fx.symbolic_trace(f)

def inputs():
    return (torch.tensor([[1.0, 3.0], [2.0, 4.0]]),)

#% run_shapes
def f(x):
    return x.squeeze(), x.unsqueeze(-1), x.movedim(0, 1), x.swapaxes(0, 1), x.flatten(), x.unflatten(1, (2, 1)), x.tile(2), x.repeat_interleave(2), torch.hstack([x, x]), torch.vstack([x, x]), torch.dstack((x, x)), torch.stack([x, x], -1), torch.atleast_3d(x), torch.broadcast_to(x, (2, 2, 2)), x.view_as(x), x.reshape_as(x), x.expand_as(x), torch.split(x, [1, 1]), torch.tensor_split(x, 2), torch.chunk(x, 2), x.unfold(0, 1, 1), torch.diag(x), torch.tril(x), torch.rot90(x), x.ravel(), torch.meshgrid(x[0], x[1], indexing="ij"), torch.cartesian_prod(x[0], x[1]), torch.block_diag(x, x), torch.narrow(x, 0, 0, 1), x.select(0, 1), torch.take_along_dim(x, x.long() * 0, 1), torch.scatter(x, 0, x.long() * 0, 1.0), x.index_add(0, torch.tensor([0]), x[:1]), torch.einsum("ij,kj->ik", x, x), torch.tensordot(x, x, 1), torch.outer(x[0], x[1]), torch.cross(x[:, [0, 1, 0]], x[:, [1, 0, 1]], dim=1), torch.bmm(x[None], x[None]), torch.addmm(x, x, x), torch.baddbmm(x[None], x[None], x[None]), torch.kron(x, x)

def build():
    return fx.symbolic_trace(f)

def inputs():
    return (torch.tensor([[1.0, 3.0], [2.0, 4.0]]),)

#% run_nested
def f(x):
    return {"a": {"b": [(x, {"c": x + 1})]}, 1: (x,), (1, 2): [], "n": None, "t": (), "f": 1.5, "dt": x.dtype, "s": x.shape, "sl": slice(None, 2)}

def build():
    return fx.symbolic_trace(f)

def inputs():
    return (torch.ones(1),)

#% children_pytree
def build():
    inner = fx.symbolic_trace(lambda x: {"o": x["a"] + x["b"]}, concrete_args={"x": {"a": fx.PH, "b": fx.PH}})
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = inner
        def forward(self, a, b):
            return self.inner({"a": a, "b": b})["o"]
    class T(fx.Tracer):
        def is_leaf_module(self, m, n):
            return isinstance(m, fx.GraphModule)
    m = M()
    return fx.GraphModule(m, T().trace(m))

def inputs():
    return (torch.ones(1), torch.ones(1))

#% run_training
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(2, momentum=None)
        self.do = nn.Dropout(0.0)

    def forward(self, x):
        return self.do(self.bn(x)), self.bn.running_mean, self.bn.num_batches_tracked

def build():
    return fx.symbolic_trace(M())

def inputs():
    return (torch.randn(4, 2),)
'''


if __name__ == "__main__":
    sys.exit(main())
