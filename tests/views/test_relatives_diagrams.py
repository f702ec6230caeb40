import pytest
from torch import nn

from tests.views.drawn import SAID, nothing_overlaps, said
from tlcourse.adaptation import LoRALinear
from tlcourse.views import lora_relatives


def test_four_layers_with_what_each_learns():
    picture = lora_relatives(256, 8, **SAID)
    nothing_overlaps(picture)
    written = said(picture)
    assert [name for name in written if name in ("LoRA", "QLoRA", "DoRA", "IA³")] == [
        "LoRA", "QLoRA", "DoRA", "IA³",
    ]  # fmt: skip
    assert written.count("W\n32 bits") == 3 and written.count("W\n4 bits") == 1
    assert [each for each in written if "learned" in each] == [
        "4,096 learned", "4,096 learned", "4,352 learned", "256 learned",
    ]  # fmt: skip


def test_the_count_is_that_of_the_layer():
    layer = LoRALinear(nn.Linear(20, 20), 3, 6.0)
    count = layer.a.numel() + layer.b.numel()
    assert f"{count} learned" in said(lora_relatives(20, 3, **SAID))


def test_its_own_words_and_what_is_refused():
    assert "in 4 bits" in lora_relatives(64, 2, title="The finding.").alt
    with pytest.raises(ValueError, match="a width and a rank of 1 or more"):
        lora_relatives(64, 0, **SAID)
