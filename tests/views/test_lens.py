from itertools import combinations

import numpy as np
import pytest
from matplotlib.text import Text

from tlcourse.views import lens_table, state_paths
from tlcourse.views.style import COLOURS

SAID = {"title": "The finding.", "alt": "What is seen."}


def table(count, layers=3, **more):
    tokens = [f"t{i}" for i in range(count)]
    words = [[f" w{layer}.{i}" for i in range(count)] for layer in range(layers)]
    odds = np.arange(layers * count).reshape(layers, count) / (layers * count)
    return lens_table(tokens, words, odds, **SAID, **more), odds


def rows_of(picture):
    return [axes for axes in picture.axes if axes.images]


def test_the_last_layer_is_on_top_and_each_cell_has_its_word():
    picture, odds = table(4, right=["w", " w2.1", " w0.2", None])
    (axes,) = rows_of(picture)
    assert not axes.yaxis_inverted()
    assert [t.get_text() for t in axes.get_yticklabels()] == ["emb", "1", "2"]
    assert [t.get_text() for t in axes.get_xticklabels()] == ["t0", "t1", "t2", "t3"]
    for text in axes.texts:
        column, layer = text.get_position()
        assert text.get_text() == f"w{layer}.{column}"
    bold = {text.get_text() for text in axes.texts if text.get_fontweight() == "bold"}
    assert bold == {"w2.1", "w0.2"}
    assert axes.images[0].get_array().tolist() == odds.tolist()
    assert axes.images[0].get_clim() == (0, 1)
    assert "Bold" in picture.get_supxlabel() and not table(4)[0].get_supxlabel()


def test_long_texts_go_on_below_and_very_long_ones_lose_their_beginning_visibly():
    picture, odds = table(30)
    first, second, third = rows_of(picture)
    assert third.images[0].get_array().tolist() == odds[:, 24:].tolist()
    assert first.get_xlim() == third.get_xlim(), "cells of one width"
    picture, odds = table(128)
    assert rows_of(picture)[0].images[0].get_array().tolist() == odds[:, 92:104].tolist()
    assert "The last 36 of 128 positions." in picture.get_supxlabel()


def test_words_stay_in_their_cells():
    words = [["unbelievable" * 3] * 12] * 2
    picture = lens_table(["incomprehensible"] * 12, words, np.ones((2, 12)), **SAID)
    picture.draw_without_rendering()
    texts = [text.get_window_extent() for text in rows_of(picture)[0].texts]
    assert not any(a.overlaps(b) for a, b in combinations(texts, 2))


def test_a_table_that_does_not_fit_is_refused():
    for wrong in (
        (["a"], [["b"], ["c"]], np.ones((2, 2))),
        (["a"], [["b", "c"]], np.ones((1, 1))),
        ([], [[]], np.ones((1, 0))),
    ):
        with pytest.raises(ValueError, match=r"words and probabilities of shape \(layers \+ 1, "):
            lens_table(*wrong, **SAID)
    with pytest.raises(ValueError, match="a right token for each of 1 if any"):
        lens_table(["a"], [["b"]], [[1.0]], **SAID, right=["x", "y"])


POINTS = np.random.default_rng(0).normal(size=(4, 6, 2)).cumsum(0)
TOKENS = [" the", " old", " mill", " the", "\n", "$"]


def paths(axes):
    return [line.get_xydata() for line in axes.lines if len(line.get_xdata()) > 1]


def test_each_token_has_a_path_from_its_embedding():
    picture = state_paths(POINTS, TOKENS, **SAID)
    axes = picture.axes[0]
    drawn = sorted(path.tolist() for path in paths(axes))
    assert drawn == sorted(POINTS[:, i].tolist() for i in range(6))
    white = [tuple(line.get_xydata()[0]) for line in axes.lines if line.get_mfc() == "white"]
    assert set(white) == {tuple(point) for point in POINTS[0]}
    assert {text.get_text() for text in axes.texts} <= {"the", "old", "mill", "↵", "$"}
    assert len(axes.texts) >= 4 and "layer 3" in picture.get_supxlabel()


def test_chosen_tokens_are_coloured_and_named_alone():
    axes = state_paths(POINTS, TOKENS, **SAID, chosen=[2, 5]).axes[0]
    inks = {text.get_text(): text.get_color() for text in axes.texts}
    assert inks == {"mill": COLOURS["blue"], "$": COLOURS["vermillion"]}
    coloured = [
        line.get_xydata().tolist() for line in axes.lines
        if line.get_color() in inks.values() and len(line.get_xdata()) > 1
    ]  # fmt: skip
    assert coloured == [POINTS[:, 2].tolist(), POINTS[:, 5].tolist()]


def test_of_many_tokens_each_different_one_is_named_once():
    points = np.random.default_rng(1).normal(size=(3, 128, 2))
    picture = state_paths(points, ["a", "b"] * 64, **SAID)
    assert sorted(text.get_text() for text in picture.axes[0].texts) == ["a", "b"]
    picture.draw_without_rendering()
    boxes = [Text.get_window_extent(text) for text in picture.axes[0].texts]
    assert not boxes[0].overlaps(boxes[1])


def test_paths_that_do_not_fit_are_refused():
    for wrong in (POINTS[:1], POINTS[:, :5], POINTS[..., :1], POINTS[0]):
        with pytest.raises(ValueError, match=r"points of shape \(layers \+ 1, 6, 2\)"):
            state_paths(wrong, TOKENS, **SAID)
    for chosen in ([6], range(8)):
        with pytest.raises(ValueError, match="at most 7 chosen tokens from 0 to 5"):
            state_paths(POINTS, TOKENS, **SAID, chosen=chosen)
