"""Random arguments for the functions of PyTorch, after their signatures: mostly of the right types, some of wrong ones."""
import collections
import math
import operator
import os
import random
import re

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
TORCHOPS = os.path.join(HERE, "..", "torchops")
inf, nan = math.inf, math.nan

SHAPES = [(), (3,), (2, 3), (3, 3), (1, 3), (2, 3, 4), (0, 3), (1,), (2, 1), (2, 2, 3, 3), (3, 2, 2)]
DTYPES = [torch.float32] * 5 + [torch.float64, torch.int64, torch.int64, torch.bool, torch.complex64, torch.int32, torch.float16, torch.bfloat16, torch.uint8, torch.int8]
WORDS = ["sum", "mean", "floor", "trunc", "linear", "reflect", "ij", "none", "amax", "prod", "x", "reduced", "complete"]
KEYWORDS = ["dim", "axis", "keepdim", "keepdims", "dtype", "input", "x", "a", "self", "other", "x2", "out", "alpha", "nonsense", "size"]


def lines_of(file):
    with open(os.path.join(TORCHOPS, file)) as f:
        return [line.rstrip("\n") for line in f if not line.startswith("#")]


def excluded():
    """The public names that are left out of torchops."""
    return {name for line in lines_of("excluded_names.txt") if not line.startswith("=") for name in line.split()}


def signatures():
    """The signatures of each name that is bound to C++."""
    found, name = collections.OrderedDict(), None
    for line in lines_of("signatures.txt"):
        if line.startswith("\t"):
            found[name].append(line[1:].split("\t")[0])
        else:
            name = line
            found[name] = []
    return found


def composed():
    """The parameters of each name that is Python code."""
    return {name: columns[2] for columns in (line.split("\t") for line in lines_of("composed.txt")) for name in columns[0].split()}


def split(text):
    """The parameters of a signature, parted by the commas that no bracket or quotation holds."""
    parts, depth, begin, quoted = [], 0, 0, False
    for i, c in enumerate(text + ","):
        if c in "'\"":
            quoted = not quoted
        elif quoted:
            continue
        elif c in "[{(<":
            depth += 1
        elif c in "]})>":
            depth -= 1
        elif c == "," and depth == 0:
            if part := text[begin:i].strip():
                parts.append(part)
            begin = i + 1
    return parts


# What computes nothing that can be compared, or changes the process: memory that nothing was written to, files,
# settings, other libraries, storages, kernels that check nothing: of gradients, of sparse tensors.
NOT_COMPARED = re.compile("set_num|manual_seed|seed|sleep|from_file|pin_memory|cuda|numpy|empty|resize|set_|lobpcg|_rng|storage|data_ptr|cudnn|mkldnn|miopen|"
                          "fbgemm|quantized|nested|sparse_|_sparse|record_stream|share|__torch|_to_dense|backward|fused|flash|efficient|mps|xnn|mtia|__init|geqrf|conv_depthwise3d")
MATH = [n for n in dir(math) if not n.startswith("_") and callable(getattr(math, n))]
BUILTINS = ("abs all any bool complex divmod float int len list max min pow range reversed round slice sorted sum tuple zip enumerate isinstance getattr hasattr").split()


SYMBOLIC = [n for n in dir(torch) if n.startswith(("sym_", "_sym_")) and "constrain" not in n]


def on_cpu(schema):
    """Whether an operator is one of the dispatcher's, with a kernel for tensors on the CPU."""
    name = schema.name + ("." + schema.overload_name if schema.overload_name else "")
    try:
        return torch._C._dispatch_has_computed_kernel_for_dispatch_key(name, "CPU")
    except RuntimeError:  # of TorchScript alone
        return False


def schema_kind(a):
    """The type of an argument of a schema, as signatures write it."""
    kind = str(a.type)
    optional = kind.startswith("Optional[")
    if optional:
        kind = kind[len("Optional["):-1]
    kind = {"number": "Scalar", "List[Tensor]": "TensorList", "List[int]": "IntArrayRef[1]", "List[number]": "ScalarList", "List[float]": "ArrayRef<double>"}.get(kind, kind)
    if a.name == "dtype":
        kind = "ScalarType"
    return kind + "?" * optional


class Maker:
    """Makes calls: pairs of a name and its arguments."""

    def __init__(self, seed):
        self.pick = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed if isinstance(seed, int) else len(seed))
        left_out = excluded()
        self.signatures = signatures()
        self.names = [n for n in self.signatures if not NOT_COMPARED.search(n) and n not in left_out and not n.split(".")[-1].startswith("_")]
        self.operators = [n for n in dir(operator) if not n.startswith("_") and "operator." + n not in left_out and n not in ("attrgetter", "itemgetter", "methodcaller", "call", "setitem", "delitem")]
        self.overloads = [s for s in torch._C._jit_get_all_schemas() if s.name.startswith("aten::") and not s.name.startswith("aten::_") and not NOT_COMPARED.search(s.name) and on_cpu(s)]

    def tensor(self, shape=None, dtype=None):
        """A tensor of small numbers, whose sums are exact in any order; some of them views."""
        shape = self.pick.choice(SHAPES) if shape is None else shape
        x = torch.randint(-3, 5, shape, generator=self.generator).to(torch.float64) / self.pick.choice((1, 2))
        x = x.to(dtype or self.pick.choice(DTYPES))
        r = self.pick.random()
        if r < .12 and x.dim() >= 2:
            return x.transpose(-1, -2)
        if r < .2 and x.dim() >= 1 and x.shape[0] > 1:
            return x[::2]
        if r < .24 and x.is_complex():
            return x.conj()
        return x

    def number(self):
        return self.pick.choice([0, 1, -1, 2, 3, 0.5, -1.5, True, 2.0, 1 + 2j, nan, inf, 2**40])

    def value(self, kind, shape, dtype):
        """A value of a type as signatures write it."""
        pick = self.pick
        optional, kind = kind.endswith("?"), kind.rstrip("?")
        if optional and pick.random() < .4:
            return None
        sized = re.match(r"(.*)\[(\d*)\]$", kind)
        base = sized.group(1) if sized else kind
        if base == "Tensor" and sized and kind != "Tensor":
            base = "TensorList"
        if base == "Tensor":
            return self.tensor(shape, dtype if pick.random() < .7 else None) if pick.random() < .6 and shape is not None else self.tensor()
        if base in ("int", "int64_t", "SymInt") and not sized:
            return pick.choice([0, 1, -1, 2, 3, 1, 0])
        if base in ("IntArrayRef", "SymIntArrayRef", "int", "SymInt"):
            return pick.choice([0, 1, 2, -1]) if sized and sized.group(2) and pick.random() < .3 else pick.choice([[0], [1], [-1], [0, 1], (1, 0), [2, 3], (3,), [1, 1], [2, 2], [], [3, 2, 1], [2]])
        if base == "TensorList" or base.startswith("c10::List"):
            return [self.tensor(shape, dtype) for _ in range(pick.choice([1, 2, 2, 3]))]
        choices = {
            "Scalar": [self.number()], "double": [0.5, 1.0, 0.1, 2, -1.0, True], "float": [0.5, 1.0, 2], "ArrayRef<double>": [[1.0], [0.5, 2.0], [1, 2]],
            "ScalarList": [[self.number(), self.number()]], "bool": [True, False], "ScalarType": DTYPES, "Device": ["cpu", torch.device("cpu")], "Layout": [torch.strided],
            "MemoryFormat": [torch.contiguous_format, torch.preserve_format, torch.channels_last], "c10::string_view": WORDS, "str": WORDS,
        }
        return pick.choice(choices.get(base, [None]))

    def wrong(self):
        return self.pick.choice([self.tensor(), 1, 1.5, True, None, "x", [1], [1.5], [], (), (0, 1), [self.tensor()], torch.float32, torch.device("cpu"), torch.strided,
                                 slice(None), ..., 1 + 2j, torch.contiguous_format, "mean", [True], [None], [[1]], 2])

    def typed(self, wrong, name=None):
        """A call of a function that is bound to C++, of any where none is named; wrong is how often an argument is of another type."""
        pick = self.pick
        name = name or pick.choice(self.names)
        shape, dtype = pick.choice(SHAPES) if pick.random() < .8 else None, pick.choice(DTYPES)
        args, kwargs, by_keyword = [], {}, False
        if name.startswith("torch.Tensor."):
            args.append(self.tensor(shape, dtype))
        for parameter in split(pick.choice(self.signatures[name])):
            if parameter == "*":
                by_keyword = True
                continue
            kind, key = parameter.split(" ", 1)
            key, _, default = key.partition("=")
            if default and pick.random() < .6 or key in ("generator", "pin_memory", "stream", "names"):
                continue
            if key == "out":
                if pick.random() < .7:
                    continue
                v = self.tensor(shape, dtype)
            elif key == "requires_grad":
                v = pick.random() < .2
            else:
                v = self.value(kind, shape, dtype)
            if v is None and not default and not kind.endswith("?"):
                v = self.number()
            if by_keyword or kwargs or pick.random() < .15:
                kwargs[key] = v
            else:
                args.append(v)
        if pick.random() < wrong:
            self.spoil(args, kwargs, int(name.startswith("torch.Tensor.")))
        return name, args, kwargs

    def spoil(self, args, kwargs, own=0):
        """Put one thing in that does not belong there, or take one out; own arguments are left, as the self of a method."""
        pick, k = self.pick, self.pick.random()
        if k < .6 and len(args) > own:
            args[pick.randrange(own, len(args))] = self.wrong()
        elif k < .75 and kwargs:
            kwargs[pick.choice(list(kwargs))] = self.wrong()
        elif k < .85:
            args.append(self.wrong())
        elif k < .93 and len(args) > own:
            args.pop()
        else:
            kwargs[pick.choice(KEYWORDS)] = self.wrong()

    def overload(self, wrong):
        """A call of torch.ops, of an overload or of a packet."""
        pick = self.pick
        schema = pick.choice(self.overloads)
        shape, dtype = pick.choice(SHAPES), pick.choice(DTYPES)
        name = "torch.ops." + schema.name.replace("::", ".")
        if pick.random() < .8:
            name += "." + (schema.overload_name or "default")
        args, kwargs = [], {}
        for a in schema.arguments:
            if a.has_default_value() and pick.random() < .6 or a.name in ("generator", "layout", "memory_format", "pin_memory"):
                continue
            kind = schema_kind(a)
            v = self.value(kind, shape, dtype)
            if isinstance(v, int) and kind.startswith("IntArrayRef"):
                v = [v]  # one int stands for several of an int[2], not of a SymInt[2], in torch.ops
            if a.kwarg_only or kwargs:
                kwargs[a.name] = v
            else:
                args.append(v)
        if pick.random() < wrong:
            self.spoil(args, kwargs)
        # torch.ops takes the numbers of these for ints, and None for an undefined tensor
        odd = (torch.dtype, torch.layout, torch.memory_format, type(None))
        if any(isinstance(v, odd) for v in args) or any(isinstance(v, odd) and key != "dtype" for key, v in kwargs.items()):
            return self.overload(wrong)
        return name, args, kwargs

    def thing(self):
        """A value of Python."""
        if self.pick.random() < .3:
            return self.tensor(self.pick.choice([(), (1,), (3,), (2, 3)]))
        return self.pick.choice([0, 1, -1, 2, 3, 7, -5, 0.5, -1.5, 2.0, 1e300, True, False, None, "ab", "b", "", [1, 2], [0], [], (1, 2), (0, 1), [1.5, 2], (True,), 1 + 2j, nan,
                                 inf, -inf, 2**40, slice(0, 1), slice(None, None, -1), [[1, 2], [3, 4]], "shape", "ndim", "3", " 2.5 ", -0.0, 2**62, -2**63, 10**18, torch.float32])

    def format(self):
        """A call of operator.mod that formats text."""
        pick = self.pick
        parts = []
        for _ in range(pick.choice([0, 1, 1, 2, 3])):
            flags = "".join(pick.sample("-+ 0#", pick.choice([0, 0, 0, 1, 1, 2])))
            width = pick.choice(["", "", "", "5", "12", "*"]) + pick.choice(["", "", "", ".2", ".0", ".", ".*"])
            parts.append("%" + pick.choice([""] * 12 + ["(a)"]) + flags + width + pick.choice("dddsssrfffeegGxXociuaEF%%k"))
        text = pick.choice(["", "a ", "\u00e9"]) + " ".join(parts) + pick.choice(["", "%", " b"] if pick.random() < .1 else [""])
        values = [pick.choice([self.thing(), 1, -7, 2.5, "ab", 255]) for _ in range(pick.choice([len(parts)] * 6 + [1, 2]))]
        if "*" in text:  # a width may take all memory
            values = [5 if isinstance(v, int) and not isinstance(v, bool) and abs(v) > 99 else v for v in values]
        return "operator.mod", [text, pick.choice([tuple(values)] * 5 + [values, values[0] if values else 1])], {}

    def python(self):
        """A call of a function of operator, of math or of Python itself."""
        pick = self.pick
        if pick.random() < .05:
            return self.format()
        module, names, counts = pick.choices([("operator.", self.operators, [1, 2, 2, 2, 3]), ("math.", MATH, [1, 1, 1, 2, 2, 3]), ("builtins.", BUILTINS, [1, 1, 1, 2, 2, 3]),
                                              ("torch.", SYMBOLIC, [1, 1, 2, 2, 3])], [9, 6, 5, 2])[0]
        kwargs = {} if pick.random() < .92 else {pick.choice(["key", "reverse", "default", "start", "rel_tol", "ndigits", "base"]): self.thing()}
        return module + pick.choice(names), [self.thing() for _ in range(pick.choice(counts))], kwargs

    def changed(self, args, kwargs, own):
        """The arguments of a call, one of them exchanged for something like it or for something else."""
        args, kwargs, pick = list(args), dict(kwargs), self.pick
        if pick.random() < .55 and len(args) > own:
            i = pick.randrange(own, len(args))
            args[i] = self.like(args[i])
        else:
            self.spoil(args, kwargs, own)
        return args, kwargs

    def like(self, v):
        pick = self.pick
        if isinstance(v, torch.Tensor):
            change = pick.choice([lambda: v.to(pick.choice(DTYPES)), lambda: v[:0], lambda: v.transpose(-1, -2), lambda: v[0], lambda: v.unsqueeze(0), v.flatten, v.sum, lambda: v.expand(2, *v.shape)])
            try:
                return change()
            except Exception:  # of a shape that has no such change
                return self.tensor()
        if isinstance(v, (list, tuple)):
            return pick.choice([tuple(v), list(v), v[:-1]])
        if isinstance(v, bool):
            return pick.choice([int(v), not v, float(v)])
        if isinstance(v, int):
            return pick.choice([v + 1, -v, float(v), bool(v), torch.tensor(v), [v], v - 5])
        if isinstance(v, float):
            return pick.choice([torch.tensor(v), -v, 1])
        return self.wrong()


def copied(v):
    """Arguments whose tensors are others, for a call that may write into them."""
    if isinstance(v, torch.Tensor):
        return v.clone()
    if isinstance(v, dict):
        return {key: copied(item) for key, item in v.items()}
    return type(v)(map(copied, v)) if type(v) in (list, tuple) else v
