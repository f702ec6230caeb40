"""LoRA against `peft` on the same weights."""

import copy

import torch
from peft import LoraConfig, inject_adapter_in_model

from tlcourse.adaptation.edits import LoRA, lora, merge_lora
from tlcourse.transformer import Config, Transformer


class Bodied(torch.nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body


def test_the_same_updates_give_the_logits_of_peft():
    torch.manual_seed(0)
    body = Transformer(Config(300, 32, 3, 4, 64, 48))
    for parameter in body.parameters():
        parameter.data.add_(0.1 * torch.randn_like(parameter))
    ours = Bodied(copy.deepcopy(body))
    lora(rank=4, alpha=12.0, layers=("query", "value"))(ours)
    settings = LoraConfig(r=4, lora_alpha=12.0, target_modules=["query", "value"])
    theirs = inject_adapter_in_model(settings, copy.deepcopy(body))
    layers = {
        name: module for name, module in ours.body.named_modules() if isinstance(module, LoRA)
    }
    assert len(layers) == 6
    for name, layer in layers.items():
        other = theirs.get_submodule(name)
        assert other.scaling["default"] == layer.scale
        layer.b.data.normal_()
        other.lora_A["default"].weight.data.copy_(layer.a)
        other.lora_B["default"].weight.data.copy_(layer.b)
    tokens = torch.randint(300, (3, 20))
    with torch.no_grad():
        expected = theirs(tokens)
        assert (expected - body(tokens)).abs().max() > 0.1
        torch.testing.assert_close(ours.body(tokens), expected, atol=1e-5, rtol=1e-5)
        merge_lora(ours)
        torch.testing.assert_close(ours.body(tokens), expected, atol=1e-4, rtol=1e-4)
