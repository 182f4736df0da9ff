#!/usr/bin/env python3
"""Record TorchScript programs with what they return, for the tests of package script.

    third_party/reference/bin/python scripts/record_script.py --out script/testdata

With --silero DIR it runs the voice detector of the PyPI package silero-vad (unpacked in DIR) on a
made-up recording instead, and writes that and the probabilities as raw float32 into --out.
"""
import argparse
import json
import math
import os
import re
import struct
import warnings
from typing import Dict, List, Optional, Tuple

import torch

warnings.filterwarnings("ignore")


def save(module, path):
    """Save without the folders of this machine, which PyTorch writes beside the source lines."""
    module.save(path)
    reader = torch._C.PyTorchFileReader(path)
    records = {name: reader.get_record(name) for name in reader.get_all_records()}
    writer = torch._C.PyTorchFileWriter(path)
    for name, data in records.items():
        if name in ("version", "byteorder", ".data/serialization_id"):
            continue  # the writer's own
        if name.endswith(".debug_pkl"):
            data = relative(data)
        writer.write_record(name, data, len(data))
    writer.write_end_of_file()


def relative(pickled):
    """Strings of a pickle with paths: what follows the packages, or the project's folder."""
    out, at = b"", 0
    for match in re.finditer(rb"X(....)", pickled, re.DOTALL):
        length = struct.unpack("<I", match[1])[0]
        text = pickled[match.end():match.end() + length]
        if match.start() < at or len(text) < length or b".py" not in text:
            continue
        text = re.sub(rb"/[\w./-]*/(site-packages/|(?=scripts/))", b"", text)
        out += pickled[at:match.start()] + b"X" + struct.pack("<I", len(text)) + text
        at = match.end() + length
    return out + pickled[at:]


class Values(torch.nn.Module):
    """Arguments and results of all kinds."""

    scale: float

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 2)
        self.register_buffer("count", torch.zeros(1))
        self.scale = 2.0
        self.labels = ["no", "yes"]

    def forward(self, x, n: int = 2, more: Optional[List[torch.Tensor]] = None) -> Tuple[torch.Tensor, int]:
        if more is not None:
            for y in more:
                x = x + y
        return self.fc(x) * n * self.scale, n + 1

    @torch.jit.export
    def doubled(self, named: Dict[str, torch.Tensor], flag: bool, by: float) -> Dict[str, torch.Tensor]:
        return {k: v * by if flag else v for k, v in named.items()}

    @torch.jit.export
    def counted(self, x) -> List[int]:
        self.count += 1
        return [int(self.count.item()), x.size(0)]

    @torch.jit.export
    def label(self, i: int) -> str:
        return self.labels[i]


class Loop(torch.nn.Module):
    """Loops and a condition on a size."""

    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRUCell(3, 4)

    def forward(self, xs):
        h = torch.zeros(xs.size(1), 4)
        for i in range(xs.size(0)):
            h = self.cell(xs[i], h)
        if xs.size(0) > 100:
            h = -h
        return torch.softmax(h, -1)


class Choice(torch.nn.Module):
    """A condition on an element."""

    def forward(self, x):
        if bool(x.sum() > 0):
            return x * 2
        return x - 1


class Convolutions(torch.nn.Module):
    """A straight line, with layers whose code checks its input and depends on the mode."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)
        self.drop = torch.nn.Dropout(0.5)
        self.fc = torch.nn.Linear(16, 3)
        self.blocks = torch.nn.ModuleList([torch.nn.Conv2d(4, 4, 1) for _ in range(2)])

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(torch.relu(self.norm(self.conv(x))), 2)
        for block in self.blocks:
            x = x + block(x)
        b, c = x.shape[:2]
        x = self.drop(x).view(b, -1)
        return torch.softmax(self.fc(x), dim=-1, dtype=torch.float64).to(x.dtype)


class Flow(torch.nn.Module):
    """Conditions and loops that a run decides, one method for each kind."""

    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)
        self.flag = True

    def forward(self, x):
        if x.sum() > 0:
            y = self.fc(x)
        else:
            y = x - 1
        return y * 2

    @torch.jit.export
    def counted(self, x, n: int = 3):
        y = torch.zeros_like(x)
        for i in range(n):
            y = torch.tanh(self.fc(y) + x * i)
        return y

    @torch.jit.export
    def whiled(self, x):
        while bool(x.abs().sum() < 100):
            x = x * 2 + 1
        return x

    @torch.jit.export
    def nested(self, x):
        for i in range(x.size(0)):
            if x[i].sum() > 0:
                j = 0
                while j < i + 1:
                    x = self.fc(x) + j
                    j += 1
            else:
                x = x + 1
        return x

    @torch.jit.export
    def early(self, x):
        if x.dim() != 2:
            raise ValueError(f"expected a matrix, got {x.dim()} dimensions")
        if x.sum() > 10:
            return x
        y = self.fc(x)
        if y.sum() > 0 and x.sum() > 0:
            return y
        return -y

    @torch.jit.export
    def lists(self, x) -> Tuple[torch.Tensor, torch.Tensor]:
        parts: List[torch.Tensor] = []
        for i in range(3):
            parts.append(x * i)
        a, b, c = x.unbind(1)
        parts += [torch.stack([a, b, c], dim=1)]
        both = torch.cat(parts)
        best, where = both.max(dim=0)
        return best, where

    @torch.jit.export
    def named(self, x) -> Dict[str, torch.Tensor]:
        out = {"twice": x * 2}
        if self.flag:
            out["scaled"] = x * float(x.max())
        return out

    @torch.jit.export
    def inplace(self, x):
        y = x.clone()
        y[:, 0] = 5
        y.add_(1)
        return y

    @torch.jit.export
    def broken(self, x):
        for i in range(10):
            x = x * 1.5
            if x.sum() > 20:
                break
        return x

    @torch.jit.export
    def optional(self, x, y: Optional[torch.Tensor] = None):
        if y is not None:
            x = x + y
        return x * x.shape[-1]


class Traced(torch.nn.Module):
    """What torch.jit.trace records, with sizes as tensors."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.Linear(4, 2))

    def forward(self, x):
        y = self.layers(x)
        return y.reshape(x.size(0) * 2) + torch.arange(x.size(0) * 2)


class Refused(torch.nn.Module):
    """What has no place in a graph."""

    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(1))

    def forward(self, x):
        self.state = x
        return x

    @torch.jit.export
    def prints(self, x):
        print(x)
        return x

    @torch.jit.export
    def grows(self, x):
        parts: List[torch.Tensor] = []
        for i in range(x.size(0)):
            parts.append(x[i])
        return torch.stack(parts)


def values(t):
    return {"shape": list(t.shape), "data": [float(v) for v in t.detach().flatten()]}


def record(out):
    torch.manual_seed(0)
    cases = {}
    for name, module, x in [
        ("values", Values(), torch.randn(4, 3)),
        ("loop", Loop(), torch.randn(5, 2, 3)),
        ("choice", Choice(), torch.tensor([1.0, 2.0])),
    ]:
        script = torch.jit.script(module.eval())
        save(script, os.path.join(out, name + ".pt"))
        with torch.no_grad():
            result = script(x)
        cases[name] = {"input": values(x), "output": values(result[0] if isinstance(result, tuple) else result)}
    torch.manual_seed(0)
    script = torch.jit.script(Convolutions().eval())
    x = torch.randn(2, 2, 4, 4)
    save(script, os.path.join(out, "convolutions.pt"))
    cases["convolutions"] = {"input": values(x), "output": values(script(x))}
    traced = Traced().eval()
    x = torch.randn(5, 3)
    script = torch.jit.trace(traced, x)
    save(script, os.path.join(out, "traced.pt"))
    cases["traced"] = {"input": values(x), "output": values(script(x))}
    save(torch.jit.script(Flow().eval()), os.path.join(out, "flow.pt"))
    save(torch.jit.script(Refused().eval()), os.path.join(out, "refused.pt"))
    with open(os.path.join(out, "script.json"), "w") as f:
        json.dump(cases, f, indent=0)
        f.write("\n")


def silero(folder, out):
    model = torch.jit.load(os.path.join(folder, "silero_vad", "data", "silero_vad.jit"))
    rate, window = 16000, 512
    t = torch.arange(rate * 3, dtype=torch.float64) / rate
    voice = sum(torch.sin(2 * math.pi * 130 * k * t) / k for k in range(1, 20)) * (1 + torch.sin(2 * math.pi * 4 * t)) * ((t > 1) & (t < 2))
    torch.manual_seed(0)
    audio = (0.05 * voice + 0.001 * torch.randn(len(t), dtype=torch.float64)).float()
    audio = audio[: len(audio) // window * window]
    with torch.no_grad():
        model.reset_states()
        probabilities = torch.cat([model(audio[i : i + window], rate).flatten() for i in range(0, len(audio), window)])
    for name, v in [("audio", audio), ("probabilities", probabilities)]:
        with open(os.path.join(out, name + ".f32"), "wb") as f:
            f.write(v.numpy().tobytes())
    print(f"silero-vad: {len(probabilities)} windows, probabilities {float(probabilities.min()):.4f} to {float(probabilities.max()):.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--silero")
    options = parser.parse_args()
    torch.set_num_threads(1)
    os.makedirs(options.out, exist_ok=True)
    if options.silero:
        silero(options.silero, options.out)
    else:
        record(options.out)


if __name__ == "__main__":
    main()
