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

#% root_embedding_bag
def build():
    return fx.symbolic_trace(nn.EmbeddingBag(5, 3, mode="sum"))

def inputs():
    return (torch.tensor([[0, 1], [2, 4]]),)

CODE = {"verbose": {"verbose": True}, "expanded": {"expanded_def": True}}
FOLDER = "Bag"

#% root_decoder_layer
def build():
    return fx.symbolic_trace(nn.TransformerDecoderLayer(4, 2, dim_feedforward=6).eval())

CODE = {"record": {"record_func": True}, "expanded": {"expanded_def": True}}
READABLE = {"stride": {"include_stride": True}}

#% parameters_held
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.ws = nn.ParameterList([nn.Parameter(torch.randn(2)) for _ in range(3)])
        self.d = nn.ParameterDict({"b": nn.Parameter(torch.randn(2)), "a": nn.Parameter(torch.randn(1)), "c9": nn.Parameter(torch.randn(1))})
        self.empty = nn.ParameterList()

    def forward(self, x):
        for w in self.ws:
            x = x * w
        for k, v in self.d.items():
            x = x + v
        return x + len(self.empty)

class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.boxes = nn.ModuleDict({"0": Inner(), "four": Inner()})

    def forward(self, x):
        return self.boxes["four"](self.boxes["0"](x)) + self.boxes["0"].ws[-1]

def build():
    return fx.symbolic_trace(M())

def inputs():
    return (torch.randn(3, 2),)

#% parameters_taken
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.ws = nn.ParameterList([nn.Parameter(torch.ones(2)), nn.Parameter(torch.full((3, 2), 2.0))])

def build():
    g = fx.Graph()
    x = g.placeholder("x")
    ws = g.get_attr("ws")
    y = g.call_function(operator.getitem, (ws, -1))
    z = g.call_function(operator.getitem, (ws, 0))
    g.output((g.call_function(torch.add, (x, y), {"alpha": 2}), g.call_method("mul", (z, x)), g.call_function(len, (ws,))))
    return fx.GraphModule(M(), g)

def inputs():
    return (torch.randn(3, 2),)

#% recurrent_states
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, num_layers=2, bidirectional=True)
        self.gru = nn.GRU(8, 3, batch_first=True)
        self.cell = nn.GRUCell(3, 2)

    def forward(self, x, h=None):
        y, (h, c) = self.lstm(x) if h is None else self.lstm(x, h)
        z, last = self.gru(y.transpose(0, 1))
        return self.cell(last[0]), h.sum() + c.mean(), self.cell(last[0], z[:, 0, :2])

def build():
    return fx.symbolic_trace(M(), concrete_args={"h": None})

def inputs():
    return (torch.randn(5, 2, 3),)

#% attention_masks
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.MultiheadAttention(4, 2, batch_first=True)
        self.register_buffer("mask", torch.triu(torch.ones(3, 3, dtype=torch.bool), 1), persistent=False)

    def forward(self, q, k):
        y, w = self.a(q, k, k, attn_mask=self.mask, need_weights=True, average_attn_weights=False)
        z = F.scaled_dot_product_attention(q, k, k, is_causal=True)
        return y + z, w

def build():
    return fx.symbolic_trace(M().eval())

#% sizes_arithmetic
def build():
    g = fx.Graph()
    x = g.placeholder("x")
    size = lambda i: g.call_function(operator.getitem, (g.call_function(getattr, (x, "shape")), i))
    b, c, h, w = (size(i) for i in range(4))
    half = g.call_function(operator.floordiv, (c, 2))
    y = g.call_method("view", (x, b, half, 2, h, w))
    y = g.call_method("transpose", (y, 1, 2))
    y = g.call_method("reshape", (y, b, -1, h, w))
    n = g.call_function(operator.add, (g.call_function(operator.mul, (b, w)), 1))
    z = g.call_function(torch.zeros, (n,), {"dtype": g.call_function(getattr, (x, "dtype"))})
    r = g.call_function(torch.arange, (g.call_function(operator.sub, (h, 1)), -1, -1))
    p = g.call_function(operator.getitem, (y, (slice(None), r)))
    g.output((p, z, n, g.call_function(operator.neg, (n,)), g.call_function(operator.mod, (n, 3)), g.call_function(operator.truediv, (n, 2)), g.call_function(math.ceil, (2.5,)), (h, w), g.call_function(operator.pow, (n, 2)), g.call_function(divmod, (n, 4)), g.call_function(min, (n, h)), g.call_function(operator.gt, (n, h)), g.call_function(int, (2.7,)), g.call_function(float, (n,)), g.call_function(bool, (n,)), g.call_function(abs, (-3,)), g.call_function(round, (2.5,))))
    return fx.GraphModule(nn.Module(), g)

def inputs():
    return (torch.randn(2, 4, 3, 5),)

#% indexing_deep
def f(x, i, m):
    return (x[..., -1], x[:, None, ::2], x[1:, :-1, i], x[m], x[i, i], x[(0, slice(None, None, 2))], x[[0, 1], :, [1, 0]], x[..., None, 0], x[0, 0, 0], x[:, i[:, None], i], x[slice(0, 1)], x[None, ..., None], x[True], x[torch.tensor(0)])

def build():
    return fx.symbolic_trace(f)

def inputs():
    return (torch.randn(2, 3, 4), torch.tensor([0, 1]), torch.tensor([[True, False, True], [False, False, True]]))

#% setitem_forms
def build():
    g = fx.Graph()
    x = g.placeholder("x")
    y = g.call_method("clone", (x,))
    g.call_function(operator.setitem, (y, (slice(None), 0), 5))
    g.call_function(operator.setitem, (y, (0, slice(1, None, 2)), -1.5))
    m = g.call_function(operator.gt, (y, 4))
    g.call_function(operator.setitem, (y, m, 0.25))
    g.call_function(operator.setitem, (y, (Ellipsis, -1), g.call_function(operator.getitem, (x, (Ellipsis, 0)))))
    z = g.call_function(operator.imul, (y, 2))
    w = g.call_function(operator.isub, (z, x))
    v = g.call_function(operator.itruediv, (w, 3))
    g.call_function(torch.relu_, (v,))
    g.call_method("add_", (v, x), {"alpha": 0.5})
    g.output((v, m))
    return fx.GraphModule(nn.Module(), g)

def inputs():
    return (torch.randn(2, 5),)

#% returns_named
def build():
    def f(x):
        v, i = x.sort()
        q, r = torch.linalg.qr(x)
        u, s, vh = torch.linalg.svd(x)
        return x.topk(1).values, i, torch.max(x, 0).indices, q @ r, s, torch.std_mean(x, dim=0, correction=0), torch.slogdet(x)[1], x.mode().values.dtype, x.kthvalue(2, dim=0).values
    return fx.symbolic_trace(f)

def inputs():
    return (torch.tensor([[2.0, 1.0], [0.5, 3.0]]),)

#% pytree_mixed
def f(a, b, c):
    return {"s": a["k"][0] + a["k"][1] * c, "t": (b[0] - b[1], [a["m"]])}

def build():
    return fx.symbolic_trace(f, concrete_args={"a": {"k": [fx.PH, fx.PH], "m": (fx.PH,)}, "b": [fx.PH, 3]})

#% pytree_nested_scalars
def f(x, opts):
    y = x
    if opts["relu"]:
        y = torch.relu(y)
    for s in opts["scales"]:
        y = y * s
    return [y, opts["name"]]

def build():
    return fx.symbolic_trace(f, concrete_args={"opts": {"relu": True, "scales": (1.5, 2), "name": "n"}})

CODE = {"expanded": {"expanded_def": True}, "record": {"record_func": True}}

#% concrete_none_bool
def f(x, a=None, b=True, c="s", d=1.5, e=3):
    if a is None and b and c == "s":
        x = x + d
    return x * e

def build():
    return fx.symbolic_trace(f, concrete_args={"a": None, "b": True, "c": "s", "d": 1.5})

#% verbose_meta
from torch.fx.passes.shape_prop import ShapeProp
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.register_buffer("s", torch.ones(4, 1, 1, dtype=torch.float64))

    def forward(self, x):
        y = self.conv(x)
        z = y.permute(0, 2, 3, 1)
        return z.contiguous(), (y * self.s)[:, ::2], y.shape[1], y.argmax(), y > 0

def build():
    gm = fx.symbolic_trace(M())
    ShapeProp(gm).propagate(torch.randn(1, 3, 5, 5))
    return gm

CODE = {"verbose": {"verbose": True, "include_stride": True, "include_device": True}}
READABLE = {"all": {"include_stride": True, "include_device": True}, "expanded": {"expanded_def": True}}

#% names_clashing
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.add = nn.Linear(2, 2)
        self.relu_1 = nn.ReLU()
        self.x = nn.Identity()
        self.self_ = nn.Identity()
        self.torch = nn.Identity()
        self.output = nn.Parameter(torch.ones(2))

    def forward(self, x, add, torch_1, output):
        y = self.add(x) + add
        y = torch.relu(self.relu_1(self.x(y)))
        z = self.self_(y) + self.torch(torch_1) + self.output
        return torch.add(z, output) + self.add.weight.sum()

def build():
    return fx.symbolic_trace(M())

def inputs():
    return (torch.randn(2), torch.randn(2), torch.randn(2), torch.randn(2))

#% strings_escaped
def build():
    g = fx.Graph()
    x = g.placeholder("x")
    y = g.call_function(torch.einsum, ("i,i->", x, x))
    z = g.call_function(getattr, (x, "it's \"q\"\n\\ \u00e9"))
    g.call_function(print, ("a\tb", 'q"', "it's", "\x00\x7f\u2028", b"\xff'"), {"sep": "", "end": "\n"})
    g.call_method("weird_name", (y, {"k'": [1, "v\\"]}), {"lambda_": None})
    g.output((y, z))
    return fx.GraphModule(nn.Module(), g)

#% attrs_quoted
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.add_module("a-b", nn.ReLU())
        self.add_module("it's", nn.Tanh())
        self.register_parameter("1w", nn.Parameter(torch.ones(1)))
        self.register_buffer("b q", torch.ones(1))
        m = nn.Module()
        m.register_parameter("klass", nn.Parameter(torch.ones(1)))
        self.add_module("0", m)

def build():
    g = fx.Graph()
    x = g.placeholder("x")
    for t in ("a-b", "it's"):
        x = g.call_module(t, (x,))
    for t in ("1w", "b q", "0.klass"):
        x = g.call_function(operator.add, (x, g.get_attr(t)))
    g.output(x)
    return fx.GraphModule(M(), g)

def inputs():
    return (torch.randn(2),)

#% copy_graph_into
def build():
    a = fx.symbolic_trace(lambda x, y: (x + y).relu())
    b = fx.symbolic_trace(lambda x, add: torch.sin(x) * add)
    g = fx.Graph()
    p, q = g.placeholder("add"), g.placeholder("relu")
    out = g.graph_copy(a.graph, {n: v for n, v in zip(a.graph.nodes, (p, q))})
    out2 = g.graph_copy(b.graph, {n: v for n, v in zip(b.graph.nodes, (out, q))})
    g.output([out, out2])
    import copy
    return fx.GraphModule(nn.Module(), copy.deepcopy(g))

def inputs():
    return (torch.randn(2), torch.randn(2))

#% iterate_and_mutate
def build():
    gm = fx.symbolic_trace(lambda x: torch.relu(x + 1) * torch.relu(x - 1) + torch.relu(x))
    seen = []
    for n in gm.graph.nodes:
        seen.append(n.name)
        if n.target is torch.relu:
            with gm.graph.inserting_before(n):
                s = gm.graph.call_function(torch.sigmoid, n.args)
            n.replace_all_uses_with(s)
            gm.graph.erase_node(n)
        elif n.target is operator.mul:
            with gm.graph.inserting_after(n):
                k = gm.graph.call_method("neg", (n,))
            n.replace_all_uses_with(k, lambda u: u is not k)
    for n in reversed(gm.graph.nodes):
        seen.append(n.name)
    gm.recompile()
    return gm, {"seen": seen}

def inputs():
    return (torch.randn(2),)

#% args_edited
def build():
    gm = fx.symbolic_trace(lambda x, y: torch.clamp(torch.cat([x, y], dim=0), min=0, max=1))
    for n in list(gm.graph.nodes):
        if n.target is torch.cat:
            n.insert_arg(1, 0)
            n.kwargs = {}
            n.update_arg(0, [n.args[0][1], n.args[0][0], n.args[0][1]])
        if n.target is torch.clamp:
            n.update_kwarg("min", -0.5)
            n.kwargs = {**n.kwargs, "max": None}
    gm.graph.lint()
    gm.recompile()
    return gm

def inputs():
    return (torch.randn(2), torch.randn(2))

#% functional_chain
def f(x, w, b):
    y = F.conv2d(x, w, b, stride=2, padding="valid")
    y = F.batch_norm(y, torch.zeros(3), torch.ones(3), eps=0.1)
    y = F.leaky_relu(y, 0.2)
    y = F.adaptive_avg_pool2d(y, (2, None))
    y = F.interpolate(y, scale_factor=2, mode="nearest")
    y = F.pad(y, (1, 0), value=0.5)
    y = F.max_pool2d(y, 2, ceil_mode=True)
    y = F.layer_norm(y, [4])
    z = F.unfold(y, (1, 2))
    return F.softmax(y, dim=1), z, F.normalize(y, dim=1), F.gelu(y, approximate="tanh"), F.dropout(y, training=False), F.one_hot(torch.tensor([0, 2]), 4)

def build():
    return fx.symbolic_trace(f)

def inputs():
    return (torch.randn(1, 2, 9, 7), torch.randn(3, 2, 3, 3), torch.randn(3))

#% losses_run
def f(x, t, c):
    return (F.cross_entropy(x, c), F.nll_loss(F.log_softmax(x, 1), c, reduction="sum"), F.mse_loss(x, t), F.l1_loss(x, t, reduction="none"), F.smooth_l1_loss(x, t, beta=0.5), F.huber_loss(x, t), F.kl_div(x, t, log_target=True, reduction="batchmean"), F.binary_cross_entropy_with_logits(x, torch.sigmoid(t)), F.cosine_similarity(x, t), F.triplet_margin_loss(x, t, x + 1), F.hinge_embedding_loss(x, torch.sign(t)), F.poisson_nll_loss(x, t.abs()), F.margin_ranking_loss(x[0], t[0], torch.sign(t[0])))

def build():
    return fx.symbolic_trace(f)

def inputs():
    return (torch.randn(3, 4), torch.randn(3, 4), torch.tensor([0, 3, 1]))

#% types_more
from typing import *
import typing
def f(a: "torch.Tensor", b: int, c: Union[int, float], d: Optional[Union[int, str]], e: List[Dict[str, Tuple[torch.Tensor, ...]]], g: int | None, h: list[torch.Tensor] | None, i: dict[str, list[int]], j: Tuple[int, ...], k: Iterator[int], l: typing.Counter[str], m: type(None), n: Optional[None]):
    return a

def build():
    return fx.symbolic_trace(f)

#% node_types_edited
def build():
    gm = fx.symbolic_trace(lambda x, y: x + y)
    for n in gm.graph.nodes:
        if n.op == "placeholder":
            n.type = torch.Tensor
        if n.op == "call_function":
            n.type = int
        if n.op == "output":
            n.type = list[torch.Tensor]
    gm.recompile()
    return gm

CODE = {"verbose": {"verbose": True}}

#% dead_code_kept
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(2)
        self.drop = nn.Dropout()
        self.w = nn.Parameter(torch.ones(2))

    def forward(self, x):
        a = self.bn(x)
        b = self.drop(x)
        c = torch.rand(2)
        d = x + self.w
        x.add_(1)
        e = x.clone().mul_(2)
        torch._assert(x.shape[0] == 2, "two")
        f = torch.ops.aten.add_.Tensor(x, 1)
        g = torch.ops.aten.add.Tensor(x, 1)
        F.dropout(x)
        return x * 2

def before():
    return fx.symbolic_trace(M())

def build():
    gm = before()
    changed = gm.graph.eliminate_dead_code()
    gm.recompile()
    return gm, {"changed": changed, "nodes": [n.name for n in gm.graph.nodes]}

#% split_by_size
from torch.fx.passes.split_module import split_module
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = nn.Linear(2, 2)
        self.w = nn.Parameter(torch.ones(2))

    def forward(self, x, y):
        z = torch.relu(self.a(x)) + self.w
        s = z.shape[0]
        u = self.b(z) * self.w + y
        return u.view(s, -1), z

def before():
    return fx.symbolic_trace(M())

def build():
    gm = before()
    part = {}
    for i, n in enumerate(n for n in gm.graph.nodes if n.op not in ("placeholder", "output")):
        part[n.name] = i // 3
    return split_module(gm, gm, lambda n: part.get(n.name, 0))

def inputs():
    return (torch.randn(3, 2), torch.randn(3, 2))

#% replace_with_module
from torch.fx import subgraph_rewriter
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()
        self.lin = nn.Linear(2, 2)

    def forward(self, x):
        return self.act(self.lin(x)) + self.act(x).sum(dim=0)

class P(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(x)

class R(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(2, 2)

    def forward(self, x):
        return torch.sigmoid(self.gate(x)) * x

def before():
    return fx.symbolic_trace(M())

def build():
    gm = before()
    subgraph_rewriter.replace_pattern(gm, P(), R())
    return gm

def inputs():
    return (torch.randn(3, 2),)

#% branch_many_users
def build():
    g = fx.Graph()
    x = g.placeholder("x")
    nodes = [x]
    for i in range(40):
        nodes.append(g.call_function(torch.add if i % 3 else torch.mul, (nodes[-1], nodes[i // 2])))
    g.output(tuple(nodes[::7]))
    return fx.GraphModule(nn.Module(), g)

def inputs():
    return (torch.rand(2),)

#% complex_literals
def build():
    g = fx.Graph()
    x = g.placeholder("x", default_value=1 + 2j)
    y = g.call_function(operator.mul, (x, -1j))
    z = g.call_function(operator.add, (y, 3.5 - 0.25j))
    w = g.call_function(torch.full, ((2,), float("inf")), {"dtype": torch.complex64})
    v = g.call_function(torch.tensor, ([[1, 2.5], [True, -3]],), {"dtype": torch.float16})
    u = g.call_function(torch.tensor, (float("-inf"),))
    g.output((z, w, v, u, g.call_function(torch.real, (w,)), g.call_function(operator.pow, (2, -1))))
    return fx.GraphModule(nn.Module(), g)

def inputs():
    return (2 - 1j,)

#% wrapped_methods
fx.wrap("combine")
def combine(a, *rest, scale=1.0, **more):
    for r in rest:
        a = a + r * scale
    return a

def f(x, ys):
    return combine(x, *[ys[0], ys[1]], scale=2.0, tag="t") + combine(x)

def build():
    return fx.symbolic_trace(f)

#% dict_methods
def f(x):
    a = x.split([1, 2], dim=1)
    b = torch.stack(list(map(lambda t: t.sum(), (x, x * 2))))
    return a[0].squeeze(1), [t for t in (a[1], b)], {"dtype": x.dtype, "shape": x.shape[1:], "dev": x.device, "grad": x.requires_grad, "T": x.T, "ndim": x.ndim, "is": x.is_cuda, "real": x.real, "lay": x.layout, "itemsize": x.itemsize, "nbytes": x.nbytes, "mT": x.mT, "H": x.H}

def build():
    return fx.symbolic_trace(f)

def inputs():
    return (torch.randn(2, 3),)
'''


if __name__ == "__main__":
    sys.exit(main())
