"""Small programs for the live reference test, beside the recorded ones: a wide sweep of operators, state,
views, symbolic sizes and control flow, each exported on the spot and repeated bit by bit.

PROGRAMS maps a name to a function that returns (model, sets, dynamic_shapes, decompose): sets as in
reference_models.py; decompose is None for the dialect that export writes, "core" for the default
decompositions, "functional" for functionalization alone.
"""
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

PROGRAMS = {}
DYNAMIC = Dim.DYNAMIC


class Lambda(nn.Module):
    """A function as a module without state."""

    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *args):
        return self.f(*args)


def program(name, model, *sets, dynamic=None, decompose=None, train=False):
    """Register a program. sets are functions that draw the arguments of one call."""

    def make():
        m = model() if isinstance(model, type) else Lambda(model)
        dims = dynamic
        if dims is not None and isinstance(m, Lambda):
            dims = {"args": dims}
        return m.train(train), [(s(), {}) for s in sets], dims, decompose

    if name in PROGRAMS:
        raise ValueError(f"two programs called {name}")
    PROGRAMS[name] = make


def r(*shape):
    return torch.randn(*shape)


# What one square matrix is put through, by topic; those that write or make views are also exported decomposed.
SQUARE = {
    "linalg_factor": lambda x: (torch.linalg.svd(x)[1], torch.linalg.eigh(x @ x.t())[0], *torch.linalg.lu(x), torch.linalg.slogdet(x), *torch.geqrf(x)),
    "linalg_solve": lambda x: (torch.linalg.pinv(x), torch.linalg.solve_triangular(x.tril() + 4 * torch.eye(4), x, upper=False)),
    "linalg_product": lambda x: (torch.linalg.matrix_exp(x), torch.linalg.matrix_power(x, 3), torch.kron(x, x), torch.linalg.multi_dot([x, x, x]),
                                 torch.tensordot(x, x, dims=([0], [1])), torch.cdist(x, x + 1)),
    "blas": lambda x: (torch.addmm(x, x, x, beta=0.5, alpha=2), torch.addmv(x[0], x, x[1]), torch.addr(x, x[0], x[1]),
                       torch.baddbmm(x[None], x[None], x[None]), x.mv(x[0]), x[0].dot(x[1]), x.inner(x), torch.vdot(x[0], x[1]), x[None, None] @ x),
    "moments": lambda x: (x.var(0, correction=0), x.std(1, keepdim=True), *torch.var_mean(x), x.nansum(), x.nanmean(), x.nanmedian()),
    "order": lambda x: (x.argsort(descending=True, stable=True), x.msort(), *x.sort(dim=0), *x.topk(2, dim=0, largest=False), *x.kthvalue(2),
                        x.quantile(torch.tensor([0.2, 0.5]), dim=1), *x.round().mode(), x.median(), *x.median(1)),
    "cumulative": lambda x: (x.logcumsumexp(0), x.cumprod(1), *x.cummax(0), *x.cummin(1), torch.cumulative_trapezoid(x), x.diff(n=2)),
    "norm": lambda x: (x.norm(3), x.norm(dim=1), x.dist(x * 2), x.renorm(2, 0, 1), torch.linalg.vector_norm(x, ord=math.inf), torch.linalg.matrix_norm(x, 1)),
    "count": lambda x: (torch.histc(x, 4), torch.bincount(torch.tensor([0, 1, 1])), x.count_nonzero(0)),
    "cross_entropy": lambda x: (F.cross_entropy(x, torch.tensor([0, 1, 3, 2]), label_smoothing=0.1, weight=torch.ones(4), reduction="none"),
                                F.cross_entropy(x, x.softmax(1))),
    "loss": lambda x: (F.multi_margin_loss(x, torch.tensor([0, 1, 2, 3])), F.poisson_nll_loss(x, x.abs()), F.huber_loss(x, x * 2),
                       F.soft_margin_loss(x, x.sign()), F.hinge_embedding_loss(x, x.sign()), F.margin_ranking_loss(x, x * 2, x.sign())),
    "special": lambda x: (torch.special.erfcx(x), torch.special.i0e(x), torch.lgamma(x.abs() + 1), torch.digamma(x.abs() + 1),
                          torch.special.zeta(x.abs() + 2, x.abs() + 1), torch.special.entr(x.abs()), torch.special.ndtri(x.sigmoid()), torch.sinc(x),
                          torch.special.bessel_j0(x), torch.logit(x.sigmoid(), eps=1e-6)),
    "pointwise": lambda x: (x.frac(), x.trunc(), x.heaviside(x), x.copysign(-x), x.nextafter(x + 1), *torch.frexp(x), x.hypot(x), x.logaddexp(x),
                            x.fmod(2), x.remainder(-2), x.clamp(-1, 1), x.clip(min=0), x.sgn(), x.signbit(), x.isfinite(), x.nan_to_num(0.0, 1.0),
                            x.float_power(2), x.exp2(), x.expm1(), x.log1p(), x.asinh(), x.square(), torch.maximum(x, x * 2), torch.where(x > 0, x, -x),
                            torch.addcdiv(x, x, x + 9, value=0.5), x.lerp(x * 2, 0.3), torch.bitwise_left_shift(torch.tensor(3), 2)),
    "activation": lambda x: (F.hardshrink(x), F.softshrink(x), F.tanhshrink(x), F.celu(x), F.hardsigmoid(x), F.softmin(x, 0), F.softsign(x),
                             F.logsigmoid(x), F.threshold(x, 0.1, 5), F.relu6(x), F.selu(x), F.glu(x), F.normalize(x), F.cosine_similarity(x, x + 1),
                             F.pairwise_distance(x, x + 1), F.local_response_norm(x[None], 2), F.rms_norm(x, (4,)), F.pdist(x)),
    "integer": lambda x: ((x * 10).int() // 3, (x * 10).int() % 3, (x * 10).long() / 4, torch.floor_divide((x * 10).int(), -3), (x * 10).int().fmod(-3),
                          (x * 10).int().pow(2), (x * 10).int() << 2, -(x * 10).int(), (x * 10).short() + 1.5, (x * 10).int().div(3, rounding_mode="trunc")),
    "boolean": lambda x: (~(x > 0), (x > 0) & (x < 1), (x > 0) | True, (x > 0) ^ (x < 1), (x > 0).sum(), (x > 0).all(dim=0), x.logical_not(),
                          (x > 0).int() + True, (x > 0).cumsum(0)),
    "complex": lambda x: ((x + 1j * x).abs(), (x + 0j).exp(), (x * 1j).imag, (x * 1j).conj() * 2, (x * 1j).conj().resolve_conj(), (x * 1j).angle(),
                          torch.view_as_complex(x.reshape(4, 2, 2)), (x * 1j).mH, (x * 1j) @ (x * 1j), -(x * 1j).imag),
    "scalar": lambda x: (x + True, x * 2.5, 2.0 ** x, 1 - x, 1 / x, x > True, torch.full((2,), True), torch.full((2,), 3), torch.full((2,), 2j),
                         torch.where(x > 1, 1.0, x), x.int() + 1.5, 2 ** x.int(), x.int() == 1.0, torch.rsub(x, 3)),
    "creation": lambda x: (torch.ones_like(x, dtype=torch.int8), torch.zeros(2, 3, dtype=torch.complex64) + 1j, torch.arange(5, dtype=torch.float16),
                           torch.eye(3, 4), torch.full((2, 2), math.inf), torch.full((2,), math.nan), torch.logspace(0, 1, 4), torch.empty(0, 3),
                           x.new_tensor([1.0, 2.0]), torch.hann_window(5), torch.kaiser_window(4), torch.tril_indices(3, 3)),
    "index": lambda x: (x[[0, 2], [1, 3]], x[:, None, [0, 1]], x[torch.tensor([[0, 1], [2, 3]])], x[x > 0], x[..., 0], x[-1:], x[::2, 1::2],
                        x[None, None], x[torch.tensor(2)], x[torch.tensor([0, 3]), :2], x.take(torch.tensor([0, 5])),
                        torch.take_along_dim(x, x.argmax(1, keepdim=True), 1)),
    "scatter": lambda x: (x.scatter(1, torch.tensor([[0], [1], [2], [3]]), 1.5), x.scatter_add(0, torch.zeros(1, 4, dtype=torch.long), x),
                          x.scatter_reduce(0, torch.zeros(4, 4, dtype=torch.long), x, "prod", include_self=False),
                          x.index_add(0, torch.tensor([0, 1]), x[:2], alpha=2), x.index_copy(1, torch.tensor([0]), x[:, :1]), x.masked_scatter(x > 0, x),
                          torch.slice_scatter(x, x[:, :2], 1, 1, 3)),
    "join": lambda x: (torch.cat([x, x.int()], 0), torch.stack([x, x], -1), torch.vstack([x, x]), torch.column_stack([x, x]), *x.split([1, 3]),
                       *x.chunk(3, 1), *x.unbind(1), *torch.broadcast_tensors(x, x[0]), torch.block_diag(x, x)),
    "shape": lambda x: (x.roll(1, 0), x.flip(0, 1), x.rot90(), x.tile(2, 1), x.swapaxes(0, 1), x.unflatten(1, (2, -1)), x.narrow(1, 1, 2),
                        x.diag_embed(), *x.tensor_split((1, 3), dim=1), x[..., None, ::2], x.view(torch.int32), torch.broadcast_to(x, (2, 4, 4)),
                        x.as_strided((2, 2), (1, 2), 1), torch.vander(x[0]), x.unfold(1, 2, 1), x.T, x.mT),
    "convolution": lambda x: (F.conv2d(x[None, None], torch.ones(1, 1, 2, 2), padding="same", dilation=2),
                              F.conv_transpose1d(x[None], torch.ones(4, 2, 3), stride=2), F.pixel_unshuffle(x[None, None], 2)),
    "padding": lambda x: (F.pad(x[None], (1, 2), mode="circular"), F.pad(x[None], (1, 1), mode="replicate"), F.pad(x, (1, -1, 2, 0), value=3.5)),
    "einsum": lambda x: (torch.einsum("ii->i", x), torch.einsum("ij,jk,kl->il", x, x, x), torch.einsum("...i,...i->...", x, x)),
    "fourier": lambda x: (torch.fft.rfft2(x), torch.fft.irfftn(torch.fft.rfftn(x)), torch.fft.hfft(x + 0j), torch.fft.fftfreq(4),
                          torch.fft.fft(x, norm="ortho")),
    "search": lambda x: (torch.searchsorted(x.sort().values, x), torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0]), right=True),
                         torch.isin(x.round(), torch.tensor([0.0, 1.0]))),
    "data_dependent": lambda x: (x.nonzero(), *x.nonzero(as_tuple=True), torch.argwhere(x > 0), x.masked_select(x > 0), torch.unique(x.round()),
                                 torch.unique_consecutive(x.round().int().flatten())),
}
DECOMPOSED = ("pointwise", "norm", "cumulative", "activation", "integer", "join", "index", "scatter", "moments", "boolean", "convolution", "shape")

for _name, _f in SQUARE.items():
    program(_name, _f, lambda: (r(4, 4),))
    if _name in DECOMPOSED:
        program(_name + "_core", _f, lambda: (r(4, 4),), decompose="core")
        program(_name + "_functional", _f, lambda: (r(4, 4),), decompose="functional")


# Writes through views.
def writes(x):
    y = x.clone()
    y.add_(1).mul_(2).clamp_(min=0)
    y[0].zero_()
    y.t_().transpose_(0, 1).fill_diagonal_(7)
    y[1:3, 0] = 5.0
    y[y > 6] = 0.0
    y[..., -1] = x[:, 0]
    return y


def writes_inputs(x, y):
    x[1:].mul_(2)
    x.t()[0].add_(1)
    y.index_put_((torch.tensor([0, 0, 1]),), torch.ones(3), accumulate=True)
    return x.sum() + y.sum()


for _d in (None, "core", "functional"):
    if _d is None:  # PyTorch itself cannot functionalize the transposition in place
        program("writes", writes, lambda: (r(4, 4),))
    program("writes_inputs" + (f"_{_d}" if _d else ""), writes_inputs, lambda: (r(3, 3), r(3)), decompose=_d)


# Symbolic sizes.
program("sizes_join", lambda x, y: (torch.cat([x, y]), x[: y.shape[0]], torch.zeros(x.shape[0] + y.shape[0])),
        lambda: (r(5, 3), r(4, 3)), lambda: (r(6, 3), r(3, 3)), dynamic=({0: DYNAMIC}, {0: DYNAMIC}))
program("sizes_arithmetic", lambda x: (x.view(-1, 2), x.shape[0] // 2, x.shape[0] % 3, -x.shape[0], x.shape[0] * 1.5, x.shape[0] / 3, x.shape[0] ** 2),
        lambda: (r(8),), lambda: (r(12),), dynamic=({0: 2 * Dim("half", min=2, max=20)},))
program("sizes_negative", lambda x: (x * ((x.shape[0] - 10) // 3), x * ((x.shape[0] - 10) % 3), x * ((3 - x.shape[0]) // -2), x * ((3 - x.shape[0]) % -4)),
        lambda: (r(5),), lambda: (r(17),), lambda: (r(10),), lambda: (r(3),), dynamic=({0: Dim("s", min=3, max=40)},))
program("sizes_attention", lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True),
        lambda: (r(1, 2, 5, 8),), lambda: (r(1, 2, 7, 8),), dynamic=({2: DYNAMIC},))
program("sizes_resample", lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x, size=(x.shape[2] * 2, x.shape[3] + 1), mode="bilinear"),
                                     F.adaptive_avg_pool2d(x, (2, 2))),
        lambda: (r(1, 2, 4, 6),), lambda: (r(1, 2, 6, 8),), dynamic=({2: DYNAMIC, 3: DYNAMIC},))
program("sizes_three", lambda x: x.reshape(x.shape[0] * x.shape[1], -1).expand(2, -1, -1).contiguous().flatten(),
        lambda: (r(3, 4, 5),), lambda: (r(2, 7, 3),), dynamic=({0: DYNAMIC, 1: DYNAMIC, 2: DYNAMIC},))
program("sizes_integers", lambda x, n, m: (x[:n], x * n + m, n + m, torch.arange(n), x.repeat(n)),
        lambda: (r(9), 4, 3), lambda: (r(9), 5, 7), dynamic=(None, DYNAMIC, DYNAMIC))
program("sizes_of_values", lambda x, n: (x[:2] * n.item(), x.sum().item() * x), lambda: (r(9), torch.tensor(4)), lambda: (r(9), torch.tensor(6)))


# State.
class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.tensor(0))
        self.register_buffer("mean", torch.zeros(3))
        self.weight = nn.Parameter(r(3))

    def forward(self, x):
        self.count += 1
        self.mean.mul_(0.5).add_(x.sum())
        return x * self.weight + self.mean, self.count


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 4)
        self.head = nn.Linear(4, 5, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("rows", self.embedding.weight.detach()[1:3])
        self.register_buffer("transposed", self.embedding.weight.detach().t())

    def forward(self, i):
        return self.head(self.embedding(i)) + self.rows.sum() + self.transposed[0]


class Names(nn.Module):
    def __init__(self):
        super().__init__()
        self.list = nn.ParameterList([nn.Parameter(r(2)) for _ in range(3)])
        self.dict = nn.ParameterDict({"a-b": nn.Parameter(r(2))})
        self.layers = nn.ModuleDict({"x y": nn.Linear(2, 2)})
        self.register_buffer("self_", r(2))

    def forward(self, input, self_1):
        return sum(self.list) + self.dict["a-b"] + self.layers["x y"](input) + self.self_ + self_1


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True, proj_size=2)
        self.gru = nn.GRU(4, 5, bidirectional=True)
        self.rnn = nn.RNN(10, 3, nonlinearity="relu")

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        z, g = self.gru(y)
        return y, h, c, z, g, self.rnn(z)[0]


class MixedPrecision(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.conv = nn.Conv1d(3, 3, 1)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.linear(x)
            z = self.conv(x.t()[None])
            with torch.autocast("cpu", enabled=False):
                w = self.linear(x)
            return y, z, w, torch.cat([y, x], 0), y.softmax(-1), F.layer_norm(y, (3,))


class Regions(nn.Module):
    """Autocast, in it one without and one without gradients, and sizes that depend on elements."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 3)

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            y = self.norm(self.first(x))
            z = torch.softmax(y, -1)
            w = torch.cat([y, z])
            with torch.no_grad():
                v = self.last(w.relu())
            with torch.autocast("cpu", enabled=False):
                u = y.float() @ torch.ones(6, 2)
            q = torch.matmul(u, torch.ones(2, 5))
            out = y, z, w, v, u, q, torch.nonzero(q)[:, 0], q.double() @ torch.ones(5, 2, dtype=torch.float64), y @ y.transpose(0, 1)
        with torch.autocast("cpu", torch.float16):
            return *out, self.first(x)


for _d in (None, "functional"):
    program("counter" + (f"_{_d}" if _d else ""), Counter, lambda: (r(3),), decompose=_d)
program("tied", Tied, lambda: (torch.tensor([1, 2]),))
program("names", Names, lambda: (r(2), r(2)))
program("recurrent", Recurrent, lambda: (r(2, 5, 3),))
program("mixed_precision", MixedPrecision, lambda: (r(2, 3),))
program("regions", Regions, lambda: (r(5, 4),))
program("regions_dynamic", Regions, lambda: (r(5, 4),), lambda: (r(3, 4),), dynamic=({0: Dim("n", min=2, max=50)},))


# Control flow and transforms.
def loop(i, x):
    from torch._higher_order_ops.while_loop import while_loop

    def body(i, x):
        return i + 1, torch.cond(x.sum() > 0, lambda x: x * 0.5 - 1, lambda x: x + 2, (x,))

    return while_loop(lambda i, x: i < 6, body, (i, x))


def scans(init, xs, ys):
    from torch._higher_order_ops.scan import scan

    def step(c, x):
        n = c + x[0] * x[1]
        return n, (n * 2, c - 1)

    return scan(step, init, (xs, ys), reverse=True, dim=1)


program("loop", loop, lambda: (torch.tensor(0), r(3)), lambda: (torch.tensor(6), r(3)))
program("scan_reverse", scans, lambda: (r(3), r(3, 4), r(3, 4)))
program("branches", lambda x, p: torch.cond(p, lambda x: (x + 1, x.to(torch.int64), x > 0), lambda x: (x * 2, x.to(torch.int64) + 1, x < 0), (x,)),
        lambda: (r(3), torch.tensor(True)), lambda: (r(3), torch.tensor(False)))
program("vmap", lambda x, y: torch.vmap(torch.mm, in_dims=(0, None))(x, y), lambda: (r(3, 2, 2), r(2, 2)))
program("random", lambda x: (torch.rand_like(x), torch.bernoulli(x.sigmoid()), torch.multinomial(x.abs(), 2), F.dropout(x, 0.5, True),
                             torch.randint(0, 5, (3,)), F.gumbel_softmax(x), torch.rand(2, 3, dtype=torch.float64)), lambda: (r(3, 4),))


def export(name, path):
    """Write a program to path. Returns its input sets."""
    torch.manual_seed(0)
    model, sets, dynamic, decompose = PROGRAMS[name]()
    ep = torch.export.export(model, sets[0][0], dynamic_shapes=dynamic)
    if decompose:
        ep = ep.run_decompositions() if decompose == "core" else ep.run_decompositions({})
    torch.export.save(ep, path)
    return sets
