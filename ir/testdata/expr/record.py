"""Records cases.json: what SymPy and Python make of symbolic sizes.

Run it with the reference Python, which has torch 2.15.0:

    python ir/testdata/expr/record.py

Every case holds the srepr and str of an expression made of PyTorch's functions,
values for its symbols, and the result of putting these in. Guards hold a text
in Python's syntax and what Python's eval makes of it.
"""

import json
import math
import pathlib
import random

import sympy
import torch
import torch.utils._sympy.functions as F

assert torch.__version__.startswith("2.15.0"), torch.__version__

R = random.Random(3)
S = sympy.Symbol("s77", positive=True, integer=True)
T = sympy.Symbol("s27", positive=True, integer=True)
U = sympy.Symbol("u0", integer=True)
V = sympy.Symbol("u1", integer=True)
Z = sympy.Symbol("zuf0")


def integer(depth):
    if depth == 0 or R.random() < 0.15:
        return R.choice([S, T, U, V, sympy.Integer(R.randint(-9, 9)), sympy.Integer(R.randint(1, 100))])
    a, b, c = (lambda: integer(depth - 1)), (lambda: integer(depth - 1)), (lambda: integer(depth - 1))
    positive = lambda: R.choice([S, T, sympy.Integer(R.randint(1, 12))])
    return R.choice([
        lambda: a() + b(), lambda: a() - b(), lambda: a() * b(), lambda: -a(), lambda: a() ** 2,
        lambda: F.FloorDiv(a(), b()), lambda: F.PythonMod(a(), b()), lambda: F.Mod(positive() * positive(), positive()),
        lambda: F.Max(a(), b()), lambda: F.Min(a(), b()), lambda: F.Max(a(), b(), c()),
        lambda: F.ModularIndexing(a(), positive(), positive()), lambda: F.CeilDiv(a(), positive()),
        lambda: F.Where(condition(depth - 1), a(), b()), lambda: F.CleanDiv(a() * 6, sympy.Integer(3)),
        lambda: F.LShift(a(), sympy.Integer(R.randint(0, 5))), lambda: F.RShift(a(), sympy.Integer(R.randint(0, 5))),
        lambda: F.PowByNatural(a(), sympy.Integer(R.randint(0, 3))), lambda: F.PowByNatural(sympy.Integer(2), positive()), lambda: sympy.Abs(a()),
        lambda: F.BitwiseFn_bitwise_and(a(), b()), lambda: F.BitwiseFn_bitwise_or(a(), b()),
        lambda: F.BitwiseFn_bitwise_xor(a(), b()),
        lambda: R.choice([F.TruncToInt, F.CeilToInt, F.FloorToInt, F.RoundToInt])(real(depth - 1)),
        lambda: F.IsNonOverlappingAndDenseIndicator(S, T, R.choice([T, sympy.Integer(1)]), sympy.Integer(1)),
    ])()


def real(depth):
    if depth == 0 or R.random() < 0.15:
        return R.choice([Z, sympy.Float(R.choice([0.5, -1.25, 0.1, 3.0, 1e-7, 12345.678]))])
    a, b = (lambda: real(depth - 1)), (lambda: real(depth - 1))
    return R.choice([
        lambda: F.ToFloat(integer(depth - 1)), lambda: F.IntTrueDiv(integer(depth - 1), integer(depth - 1)),
        lambda: F.FloatTrueDiv(a(), b()), lambda: a() + b(), lambda: a() * b(),
        lambda: F.FloatPow(sympy.Abs(a()), b()), lambda: F.TruncToFloat(a()),
        lambda: F.RoundDecimal(a(), sympy.Integer(R.randint(-2, 4))), lambda: F.OpaqueUnaryFn_sqrt(sympy.Abs(a())),
        lambda: R.choice([F.OpaqueUnaryFn_cos, F.OpaqueUnaryFn_exp, F.OpaqueUnaryFn_log, F.OpaqueUnaryFn_atan,
                          F.OpaqueUnaryFn_log2, F.OpaqueUnaryFn_tanh, F.OpaqueUnaryFn_asin])(a()),
    ])()


def condition(depth):
    if depth > 0 and R.random() < 0.4:
        return R.choice([
            lambda: sympy.And(condition(depth - 1), condition(depth - 1)),
            lambda: sympy.Or(condition(depth - 1), condition(depth - 1)),
            lambda: sympy.Not(condition(depth - 1)),
        ])()
    kind = R.choice([integer, integer, real])
    return R.choice([sympy.Eq, sympy.Ne, sympy.Lt, sympy.Le, sympy.Gt, sympy.Ge])(kind(max(depth - 1, 0)), kind(max(depth - 1, 0)))


def plain(v):
    """The value in JSON, or None where it is not a number of Python's."""
    if v in (sympy.true, sympy.false) or isinstance(v, bool):
        return {"bool": bool(v)}
    if isinstance(v, (int, sympy.Integer)):
        n = int(v)
        return {"int": n} if -(2**63) <= n < 2**63 else {"error": "value"}
    if v in (F.int_oo, -F.int_oo):
        return {"error": "value"}
    if isinstance(v, (float, sympy.Float, sympy.Rational)):
        f = float(v)
        return {"float": f} if math.isfinite(f) else None
    return None


def result(compute):
    try:
        return plain(compute())
    except ZeroDivisionError:
        return {"error": "zero"}
    except (ValueError, OverflowError):
        return {"error": "value"}
    except (TypeError, AssertionError, AttributeError, RecursionError, NotImplementedError):
        return None


def expressions(n):
    out, seen = [], set()
    while len(out) < n:
        try:
            kind = R.choice([integer, integer, integer, real, condition])
            e = kind(R.randint(1, 3))
            if kind is integer and R.random() < 0.1:
                e = F.Identity(e) * 2  # outermost: SymPy computes nonsense with inner ones
            text = sympy.srepr(e)
        except Exception:  # SymPy cannot build everything that the dice ask for
            continue
        if not getattr(e, "free_symbols", None) or text in seen or "zoo" in text or "nan" in text or "Piecewise" in text or "sign(" in text or "re(" in text:
            continue
        seen.add(text)
        values = []
        for _ in range(3):
            env = {"s77": R.randint(1, 40), "s27": R.randint(1, 40), "u0": R.randint(-30, 30), "u1": R.randint(-30, 30),
                   "zuf0": R.choice([0.0, 2.5, -2.5, 0.5, 1.5, -7.75, 1e10, 0.1, 3.0])}
            sub = {s: sympy.Float(env[s.name]) if s.name == "zuf0" else sympy.Integer(env[s.name]) for s in e.free_symbols}
            r = result(lambda: e.xreplace(sub))
            if r is not None and kind is real and "int" in r:
                r = {"float": float(r["int"])}  # SymPy lets 0.0 decay to Integer(0)
            if r is not None:
                values.append({"env": {s.name: env[s.name] for s in e.free_symbols}, **r})
        if values:
            out.append({"srepr": text, "str": str(e), "values": values})
    return out


def guard(depth):
    atoms = ["L['x'].size()[0]", "L['y'].size()[1]", "L['n']", "L['f']", "2", "3", "7", "-4", "0.5"]
    if depth == 0:
        return R.choice(atoms)
    a, b = guard(depth - 1), guard(depth - 1)
    op = R.choice(["+", "-", "*", "//", "%", "/", "==", "!=", "<", "<=", ">", ">=", "and", "or", "**", "<<", "&", "|", "^",
                   "max", "min", "not", "-u", "abs", "chain", "math.floor", "math.ceil", "math.trunc", "round", "int", "float"])
    if op in ("max", "min"):
        return f"{op}({a}, {b})"
    if op in ("abs", "math.floor", "math.ceil", "math.trunc", "round", "int", "float"):
        return f"{op}({a})"
    if op == "not":
        return f"(not {a} < {b})"
    if op == "-u":
        return f"-{R.choice(atoms)} {R.choice('+*%')} {b}"
    if op == "chain":
        return f"({a} < {b} <= {guard(0)})"
    if op in ("**", "<<"):
        return f"(L['n'] {op} {R.randint(0, 4)})" if op == "<<" else f"{R.choice(atoms[:3])} ** {R.randint(0, 4)}"
    if op in ("and", "or"):
        return f"({a} < 5 {op} {b} != 2)"
    return f"({a} {op} {b})" if R.random() < 0.7 else f"{a} {op} {b}"


class Tensor:
    def __init__(self, size):
        self._size = size

    def size(self):
        return self._size


def guards(n):
    out, seen = [], set()
    while len(out) < n:
        text = guard(R.randint(1, 3))
        if text in seen or "L[" not in text:
            continue
        seen.add(text)
        values = []
        for _ in range(3):
            env = {"L['x'].size()[0]": R.randint(0, 30), "L['y'].size()[1]": R.randint(0, 30), "L['n']": R.randint(-9, 9),
                   "L['f']": R.choice([0.5, -1.5, 2.25, 3.0])}
            table = {"x": Tensor([env["L['x'].size()[0]"]]), "y": Tensor([0, env["L['y'].size()[1]"]]), "n": env["L['n']"], "f": env["L['f']"]}
            try:
                r = result(lambda: eval(text, {"L": table, "math": math, "torch": torch}))
            except SyntaxError:
                break
            if r is not None:
                values.append({"env": env, **r})
        if values:
            out.append({"text": text, "values": values})
    return out


if __name__ == "__main__":
    here = pathlib.Path(__file__).parent
    cases = {"torch": torch.__version__, "sympy": sympy.__version__, "expressions": expressions(400), "guards": guards(250)}
    lines = json.dumps(cases).replace('{"srepr"', '\n{"srepr"').replace('{"text"', '\n{"text"')
    (here / "cases.json").write_text(lines + "\n")
