"""The Python side's worker: one network in one executor, in a process of its own.

    networks_worker.py FOLDER EXECUTOR THREADS

Executors are eager, graph_module and interpreter of torch.fx, compile (torch.compile
with freezing) and aoti (AOTInductor's package). Lines and answers are those of the Go
package scripts/bench/worker; there is no load.
"""
import json
import os
import sys
import time

import numpy as np
import torch

import networks


def size(field):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith(field))


def read(folder, v):
    elements = np.fromfile(os.path.join(folder, v["file"]), dtype=v["dtype"])
    return torch.from_numpy(elements).reshape(v["shape"])


def executor(folder, kind, threads):
    name = os.path.basename(folder).rpartition("-b")[0]
    if kind == "aoti":
        return torch._inductor.aoti_load_package(os.path.join(folder, f"aoti-{threads}.pt2"))
    if kind in ("graph_module", "interpreter"):
        gm = torch.export.load(os.path.join(folder, "program.pt2")).module()
        return gm if kind == "graph_module" else torch.fx.Interpreter(gm).run
    model = networks.build(name)
    if kind == "eager":
        return model
    torch._inductor.config.freezing = True
    return torch.compile(model)


def main():
    folder, kind, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    base = size("VmRSS:")
    try:
        manifest = json.load(open(os.path.join(folder, "inputs.json")))
        run = executor(folder, kind, threads)
        inputs = [read(folder, v) for v in manifest["inputs"]]
        want = read(folder, manifest["output"])
        got = run(*inputs)
        got = got[0] if isinstance(got, (list, tuple)) else got
        difference = ((got - want).abs().max() / want.abs().max()).item()
        del got, want
    except Exception as e:  # whatever keeps an executor from working is told, not guessed
        print("no", " ".join(str(e).split())[:300], flush=True)
        return
    print(f"ready PyTorch {torch.__version__}|{base}|{difference}", flush=True)
    for line in sys.stdin:
        command, *numbers = line.split()
        if command == "memory":
            print(size("VmHWM:"), flush=True)
            continue
        start, cpu = time.perf_counter_ns(), time.process_time_ns()
        for _ in range(int(numbers[0])):
            run(*inputs)
        print(time.perf_counter_ns() - start, time.process_time_ns() - cpu, flush=True)
    os._exit(0)  # nothing is left to save, and compilers take long to clean up


if __name__ == "__main__":
    main()
