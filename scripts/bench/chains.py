"""The Python side of the chain benchmark. Reads "name rounds" lines, runs the
contender so often and answers with the nanoseconds of CPU time that it took.

Every contender computes the same chain: eager calls, torch.fx's GraphModule and
Interpreter, and for pointwise chains torch.compile with freezing, without
gradients and on one thread.
"""
import itertools
import sys
import time

import torch
import torch._inductor.config
import torch.fx

torch._inductor.config.freezing = True
torch.set_num_threads(1)
torch.set_grad_enabled(False)
OPS = [torch.add, torch.mul, torch.sub, torch.maximum]


def pointwise(x, y):
    for i in range(64):
        x = OPS[i % 4](x, y)
    return x


def chain(*ops):
    def run(x, y):
        for op in itertools.islice(itertools.cycle(ops), 8):
            x = op(x, y)
        return x

    return run


def unary(f):
    return lambda x, y: f(x)


LARGE = {
    "arithmetic": chain(torch.add, torch.mul, unary(torch.relu)),
    "sigmoid": chain(unary(torch.sigmoid)),
    "tanh": chain(unary(torch.tanh)),
    "exp": chain(unary(torch.exp), unary(torch.neg)),
    "transcendental": chain(unary(torch.sigmoid), unary(torch.tanh), unary(torch.exp)),
}


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
    for name, f in LARGE.items():
        inputs[name] = (f, (torch.rand(1 << 20) - 0.5, torch.rand(1 << 20) - 0.5))
    contenders = {}
    for name, (f, args) in inputs.items():
        gm = torch.fx.symbolic_trace(f)
        if name != "linears":
            contenders[name + "/compile"] = lambda f=torch.compile(f), args=args: f(*args)
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
