"""Calls of the functions of PyTorch that are Python code: many combinations of their arguments, good and bad.

calls() yields (name, args, kwargs). The arguments are made from a generator with a fixed seed.
"""
import itertools
import math

import torch

F = "torch.nn.functional."
inf, nan = math.inf, math.nan


def product(**options):
    """Every combination of the options, as keyword arguments."""
    for values in itertools.product(*options.values()):
        yield dict(zip(options, values))


class Maker:
    def __init__(self):
        self.g = torch.Generator().manual_seed(7)

    def n(self, *shape, dtype=torch.float32):
        if dtype.is_complex:
            return torch.complex(self.n(*shape), self.n(*shape)).to(dtype)
        return torch.randn(shape, generator=self.g, dtype=torch.float64).to(dtype)

    def u(self, *shape, low=0.0, high=1.0):
        return torch.rand(shape, generator=self.g) * (high - low) + low

    def i(self, high, *shape, low=0, dtype=torch.int64):
        return torch.randint(low, high, shape, generator=self.g).to(dtype)

    def b(self, *shape, p=0.5):
        return torch.rand(shape, generator=self.g) < p


def activations(m):
    for name in ("relu", "relu6", "elu", "selu", "celu", "leaky_relu", "rrelu", "hardsigmoid", "hardswish", "silu", "mish", "hardtanh"):
        for inplace, dtype in itertools.product((False, True), (torch.float32, torch.float64, torch.bfloat16)):
            yield F + name, [m.n(3, 5, dtype=dtype)], {"inplace": inplace}
        yield F + name, [m.n(4)[::2]], {}
        yield F + name, [m.n(2, 2)], {"inplace": 1}
        yield F + name, [], {}
        yield F + name, [3], {}
        yield F + name, [m.n(2)], {"nonsense": 1}
        yield F + name, [m.n(2)] + [0.5] * 7, {}
    for alpha in (0.5, 1, 2.0):
        yield F + "elu", [m.n(4), alpha], {}
        yield F + "celu", [m.n(4)], {"alpha": alpha}
        yield F + "leaky_relu", [m.n(4), alpha, True], {}
    yield F + "celu", [m.n(4), 0.0], {}
    for training, inplace in itertools.product((False, True), repeat=2):
        yield F + "rrelu", [m.n(4, 4)], {"lower": 0.2, "upper": 0.4, "training": training, "inplace": inplace}
    for lo, hi in ((-2, 2), (0.5, 0.5), (2.0, 1.0), (-1, 0.25)):
        yield F + "hardtanh", [m.n(6), lo, hi], {}
    for inplace in (False, True):
        yield F + "threshold", [m.n(6), 0.1, 20], {"inplace": inplace}
        yield F + "_threshold", [m.n(6)], {"threshold": 0, "value": -1.5, "inplace": inplace}
    yield F + "threshold", [m.n(6)], {}
    for name in ("tanhshrink", "softsign", "sigmoid", "tanh"):
        for x in (m.n(3, 4), m.n(3, 4).t(), m.n(2, dtype=torch.complex64), m.i(5, 3)):
            yield F + name, [x], {}
        yield F + name, [m.n(3), 1], {}
    for shape, dim in (((4, 6), -1), ((4, 6), 0), ((), -1), ((3,), 0), ((4, 6), 5)):
        yield F + "glu", [m.n(*shape)], {"dim": dim}
    for name in ("softmax", "log_softmax", "softmin"):
        for shape in ((), (4,), (3, 4), (2, 3, 4), (2, 3, 4, 2)):
            yield F + name, [m.n(*shape)], {}
        for dim, dtype in itertools.product((0, -1, 1, 7), (None, torch.float64, torch.float16)):
            yield F + name, [m.n(3, 4)], {"dim": dim, "dtype": dtype}
        yield F + name, [m.n(3, 4), 1, 5], {}
        yield F + name, [m.i(9, 3, 4), 1], {}
        yield F + name, [m.i(9, 3, 4), 1], {"dtype": torch.float32}
    for hard, tau, dim in itertools.product((False, True), (1, 0.1, 10.0), (-1, 0)):
        yield F + "gumbel_softmax", [m.n(4, 5)], {"tau": tau, "hard": hard, "dim": dim}
    yield F + "gumbel_softmax", [m.n(4, 5).t()], {"hard": True, "eps": 1e-5}


def dropouts(m):
    for name in ("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d"):
        for p, training, inplace in itertools.product((0.0, 0.3, 0.5, 1.0, 1, 0), (False, True), (False, True)):
            for shape in ((2, 3, 4), (2, 3, 4, 4), (2, 3, 2, 3, 2)):
                yield F + name, [m.n(*shape)], {"p": p, "training": training, "inplace": inplace}
        for shape in ((), (3,), (2, 3), (1, 2, 2, 1, 2, 2)):
            yield F + name, [m.n(*shape)], {"training": True}
        for p in (-0.1, 1.5, 2, nan):
            yield F + name, [m.n(2, 3, 4), p, True], {}
        yield F + name, [m.n(2, 3, 4, dtype=torch.float64)], {"training": True}
        yield F + name, [m.n(2, 3, 4)], {}
        yield F + name, [m.n(2, 3, 4), "half"], {}


def embeddings(m):
    for padding, norm, norm_type in itertools.product((None, 0, 3, -1, -10), (None, 1.0, 0.5), (2.0, 1.0)):
        kw = {"padding_idx": padding, "max_norm": norm, "norm_type": norm_type}
        yield F + "embedding", [m.i(10, 4, 3), m.n(10, 5)], kw
    for padding in (10, -11, 11):
        yield F + "embedding", [m.i(10, 4), m.n(10, 5)], {"padding_idx": padding}
    yield F + "embedding", [m.i(10, 4, dtype=torch.int32), m.n(10, 5), None, None, 2.0, True, False], {}
    yield F + "embedding", [m.i(10, 8).reshape(4, 2).t(), m.n(10, 5)], {"max_norm": 1.0}
    yield F + "embedding", [m.n(4), m.n(10, 5)], {}
    yield F + "embedding", [torch.tensor([11]), m.n(10, 5)], {}
    for mode, norm, last, padding in itertools.product(("sum", "mean", "max"), (None, 1.0), (False, True), (None, 2, -1)):
        offsets = torch.tensor([0, 4, 8] if last else [0, 4])
        kw = {"mode": mode, "max_norm": norm, "include_last_offset": last, "padding_idx": padding}
        yield F + "embedding_bag", [m.i(10, 8), m.n(10, 3), offsets], kw
        yield F + "embedding_bag", [m.i(10, 4, 3), m.n(10, 3)], kw
    for mode, shape in itertools.product(("sum", "mean", "max"), ((8,), (4, 2))):
        kw = {"mode": mode, "per_sample_weights": m.n(*shape)}
        yield F + "embedding_bag", [m.i(10, *shape), m.n(10, 3), torch.tensor([0, 4]) if len(shape) == 1 else None], kw
    for x, offsets, kw in (
        (m.i(10, 8), None, {}), (m.i(10, 8), torch.tensor([[0]]), {}), (m.i(10, 4, 2), torch.tensor([0]), {}),
        (m.i(10, 2, 2, 2), None, {}), (m.i(10, 8), torch.tensor([0, 4]), {"mode": "median"}),
        (m.i(10, 8), torch.tensor([0, 4]), {"mode": "max", "sparse": True}),
        (m.i(10, 8), torch.tensor([0, 4]), {"mode": "max", "scale_grad_by_freq": True}),
        (m.i(10, 8), torch.tensor([0, 4]), {"per_sample_weights": m.n(4)}),
    ):
        yield F + "embedding_bag", [x, m.n(10, 3), offsets], kw
    yield F + "embedding_bag", [m.i(10, 8), m.n(10), torch.tensor([0])], {}
    yield F + "embedding_bag", [m.n(10, 3), m.i(10, 8), torch.tensor([0, 4])], {}


def norms(m):
    for shape in ((4, 3), (2, 3, 5), (2, 3, 4, 4), (2, 3, 2, 2, 2)):
        c = shape[1]
        for training, affine, stats in itertools.product((False, True), (False, True), (False, True)):
            weight, bias = (m.n(c), m.n(c)) if affine else (None, None)
            mean, var = (m.n(c), m.u(c, low=0.5, high=2)) if stats else (None, None)
            yield F + "batch_norm", [m.n(*shape), mean, var, weight, bias, training], {"momentum": 0.3}
            if len(shape) > 2:
                yield F + "instance_norm", [m.n(*shape), mean, var, weight, bias], {"use_input_stats": training, "eps": 1e-3}
        for groups in (1, 3, 2, 0):
            yield F + "group_norm", [m.n(*shape), groups], {"weight": m.n(c), "bias": m.n(c)}
        yield F + "group_norm", [m.n(*shape), 3], {}
        for k in range(1, len(shape)):
            normalized = list(shape[-k:])
            for name in ("layer_norm", "rms_norm"):
                yield F + name, [m.n(*shape), normalized], {}
                yield F + name, [m.n(*shape), tuple(normalized)], {"weight": m.n(*normalized), "eps": 1e-3}
        yield F + "layer_norm", [m.n(*shape), [shape[-1]], None, m.n(shape[-1])], {}
        yield F + "layer_norm", [m.n(*shape), [99]], {}
        yield F + "layer_norm", [m.n(*shape), shape[-1]], {}
        for size, alpha, beta, k in ((2, 1e-4, 0.75, 1.0), (3, 0.5, 2, 0), (5, 1, 0.5, 2.5)):
            yield F + "local_response_norm", [m.n(*shape), size, alpha, beta, k], {}
        for p, dim, eps in ((2.0, 1, 1e-12), (1, 0, 1e-3), (inf, -1, 1.0), (3, (0, 1), 1e-12), (0.5, 1, 0), ("fro", 1, 1e-12), (None, 0, 1e-12)):
            yield F + "normalize", [m.n(*shape), p, dim, eps], {}
        yield F + "normalize", [m.n(*shape)], {"out": torch.empty(0)}
        yield F + "normalize", [m.n(*shape, dtype=torch.complex64)], {}
    for eps, training in itertools.product((0.0, -1e-3, 1e-5), (False, True)):
        yield F + "batch_norm", [m.n(4, 3), m.n(3), m.u(3)], {"training": training, "eps": eps}
    for shape in ((1, 3), (1, 3, 1), (1, 3, 1, 1), (1,), ()):
        yield F + "batch_norm", [m.n(*shape), None, None], {"training": True}
        yield F + "instance_norm", [m.n(*shape)], {}
        yield F + "group_norm", [m.n(*shape), 3], {}
        yield F + "local_response_norm", [m.n(*shape), 2], {}
    yield F + "local_response_norm", [m.n(0, 3, 4), 2], {}
    yield F + "batch_norm", [m.n(4, 3, dtype=torch.bfloat16), m.n(3), m.u(3)], {}


def pools(m):
    for d in (1, 2, 3):
        shapes = [(2, 3) + (8,) * d, (3,) + (8,) * d]
        for x in shapes:
            for kernel, stride, padding, dilation, ceil in (
                (2, None, 0, 1, False), (3, 2, 1, 1, False), (3, 1, 1, 2, True), ((2,) * d, (3,) * d, (1,) * d, (1,) * d, True), ([2], [1], [0], [1], False),
            ):
                kw = {"stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil}
                yield f"{F}max_pool{d}d", [m.n(*x), kernel], kw
                yield f"{F}max_pool{d}d", [m.n(*x), kernel], kw | {"return_indices": True}
                yield f"{F}max_pool{d}d_with_indices", [m.n(*x), kernel], kw
            yield f"{F}max_pool{d}d", [m.n(*x), 2, 2, 0, 1, False, True], {}
            yield f"{F}max_pool{d}d", [m.n(*x), 2, 2, 5], {}
            yield f"{F}max_pool{d}d", [m.n(*x)], {}
            yield f"{F}max_pool{d}d", [m.n(*x), "2"], {}
            for size in (3, (2,) * d, [4] * d, (None,) * d, (2,) + (None,) * (d - 1), [5] * (d + 4), 0):
                for flag in (False, True):
                    yield f"{F}adaptive_max_pool{d}d", [m.n(*x), size], {"return_indices": flag}
                yield f"{F}adaptive_max_pool{d}d_with_indices", [m.n(*x), size], {}
                if d > 1:
                    yield f"{F}adaptive_avg_pool{d}d", [m.n(*x), size], {}
            for norm, kernel, stride, ceil in (
                (2, 2, None, False), (1, 3, 2, True), (1.5, (2,) * d, (1,) * d, False), (inf, 2, None, False), (-inf, 2, 1, True), (3.0, 2, [2], False), (0, 2, None, False),
            ):
                yield f"{F}lp_pool{d}d", [m.n(*x), norm, kernel], {"stride": stride, "ceil_mode": ceil}
                yield f"{F}lp_pool{d}d", [m.n(*x).abs(), norm, kernel, stride, ceil], {}
            for kernel, stride, padding in ((2, None, 0), (2, 2, 0), ((2,) * d, (2,) * d, 0), (3, 2, 1)):
                pool = getattr(torch.nn.functional, f"max_pool{d}d")
                values, where = pool(m.n(*x), kernel, stride, padding, return_indices=True)
                base = [values, where, kernel]
                yield f"{F}max_unpool{d}d", base, {"stride": stride, "padding": padding}
                for out in (list(x), tuple(x[-d:]), [9] * d, [20] * d, [8] * (d + 1)):
                    yield f"{F}max_unpool{d}d", base, {"stride": stride, "padding": padding, "output_size": out}
        if d > 1:
            for x in shapes:
                for name in (f"fractional_max_pool{d}d", f"fractional_max_pool{d}d_with_indices"):
                    for kw in (
                        {"output_size": 4}, {"output_size": (5,) * d}, {"output_ratio": (0.5,) * d}, {"output_ratio": 0.6}, {"output_ratio": [0.7] * (d + 1)},
                        {"output_ratio": [0.5]}, {}, {"output_size": 3, "return_indices": True}, {"output_size": 20},
                        {"output_size": 4, "_random_samples": m.u(2 if len(x) > d + 1 else 1, 3, d)},
                    ):
                        yield F + name, [m.n(*x), 2], kw
                yield f"{F}fractional_max_pool{d}d", [m.n(*x), (2,) * d, 3, None, True], {}
                yield f"{F}fractional_max_pool{d}d", [m.n(*x, dtype=torch.float64), 2], {"output_size": 3}
    yield F + "max_unpool2d", [m.n(4), m.i(4, 4), 2], {}
    yield F + "adaptive_avg_pool2d", [m.n(4), (2, 2)], {}


def sampling(m):
    modes = ("nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area", "lanczos", "cubic")
    for d, mode in itertools.product((1, 2, 3), modes):
        x = lambda: m.n(2, 3, *(5, 6, 4)[:d])
        for kw in (
            {"size": 7}, {"size": (7, 8, 3)[:d]}, {"size": [3] * d}, {"scale_factor": 2}, {"scale_factor": 1.5}, {"scale_factor": (1.7, 2, 0.6)[:d]},
            {"scale_factor": [0.5] * d, "recompute_scale_factor": True}, {"scale_factor": 1.3, "recompute_scale_factor": False}, {},
            {"size": 7, "scale_factor": 2.0}, {"size": [3] * (d + 1)}, {"scale_factor": [2.0] * (d + 1)}, {"size": 7, "recompute_scale_factor": True},
            {"size": [2.5] * d}, {"size": 2.5}, {"scale_factor": None, "size": "7"},
        ):
            yield F + "interpolate", [x()], kw | {"mode": mode}
        for corners, antialias in itertools.product((None, False, True), (False, True)):
            for kw in ({"size": 7}, {"scale_factor": 0.6}):
                yield F + "interpolate", [x()], kw | {"mode": mode, "align_corners": corners, "antialias": antialias}
        yield F + "upsample", [x(), None, 2.0, mode], {}
    for shape in ((3,), (2, 3), (1, 1, 2, 2, 2, 2), ()):
        yield F + "interpolate", [m.n(*shape)], {"size": 3}
    yield F + "interpolate", [m.i(255, 1, 3, 6, 6, dtype=torch.uint8)], {"size": 4, "mode": "bilinear", "antialias": True}
    yield F + "interpolate", [m.n(1, 3, 6, 6).to(memory_format=torch.channels_last)], {"scale_factor": 2, "mode": "bilinear"}
    for d in (1, 2, 3):
        yield F + "upsample_nearest", [m.n(1, 2, *(4,) * d)], {"scale_factor": 2}
        yield F + "upsample_nearest", [m.n(1, 2, *(4,) * d), 3], {}
        yield F + "upsample_bilinear", [m.n(1, 2, *(4,) * d)], {"size": 6}
    for mode, padding, corners in itertools.product(("bilinear", "nearest", "bicubic", "cubic"), ("zeros", "border", "reflection", "wrap"), (None, False, True)):
        kw = {"mode": mode, "padding_mode": padding, "align_corners": corners}
        yield F + "grid_sample", [m.n(2, 3, 5, 4), m.u(2, 4, 3, 2, low=-1.3, high=1.3)], kw
        yield F + "grid_sample", [m.n(1, 2, 3, 5, 4), m.u(1, 2, 4, 3, 3, low=-1.3, high=1.3)], kw
    for size, theta in (((2, 3, 4, 5), m.n(2, 2, 3)), ((2, 3, 4, 5, 2), m.n(2, 3, 4)), ([2, 3, 1, 1], m.n(2, 2, 3)), ((2, 3, 4), m.n(2, 2, 3)), ((2, 3, 4, 5), m.n(2, 3, 4)),
                        ((2, 3, 0, 5), m.n(2, 2, 3)), ((2, 3, 4, 5), m.i(3, 2, 2, 3)), ((2, 3, 4, 5, 2), m.n(2, 3)), ((2, 3, -4, 1), m.n(2, 2, 3))):
        for corners in (None, False, True):
            yield F + "affine_grid", [theta, size], {"align_corners": corners}
    for kw in ({"kernel_size": 2}, {"kernel_size": (2, 3), "stride": 2}, {"kernel_size": [2], "padding": 1}, {"kernel_size": 2, "dilation": 2, "padding": (1, 0), "stride": [1, 2]}):
        yield F + "unfold", [m.n(2, 3, 6, 7)], kw
        yield F + "fold", [m.n(2, 12, 30), (6, 7)], kw
    yield F + "fold", [m.n(2, 12, 9), 4, 2], {}
    for pad, mode, value in (((1, 2), "constant", None), ([1, 2, 3, 0], "constant", 2.5), ((1, -1), "constant", 0), ((1, 1), "reflect", None), ((1, 1, 2, 2), "replicate", None),
                             ((1, 2), "circular", None), ((1,), "constant", None), ((1, 1), "nonsense", None), ((1, 1), "reflect", 2.0)):
        yield F + "pad", [m.n(2, 3, 4, 4), pad], {"mode": mode, "value": value}
        yield F + "pad", [m.n(2, 3, 4), pad, mode, value], {}


def losses(m):
    flags = [{}] + [{"reduction": r} for r in ("none", "mean", "sum", "elementwise_mean", "batchmean", "nonsense")]
    flags += [{"size_average": s, "reduce": r} for s, r in itertools.product((None, False, True), repeat=2)]
    x, y = m.n(4, 5), m.n(4, 5)
    pairs = {
        "soft_margin_loss": [x, y.sign()], "hinge_embedding_loss": [x, y.sign()], "multilabel_margin_loss": [x, m.i(5, 4, 5)], "kl_div": [x.log_softmax(1), y.softmax(1)],
        "binary_cross_entropy": [m.u(4, 5), m.u(4, 5)], "binary_cross_entropy_with_logits": [x, m.u(4, 5)], "nll_loss": [x.log_softmax(1), m.i(5, 4)],
        "cross_entropy": [x, m.i(5, 4)], "poisson_nll_loss": [x, y.abs()], "smooth_l1_loss": [x, y], "l1_loss": [x, y], "mse_loss": [x, y],
        "multilabel_soft_margin_loss": [x, m.b(4, 5).float()], "multi_margin_loss": [x, m.i(5, 4)], "margin_ranking_loss": [x, y, m.n(4, 5).sign()],
        "cosine_embedding_loss": [x, y, m.n(4).sign()], "triplet_margin_loss": [x, y, m.n(4, 5)],
    }
    for name, args in pairs.items():
        for kw in flags:
            yield F + name, args, kw
        yield F + name, args[:1], {}
        yield F + name, args, {"reduction": None}
        yield F + name, args, {"reduction": 3}
    for reduction in ("none", "mean", "sum", "elementwise_mean", "nonsense"):
        kw = {"reduction": reduction}
        yield F + "huber_loss", [x, y], kw | {"delta": 0.5}
        for name in ("huber_loss", "l1_loss", "mse_loss"):
            yield F + name, [x, y], kw | {"weight": m.u(4, 5)}
            yield F + name, [x, y], kw | {"weight": m.u(5)}
        yield F + "smooth_l1_loss", [x, y], kw | {"beta": 0.0}
        yield F + "smooth_l1_loss", [x, y], kw | {"beta": 0.5}
        yield F + "smooth_l1_loss", [x, m.n(5)], kw
        yield F + "mse_loss", [x, m.n(4, 1)], kw
        for full, var in itertools.product((False, True), (m.u(4, 5), m.u(4), m.u(4, 1), 0.5, m.u(5, 4), m.n(4, 5), -1.0, 1, m.u(1, 5))):
            yield F + "gaussian_nll_loss", [x, y, var], kw | {"full": full}
        for w in (None, m.u(4, 5), m.u(5), m.u(1, 5), m.u(3, 4, 5), m.u(3)):
            yield F + "binary_cross_entropy", [m.u(4, 5), m.u(4, 5), w], kw
            yield F + "binary_cross_entropy_with_logits", [x, m.u(4, 5), w], kw | {"pos_weight": m.u(5)}
        for w, ignore, smoothing in itertools.product((None, m.u(5)), (-100, 2), (0.0, 0.1)):
            yield F + "cross_entropy", [x, m.i(5, 4)], kw | {"weight": w, "ignore_index": ignore, "label_smoothing": smoothing}
            yield F + "nll_loss", [m.n(4, 5, 3), m.i(5, 4, 3)], kw | {"weight": w, "ignore_index": ignore}
        yield F + "cross_entropy", [x, y.softmax(1)], kw | {"label_smoothing": 0.2}
        yield F + "cross_entropy", [m.n(4, 5, 2, 2), m.i(5, 4, 2, 2)], kw
        for log, full in itertools.product((False, True), repeat=2):
            yield F + "poisson_nll_loss", [x.abs(), y.abs()], kw | {"log_input": log, "full": full, "eps": 1e-3}
        yield F + "kl_div", [x.log_softmax(1), y.log_softmax(1)], kw | {"log_target": True}
        for p, margin, w in itertools.product((1, 2, 3), (1.0, 0.5), (None, m.u(5), m.u(5, 1))):
            yield F + "multi_margin_loss", [x, m.i(5, 4), p, margin, w], kw
        for margin, p, swap in itertools.product((1.0, 0.25, 0, -1.0), (2, 1.0), (False, True)):
            yield F + "triplet_margin_loss", [x, y, m.n(4, 5)], kw | {"margin": margin, "p": p, "swap": swap}
            yield F + "triplet_margin_with_distance_loss", [x, y, m.n(4, 5)], kw | {"margin": margin, "swap": swap}
        yield F + "multilabel_soft_margin_loss", [x, m.b(4, 5).float()], kw | {"weight": m.u(5)}
        for weight, bias, target in ((m.n(7, 5), m.n(7), m.i(7, 4)), (m.n(7, 5), None, m.n(4, 7).softmax(1)), (m.n(7, 2, 5), m.n(7, 2), m.i(7, 4, 2)),
                                     (m.n(7, 4), None, m.i(7, 4)), (m.n(7), None, m.i(7, 4)), (m.n(7, 5), m.n(5), m.i(7, 4))):
            yield F + "linear_cross_entropy", [x, weight, target], kw | {"linear_bias": bias}
        for lengths in ((torch.tensor([6, 5]), torch.tensor([3, 2])), ([6, 5], [3, 2]), ((6, 5), (3, 2))):
            for blank, zero in ((0, False), (4, True)):
                yield F + "ctc_loss", [m.n(6, 2, 5).log_softmax(2), m.i(4, 2, 3, low=1), *lengths], kw | {"blank": blank, "zero_infinity": zero}
    yield F + "linear_cross_entropy", [m.n(5), m.n(7, 5), torch.tensor(3)], {"ignore_index": 2}
    yield F + "linear_cross_entropy", [m.n(5), m.n(7, 2, 5), torch.tensor(3)], {}
    yield F + "linear_cross_entropy", [x, m.n(7, 5), m.n(4, 7).softmax(1)], {"ignore_index": 2}
    yield F + "linear_cross_entropy", [m.n(2, 2, 5), m.n(7, 5), m.i(7, 2, 2)], {}
    yield F + "margin_ranking_loss", [x, m.n(4), m.n(4)], {}
    yield F + "triplet_margin_with_distance_loss", [x, m.n(4), m.n(4)], {}
    yield F + "binary_cross_entropy", [m.u(4), m.u(5)], {}
    yield F + "binary_cross_entropy_with_logits", [x, m.u(5)], {}
    yield F + "multilabel_soft_margin_loss", [m.n(), m.n()], {}
    yield F + "kl_div", [m.n(), m.u()], {"reduction": "batchmean"}
    yield F + "kl_div", [x, y], {"reduction": "batchmean", "size_average": True}
    yield F + "cosine_embedding_loss", [x, y, m.n(4).sign()], {"margin": 0.5}
    yield F + "cosine_embedding_loss", [m.n(5), m.n(5), torch.tensor(-1.0)], {}


def attention(m):
    name = F + "multi_head_attention_forward"
    e, h = 8, 2

    def call(q, k, v, **kw):
        weight = kw.pop("in_proj_weight", m.n(3 * e, e))
        bias = kw.pop("in_proj_bias", m.n(3 * e))
        extra = [kw.pop(n, d) for n, d in (("bias_k", None), ("bias_v", None), ("add_zero_attn", False), ("dropout_p", 0.0))]
        return name, [q, k, v, kw.pop("embed", e), kw.pop("heads", h), weight, bias, *extra, m.n(e, e), kw.pop("out_bias", m.n(e))], kw

    for batched, needs, training in itertools.product((False, True), (False, True), (False, True)):
        shape = (lambda n: (n, 3, e)) if batched else (lambda n: (n, e))
        q, k, v = m.n(*shape(4)), m.n(*shape(5)), m.n(*shape(5))
        for a, b, c in ((q, q, q), (q, k, k), (q, k, v), (k, k, v), (k, v, k)):
            for dropout, bias in itertools.product((0.0, 0.3), (True, False)):
                kw = {"dropout_p": dropout, "need_weights": needs, "training": training}
                if not bias:
                    kw |= {"in_proj_bias": None, "out_bias": None}
                yield call(a, b, c, **kw)
        source = 5
        for mask in (m.b(4, 5, p=0.3), m.n(4, 5), m.n(6 if batched else 2, 4, 5), m.b(6 if batched else 2, 4, 5, p=0.3), m.n(4, 4), m.n(7, 4, 5), m.i(2, 4, 5), m.n(5)):
            for padding in (None, m.b(3, 5, p=0.3) if batched else m.b(5, p=0.3), m.n(3, 5) if batched else m.n(5), m.b(5, 5)):
                for average in (True, False):
                    yield call(q, k, v, attn_mask=mask, key_padding_mask=padding, need_weights=needs, average_attn_weights=average, training=training)
        for kw in (
            {"bias_k": m.n(1, 1, e), "bias_v": m.n(1, 1, e)}, {"add_zero_attn": True}, {"bias_k": m.n(1, 1, e)}, {"bias_v": m.n(1, 1, e)},
            {"bias_k": m.n(1, 1, e), "bias_v": m.n(1, 1, e), "add_zero_attn": True},
            {"static_k": m.n(6 if batched else 2, 7, 4), "static_v": m.n(6 if batched else 2, 7, 4)}, {"static_k": m.n(5, 7, 4)}, {"static_v": m.n(6 if batched else 2, 7, 3)},
            {"is_causal": True}, {"is_causal": True, "attn_mask": m.b(4, 5, p=0.3)}, {"embed": 6}, {"heads": 3}, {"heads": 0}, {"in_proj_weight": None},
        ):
            for masks in ({}, {"attn_mask": m.n(4, 5), "key_padding_mask": m.b(3, 5, p=0.3) if batched else m.b(5, p=0.3)}):
                if "attn_mask" in kw and masks:
                    continue
                yield call(q, k, v, need_weights=needs, training=training, **kw, **masks)
        kq, kv = m.n(*shape(5)[:-1], 6), m.n(*shape(5)[:-1], 7)
        apart = {"use_separate_proj_weight": True, "in_proj_weight": None, "q_proj_weight": m.n(e, e), "k_proj_weight": m.n(e, 6), "v_proj_weight": m.n(e, 7)}
        yield call(q, kq, kv, need_weights=needs, **apart)
        yield call(q, kq, kv, need_weights=needs, **(apart | {"in_proj_bias": None}))
        yield call(q, kq, kv, need_weights=needs, **(apart | {"k_proj_weight": m.n(e, e)}))
        yield call(q, kq, kv, need_weights=needs, **(apart | {"v_proj_weight": None}))
        yield call(q, kq, m.n(*shape(6)[:-1], 7), need_weights=needs, **apart)
        yield call(q, k, m.n(*shape(6)), need_weights=needs)
    yield call(m.n(4), m.n(4), m.n(4))
    yield call(m.n(4, 3, e), m.n(4, e), m.n(4, 3, e))
    yield call(m.n(4, e), m.n(4, 3, e), m.n(4, e))


def linear_algebra(m):
    for p, dim, keep, dtype in itertools.product(("fro", "nuc", None, 2, 1, inf, -inf, 0, 0.5, 3.5, "nonsense"), (None, 0, -1, [0, 1], (1, 0), [0], [], [0, 1, 2], 9), (False, True), (None, torch.float64)):
        yield "torch.norm", [m.n(3, 4, 5)], {"p": p, "dim": dim, "keepdim": keep, "dtype": dtype}
        if dtype is None:
            yield "torch.Tensor.norm", [m.n(3, 4), p, dim, keep], {}
    for x in (m.n(3, 4, dtype=torch.complex64), m.n(), m.n(0, 3), m.i(9, 3, 3), m.n(3, 4).to_sparse(), m.n(3, 4, dtype=torch.bfloat16)):
        yield "torch.norm", [x], {}
        yield "torch.norm", [x, 2], {}
        yield "torch.norm", [x, "fro"], {"keepdim": True}
        yield "torch.norm", [x, 1, 0], {}
        yield "torch.norm", [x, "nuc"], {}
        yield "torch.norm", [x, None], {}
        yield "torch.norm", [x, 3], {"dtype": torch.float64}
        yield "torch.norm", [x, "fro", 0], {"dtype": torch.float64}
    for p, dim in (("fro", None), ("fro", 0), ("nuc", (0, 1)), (2, 1), (inf, None)):
        yield "torch.norm", [m.n(3, 4), p, dim], {"out": torch.empty(0)}
    for equation, *operands in (
        ("ij,jk->ik", m.n(3, 4), m.n(4, 5)), ("ii", m.n(4, 4)), ("bij,bjk->bik", m.n(2, 3, 4), m.n(2, 4, 5)), ("...ij->...ji", m.n(2, 3, 4)), ("i,j,k->ijk", m.n(2), m.n(3), m.n(4)),
        ("ij,jk,kl,lm->im", m.n(2, 3), m.n(3, 4), m.n(4, 5), m.n(5, 2)), ("ij->", m.n(3, 4)), (" i j , j ", m.n(3, 4), m.n(4)), ("ij,jk", m.n(3, 4), m.n(5, 6)), ("i->j", m.n(3)), ("ij", m.n(3)),
        ("ij,ij->ij", m.n(3, 4, dtype=torch.complex64), m.n(3, 4, dtype=torch.complex64)),
    ):
        yield "torch.einsum", [equation, *operands], {}
        yield "torch.einsum", [equation, operands], {}
        yield "torch.functional.einsum", [equation, tuple(operands)], {}
    for args in (
        [m.n(3, 4), [0, 1], m.n(4, 5), [1, 2], [0, 2]], [m.n(3, 4), [0, 1], m.n(4, 5), [1, 2]], [m.n(2, 3, 4), [..., 0, 1], [..., 1, 0]], [m.n(3), [51], [51]], [m.n(3), [52], [52]], [m.n(3), [-1]],
        [m.n(3, 3), (27, 27)], ["ij"], [], [m.n(3)], [m.n(3), ["a"]], [m.n(3), 0], ["ij,jk->ik", m.n(3, 4), "x"],
    ):
        yield "torch.einsum", args, {}
    for dims in (2, 1, 0, 3, -1, 9, ([1], [0]), [[0, 1], [1, 0]], torch.tensor(1), torch.tensor([[1], [0]]), torch.tensor([2]), ([1],), (1, 0), "2", torch.tensor([[1], [0], [1]]), None):
        yield "torch.tensordot", [m.n(4, 4), m.n(4, 4), dims], {}
        yield "torch.tensordot", [m.n(4, 4, 4), m.n(4, 4)], {"dims": dims, "out": torch.empty(0)}
    yield "torch.tensordot", [m.n(3, 4), m.n(3, 4)], {}
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist", "nonsense", None)
    for p, mode in itertools.product((2.0, 1, 0, inf, 3.5, -1), modes):
        yield "torch.cdist", [m.n(2, 30, 3), m.n(2, 28, 3)], {"p": p, "compute_mode": mode}
        yield "torch.cdist", [m.n(4, 3), m.n(5, 3), p], {}
    for pivot, infos in itertools.product((True, False), repeat=2):
        for a in (m.n(4, 4), m.n(2, 3, 5), torch.zeros(3, 3)):
            yield "torch.lu", [a], {"pivot": pivot, "get_infos": infos}
            yield "torch.Tensor.lu", [a, pivot, infos], {}
    for n in (1, 2, 3):
        yield "torch.lu", [m.n(3, 3)], {"out": tuple(torch.empty(0, dtype=torch.float32 if i == 0 else torch.int32) for i in range(n))}
        yield "torch.lu", [m.n(3, 3)], {"get_infos": True, "out": [torch.empty(0, dtype=torch.float32 if i == 0 else torch.int32) for i in range(n)]}
    for a, q, niter, less in itertools.product((m.n(9, 5), m.n(5, 9), m.n(2, 8, 6), m.n(8, 5, dtype=torch.float64), m.n(8, 5).to_sparse(), m.n(7, 4, dtype=torch.complex64)), (None, 3, 6), (None, 0, 1, 2), (False, True)):
        yield "torch.svd_lowrank", [a], {"q": q, "niter": niter, "M": m.n(*a.shape).to(a.dtype) if less else None}
    for a, q, center, niter in itertools.product((m.n(9, 5), m.n(5, 9), m.n(2, 8, 6), m.n(8, 5).to_sparse(), m.n(4)), (None, 3, 7, -1), (True, False), (2, 0, -1)):
        yield "torch.pca_lowrank", [a], {"q": q, "center": center, "niter": niter}
    for size, dtype in itertools.product((9, 16), (torch.float32, torch.float64)):
        r = m.n(size, size, dtype=dtype)
        a = r @ r.T + torch.eye(size, dtype=dtype)
        s = m.n(size, size, dtype=dtype)
        b = s @ s.T + size * torch.eye(size, dtype=dtype)
        for method, largest, k, second in itertools.product(("ortho", "basic", None), (True, False, None), (None, 1, 3), (None, b)):
            yield "torch.lobpcg", [a], {"k": k, "B": second, "method": method, "largest": largest, "niter": 20}
        yield "torch.lobpcg", [a], {"X": m.n(size, 2, dtype=dtype), "tol": 1e-3}
        yield "torch.lobpcg", [a], {"k": 2, "n": 3, "iK": torch.eye(size, dtype=dtype) / 2, "niter": 5}
        yield "torch.lobpcg", [a], {"k": 2, "ortho_iparams": {"ortho_i_max": 1, "ortho_j_max": 2}, "ortho_fparams": {"ortho_tol": 1e-2}, "ortho_bparams": {"ortho_use_drop": True}}
        yield "torch.lobpcg", [torch.stack([a, b])], {"k": 2, "niter": 10}
        yield "torch.lobpcg", [a], {"k": 6}
        yield "torch.lobpcg", [a[:, :3]], {}
        yield "torch.lobpcg", [a, 2], {"X": m.n(size, 3, dtype=dtype).T}
    for name in ("cholesky", "eig", "qr", "symeig", "matrix_rank"):
        yield "torch." + name, [m.n(3, 3)], {}
    for name in ("solve", "lstsq"):
        yield "torch." + name, [m.n(3, 1), m.n(3, 3)], {}
        yield "torch.Tensor." + name, [m.n(3, 1), m.n(3, 3)], {}
    for name in ("cholesky", "eig", "qr", "symeig"):
        yield "torch.Tensor." + name, [m.n(3, 3)], {}
    yield "torch.qr", [m.n(3, 3), False], {}


def shapes(m):
    for n in (1, 2, 3):
        for args in ([m.n()], [m.n(3)], [m.n(3), m.n(2, 2)], [[m.n(), m.n(4)]], [(m.n(),)], [], [3], [[m.n(2), 3]]):
            yield f"torch.atleast_{n}d", args, {}
    for args in ([m.n(2, 3), m.n(3), m.n()], [m.n(4)], [], [m.n(2), m.n(3)], [m.n(2, 1), m.n(1, 3)]):
        yield "torch.broadcast_tensors", args, {}
        yield "torch.block_diag", args, {}
    for args in ([(2, 1), (3,)], [2, (2,)], [[4, 1], [1, 5]], [], [()], [(2,), (3,)], [(1, 0), (3, 1)], [None, (2,)], ["x"], [(1,), (-1,)], [(2, -3)], [torch.Size([5, 1]), (1, 5)], [3.5]):
        yield "torch.broadcast_shapes", args, {}
    for args in ([m.n(3), m.n(2)], [m.n(3)], [m.n(2), m.n(3), m.n(2)], [m.n(2, 2)], [], [m.n(2), m.i(3, 2)]):
        yield "torch.cartesian_prod", args, {}
        for indexing in (None, "ij", "xy", "nonsense"):
            yield "torch.meshgrid", args, {"indexing": indexing} if indexing else {}
        yield "torch.meshgrid", [args], {}
        yield "torch.meshgrid", [tuple(args)], {"indexing": "xy"}
    for args in ([m.n(2, 3), m.n(3, 4), m.n(4, 5)], [m.n(2, 3)], [m.n(2, 3), m.n(2, 3)], []):
        yield "torch.chain_matmul", args, {}
        yield "torch.chain_matmul", args, {"out": torch.empty(0)}
    for size, dim in itertools.product((2, [1, 2, 4], (3, 4), torch.tensor(3), [3, 3], 0, -1, 2.5, [], 9, True, torch.tensor([3, 4])), (0, -1, 1, 5)):
        yield "torch.split", [m.n(7, 7), size, dim], {}
        yield "torch.Tensor.split", [m.n(7, 7), size], {"dim": dim}
    yield "torch.split", [m.n(0, 3), 2], {}
    yield "torch.split", [], {"tensor": m.n(4), "split_size_or_sections": 3}
    x = torch.tensor([[1, 2, 2], [1, 2, 2], [3, 1, 1], [1, 2, 2]])
    for sort, inverse, counts, dim in itertools.product((True, False), (True, False), (True, False), (None, 0, 1, -1, 5)):
        kw = {"return_inverse": inverse, "return_counts": counts, "dim": dim}
        yield "torch.unique", [x], kw | {"sorted": sort}
        yield "torch.Tensor.unique", [x.float(), sort, inverse, counts, dim], {}
        yield "torch.unique_consecutive", [x], kw
        yield "torch.unique_consecutive", [x, inverse, counts, dim], {}
        yield "torch.unique_consecutive", [x, inverse, counts], {}
        yield "torch.unique_consecutive", [x, inverse], {"return_counts": counts}
        yield "torch.unique_consecutive", [x, inverse], {}
        yield "torch.Tensor.unique_consecutive", [x.bool(), inverse, counts, dim], {}
    for indices, shape in itertools.product((m.i(24, 5), m.i(24, 2, 3), torch.tensor(7), m.i(9, 3, dtype=torch.int32), m.n(3), m.b(3), torch.empty(0, dtype=torch.int64)),
                                            ((4, 6), [2, 3, 4], 30, (), (0, 3), (-2, 3), torch.Size([24]), 2.5, ("4",), (4, 2.0))):
        yield "torch.unravel_index", [indices, shape], {}
    for dim, sizes in ((0, (2, 3)), (-1, [2, -1]), (1, (4,)), (0, ()), (0, [5, 5]), (7, (2, 3)), (0, None)):
        yield "torch.Tensor.unflatten", [m.n(6, 4), dim, sizes], {}
    for t in (m.n(2, 3, 4, 5), m.n(2, 3, 4, 5).to(memory_format=torch.channels_last), m.n(2, 3, 4).permute(2, 0, 1), m.n(3, 1).expand(3, 4), m.n(), m.n(4), m.n(1, 3, 1, 2), m.n(0, 3),
              m.n(2, 3, 4).transpose(0, 1), m.n(2, 1, 4, 4).to(memory_format=torch.channels_last), m.n(6)[::2], m.n(3, 3).to_sparse()):
        for check in (False, True, [torch.contiguous_format], [torch.channels_last], [torch.contiguous_format, torch.channels_last], [], 3, ["x"]):
            yield "torch.Tensor.dim_order", [t], {"ambiguity_check": check}
    for sizes in ((3, 4), (12,), (2, 2, 3), (5,), (-1, 4)):
        yield "torch.Tensor.resize", [m.n(4, 3), *sizes], {}
        yield "torch.Tensor.resize", [m.n(3, 4).t(), *sizes], {}
    yield "torch.Tensor.resize_as", [m.n(4, 3), m.n(2, 6)], {}
    yield "torch.Tensor.resize_as", [m.n(4, 3), m.n(5)], {}
    for assign in (False, True):
        yield "torch.Tensor.module_load", [m.n(3), m.n(3), assign], {}
    yield "torch.Tensor.to_sparse_coo", [m.b(3, 3).float()], {}
    yield "torch.Tensor.reinforce", [m.n(3), 1], {}


def operators(m):
    for name, other in itertools.product(("__rsub__", "__rdiv__", "__rtruediv__", "__rmod__", "__rpow__", "__rfloordiv__", "__floordiv__"), (2, 2.5, True, m.n(3).abs() + 1, 0, -3)):
        for x in (m.n(3).abs() + 0.5, m.i(9, 3, low=1)):
            yield "torch.Tensor." + name, [x, other], {}
    for name, other in itertools.product(("__rlshift__", "__rrshift__"), (2, m.i(9, 3), 300)):
        yield "torch.Tensor." + name, [m.i(5, 3), other], {}
    yield "torch.Tensor.__rmatmul__", [m.n(3, 4), m.n(2, 3)], {}
    yield "torch.Tensor.__rsub__", [m.n(3), 2 + 1j], {}
    for x in (m.n(3, 2), m.n(), m.n(0, 2)):
        for name in ("__len__", "__iter__", "__reversed__"):
            yield "torch.Tensor." + name, [x], {}
        for element in (0.5, x, True, 2j):
            yield "torch.Tensor.__contains__", [x, element], {}
    yield "torch.Tensor.__contains__", [m.n(3), "x"], {}


def signal(m):
    for n_fft, hop, win, window, center in itertools.product((16, 9), (None, 4), (None, 8), (False, True), (True, False)):
        for mode, normalized, onesided, signal_shape in (("reflect", False, None, (64,)), ("constant", True, True, (2, 64)), ("replicate", False, False, (2, 64))):
            kw = {"hop_length": hop, "win_length": win, "center": center, "pad_mode": mode, "normalized": normalized, "onesided": onesided, "return_complex": True}
            if window:
                kw["window"] = torch.hann_window(win or n_fft)
            yield "torch.stft", [m.n(*signal_shape), n_fft], kw
            yield "torch.Tensor.stft", [m.n(*signal_shape), n_fft], kw
    for align in (None, True, False):
        for center in (True, False):
            yield "torch.stft", [m.n(64), 16], {"center": center, "align_to_window": align, "return_complex": True, "window": torch.ones(8), "win_length": 8}
    yield "torch.stft", [m.n(64), 16], {}
    yield "torch.stft", [m.n(64), 16], {"return_complex": False}
    yield "torch.stft", [m.n(64, dtype=torch.complex64), 16], {"return_complex": True, "onesided": False, "window": torch.ones(16)}
    yield "torch.stft", [m.n(2, 2, 64), 16], {"return_complex": True}
    yield "torch.stft", [m.n(), 16], {"return_complex": True}
    spectrum = torch.stft(m.n(2, 64), 16, window=torch.hann_window(16), return_complex=True)
    for length, center in ((None, True), (60, True), (None, False)):
        yield "torch.Tensor.istft", [spectrum, 16], {"window": torch.hann_window(16), "length": length, "center": center}
    own = {
        "exponential": [{}, {"tau": 2.5}, {"center": 1.5, "sym": False}, {"center": 1.0}, {"tau": 0}], "cosine": [{}], "gaussian": [{}, {"std": 0.7}, {"std": 0}, {"std": -1.0}],
        "kaiser": [{}, {"beta": 3.5}, {"beta": 0}, {"beta": -1}], "hamming": [{}], "hann": [{}], "blackman": [{}], "bartlett": [{}], "nuttall": [{}],
        "general_cosine": [{"a": [0.46, 0.23, 0.31]}, {"a": (1,)}, {"a": []}, {"a": 3}, {}, {"a": [0.5, "x"]}], "general_hamming": [{}, {"alpha": 0.6}, {"alpha": 1}],
    }
    for name, options in own.items():
        for kw, length, sym, dtype in itertools.product(options, (0, 1, 2, 7, 12), (True, False), (None, torch.float64)):
            yield "torch.signal.windows." + name, [length], kw | {"sym": sym, "dtype": dtype}
        for kw in ({"dtype": torch.float16}, {"layout": torch.sparse_coo}, {"M": -1}, {"M": 2.5}):
            yield "torch.signal.windows." + name, [] if "M" in kw else [5], options[0] | kw


def masked(m):
    for dtype in (torch.float32, torch.float64, torch.int32, torch.uint8, torch.complex64, torch.bool):
        make = lambda *s: m.b(*s) if dtype == torch.bool else m.i(9, *s, dtype=dtype) if not (dtype.is_floating_point or dtype.is_complex) else m.n(*s, dtype=dtype)
        for mask in (None, m.b(3, 4), m.b(4), m.b(3, 1), m.b(2, 3, 4), m.i(2, 3, 4)):
            for name in ("sum", "prod", "amax", "amin", "mean", "var", "std", "norm", "logsumexp"):
                for dim, keep in itertools.product((None, 0, -1, (0, 1), (), 5, (0, 0)), (False, True)):
                    yield "torch.masked." + name, [make(3, 4)], {"dim": dim, "keepdim": keep, "mask": mask}
                yield "torch.masked." + name, [make(3, 4)], {"dim": 0, "mask": mask, "dtype": torch.float64}
            for name in ("argmax", "argmin", "median"):
                for dim, keep in itertools.product((0, -1), (False, True)):
                    yield "torch.masked." + name, [make(3, 4), dim], {"keepdim": keep, "mask": mask}
            yield "torch.masked.argmax", [make(3, 4)], {"mask": mask}
            for name in ("cumsum", "cumprod", "softmax", "log_softmax", "softmin"):
                for dim, out in itertools.product((0, -1, 3), (None, torch.float64)):
                    yield "torch.masked." + name, [make(3, 4), dim], {"mask": mask, "dtype": out}
            for order in (2.0, 1, inf, -inf, 0):
                yield "torch.masked.norm", [make(3, 4), order, 1], {"mask": mask}
                yield "torch.masked.normalize", [make(3, 4), order, 1], {"mask": mask}
            for kw in ({"unbiased": True}, {"unbiased": False}, {"correction": 2}, {"correction": 0.5}, {"unbiased": True, "correction": 1}):
                yield "torch.masked.var", [make(3, 4), 1], kw | {"mask": mask}
                yield "torch.masked.std", [make(3, 4), (0, 1)], kw | {"mask": mask}
            yield "torch.masked.logaddexp", [make(3, 4), make(3, 4)], {"input_mask": mask}
            yield "torch.masked.logaddexp", [make(3, 4), make(3, 4)], {"other_mask": mask, "dtype": torch.float64}


def sparse(m):
    where, values = torch.tensor([[0, 1, 1], [2, 0, 2]]), m.n(3)
    for kw in ({}, {"dtype": torch.float64}, {"size": (2, 3)}, {"size": [2, 4], "dtype": torch.float16}, {"size": (2, 3), "is_coalesced": True}, {"size": (2, 3), "check_invariants": True},
               {"size": (1, 1), "check_invariants": True}, {"device": "cpu"}, {"requires_grad": True}):
        yield "torch.sparse_coo_tensor", [where, values], kw
        yield "torch.sparse_coo_tensor", [where.tolist(), [1, 2, 3]], kw
        yield "torch.sparse_coo_tensor", [where.int(), m.n(3, 2)], kw
    yield "torch.sparse_coo_tensor", [(2, 3)], {}
    yield "torch.sparse_coo_tensor", [where, values, (2, 3)], {}
    yield "torch.sparse_coo_tensor", [3], {}
    crow, col = torch.tensor([0, 1, 3]), torch.tensor([2, 0, 2])
    for kw in ({}, {"size": (2, 3)}, {"dtype": torch.float64}, {"size": (2, 3), "check_invariants": True}, {"size": (9, 1), "check_invariants": True}, {"layout": torch.sparse_csr}):
        yield "torch.sparse_csr_tensor", [crow, col, values], kw
        yield "torch.sparse_csr_tensor", [crow.int(), col.int(), [1.0, 2, 3]], kw
        other = {k: v[::-1] if k == "size" else v for k, v in kw.items() if k != "layout"}
        yield "torch.sparse_csc_tensor", [crow.tolist(), col.tolist(), values], other
        yield "torch.sparse_compressed_tensor", [crow, col, values], kw
        yield "torch.sparse_compressed_tensor", [crow, col, values], other | {"layout": torch.sparse_csc}
    yield "torch.sparse_bsr_tensor", [[0, 1, 2], [0, 1], m.n(2, 2, 3)], {}
    yield "torch.sparse_bsc_tensor", [[0, 1, 2], [0, 1], m.n(2, 2, 3)], {"size": (4, 6)}
    yield "torch.sparse_csr_tensor", [3], {}
    dense = m.n(3, 4)
    for name in ("spmm", "dsmm", "hsmm"):
        yield "torch." + name, [m.b(2, 3).float().to_sparse(), dense], {}
    yield "torch.saddmm", [m.b(2, 4).float().to_sparse(), m.b(2, 3).float().to_sparse(), dense], {}
    for name in ("__abs__", "__neg__", "__pos__"):
        yield "torch.Tensor." + name, [dense], {}


def numbers(m):
    """The functions of math on numbers of all sizes: the last bits are those of the C library and of CPython."""
    of_one = "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 log10 log1p cbrt erf erfc gamma lgamma sqrt degrees radians"
    values = [0.0, -0.0, 1.0, 0.5, -0.5, 2.0, 23.0, 24.5, 140.5, -170.5, 171.7, 200.5, -3.0, 709.8, -745.2, 1e16, 1e-21, 1e300, inf, -inf, nan]
    values += (m.n(12, dtype=torch.float64) * 10).tolist() + m.n(12, dtype=torch.float64).tolist()
    for name, x in itertools.product(of_one.split(), values):
        yield "math." + name, [x], {}
    for name in ("pow", "atan2", "hypot", "fmod", "remainder"):
        for x, y in zip(values, values[7:] + values[:7]):
            yield "math." + name, [x, y], {}


def calls():
    for topic in (activations, dropouts, embeddings, norms, pools, sampling, losses, attention, linear_algebra, shapes, operators, signal, masked, sparse, numbers):
        yield from topic(Maker())
