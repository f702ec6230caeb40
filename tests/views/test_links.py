import numpy as np
from matplotlib.colors import to_hex

from tests.views.drawn import SAID, apart, refused, words_in
from tlcourse.views import arcs, token_lines
from tlcourse.views.links import _levels
from tlcourse.views.style import COLOURS, GREY

WEIGHTS = np.array([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.04, 0.46, 0.5]])
TOKENS = [" the", " cat", "."]


def lines(picture):
    """(query, key) → opacity of each line."""
    (links,) = picture.axes[0].collections
    rows = [tuple(segment[:, 1].astype(int)) for segment in links.get_segments()]
    return dict(zip(rows, links.get_color()[:, 3], strict=True))


def test_a_line_for_each_weight_as_opaque_as_it_is_large():
    picture = token_lines(WEIGHTS, TOKENS, **SAID)
    assert lines(picture) == {(0, 0): 1.0, (1, 0): 0.25, (1, 1): 0.75, (2, 1): 0.46, (2, 2): 0.5}
    assert "Weights below 0.05 are not drawn." in picture.get_supxlabel()
    every = token_lines(WEIGHTS, TOKENS, **SAID, threshold=0)
    assert len(lines(every)) == 9 and not every.get_supxlabel()
    written = words_in(picture.axes[0])
    assert written.count("the") == written.count("cat") == written.count(".") == 2


def test_a_chosen_query_has_its_lines_and_weights_alone():
    picture = token_lines(WEIGHTS, TOKENS, **SAID, chosen=1)
    assert set(lines(picture)) == {(1, 0), (1, 1)}
    bold = {t.get_text() for t in picture.axes[0].texts if t.get_fontweight() == "bold"}
    assert bold == {"cat", "the  0.25", "cat  0.75"}


def test_keys_may_be_other_tokens():
    picture = token_lines(np.array([[0.0, 1.0]]), ["q"], **SAID, keys=["a", "b"])
    assert set(lines(picture)) == {(0, 1)}
    assert {"q", "a", "b"} <= set(words_in(picture.axes[0]))


def test_of_128_tokens_those_are_named_that_do_not_overlap():
    weights = np.tril(np.random.default_rng(0).random((128, 128)))
    weights /= weights.sum(-1, keepdims=True)
    picture = token_lines(weights, ["word"] * 128, **SAID, chosen=101, threshold=0.01)
    picture.draw_without_rendering()
    texts = picture.axes[0].texts
    assert apart(texts) and len(texts) > 40
    assert f"word  {weights[101].max():.2f}" in words_in(picture.axes[0])
    assert picture.get_figheight() < 7.5


WORDS = ["The", "dogs", "near", "cars", "bark", "."]
HEADS = [2, 5, 4, 2, 0, None]
PREDICTED = {(0, 1), (2, 3), (3, 4), (1, 2)}


def blue(patches):
    return [to_hex(patch.get_edgecolor()).upper() == COLOURS["blue"] for patch in patches]


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
    full = [path.get_linestyle() == "-" for path in below]
    assert full == blue(below)
    assert all(p.get_linestyle() == "-" for p in above)
    assert [w for w in WORDS if words[w].get_fontweight() == "bold"] == ["bark"]
    said = "Bold: the root. Blue: in both trees, 2 of 4 gold arcs. Layer 4."
    assert picture.get_supxlabel() == said


def test_arrows_point_at_dependents():
    axes = arcs(WORDS, HEADS, PREDICTED, **SAID).axes[0]
    words = {text.get_text(): text.get_position()[0] for text in axes.texts}
    near = [min(WORDS, key=lambda w: abs(words[w] - line.get_xdata()[0])) for line in axes.lines]
    assert near == ["The", "dogs", "near", "cars"]


def test_words_do_not_overlap_nor_leave_the_figure():
    picture = arcs(WORDS * 2, [*HEADS, *[None] * 6], PREDICTED, **SAID)
    picture.draw_without_rendering()
    boxes = [text.get_window_extent() for text in picture.axes[0].texts]
    assert apart(picture.axes[0].texts)
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
    assert apart(axes.texts)
    assert GREY in {to_hex(t.get_color()).upper() for t in axes.texts}


def test_what_cannot_be_drawn_is_refused():
    message = r"weights of shape \(3, 1\), got shape \(3, 3\)"
    refused(message, token_lines, WEIGHTS, TOKENS, keys=["a"])
    for chosen in (3, -1):
        refused("a chosen query from 0 to 2", token_lines, WEIGHTS, TOKENS, chosen=chosen)
    for words, heads, predicted, message in (
        (["a"], [0, 1], [], "a head from 0 to 1 or None for each of 1 words"),
        (["a", "b"], [0, 3], [], r"got \[0, 3\]"),
        ([], [], [], "a head from 0 to 0"),
        (["a", "b"], [0, 1], [(0, 2)], "edges between different words from 0 to 1"),
        (["a", "b"], [0, 1], [(1, 1)], "edges between different words"),
        (["word"] * 126, [None] * 126, [], "at most 5 lines, got 126 words in"),
    ):
        refused(message, arcs, words, heads, predicted)
