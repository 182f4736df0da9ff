"""The Python side of the chain benchmark. Reads "name rounds" lines, runs the
contender so often and answers with the nanoseconds of CPU time that it took.

Every contender computes the same chain: eager calls, torch.fx's GraphModule and
torch.fx's Interpreter, without gradients and on one thread.
"""
import sys
import time

import torch
import torch.fx

torch.set_num_threads(1)
torch.set_grad_enabled(False)
OPS = [torch.add, torch.mul, torch.sub, torch.maximum]


def pointwise(x, y):
    for i in range(64):
        x = OPS[i % 4](x, y)
    return x


def linears(x, w, b):
    for _ in range(32):
        x = torch.nn.functional.linear(x, w, b)
    return x


def main():
    torch.manual_seed(0)
    inputs = {
        "pointwise": (pointwise, (torch.rand(64), torch.rand(64))),
        "linears": (linears, (torch.rand(1, 64), torch.rand(64, 64) / 64, torch.rand(64))),
    }
    contenders = {}
    for name, (f, args) in inputs.items():
        gm = torch.fx.symbolic_trace(f)
        contenders[name + "/eager"] = lambda f=f, args=args: f(*args)
        contenders[name + "/graph_module"] = lambda gm=gm, args=args: gm(*args)
        contenders[name + "/interpreter"] = lambda gm=gm, args=args: torch.fx.Interpreter(gm).run(*args)
    print("ready", torch.__version__, flush=True)
    for line in sys.stdin:
        name, rounds = line.split()
        f = contenders[name]
        start = time.process_time_ns()
        for _ in range(int(rounds)):
            f()
        print(time.process_time_ns() - start, flush=True)


if __name__ == "__main__":
    main()
