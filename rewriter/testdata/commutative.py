"""Lists the operators of two real tensors that give equal numbers with these swapped.

python commutative.py > commutative.txt, under torch 2.15.0. Each operator runs in
a process of its own, since some crash on arguments that make no sense. The sign of a zero does not count:
maximum(0.0, -0.0) is the first. Complex tensors are left out: the product of two
can differ in the last bit, and inf + 0j is inf + nan j in one of two orders.
"""

import os

import torch

assert torch.__version__.startswith("2.15.0"), torch.__version__

TYPES = (torch.float32, torch.float64, torch.float16, torch.int64, torch.int8, torch.bool)
SHAPES = (((5,), (5,)), ((3, 3), (3, 3)), ((2, 3), (3,)), ((4, 1), (1, 4)))


def values(dtype, shape):
    if dtype == torch.bool:
        return torch.rand(shape) > 0.5
    if dtype.is_floating_point:
        x = torch.randn(shape, dtype=torch.float64).to(dtype)
        x.flatten()[0] = float("inf")
        x.flatten()[1] = -0.0
        return x
    return torch.randint(1, 60, shape).to(dtype)


def same(a, b):
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if not isinstance(a, torch.Tensor):
        return a == b
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    nan = a != a
    return torch.equal(nan, b != b) and torch.equal(a[~nan], b[~nan])


def commutes(op):
    tried = 0
    for left in TYPES:
        for right in TYPES:
            for s, t in SHAPES:
                x, y = values(left, s), values(right, t)
                try:
                    a = op(x, y)
                except Exception:
                    a = None
                try:
                    b = op(y, x)
                except Exception:
                    b = None
                if (a is None) != (b is None):
                    return 0
                if a is not None:
                    tried += 1
                    if not same(a, b):
                        return 0
    return tried


def schemas():
    for s in torch._C._jit_get_all_schemas():
        if not s.name.startswith("aten::") or len(s.arguments) < 2:
            continue
        if any(a.is_out or a.alias_info is not None and a.alias_info.is_write for a in s.arguments):
            continue
        if any(str(a.type) != "Tensor" for a in s.arguments[:2]):
            continue
        if any(not a.has_default_value() for a in s.arguments[2:]):
            continue
        yield s


torch.set_num_threads(1)
print("# torch", torch.__version__.split("+")[0])
for name, overload in sorted({(s.name[6:], s.overload_name or "default") for s in schemas()}):
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        torch.manual_seed(0)
        try:
            op = getattr(getattr(torch.ops.aten, name), overload)
        except AttributeError:
            os._exit(0)
        os._exit(1 if commutes(op) > 3 else 0)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1:
        print(f"{name}.{overload}", flush=True)
