from itertools import combinations

import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Annotation

from tests.views.drawn import SAID, said, texts
from tlcourse.views import control_task, probe_on_frozen_body
from tlcourse.views.drawing import SIZE, arrow, box, canvas, label
from tlcourse.views.style import COLOURS

WORDS = [["The"], ["dog", "gy"], ["bark", "ed"], ["."]]
SIZES = {"width": 256, "layers": 6, "classes": 17}


def hues(picture):
    edges = {to_hex(patch.get_edgecolor()).upper() for patch in picture.axes[0].patches}
    return edges & set(COLOURS.values()) - {COLOURS["black"]}


def arrows(picture):
    return [each for each in picture.axes[0].texts if isinstance(each, Annotation)]


def test_a_box_holds_its_text_and_gives_its_sides():
    picture, axes = canvas("title", 2.0)
    drawn = box(axes, (3.0, 1.0), "a block of some\nwords", bold=True)
    assert drawn.left == (3.0 - drawn.width / 2, 1.0) and drawn.top == (3.0, 1.0 + drawn.height / 2)
    assert drawn.right[0] - drawn.left[0] == pytest.approx(drawn.width)
    assert drawn.bottom[1] == pytest.approx(1.0 - drawn.height / 2)
    arrow(axes, drawn.right, (6.0, 1.0), dashed=True)
    assert label(axes, (6.0, 1.0), "x").get_fontsize() == SIZE == 9
    picture.draw_without_rendering()
    outer, inner = axes.patches[0].get_window_extent(), axes.texts[0].get_window_extent()
    assert outer.x0 <= inner.x0 and inner.x1 <= outer.x1
    assert outer.y0 <= inner.y0 and inner.y1 <= outer.y1
    assert axes.texts[1].arrow_patch.get_linewidth() == 1


def test_the_drawing_of_a_probe_takes_its_numbers_from_the_model():
    picture = probe_on_frozen_body(WORDS, (1, 4), "NOUN", **SIZES, **SAID)
    words = said(picture)
    assert [
        word
        for word in ("The", "doggy", "barked", ".", "dog", "gy", "NOUN", "mean")
        if word not in words
    ] == []
    assert "linear probe: 256 → 17\n4,369 weights, trained" in words
    assert {"embeddings", "layer 1", "layer 4", "layer 6"} <= set(words)
    assert {"block 1", "blocks 2 to 4", "blocks 5 to 6"} <= set(words)
    assert any("6 blocks of width 256" in word for word in words)
    assert hues(picture) == {COLOURS["blue"]}
    cells = [
        p for p in picture.axes[0].patches if to_hex(p.get_edgecolor()).upper() == COLOURS["blue"]
    ]
    assert len(cells) == 2 * 5 + 2, "the states of two tokens, the probe and its answer"
    assert len(arrows(picture)) == 2 * 6 + 2
    assert {text.get_fontsize() for text in texts(picture)} == {9}


@pytest.mark.parametrize("pooling", ["first", "last"])
def test_one_token_of_a_word_may_be_read(pooling):
    picture = probe_on_frozen_body(WORDS, (1, 6), "NOUN", **SIZES, **SAID, pooling=pooling)
    assert "mean" not in said(picture) and "blocks 2 to 6" in said(picture)
    blue = [
        p for p in picture.axes[0].patches if to_hex(p.get_edgecolor()).upper() == COLOURS["blue"]
    ]
    assert len(blue) == 5 + 2


@pytest.mark.parametrize("layer", [0, 1, 4, 6])
def test_no_text_covers_another_nor_leaves_the_figure(layer):
    picture = probe_on_frozen_body(WORDS, (2, layer), "VERB", **SIZES, **SAID)
    picture.draw_without_rendering()
    boxes = [text.get_window_extent() for text in texts(picture)]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    assert all(box.x0 >= 0 and box.x1 <= picture.bbox.x1 and box.y0 >= 0 for box in boxes)
    patches = [patch.get_window_extent() for patch in picture.axes[0].patches]
    assert all(patch.y1 <= picture._suptitle.get_window_extent().y0 for patch in patches)


@pytest.mark.parametrize(
    "wrong", [{"probed": (4, 1)}, {"probed": (0, 7)}, {"width": 0}, {"pooling": "sum"}]
)
def test_a_probe_of_what_is_not_there_is_refused(wrong):
    with pytest.raises(ValueError, match="expected a word of 4, a layer from 0 to"):
        probe_on_frozen_body(WORDS, **{"probed": (0, 1), **SIZES, **SAID, **wrong})


def test_a_sentence_that_is_too_wide_is_refused():
    with pytest.raises(ValueError, match="words that fit into 3.65 inches"):
        probe_on_frozen_body([["word"]] * 12, (0, 1), "X", **SIZES, **SAID)


SENTENCES = [["the", "duck", "can", "swim"], ["they", "duck"]]
LABELS = [["DET", "NOUN", "AUX", "VERB"], ["PRON", "VERB"]]
CONTROL = [["VERB", "ADP", "DET", "NOUN"], ["DET", "ADP"]]


def test_the_control_task_gives_a_type_one_label():
    picture = control_task(SENTENCES, LABELS, CONTROL, **SAID)
    assert hues(picture) == {COLOURS["blue"], COLOURS["vermillion"]}
    assert len(picture.axes[0].patches) == 18
    bold = [t.get_text() for t in texts(picture) if t.get_fontweight() == "bold"]
    assert [word for word in bold if word not in ("labels", "control")] == ["duck", "duck"]
    duck, others = [t for t in texts(picture) if t.get_text() == "duck"], texts(picture)
    for word in duck:
        below = [t for t in others if t.get_position()[0] == word.get_position()[0]]
        below = [t for t in below if 0 < word.get_position()[1] - t.get_position()[1] < 0.8]
        assert below[-1].get_text() == "ADP"
    picture.draw_without_rendering()
    boxes = [text.get_window_extent() for text in texts(picture)]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    with pytest.raises(ValueError, match="one control label for each word type, got 'ADP' and 'X'"):
        control_task(SENTENCES, LABELS, [CONTROL[0], ["DET", "X"]], **SAID)
    with pytest.raises(ValueError, match="a label and a control label for each word"):
        control_task(SENTENCES, LABELS, [CONTROL[0], ["DET"]], **SAID)
    with pytest.raises(ValueError, match="sentences that fit, got up to 20 words"):
        control_task([["word"] * 20], [["NOUN"] * 20], [["X"] * 20], **SAID)
