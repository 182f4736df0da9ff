"""Export the networks whose attention is written out, as transformers, timm and torchvision make them, with what PyTorch
computes of them, for TestAttentionModels.

    python attention_models.py FOLDER [NAME...]

All are small, with random weights. Masks have a batch that is padded on the left, whose first queries see nothing.
"""
import json
import os
import sys
import warnings

import torch
from safetensors.torch import save_file
from torch import nn
from torch.export import export

os.environ["HF_HUB_OFFLINE"] = "1"
warnings.filterwarnings("ignore")
try:
    import timm
    import torchvision
    import transformers
except ImportError as missing:
    print(missing)
    sys.exit(77)

transformers.logging.set_verbosity_error()
SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 200}
DECODER = SMALL | {"num_key_value_heads": 2, "max_position_embeddings": 64, "use_cache": False}
IMAGE = {"image_size": 32, "patch_size": 8, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}


class Field(nn.Module):
    def __init__(self, model, field, *names):
        super().__init__()
        self.model, self.field, self.names = model, field, names

    def forward(self, *args):
        return getattr(self.model(**dict(zip(self.names, args))), self.field)


def words(rows=2, length=9):
    mask = torch.ones(rows, length, dtype=torch.long)
    mask[-1, :3] = 0
    return torch.randint(2, 200, (rows, length)), mask


def hf(name, field="last_hidden_state", names=("input_ids", "attention_mask"), inputs=words, of=None, **options):
    def make(how):
        config = getattr(transformers, (of or name.partition("For")[0].removesuffix("Model").removesuffix("LMHead")) + "Config")(**options)
        config._attn_implementation = how
        return Field(getattr(transformers, name)(config), field, *names), inputs()
    return make


def pixels(size, rows=2):
    return lambda: (torch.randn(rows, 3, size, size),)


def image(name, **options):
    return hf(name, names=("pixel_values",), inputs=pixels(32), **(IMAGE | options))


def encoder_and_decoder(name, **options):
    def inputs():
        ids, mask = words()
        return ids, mask, torch.randint(2, 200, (2, 6))
    return hf(name, names=("input_ids", "attention_mask", "decoder_input_ids"), inputs=inputs, **options)


def of_timm(name, size, **options):
    def make(how):
        timm.layers.set_fused_attn(how != "eager")
        return timm.create_model(name, pretrained=False, num_classes=10, **options), pixels(size)()
    return make


def of_torchvision(name, size, **options):
    def make(how):
        if how != "eager":
            return None
        return getattr(torchvision.models, name)(weights=None, num_classes=10, **options), pixels(size)()
    return make


# name: a function that makes the network and its inputs, and how many softmaxes stay, with the reason
MODELS = {
    "bert": (hf("BertModel", **SMALL), 0, ""),
    "roberta": (hf("RobertaModel", max_position_embeddings=80, **SMALL), 0, ""),
    "distilbert": (hf("DistilBertModel", of="DistilBert", dim=64, n_layers=2, n_heads=4, hidden_dim=128, vocab_size=200), 0, ""),
    "albert": (hf("AlbertModel", embedding_size=32, **SMALL), 0, ""),
    "mpnet": (hf("MPNetModel", of="MPNet", **SMALL), 0, ""),
    "deberta_v2": (hf("DebertaV2Model", of="DebertaV2", relative_attention=True, pos_att_type=["c2p", "p2c"], **SMALL), 0, ""),
    "gpt2": (hf("GPT2LMHeadModel", "logits", of="GPT2", n_embd=64, n_layer=2, n_head=4, n_positions=64, vocab_size=200, use_cache=False), 0, ""),
    "openai_gpt": (hf("OpenAIGPTModel", of="OpenAIGPT", n_embd=64, n_layer=2, n_head=4, n_positions=64, vocab_size=200), 2, "scores are multiplied by the mask"),
    "gpt_neo": (hf("GPTNeoModel", of="GPTNeo", hidden_size=64, num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], max_position_embeddings=64, vocab_size=200, use_cache=False), 0, ""),
    "gpt_neox": (hf("GPTNeoXModel", of="GPTNeoX", max_position_embeddings=64, use_cache=False, **SMALL), 0, ""),
    "gptj": (hf("GPTJModel", of="GPTJ", n_embd=64, n_layer=2, n_head=4, rotary_dim=8, n_positions=64, vocab_size=200, use_cache=False), 0, ""),
    "opt": (hf("OPTModel", of="OPT", hidden_size=64, num_hidden_layers=2, num_attention_heads=4, ffn_dim=128, max_position_embeddings=64, vocab_size=200, use_cache=False, word_embed_proj_dim=64), 0, ""),
    "bloom": (hf("BloomModel", of="Bloom", hidden_size=64, n_layer=2, n_head=4, vocab_size=200, use_cache=False), 0, ""),
    "falcon": (hf("FalconModel", of="Falcon", hidden_size=64, num_hidden_layers=2, num_attention_heads=4, vocab_size=200, use_cache=False), 0, ""),
    "llama": (hf("LlamaModel", of="Llama", **DECODER), 0, ""),
    "mistral": (hf("MistralModel", of="Mistral", **DECODER), 0, ""),
    "qwen2": (hf("Qwen2Model", of="Qwen2", **DECODER), 0, ""),
    "gemma2": (hf("Gemma2Model", of="Gemma2", head_dim=16, **DECODER), 2, "tanh caps the scores"),
    "phi": (hf("PhiModel", of="Phi", **DECODER), 0, ""),
    "t5": (encoder_and_decoder("T5Model", of="T5", d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, vocab_size=200, use_cache=False), 0, ""),
    "bart": (encoder_and_decoder("BartModel", of="Bart", d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, max_position_embeddings=64, vocab_size=200, use_cache=False), 0, ""),
    "whisper": (hf("WhisperModel", of="Whisper", names=("input_features", "decoder_input_ids"), inputs=lambda: (torch.randn(1, 80, 64), torch.randint(2, 200, (1, 5))), d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                   decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, max_source_positions=32, max_target_positions=32, vocab_size=200, pad_token_id=0, bos_token_id=1, eos_token_id=1, decoder_start_token_id=1, use_cache=False), 0, ""),
    "vit": (image("ViTModel", of="ViT"), 0, ""),
    "clip_vision": (image("CLIPVisionModel", of="CLIPVision"), 0, ""),
    "clip_text": (hf("CLIPTextModel", of="CLIPText", max_position_embeddings=32, eos_token_id=1, bos_token_id=1, pad_token_id=0, **SMALL), 0, ""),
    "dinov2": (image("Dinov2Model", of="Dinov2", mlp_ratio=2), 0, ""),
    "swin": (hf("SwinModel", of="Swin", names=("pixel_values",), inputs=pixels(32), image_size=32, patch_size=2, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4), 0, ""),
    "timm_vit": (of_timm("vit_tiny_patch16_224", 32, img_size=32, depth=2), 0, ""),
    "timm_swin": (of_timm("swin_tiny_patch4_window7_224", 64, img_size=64, window_size=4, depths=(2, 2), num_heads=(2, 4), embed_dim=32), 0, ""),
    "timm_swinv2": (of_timm("swinv2_tiny_window8_256", 64, img_size=64, window_size=4, depths=(2, 2), num_heads=(2, 4), embed_dim=32), 0, ""),
    "timm_beit": (of_timm("beit_base_patch16_224", 32, img_size=32, depth=2, embed_dim=64, num_heads=4), 0, ""),
    "timm_cait": (of_timm("cait_xxs24_224", 32, img_size=32, depth=2), 2, "talking heads mix scores"),
    "timm_xcit": (of_timm("xcit_nano_12_p16_224", 32, img_size=32, depth=2), 0, ""),
    "timm_coat": (of_timm("coat_tiny", 64, img_size=64), 26, "softmax over places of keys, before any product with queries"),
    "timm_levit": (of_timm("levit_128s", 64, img_size=64), 0, ""),
    "timm_mvitv2": (of_timm("mvitv2_tiny", 64, img_size=64), 10, "relative positions are added to a part of the scores, through views of them"),
    "tv_vit": (of_torchvision("vit_b_16", 32, image_size=32), 0, ""),
    "tv_swin": (of_torchvision("swin_t", 64), 0, ""),
    "tv_swin_v2": (of_torchvision("swin_v2_t", 64), 0, ""),
}


def main(folder, *names):
    listed = []
    for name, (make, stays, why) in MODELS.items():
        if names and name not in names:
            continue
        for how in ("eager", "sdpa"):
            torch.manual_seed(0)
            try:
                made = make(how)
            except (ValueError, AttributeError) as fault:  # no such implementation
                print(name, how, str(fault)[:200], flush=True)
                continue
            if made is None:
                continue
            module, args = made[0].eval(), made[1]
            for norm in module.modules():
                if isinstance(norm, nn.BatchNorm2d):
                    norm.running_mean.normal_(std=0.1)
                    norm.running_var.uniform_(0.5, 1.5)
            try:
                with torch.no_grad():
                    result = module(*args)
                    program = export(module, args)
            except Exception as fault:  # of this release of the library
                print(name, how, str(fault)[:200], flush=True)
                continue
            for form in ("exported", "core"):
                path = f"{folder}/{name}_{how}.{form}"
                try:
                    torch.export.save(program.run_decompositions() if form == "core" else program, path + ".pt2")
                except Exception as fault:
                    print(name, how, form, str(fault)[:200], flush=True)
                    continue
                save_file({f"0.i{i}": t.contiguous().clone() for i, t in enumerate(args)} | {"0.o0": result.contiguous().clone()}, path + ".safetensors")
                listed.append({"spelling": f"{name}_{how}", "form": form, "sets": 1, "inputs": len(args), "results": 1, "softmaxes": stays, "stays": why})
            with open(f"{folder}/list.json", "w") as f:
                json.dump(listed, f)


if __name__ == "__main__":
    main(*sys.argv[1:])
