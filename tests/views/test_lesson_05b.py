import pytest
from torch import nn

from tests.views.drawn import SAID, nothing_overlaps, refused, said, words_in
from tlcourse.adaptation import LoRALinear
from tlcourse.views import lora_relatives, memory_bars

HELD = {
    "full": {"weights": 26.0, "gradients": 26.0, "AdamW": 52.0},
    "LoRA": {"weights": 26.0, "gradients": 0.2, "AdamW": 0.4},
}


def test_kinds_stand_side_by_side_and_the_sum_at_the_end():
    picture = memory_bars(HELD, title="The finding.")
    axes = picture.axes[0]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([26, 26, 52, 26, 0.2, 0.4])
    assert [bar.get_x() for bar in axes.patches] == pytest.approx([0, 26, 52, 0, 26, 26.2])
    written = words_in(axes)
    assert written == ["26", "26", "52", "104", "26", "27"], "a narrow part has no number"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(HELD["full"])
    assert picture.alt == (
        "MiB of one training step. full: weights 26, gradients 26, AdamW 52; "
        "LoRA: weights 26, gradients 0, AdamW 0"
    )


@pytest.mark.parametrize("held", [{}, {"a": {}}, {"a": {"x": 1.0}, "b": {"y": 1.0}}])
def test_rows_without_the_same_kinds_are_refused(held):
    with pytest.raises(ValueError, match="the same kinds of memory in every row"):
        memory_bars(held, title="The finding.")


def test_four_layers_with_what_each_learns():
    picture = lora_relatives(256, 8, **SAID)
    nothing_overlaps(picture)
    written = said(picture)
    names = ["LoRA", "QLoRA", "DoRA", "IA³"]
    assert [name for name in written if name in names] == names
    assert written.count("W\n32 bits") == 3 and written.count("W\n4 bits") == 1
    learned = [each.split()[0] for each in written if "learned" in each]
    assert learned == ["4,096", "4,096", "4,352", "256"]


def test_the_count_is_that_of_the_layer():
    layer = LoRALinear(nn.Linear(20, 20), 3, 6.0)
    count = layer.a.numel() + layer.b.numel()
    assert f"{count} learned" in said(lora_relatives(20, 3, **SAID))


def test_its_own_words_and_what_is_refused():
    assert "in 4 bits" in lora_relatives(64, 2, title="The finding.").alt
    refused("a width and a rank of 1 or more", lora_relatives, 64, 0)
