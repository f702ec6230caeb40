from itertools import combinations

import numpy as np
import pytest
from matplotlib.text import Text

from tlcourse.views import importance, neuron, words_in_context
from tlcourse.views.style import COLOURS

SAID = {"title": "The finding.", "alt": "What is seen."}
SENSES = ["game"] * 20 + ["theatre"] * 20
CONTEXTS = {i: f"they play {i} here" for i in range(0, 40, 4)}


def cloud(apart: float):
    points = np.random.default_rng(0).normal(size=(40, 2))
    points[20:] += apart
    return points


@pytest.mark.parametrize("count", [1, 4])
def test_labels_cover_no_other_and_stay_inside(count):
    points = {f"layer {i}": cloud(i) for i in range(count)}
    picture = words_in_context(points, SENSES, CONTEXTS, **SAID)
    picture.draw_without_rendering()
    for axes in picture.axes:
        boxes = [Text.get_window_extent(text) for text in axes.texts]
        assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
        outer = axes.get_window_extent()
        assert all(outer.x0 <= b.x0 and b.x1 <= outer.x1 for b in boxes)
        written = [text for text in axes.texts if text.get_text() in CONTEXTS.values()]
        assert len(written) >= 4
        colours = {text.get_text(): text.get_color() for text in written}
        for number, context in CONTEXTS.items():
            assert colours.get(context, "none") in (
                COLOURS["blue" if number < 20 else "vermillion"],
                "none",
            )


def test_all_fit_where_points_are_far_apart():
    points = np.stack([np.arange(12) % 3, np.arange(12) // 3], axis=1)
    contexts = {i: f"a word {i}" for i in range(12)}
    picture = words_in_context({"layer": points}, ["s"] * 12, contexts, **SAID)
    assert [text.get_text() for text in picture.axes[0].texts] == list(contexts.values())


def test_senses_are_named_in_their_colours():
    picture = words_in_context({"a": cloud(0), "b": cloud(3)}, SENSES, **SAID, x_label="PCA 1")
    first, second = picture.axes
    named = {text.get_text(): text.get_color() for text in first.get_legend().get_texts()}
    assert named == {"game": COLOURS["blue"], "theatre": COLOURS["vermillion"]}
    assert [line.get_color() for line in second.lines] == list(named.values())
    assert len({line.get_marker() for line in second.lines}) == 2
    assert (first.get_xlabel(), second.texts[0].get_text()) == ("PCA 1", "b")
    picture.draw_without_rendering()
    legend = first.get_legend().get_window_extent()
    assert not legend.overlaps(picture._suptitle.get_window_extent())
    assert not legend.overlaps(first.get_window_extent())


def test_points_and_contexts_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"panels of shape \(40, 2\), one point for each sense"):
        words_in_context({"a": np.ones((3, 2))}, SENSES, **SAID)
    with pytest.raises(ValueError, match="1 to 6 panels"):
        words_in_context({}, SENSES, **SAID)
    for wrong in ({40: "x"}, dict.fromkeys(range(13), "x")):
        with pytest.raises(ValueError, match="at most 12 contexts of occurrences 0 to 39"):
            words_in_context({"a": cloud(0)}, SENSES, wrong, **SAID)


def test_what_helps_and_what_hurts_have_colours_around_zero():
    effects = np.array([[0.5, -0.25], [-0.001, 1.0]])
    said = {**SAID, "x_label": "layer", "label": "rise of the loss (nats)"}
    axes, bar = importance(effects, ["who", "?"], ["emb", 1], **said).axes
    assert axes.images[0].get_clim() == (-1, 1) and bar.get_ylabel() == "rise of the loss (nats)"
    assert [text.get_text() for text in axes.texts] == ["0.50", "−0.25", "0.00", "1.00"]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["who", "?"]
    assert importance(effects**2, ["a", "b"], [0, 1], **said).axes[0].images[0].get_clim() == (0, 1)
    many = importance(np.ones((2, 256)), ["a", "b"], range(256), **said).axes[0]
    assert not many.texts and len(many.get_xticks()) <= 16
    with pytest.raises(ValueError, match=r"effects of shape \(1, 2\)"):
        importance(effects, ["a"], [0, 1], **said)
    with pytest.raises(ValueError, match="a label with their unit"):
        importance(effects, ["a", "b"], [0, 1], **SAID, x_label="layer")


def test_a_neuron_colours_the_text_and_stands_above_what_it_tracks():
    tokens = [" The", " mill", " (", " old", " )", "\n"]
    picture = neuron(tokens, [0, 0, 1, 2, 0, 0], {"bracket depth": [0, 0, 1, 1, 0, 0]}, **SAID)
    text, curve, signal = picture.axes
    assert [each.get_text() for each in text.texts] == ["The", "mill", "(", "old", ")", "↵"]
    shades = [sum(box.get_facecolor()[:3]) for box in text.patches]
    assert shades[3] == min(shades) and shades[0] == shades[5] == max(shades)
    assert curve.lines[0].get_ydata().tolist() == [0, 0, 1, 2, 0, 0]
    assert signal.lines[0].get_ydata().tolist() == [0, 0, 1, 1, 0, 0]
    assert (curve.get_title(loc="left"), signal.get_title(loc="left")) == (
        "activation",
        "bracket depth",
    )
    assert signal.get_xlabel() == "token of the text"
    for wrong in ({"activations": [1]}, {"activations": [0] * 6, "signals": {"x": [1]}}):
        with pytest.raises(ValueError, match="a number for each of 6 tokens"):
            neuron(tokens, **wrong, **SAID)
