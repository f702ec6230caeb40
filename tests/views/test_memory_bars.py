import pytest

from tlcourse.views import memory_bars

HELD = {
    "full": {"weights": 26.0, "gradients": 26.0, "AdamW": 52.0},
    "LoRA": {"weights": 26.0, "gradients": 0.2, "AdamW": 0.4},
}


def test_kinds_stand_side_by_side_and_the_sum_at_the_end():
    picture = memory_bars(HELD, title="The finding.")
    axes = picture.axes[0]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([26, 26, 52, 26, 0.2, 0.4])
    assert [bar.get_x() for bar in axes.patches] == pytest.approx([0, 26, 52, 0, 26, 26.2])
    written = [text.get_text() for text in axes.texts]
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
