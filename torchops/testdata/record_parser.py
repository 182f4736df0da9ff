#!/usr/bin/env python3
"""Record what PyTorch's argument parser says of random arguments.

Every function and method of torchops/signatures.txt is called with arguments drawn
from a few kinds, half of them fitting a signature but for a change. A
TorchFunctionMode stops each call behind the parser, so that nothing is computed.
A line is the name, the arguments, the keywords, and the message of the TypeError;
null where a signature took them. Arguments are letters, see KINDS, and lists of
them.

Usage, in the root folder: torchops/testdata/record_parser.py > torchops/testdata/parser.jsonl
"""

import json
import random
import sys
import types
import warnings

import torch
from torch.overrides import TorchFunctionMode

KINDS = {
    "T": torch.ones(2, 3), "R": torch.ones(2, requires_grad=True), "S": torch.tensor(1.5), "I": torch.tensor(1),
    "V": torch.tensor([1]), "O": torch.tensor(True), "i": 1, "f": 2.5, "b": True, "c": 1j, "s": "a", "n": None,
    "d": torch.float32, "y": torch.strided, "m": torch.contiguous_format, "u": torch.device("cpu"),
}
FITTING = {
    "Tensor": "T", "Scalar": "i", "double": "f", "int64_t": "i", "DeviceIndex": "i", "SymInt": "i", "IntArrayRef": ["i", "i"],
    "SymIntArrayRef": ["i", "i"], "ArrayRef<double>": ["f"], "ScalarList": ["i"], "TensorList": ["T", "T"],
    "c10::List<::std::optional<Tensor>>": ["T"], "bool": "b", "ScalarType": "d", "Layout": "y", "MemoryFormat": "m",
    "Device": "u", "Generator": "n", "Stream": "n", "c10::string_view": "s",
}
OTHERS = list(KINDS) + [[], ["i"], ["i", "s"], ["s"], ["f"], ["T", "i"], ["b"], ["I"], {"tuple": ["f"]}, {"tuple": []}, {"tuple": ["i", "i"]}, {"tuple": ["s", "T"]}]
WORDS = ["dim", "axis", "keepdims", "out", "foo", "input", "x", "other", "dtype", "alpha"]


class Stop(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return None


def value(v):
    if isinstance(v, list):
        return [value(x) for x in v]
    if isinstance(v, dict):
        return tuple(value(x) for x in v["tuple"])
    return KINDS[v]


def signatures(path):
    table, name = {}, None
    for line in open(path):
        if line[0] == "#":
            continue
        if line[0] != "\t":
            name = line.strip()
            table[name] = []
        else:
            table[name].append(line[1:].split("\t")[0])
    return table


def parameters(text):
    parts, depth, part, quoted = [], 0, "", False
    for c in text + ",":
        quoted ^= c == '"'
        depth += {"{": 1, "}": -1}.get(c, 0)
        if c == "," and depth == 0 and not quoted:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return [p for p in parts if p]


def draw(rng, signature):
    """Arguments that fit a signature, by position and by keyword, or nearly."""
    args, kwargs, keyword_only = [], {}, False
    for p in parameters(signature):
        if p == "*":
            keyword_only = True
            continue
        kind, name = p.split(" ", 1)
        name, has_default, _ = name.partition("=")
        kind = kind.rstrip("?").split("[")[0] if "<" not in kind else kind.rstrip("?")
        v = FITTING[kind]
        if has_default and rng.random() < 0.6:
            keyword_only = True
            continue
        if rng.random() < 0.12:
            v = rng.choice(OTHERS)
        if keyword_only or rng.random() < 0.1:
            keyword_only = True
            kwargs[name] = v
        else:
            args.append(v)
    roll = rng.random()
    if roll < 0.1 and args:
        args.pop()
    elif roll < 0.2:
        args.append(rng.choice(OTHERS))
    elif roll < 0.3:
        kwargs[rng.choice(WORDS)] = rng.choice(OTHERS)
    return args, kwargs


def main():
    warnings.simplefilter("ignore")
    rng = random.Random(0)
    table = signatures("torchops/signatures.txt")
    refused = taken = 0
    for name, listed in table.items():
        if name.endswith("__"):
            continue  # answers NotImplemented to Python's operators
        try:
            target = eval(name, {"torch": torch})  # a name of the table
        except AttributeError:
            continue  # bound, but hidden from users
        if isinstance(target, types.FunctionType):
            continue  # a Python function stands in front of it
        method = name.startswith("torch.Tensor.")
        for _ in range(6):
            if rng.random() < 0.85:
                args, kwargs = draw(rng, rng.choice(listed))
            else:
                args, kwargs = [rng.choice(OTHERS) for _ in range(rng.randrange(4))], {}
            message = None
            receiver = [KINDS["T"]] if method else []
            try:
                with Stop():
                    target(*receiver, *map(value, args), **{k: value(v) for k, v in kwargs.items()})
                taken += 1
            except TypeError as e:
                message = str(e)
                refused += 1
            except RuntimeError:
                continue  # a signature that Python itself cannot read
            print(json.dumps([name, args, list(kwargs.items()), message], separators=(",", ":")))
    print(f"{taken} taken, {refused} refused", file=sys.stderr)


if __name__ == "__main__":
    main()
