#!/usr/bin/env python3
"""Train the demo's network and export it: examples/digits/testdata.

    third_party/reference/bin/python scripts/train_digits.py [--out examples/digits/testdata]

A small convolutional network with batch norm learns the handwritten digits that scikit-learn ships
(1,797 scans of 8x8 pixels). 300 images are held out, never trained on, and written beside the
program with PyTorch's own answers:

    digits.pt2           the trained network in eval mode, batch size dynamic (1 to 1024)
    digits.safetensors   images  float32 [300, 1, 8, 8], 0 is paper and 1 is ink
                         labels  int64 [300], what the writer meant
                         outputs float32 [300, 10], what PyTorch computes, one thread

Everything is seeded and runs on one thread, so a second run on the same machine gives the same
weights. Other machines may round differently: the committed files are the demo's data, and this
script is how they came to be.
"""
import argparse
import os
import re
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from sklearn.datasets import load_digits
from torch import nn

TORCH = "2.15.0"
HELD_OUT = 300
EPOCHS = 30


class Digits(nn.Module):
    """Two convolutions, a pooling, a third convolution, two linear layers; all but the last are
    followed by a batch norm, so that a demo of folding has all its forms before it."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(32)
        self.conv3 = nn.Conv2d(32, 32, 3, padding=1, bias=False)
        self.bn3 = nn.BatchNorm2d(32)
        self.fc1 = nn.Linear(32 * 4, 64, bias=False)
        self.bn4 = nn.BatchNorm1d(64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, image):
        x = F.relu(self.bn1(self.conv1(image)))
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        x = F.max_pool2d(F.relu(self.bn3(self.conv3(x))), 2)
        x = F.relu(self.bn4(self.fc1(x.flatten(1))))
        return self.fc2(x)


def load():
    """Images and labels in a fixed random order."""
    d = load_digits()
    images = torch.from_numpy(d.images).float().div(16).unsqueeze(1)
    labels = torch.from_numpy(d.target).long()
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    return images[order], labels[order]


def jitter(x, g):
    """Shift each batch by at most one pixel: the writer's hand is not that steady."""
    dy, dx = (int(v) for v in torch.randint(-1, 2, (2,), generator=g))
    return F.pad(x, (1, 1, 1, 1))[:, :, 1 + dy:9 + dy, 1 + dx:9 + dx]


def train(images, labels):
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(0)
    model = Digits().train()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    steps = EPOCHS * -(-len(labels) // 64)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps)
    for epoch in range(EPOCHS):
        total = 0.0
        for rows in torch.randperm(len(labels), generator=g).split(64):
            loss = F.cross_entropy(model(jitter(images[rows], g)), labels[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            total += loss.item() * len(rows)
        print(f"epoch {epoch + 1:2d} of {EPOCHS}: loss {total / len(labels):.4f}", flush=True)
    return model.eval()


def scrub(ep):
    """Keep only file names in stack traces: a committed file does not tell whose machine made it."""
    for n in ep.graph.nodes:
        if isinstance(n.meta.get("stack_trace"), str):
            n.meta["stack_trace"] = re.sub(r'File "[^"]*/([^"/]+)"', r'File "\1"', n.meta["stack_trace"])
        n.meta.pop("from_node", None)  # ids of Python objects: different in each run
    return ep


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--out", default=os.path.join(os.path.dirname(__file__), "..", "examples", "digits", "testdata"))
    out = os.path.normpath(ap.parse_args().out)
    if torch.__version__.split("+")[0] != TORCH:
        sys.exit(f"torch: expected {TORCH}, got {torch.__version__}")
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)

    images, labels = load()
    held, held_labels = images[:HELD_OUT].contiguous(), labels[:HELD_OUT].contiguous()
    model = train(images[HELD_OUT:], labels[HELD_OUT:])

    batch = torch.export.Dim("batch", min=1, max=1024)
    sample = held[:2].clone()  # the archive keeps the sample with all of its storage
    ep = torch.export.export(model, (sample,), dynamic_shapes={"image": {0: batch}})
    os.makedirs(out, exist_ok=True)
    torch.export.save(scrub(ep), os.path.join(out, "digits.pt2"))

    with torch.no_grad():
        outputs = torch.export.load(os.path.join(out, "digits.pt2")).module()(held)
    right = int((outputs.argmax(1) == held_labels).sum())
    save_file({"images": held, "labels": held_labels, "outputs": outputs.contiguous()},
              os.path.join(out, "digits.safetensors"), metadata={"torch": torch.__version__})
    print(f"held out: {right} of {HELD_OUT} right; written to {out}")


if __name__ == "__main__":
    main()
