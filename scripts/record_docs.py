"""Records what PyTorch's documentation says first of each function and method.

    third_party/reference/bin/python scripts/record_docs.py > scripts/genapi/docs.txt

A line a name, sorted: the name, a tab, the first sentence of its docstring and those of the next
two paragraphs that give shapes, as plain text.
"""

import re
import sys

import torch

assert torch.__version__.startswith("2.15.0"), torch.__version__

SYMBOLS = {
    r"\times": "×", r"\leq": "≤", r"\le": "≤", r"\geq": "≥", r"\neq": "≠", r"\ne": "≠", r"\cdot": "·", r"\pi": "π", r"\infty": "∞",
    r"\alpha": "alpha", r"\beta": "beta", r"\lambda": "lambda", r"\ldots": "...", r"\dots": "...", r"\mathbb{K}": "K", r"\mathbb{R}": "R", r"\mathbb{C}": "C",
    r"\in": "∈", r"\log": "log", r"\exp": "exp", r"\pm": "±", r"\Gamma": "Γ", r"\psi": "ψ", r"\_": "_", r"\ ": " ", r"\,": " ", r"\left": "", r"\right": "",
    r"\lfloor": "⌊", r"\rfloor": "⌋", r"\min": "min", r"\max": "max", r"\frac": "frac",
}


def plain(text):
    text = re.sub(r":\w+:`~?([^`<]*?)(?:\s*<[^`>]*>)?`", r"\1", text)
    text = re.sub(r"`([^`<]*?)\s*<[^`>]*>`_*", r"\1", text)
    text = re.sub(r"\\(?:text|mathrm|textit|operatorname|mathcal|mathbf)\{([^}]*)\}", r"\1", text)
    for tex, sign in sorted(SYMBOLS.items(), key=lambda kv: -len(kv[0])):
        text = text.replace(tex, sign)
    text = text.replace("``", "").replace("`", "").replace("**", "").replace("\\*", "*")
    text = re.sub(r"\{([^{}]*)\}", r"\1", text)
    return re.sub(r"\s+", " ", text).strip()


def sentences(paragraph):
    return re.split(r"(?<=[.!])\s+(?=[A-Z])", paragraph)


def summary(doc):
    paragraphs = [p.strip() for p in re.split(r"\n\s*\n", doc.strip())]
    if paragraphs and re.match(r"^[\w.]+\(.*", paragraphs[0], re.S):
        first, _, rest = paragraphs[0].partition("\n")
        paragraphs = [rest.strip()] * bool(rest.strip() and "->" in first) + paragraphs[1:]
    paragraphs = [p for p in paragraphs if p]
    if not paragraphs or re.match(r"^(\.\.|Args|Example|Warning)", paragraphs[0]):
        return ""
    out = [sentences(paragraphs[0])[0]]
    later = [s for p in paragraphs[:3] if not re.match(r"^(\.\.|Args|Example)", p) for s in sentences(p)][1:]
    out += [s for s in later if r"\times" in s and "tensor" in s and len(s) < 300 and "::" not in s and ".. " not in s][:2]
    text = " ".join(filter(None, map(plain, out)))
    if "\\" in text or "::" in text or "frac" in text or text.endswith(":") or len(text) < 8:
        return ""
    if re.match(r"^(See|Alias (for|of)) ", text):  # says nothing that the name does not
        return ""
    return text if text.endswith(".") else text + "."


def names():
    for module, prefix in [(torch, "torch"), (torch.Tensor, "torch.Tensor"), (torch.linalg, "torch.linalg"),
                           (torch.fft, "torch.fft"), (torch.special, "torch.special")]:
        for name in dir(module):
            if not name.startswith("_"):
                yield prefix + "." + name, getattr(module, name, None)


lines = []
for name, f in names():
    doc = getattr(f, "__doc__", None)
    if callable(f) and not isinstance(f, type) and isinstance(doc, str):
        text = summary(doc)
        if text:
            lines.append(name + "\t" + text)
sys.stdout.write("# Made by scripts/record_docs.py from the documentation of torch 2.15.0, which is under its BSD-3-Clause licence.\n" + "\n".join(sorted(lines)) + "\n")
