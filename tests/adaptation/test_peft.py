"""LoRA against `peft` on the same weights."""

import pytest
import torch

from tlcourse.adaptation import AddedOnly, Classifier, LoRA, LoRALinear, Scheme, merge_lora
from tlcourse.bpe import Tokenizer
from tlcourse.transformer import Config, Transformer

TOKENIZER = Tokenizer.train(["Who ran ?"], 280)
EVERY = ["query", "key", "value", "output", "up", "down"]


@pytest.mark.parametrize(
    ("layers", "theirs_called"),
    [(("query", "value"), ["query", "value"]), ("attention", EVERY[:4]), ("all", EVERY)],
)
def test_the_same_updates_give_the_logits_of_peft(layers, theirs_called):
    from peft import LoraConfig, inject_adapter_in_model  # takes seconds, of every collection

    torch.manual_seed(0)
    body = Transformer(Config(300, 32, 3, 4, 64, 48))
    for parameter in body.parameters():
        parameter.data.add_(0.1 * torch.randn_like(parameter))
    start = Classifier(body, TOKENIZER, ["a", "b"], dropout=0.0)
    ours, scheme = start.copy(), Scheme(edit=LoRA(4, 12.0, layers), groups=AddedOnly())
    added, ours.scheme = ours.add(scheme.edit), scheme
    settings = LoraConfig(r=4, lora_alpha=12.0, target_modules=theirs_called)
    theirs = inject_adapter_in_model(settings, start.copy().body)
    updated = {
        name: module for name, module in ours.body.named_modules() if isinstance(module, LoRALinear)
    }
    assert len(updated) == 3 * len(theirs_called) and len(added) == 2 * len(updated)
    for name, layer in updated.items():
        other = theirs.get_submodule(name)
        assert other.scaling["default"] == layer.scale
        layer.b.data.normal_()
        other.lora_A["default"].weight.data.copy_(layer.a)
        other.lora_B["default"].weight.data.copy_(layer.b)
    tokens = torch.randint(300, (3, 20))
    with torch.no_grad():
        expected = theirs(tokens)
        assert (expected - body(tokens)).abs().max() > 0.1
        torch.testing.assert_close(ours.body(tokens), expected, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(merge_lora(ours).body(tokens), expected, atol=1e-3, rtol=1e-3)
