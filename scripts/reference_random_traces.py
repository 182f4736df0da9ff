#!/usr/bin/env python3
"""Record what torch.fx makes of random calls with traced arguments, for a test to compare: the nodes, or that it refuses.

    third_party/reference/bin/python scripts/reference_random_traces.py [--calls N] [--seed N] > third_party/reference-traces.jsonl

A line is a call of a function of two traced tensors x and y: "fn", "args" and "kw" with {"p": "x"} for a traced value,
{"f": 0.5} for a float, {"d": "float32"} for a dtype and {"tuple": [...]}; then "lines", a node each, or "error" and "message".
"""
import argparse
import builtins
import json
import operator
import signal
import sys
import warnings

import torch
import torch.fx
import torch.masked
import torch.signal.windows

import random_arguments

TORCH = "2.15.0"
SECONDS = 6  # of one trace
X, Y = {"p": "x"}, {"p": "y"}
# Functions of operator that a proxy does not have as one of its own: what Python does with them is not a node, or is
# decided by the other operand.
NOT_TRACED = "attrgetter itemgetter methodcaller call setitem delitem is_ is_not not_ truth contains countOf indexOf length_hint concat iconcat index".split()
SYMBOLIC = [n for n in random_arguments.SYMBOLIC if "fresh" not in n]
LITERALS = [1, 2, 0, -1, 0.5, 2.5, True, False, None, "mean", "none", [1, 2], [0], (1, 2), {"d": "float32"}, [X, Y], Y]


class TooLong(BaseException):
    pass


def stop(*_):
    raise TooLong


class Maker:
    """Makes calls of which some arguments are traced."""

    def __init__(self, seed):
        self.calls = random_arguments.Maker(seed)
        self.pick = self.calls.pick
        left_out = random_arguments.excluded()
        self.bound = [n for n in self.calls.signatures if n not in left_out and not n.split(".")[-1].startswith("_") and (not n.startswith("torch._C._") or n.startswith("torch._C._nn."))]
        self.composed = random_arguments.composed()
        self.composed_names = [n for n in self.composed if not n.startswith("torch.Tensor.__")]
        self.attributes = sorted(n for n in dir(torch.Tensor) if not n.startswith("_")) + ["foo", "weight"]
        self.operators = [n for n in dir(operator) if not n.startswith("_") and n not in NOT_TRACED]

    def value(self, kind):
        pick, kind = self.pick, kind.rstrip("?")
        if "List<" in kind or kind == "TensorList":
            return [X, pick.choice([X, Y])]
        if "Tensor" in kind and "list" not in kind.lower() or kind == "Any":
            return pick.choice([X, X, Y])
        if "ArrayRef" in kind:
            return pick.choice([[1, 2], [0], 1, [1, Y]])
        choices = {"int64_t": [0, 1, -1, Y], "bool": [True, False], "ScalarType": [{"d": "float64"}], "str": ["mean"]}
        for one, of in (("SymInt", "int64_t"), ("int", "int64_t"), ("c10::string_view", "str")):
            choices[one] = choices[of]
        for one in ("Scalar", "double", "float", "Optional[float]"):
            choices[one] = [0.5, 2.5, 1, Y]
        return pick.choice(choices.get(kind, LITERALS))

    def parameters(self):
        """A function, and its parameters: name, type, whether one has a default, and * or ** for those."""
        pick, r = self.pick, self.pick.random()
        if r < .5:
            name = pick.choice(self.bound)
            for p in random_arguments.split(pick.choice(self.calls.signatures[name])):
                kind, _, rest = p.partition(" ")
                key, _, default = rest.partition("=")
                yield name, ("*", "", False) if p == "*" else (key, kind, default != "")
            return
        name = pick.choice(self.composed_names)
        for p in random_arguments.split(self.composed[name]):
            declared, _, default = p.partition(" = ")
            key, _, kind = declared.partition(": ")
            if p != "/" and not (key == "self" and name.startswith("torch.Tensor.")):
                yield name, (key, kind or "Any", default != "")

    def call(self):
        pick = self.pick
        if pick.random() < .15:
            return "operator." + pick.choice(self.operators), [pick.choice([X, Y, 2, 0.5]) for _ in range(pick.choice([1, 2, 2, 2, 3]))], {}
        if pick.random() < .03:
            return "torch." + pick.choice(SYMBOLIC), [pick.choice([X, X, Y, 2]) for _ in range(pick.choice([1, 1, 2, 3]))], pick.choice([{}, {}, {"a": X}, {"b": Y}])
        if pick.random() < .05:
            return "builtins.getattr", [X, pick.choice(self.attributes)], {}
        args, kwargs, by_keyword, name = [], {}, False, None
        for name, (key, kind, default) in self.parameters():
            if key.startswith("*"):
                if key[1:] and not key.startswith("**"):
                    args += [[X, Y]] if pick.random() < .2 else [pick.choice([X, Y]) for _ in range(pick.choice([1, 2, 2]))]
                by_keyword = True
                continue
            if default and pick.random() < .65 or key in ("generator", "stream", "pin_memory", "requires_grad", "names", "device"):
                continue
            v = pick.choice(LITERALS) if pick.random() < .07 else self.value(kind)
            if by_keyword or kwargs or pick.random() < .2:
                kwargs[key] = v
            else:
                args.append(v)
        if name is None:
            return self.call()
        if name.startswith("torch.Tensor."):
            args.insert(0, X)
        if pick.random() < .05:
            kwargs["nonsense"] = 1
        if pick.random() < .04:
            args.append(1)
        return name, args, kwargs


def traced(v):
    if isinstance(v, dict):
        return "p" in v
    return isinstance(v, (list, tuple)) and any(map(traced, v))


def real(v, env):
    if isinstance(v, dict):
        return env[v["p"]] if "p" in v else getattr(torch, v["d"])
    if isinstance(v, (list, tuple)):
        return type(v)(real(a, env) for a in v)
    return v


def encoded(v):
    if isinstance(v, tuple):
        return {"tuple": [encoded(a) for a in v]}
    if isinstance(v, list):
        return [encoded(a) for a in v]
    return {"f": v} if isinstance(v, float) else v


def text(v, names):
    if isinstance(v, torch.fx.Node):
        return names[v]
    if isinstance(v, (list, tuple)):
        return "[" + ", ".join(text(a, names) for a in v) + "]"
    if isinstance(v, slice):
        return f"{text(v.start, names)}:{text(v.stop, names)}"
    if isinstance(v, str):
        return json.dumps(v)
    if isinstance(v, float) and v == int(v) and abs(v) < 1e15:
        return repr(int(v))
    return str(v)


def nodes(graph):
    """The nodes of a graph as the test writes them, without inputs and output."""
    lines, names = [], {}
    for node in graph.nodes:
        if node.op == "placeholder":
            names[node] = node.name
        elif node.op != "output":
            names[node] = f"v{len(lines)}"
            target = str(node.target)
            if node.op == "call_function":
                target = torch.fx.node._get_qualified_name(node.target).replace("_operator.", "operator.")
                if getattr(node.target, "__module__", None) == "builtins":
                    target = "builtins." + node.target.__name__
            arguments = [text(a, names) for a in node.args] + [f"{k}={text(v, names)}" for k, v in node.kwargs.items()]
            lines.append(f"{names[node]} = {node.op} {target}({', '.join(arguments)})")
    return lines


def resolve(name):
    parts = name.split(".")
    value = {"torch": torch, "operator": operator, "builtins": builtins}[parts[0]]
    for part in parts[1:]:
        value = getattr(value, part)
    return value


def record(name, args, kwargs):
    """The line of a call, None where it takes too long or has no such function."""
    method = name.startswith("torch.Tensor.")
    try:
        function = resolve(name)
    except AttributeError:
        return None

    def f(x, y):
        env = {"x": x, "y": y}
        a, k = real(args, env), {key: real(v, env) for key, v in kwargs.items()}
        return getattr(a[0], name.split(".")[-1])(*a[1:], **k) if method else function(*a, **k)

    line = {"fn": name, "args": encoded(args), "kw": [[k, encoded(v)] for k, v in kwargs.items()]}
    signal.alarm(SECONDS)
    try:
        line["lines"] = nodes(torch.fx.Tracer().trace(f))
    except TooLong:
        return None
    except Exception as e:
        line["error"], line["message"] = type(e).__name__, str(e)[:200]
    finally:
        signal.alarm(0)
    return line


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--calls", type=int, default=3000)
    ap.add_argument("--seed", type=int, default=1)
    a = ap.parse_args()
    if torch.__version__.split("+")[0] != TORCH:
        sys.exit(f"torch: expected {TORCH}, got {torch.__version__}")
    warnings.filterwarnings("ignore")
    signal.signal(signal.SIGALRM, stop)
    maker, made = Maker(a.seed), 0
    while made < a.calls:
        name, args, kwargs = maker.call()
        if traced(args) or traced(list(kwargs.values())):
            line = record(name, args, kwargs)
            if line:
                print(json.dumps(line, separators=(",", ":")))
                made += 1


if __name__ == "__main__":
    main()
