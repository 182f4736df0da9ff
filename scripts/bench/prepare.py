"""Makes what a network of the benchmark is run from.

    prepare.py HOME NAME BATCH WHAT...

makes the folder HOME/NAME-bBATCH, or what is missing there, with

    inputs.json      placeholders in order and the output: name, dtype, shape, file
    *.bin            their elements, little endian
    program.pt2      torch.export
    network.onnx     where WHAT has onnx: torch.onnx
    aoti-N.pt2       where WHAT has aoti-N: AOTInductor's package, frozen, for N threads

and prints a line "WHAT REASON" for what could not be made. Where nothing is missing,
torch is not imported.
"""
import hashlib
import importlib.metadata
import json
import os
import sys

DEFINITIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "networks.py")


def path(folder, what):
    return os.path.join(folder, "network.onnx" if what == "onnx" else what + ".pt2")


def current(folder, made_by):
    try:
        with open(os.path.join(folder, "inputs.json")) as f:
            return json.load(f)["made_by"] == made_by
    except (OSError, ValueError, KeyError):
        return False


def describe(folder, name, t):
    t.contiguous().numpy().tofile(os.path.join(folder, name + ".bin"))
    return {"name": name, "dtype": str(t.dtype).removeprefix("torch."), "shape": list(t.shape), "file": name + ".bin"}


def export(folder, name, batch, made_by):
    import networks
    import torch

    os.makedirs(folder, exist_ok=True)
    for file in os.listdir(folder):
        os.remove(os.path.join(folder, file))
    model, inputs = networks.build(name), networks.inputs(name, batch)
    args = tuple(inputs.values())
    torch.export.save(torch.export.export(model, args), os.path.join(folder, "program.pt2"))
    manifest = {
        "made_by": made_by,
        "inputs": [describe(folder, k, v) for k, v in inputs.items()],
        "output": describe(folder, "output", model(*args)),
    }
    with open(os.path.join(folder, "inputs.json"), "w") as f:  # last: with it the folder is whole
        json.dump(manifest, f)


def make(folder, name, batch, what):
    import networks
    import torch

    torch.set_grad_enabled(False)
    new = os.path.join(folder, "new-" + os.path.basename(path(folder, what)))
    if what == "onnx":
        inputs = networks.inputs(name, batch)
        torch.onnx.export(
            networks.build(name), tuple(inputs.values()), new, input_names=list(inputs), output_names=["output"],
            dynamo=True, external_data=False, verbose=False,
        )
    else:
        torch.set_num_threads(int(what.removeprefix("aoti-")))
        program = torch.export.load(os.path.join(folder, "program.pt2"))
        torch._inductor.aoti_compile_and_package(program, package_path=new, inductor_configs={"freezing": True})
    os.rename(new, path(folder, what))


def main():
    home, name, batch, wanted = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
    folder = os.path.join(home, f"{name}-b{batch}")
    with open(DEFINITIONS, "rb") as f:
        made_by = hashlib.sha256(f.read()).hexdigest() + " " + importlib.metadata.version("torch")
    lines, sys.stdout = sys.stdout, sys.stderr  # exporters print
    if not current(folder, made_by):
        export(folder, name, batch, made_by)
    for what in wanted:
        if os.path.exists(path(folder, what)):
            continue
        try:
            make(folder, name, batch, what)
        except Exception as e:  # whatever keeps an exporter from working is told, not guessed
            print(what, " ".join(str(e).split())[:300], file=lines, flush=True)


if __name__ == "__main__":
    main()
