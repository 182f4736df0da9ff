"""Odd arguments for the functions of PyTorch: tensors of rare dtypes, layouts and strides, tensors for numbers, out tensors that do not fit."""
import math

import torch

import random_arguments

FLOAT8 = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu]
RARE = [torch.complex32, torch.uint16, torch.uint32, torch.uint64, torch.complex128, torch.int16, torch.float16, torch.bfloat16, torch.int8] + FLOAT8
SHAPES = [(), (1,), (0,), (2, 0), (0, 2), (3,), (2, 3), (3, 3), (2, 1, 3), (1, 2, 4, 4), (2, 4, 3, 3), (1, 2, 3, 3, 2), (4,), (1, 1)]


class Maker(random_arguments.Maker):
    """Makes calls with odd arguments; they are of the right types as often as those of its base."""

    rare = .35    # how often a tensor is of a rare dtype
    layouts = .06  # and of another layout; not where lists have a length: which of two faults is named differs

    def tensor(self, shape=None, dtype=None):
        pick = self.pick
        shape = pick.choice(SHAPES) if shape is None else shape
        x = torch.randint(-3, 5, shape, generator=self.generator).to(torch.float64) / pick.choice((1, 2))
        if dtype is None:
            dtype = pick.choice(RARE) if pick.random() < self.rare else pick.choice(random_arguments.DTYPES)
        if not dtype.is_floating_point and not dtype.is_complex and not dtype.is_signed:
            x = x.abs()
        x = x.to(torch.complex64).to(dtype) if dtype == torch.complex32 else x.to(dtype)
        if dtype.is_floating_point and x.numel() and pick.random() < .06 and dtype not in FLOAT8:
            x.view(-1)[0] = pick.choice([math.nan, math.inf, -math.inf, -0.0])
        r = pick.random()
        if r < self.layouts and dtype in (torch.float32, torch.float64, torch.complex64, torch.int64) and x.dim() >= 2:
            return pick.choice([x.to_sparse, x.to_sparse] + [x.to_sparse_csr] * (x.dim() == 2) + [x.to_sparse_csc] * (x.dim() == 2))()
        r = pick.random()
        if r < .1 and x.dim() >= 2:
            return x.transpose(pick.randrange(x.dim()), pick.randrange(x.dim()))
        if r < .2 and x.dim() >= 1:
            return x[:1].expand(max(x.shape[0], 1) + pick.choice([0, 1]), *x.shape[1:]) if x.shape[0] else x
        if r < .25 and x.dim() >= 1 and x.shape[0] > 1:
            return x[1::2]
        if r < .3 and x.dim() == 4:
            return x.contiguous(memory_format=torch.channels_last)
        if r < .33 and x.dim() == 5:
            return x.contiguous(memory_format=torch.channels_last_3d)
        if r < .36 and x.dim() >= 1:
            return x.unsqueeze(-1).expand(*x.shape, 2)[..., 0]
        if x.is_complex() and r < .6:
            return x.conj()
        if x.is_complex() and r < .75 and dtype != torch.complex32:
            return x.conj().imag  # has the negative bit
        return x

    def scalar_tensor(self):
        pick = self.pick
        return torch.tensor(pick.choice([0, 1, 2, -1, 3]), dtype=pick.choice([torch.int64, torch.int64, torch.int32, torch.float32, torch.bool, torch.float64, torch.uint8]))

    def number(self):
        pick = self.pick
        if pick.random() < .2:
            x = self.scalar_tensor()
            return x.reshape(pick.choice([(), (), (1,), (1, 1)]))
        return pick.choice([0, 1, -1, 2, 3, 0.5, -1.5, True, False, 2.0, 1 + 2j, 1j, math.nan, math.inf, -0.0, 40, 255, 256, -129, 1e300])

    def value(self, kind, shape, dtype):
        pick = self.pick
        plain = kind.rstrip("?").split("[")[0]
        if plain in ("int", "int64_t", "SymInt") and "[" not in kind and pick.random() < .25:
            return pick.choice([self.scalar_tensor(), True, 1.0, 50, -3, self.scalar_tensor().reshape(1)])
        if plain in ("IntArrayRef", "SymIntArrayRef") and pick.random() < .3:
            return pick.choice([torch.Size([2, 3]), [self.scalar_tensor()], (self.scalar_tensor(), 1), [1, self.scalar_tensor()], [True], [1.0], [0, -1], (-2, 1), [40], self.scalar_tensor(),
                                torch.tensor([0, 1]), [torch.tensor([1])], [1, None], (2, 1.0), [[1]], [0, 0], (), "a", None, True])
        if plain in ("double", "float") and pick.random() < .4:
            return pick.choice([self.scalar_tensor(), True, 2, 1j, math.nan, -1, 0, torch.tensor(.5), torch.tensor([.5])])
        if plain == "bool" and pick.random() < .2:
            return pick.choice([0, 1, None, torch.tensor(True), 1.0, "True"])
        if plain == "ScalarType" and pick.random() < .5:
            return pick.choice(RARE + ["float32", None])
        if plain in ("c10::string_view", "str") and pick.random() < .2:
            return pick.choice(["", "SUM", 1, None, "nearest", "nuc", "fro"])
        if plain == "Device" and pick.random() < .4:
            return pick.choice(["cpu:0", "cpu", "nope", "cpu:1", None, "CPU"])
        if plain == "Layout" and pick.random() < .5:
            return pick.choice([torch.sparse_coo, torch.sparse_csr, "strided", None])
        if plain == "MemoryFormat" and pick.random() < .4:
            return pick.choice([torch.channels_last_3d, None, "preserve", torch.strided])
        if plain in ("Scalar", "ScalarList") and pick.random() < .1:
            return pick.choice(["1", [1], None, torch.tensor([1, 2]), (1, 2)])
        if plain == "Tensor" and "[" not in kind and pick.random() < .12:
            return pick.choice([self.number(), [1, 2], (self.tensor(),), None])
        return super().value(kind, shape, dtype)

    def keyword_spelling(self, kwargs):
        """Other spellings of the keywords that NumPy has, at times both."""
        names = {"dim": ["axis"], "keepdim": ["keepdims"], "input": ["x", "a", "x1", "self"], "other": ["x2"], "self": ["input", "x"]}
        out = {}
        for key, v in kwargs.items():
            r = self.pick.random()
            if key in names and r < .5:
                out[self.pick.choice(names[key])] = v
                if r < .03:
                    out[key] = v
            else:
                out[key] = v
        return out

    def overload(self, wrong):
        """As of the base; a packet has a tensor, since torch.ops has operators of plain numbers as well, which TorchScript calls."""
        name, args, kwargs = super().overload(wrong)
        tensors = [a for a in args + list(kwargs.values()) if isinstance(a, torch.Tensor)]
        if name.count(".") < 4 and not tensors or any(a.layout != torch.strided for a in tensors):
            return self.overload(wrong)
        return name, args, kwargs

    def typed(self, wrong, name=None):
        name, args, kwargs = super().typed(wrong, name)
        kwargs = self.keyword_spelling(kwargs)
        first = next((a for a in args if isinstance(a, torch.Tensor)), None)
        if "out" in kwargs and isinstance(first, torch.Tensor) and self.pick.random() < .5:
            # memory that overlaps an argument, or itself
            kwargs["out"] = self.pick.choice([lambda: first, lambda: first.T if first.dim() == 2 else first, lambda: first[:1], lambda: first.unsqueeze(0),
                                              lambda: first[:1].expand(first.shape), lambda: (first,), lambda: [first, first], lambda: None, lambda: first.to(torch.float64)])() \
                if first.dim() and first.layout == torch.strided else first
        if self.pick.random() < .03 and len(args) > 1:
            key = self.pick.choice(["input", "other", "dim", "self", "size"])
            kwargs[key] = args[-1]  # the same argument twice, maybe
        if self.pick.random() < .05 and len(args) > 1:
            args[-1] = first if first is not None else args[-1]  # one tensor twice
        return name, args, kwargs
