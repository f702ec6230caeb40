from itertools import combinations

import pytest
from matplotlib.colors import to_hex

from tlcourse.views import arcs
from tlcourse.views.style import COLOURS, GREY
from tlcourse.views.trees import _levels

SAID = {"title": "The finding.", "alt": "What is seen."}
WORDS = ["The", "dogs", "near", "cars", "bark", "."]
HEADS = [2, 5, 4, 2, 0, None]
PREDICTED = {(0, 1), (2, 3), (3, 4), (1, 2)}


def blue(patches):
    return [
        to_hex(patch.get_edgecolor(), keep_alpha=False).upper() == COLOURS["blue"]
        for patch in patches
    ]


def test_gold_is_above_and_predicted_below_and_what_is_in_both_is_blue():
    picture = arcs(WORDS, HEADS, PREDICTED, **SAID, note="Layer 4.")
    (axes,) = picture.axes
    words = {text.get_text(): text for text in axes.texts}
    assert list(words) == ["gold", "predicted", *WORDS]
    middle = words["dogs"].get_position()[1]
    above = [p for p in axes.patches if p.get_path().get_extents().y0 > middle]
    below = [p for p in axes.patches if p.get_path().get_extents().y1 < middle]
    assert (len(above), len(below)) == (4, 4) == (len(HEADS) - 2, len(PREDICTED))
    assert blue(above) == [True, False, True, False], "The-dogs, dogs-bark, near-cars, cars-dogs"
    assert sum(blue(below)) == 2
    assert all(
        (p.get_linestyle() == "-") == is_blue for p, is_blue in zip(below, blue(below), strict=True)
    )
    assert all(p.get_linestyle() == "-" for p in above)
    assert [w for w in WORDS if words[w].get_fontweight() == "bold"] == ["bark"]
    assert (
        picture.get_supxlabel() == "Bold: the root. Blue: in both trees, 2 of 4 gold arcs. Layer 4."
    )


def test_arrows_point_at_dependents():
    axes = arcs(WORDS, HEADS, PREDICTED, **SAID).axes[0]
    words = {text.get_text(): text.get_position()[0] for text in axes.texts}
    near = [min(WORDS, key=lambda w: abs(words[w] - line.get_xdata()[0])) for line in axes.lines]
    assert near == ["The", "dogs", "near", "cars"]


def test_words_do_not_overlap_nor_leave_the_figure():
    picture = arcs(WORDS * 2, [*HEADS, *[None] * 6], PREDICTED, **SAID)
    picture.draw_without_rendering()
    boxes = [text.get_window_extent() for text in picture.axes[0].texts]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    assert all(picture.bbox.x0 <= box.x0 and box.x1 <= picture.bbox.x1 for box in boxes)


def test_an_arc_lies_above_those_that_it_spans():
    levels = _levels([(1, 2), (0, 3), (3, 4), (2, 4), (0, 5)])
    assert levels == {(1, 2): 0, (3, 4): 0, (2, 4): 1, (0, 3): 2, (0, 5): 3}


def test_a_long_sentence_goes_on_in_the_next_line_with_its_arcs_named():
    words = [f"word{i:02d}" for i in range(30)]
    heads = [0, 1, *[None] * 27, 1]
    picture = arcs(words, heads, {(0, 29)}, **SAID)
    axes = picture.axes[0]
    texts = {text.get_text(): text.get_position() for text in axes.texts}
    rows = sorted({texts[word][1] for word in words}, reverse=True)
    assert len(rows) > 1 and texts["word00"][1] == rows[0] and texts["word29"][1] == rows[-1]
    named = [text for text in axes.texts if "→" in text.get_text() or "←" in text.get_text()]
    assert sorted(text.get_text() for text in named) == ["word29 →"] * 2 + ["← word00"] * 2
    assert len(axes.patches) == 1 + 4, "one whole arc, and two ends of two"
    picture.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    assert GREY in {to_hex(t.get_color()).upper() for t in axes.texts}


@pytest.mark.parametrize(
    ("words", "heads", "predicted", "message"),
    [
        (["a"], [0, 1], [], "a head from 0 to 1 or None for each of 1 words"),
        (["a", "b"], [0, 3], [], r"got \[0, 3\]"),
        ([], [], [], "a head from 0 to 0"),
        (["a", "b"], [0, 1], [(0, 2)], "edges between different words from 0 to 1"),
        (["a", "b"], [0, 1], [(1, 1)], "edges between different words"),
        (["word"] * 126, [None] * 126, [], "at most 5 lines, got 126 words in"),
    ],
)
def test_what_is_no_tree_of_these_words_is_refused(words, heads, predicted, message):
    with pytest.raises(ValueError, match=message):
        arcs(words, heads, predicted, **SAID)
