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
import warnings
from typing import Dict, List, Optional, Tuple

import torch

warnings.filterwarnings("ignore")


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
        script.save(os.path.join(out, name + ".pt"))
        with torch.no_grad():
            result = script(x)
        cases[name] = {"input": values(x), "output": values(result[0] if isinstance(result, tuple) else result)}
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
