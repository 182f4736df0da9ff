"""The networks of the benchmark: modules with random weights of a fixed seed, and
their inputs of a batch.
"""
import torch

SEQUENCE = 128


def vision(name):
    import torchvision

    model = getattr(torchvision.models, name)(weights=None)
    for m in model.modules():  # a fresh batch norm is the identity
        if isinstance(m, torch.nn.BatchNorm2d):
            torch.nn.init.normal_(m.running_mean, std=0.1)
            torch.nn.init.uniform_(m.running_var, 0.5, 1.5)
    for p in model.parameters():  # and the head of a fresh vit gives zeros
        if p.dim() > 1 and not p.any():
            torch.nn.init.normal_(p, std=0.02)
    return model


class LastHidden(torch.nn.Module):
    def __init__(self, model, **always):
        super().__init__()
        self.model, self.always = model, always

    def forward(self, ids, mask):
        return self.model(input_ids=ids, attention_mask=mask, **self.always).last_hidden_state


class Outputs(torch.nn.Module):
    """An LSTM without the states that it ends in."""

    def __init__(self, lstm):
        super().__init__()
        self.lstm = lstm

    def forward(self, x):
        return self.lstm(x)[0]


def bert():
    import transformers

    return LastHidden(transformers.BertModel(transformers.BertConfig()))  # 12 layers, 768 wide


def llama():
    import transformers

    config = transformers.LlamaConfig(
        num_hidden_layers=2, hidden_size=1024, intermediate_size=2816, num_attention_heads=16, num_key_value_heads=4, vocab_size=8192
    )
    return LastHidden(transformers.LlamaModel(config), use_cache=False)


def lstm():
    return Outputs(torch.nn.LSTM(256, 512, num_layers=2, batch_first=True))


def image(batch):
    return {"x": torch.randn(batch, 3, 224, 224)}


def words(vocabulary):
    def make(batch):
        mask = torch.ones(batch, SEQUENCE, dtype=torch.long)
        mask[:, 100:] = 0
        return {"ids": torch.randint(0, vocabulary, (batch, SEQUENCE)), "mask": mask}

    return make


# name: the module, and its inputs of a batch
NETWORKS = {
    "resnet18": (lambda: vision("resnet18"), image),
    "resnet50": (lambda: vision("resnet50"), image),
    "mobilenet_v2": (lambda: vision("mobilenet_v2"), image),
    "vit_b_16": (lambda: vision("vit_b_16"), image),
    "bert-base": (bert, words(30522)),
    "llama-2-layers": (llama, words(8192)),
    "lstm": (lstm, lambda batch: {"x": torch.randn(batch, SEQUENCE, 256)}),
}


def build(name):
    """The network, ready to run without gradients."""
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    return NETWORKS[name][0]().eval()


def inputs(name, batch):
    torch.manual_seed(1)
    return NETWORKS[name][1](batch)
