import pytest

from tlcourse.views import merge_boxes, token_boxes
from tlcourse.views.tokens import visible


def test_each_token_is_a_box_in_reading_order():
    tokens = ["low", "est", " ", "low"] * 20
    axes = token_boxes(tokens, title="t", alt="a", fresh=["est"]).axes[0]
    assert [text.get_text() for text in axes.texts] == [visible(token) for token in tokens]
    assert len(axes.patches) == 80
    assert axes.patches[0].get_facecolor() == axes.patches[3].get_facecolor()
    strong = [i for i, box in enumerate(axes.patches) if box.get_linewidth() > 2]
    assert strong == list(range(1, 80, 4))
    places = [(text.get_position()[1], text.get_position()[0]) for text in axes.texts]
    assert places == sorted(places) and len({y for y, _ in places}) > 1


def test_text_stays_in_its_box_and_boxes_in_the_figure():
    picture = token_boxes(["a", "word", "somewhat longer"] * 12, title="t", alt="a")
    picture.draw_without_rendering()
    axes = picture.axes[0]
    for box, text in zip(axes.patches, axes.texts, strict=True):
        outer, inner = box.get_window_extent(), text.get_window_extent()
        assert outer.x0 <= inner.x0 and inner.x1 <= outer.x1
        assert picture.bbox.x0 <= outer.x0 and outer.x1 <= picture.bbox.x1


def test_merges_count_and_do_not_jump():
    def steps(k):
        return ["low"] * 50 if k == 2 else ["lo", "w"] * 50 if k else ["l", "o", "w"] * 50

    before, after = merge_boxes(steps, 0), merge_boxes(steps, 2, merge="low")
    assert before.get_suptitle() == "After 0 merges the text is 150 tokens"
    assert after.get_suptitle() == "After 2 merges the text is 50 tokens; the last made “low”"
    assert "After 1 merge the" in merge_boxes(steps, 1, merge="lo").alt
    assert "low | low" in after.alt
    assert before.get_figheight() == after.get_figheight()


def test_no_tokens_is_an_error():
    with pytest.raises(ValueError, match="at least one token"):
        token_boxes([], title="t", alt="a")
