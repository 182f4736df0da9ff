"""The Python side of the model benchmark.

    models.py DIR NAME...     exports the networks to DIR/NAME.pt2, prints "ready VERSION" and serves

Reads "name/contender times" lines, runs the network so often and answers with the
nanoseconds of CPU time that it took; "name/contender prepare" answers "ok", or "no"
with the reason where the contender does not work here. Networks have random weights of
a fixed seed; one thread, no gradients, batch 1.
"""
import os
import sys
import time

import torch

torch.set_num_threads(1)
torch.set_grad_enabled(False)


def vision(name):
    import torchvision

    model = getattr(torchvision.models, name)(weights=None)
    for m in model.modules():  # a fresh batch norm is the identity
        if isinstance(m, torch.nn.BatchNorm2d):
            torch.nn.init.normal_(m.running_mean, std=0.1)
            torch.nn.init.uniform_(m.running_var, 0.5, 1.5)
    return model, (torch.randn(1, 3, 224, 224),)


class LastHidden(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        return self.model(input_ids=ids, attention_mask=mask).last_hidden_state


def bert():
    import transformers

    config = transformers.BertConfig()  # bert-base: 12 layers, 768 wide
    mask = torch.ones(1, 128, dtype=torch.long)
    mask[0, 100:] = 0
    return LastHidden(transformers.BertModel(config)), (torch.randint(0, config.vocab_size, (1, 128)), mask)


NETWORKS = {
    "resnet18": lambda: vision("resnet18"),
    "resnet50": lambda: vision("resnet50"),
    "mobilenet_v2": lambda: vision("mobilenet_v2"),
    "bert-base": bert,
}


def compiled(model):
    torch._dynamo.reset()
    torch._inductor.config.freezing = True
    return torch.compile(model)


def main():
    folder, names = sys.argv[1], sys.argv[2:]
    models, contenders = {}, {}
    for name in names:
        torch.manual_seed(0)
        model, inputs = NETWORKS[name]()
        model.eval()
        path = os.path.join(folder, name + ".pt2")
        if not os.path.exists(path):
            torch.export.save(torch.export.export(model, inputs), path)
        models[name] = (model, inputs)
        contenders[name + "/eager"] = model
    print("ready", torch.__version__, flush=True)
    for line in sys.stdin:
        key, times = line.split()
        name, kind = key.split("/")
        model, inputs = models[name]
        if times == "prepare":
            try:
                if kind == "compile":
                    contenders[key] = compiled(model)
                for _ in range(3):
                    contenders[key](*inputs)
                print("ok", flush=True)
            except Exception as e:  # whatever keeps a compiler from working is told, not guessed
                print("no", " ".join(str(e).split())[:200], flush=True)
            continue
        run = contenders[key]
        start = time.process_time_ns()
        for _ in range(int(times)):
            run(*inputs)
        print(time.process_time_ns() - start, flush=True)


if __name__ == "__main__":
    main()
