from itertools import pairwise

import numpy as np
import pytest
import torch

from tlcourse.views import difference_map, heat_map, mask_maps

TOKENS = ["who", "wrote", "it", "?"]
CAUSAL = torch.ones(4, 4).tril().bool()


def names(axes):
    return (
        [label.get_text() for label in axes.get_yticklabels()],
        [label.get_text() for label in axes.get_xticklabels()],
    )


def test_a_mask_shows_its_polarity():
    keep = CAUSAL & torch.tensor([True, True, True, False])
    picture = mask_maps({"causal": CAUSAL, "both": keep}, TOKENS, title="Never ahead", alt="alt")
    first, second = picture.axes
    assert "True = keep" in picture.get_supxlabel() and "False = drop" in picture.get_supxlabel()
    assert names(first) == (TOKENS, TOKENS)
    assert "query" in first.get_ylabel() and "key" in first.get_xlabel()
    for axes, mask in ((first, CAUSAL), (second, keep)):
        cells = {text.get_position(): text.get_text() for text in axes.texts[:16]}
        for (row, column), kept in np.ndenumerate(mask.numpy()):
            assert cells[column, row] == ("●" if kept else "×")
        assert axes.images[0].get_array().tolist() == mask.tolist()
        assert axes.yaxis_inverted()
    assert [axes.texts[16].get_text() for axes in picture.axes] == ["causal", "both"]


def test_a_mask_of_one_row_is_that_of_all_queries():
    row = torch.tensor([[True, True, False, False]])
    picture = mask_maps({"padding": row}, TOKENS, title="Columns", alt="alt")
    assert picture.axes[0].images[0].get_array().tolist() == row.tolist() * 4


def test_a_mask_that_does_not_fit_is_an_error():
    with pytest.raises(ValueError, match="boolean mask 'm'"):
        mask_maps({"m": CAUSAL.float()}, TOKENS, title="t", alt="a")
    with pytest.raises(ValueError, match=r"\(3, 4\).*got shape \(4, 4\)"):
        mask_maps({"m": CAUSAL}, TOKENS[:3], title="t", alt="a", keys=TOKENS)
    with pytest.raises(ValueError, match="one to three"):
        mask_maps({str(i): CAUSAL for i in range(4)}, TOKENS, title="t", alt="a")


def test_a_heat_map_has_numbers_when_small():
    weights = np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]])
    axes = heat_map(weights, ["a", "b", "c"], title="t", alt="alt", keys=["x", "y"]).axes[0]
    assert names(axes) == (["a", "b", "c"], ["x", "y"])
    assert [text.get_text() for text in axes.texts] == [".25", ".75", "1.00", ".00", ".50", ".50"]
    assert axes.images[0].get_array().tolist() == weights.tolist()
    assert axes.get_ylabel() == "query"
    rows = heat_map(weights, ["1", "2", "3"], title="t", alt="alt", keys=["x", "y"], y_label="head")
    assert rows.axes[0].get_ylabel() == "head"
    assert not heat_map(np.ones((11, 11)), list("abcdefghijk"), title="t", alt="a").axes[0].texts
    with pytest.raises(ValueError, match="weights of shape"):
        heat_map(weights.T, ["a", "b", "c"], title="t", alt="a", keys=["x", "y"])


def test_a_line_stands_before_each_sentence_of_a_pair():
    axes = heat_map(np.eye(4), TOKENS, title="t", alt="a", breaks=[1, 3]).axes[0]
    plain = heat_map(np.eye(4), TOKENS, title="t", alt="a").axes[0]
    assert not plain.lines
    across = sorted(line.get_ydata()[0] for line in axes.lines if len(set(line.get_ydata())) == 1)
    down = sorted(line.get_xdata()[0] for line in axes.lines if len(set(line.get_xdata())) == 1)
    assert across == down == [0.5, 2.5]
    for wrong in ({"breaks": [4]}, {"breaks": [0]}, {"breaks": [1], "keys": TOKENS}):
        with pytest.raises(ValueError, match="breaks from 1 to 3, and no other keys"):
            heat_map(np.eye(4), TOKENS, title="t", alt="a", **wrong)


def test_of_many_tokens_those_are_named_that_fit():
    tokens = [f"token{i}" for i in range(128)]
    picture = heat_map(np.eye(128), tokens, title="t", alt="a")
    picture.draw_without_rendering()
    for ticks in (picture.axes[0].get_yticklabels(), picture.axes[0].get_xticklabels()):
        assert 16 <= len(ticks) < 64 and ticks[1].get_text() == tokens[-(-128 // len(ticks))]
    boxes = [tick.get_window_extent() for tick in picture.axes[0].get_yticklabels()]
    assert not any(a.overlaps(b) for a, b in pairwise(boxes))


def test_a_difference_has_colours_around_zero_and_says_what_is_more():
    first, second = np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[1.0, 0.0], [0.75, 0.25]])
    said = {"title": "t", "alt": "a", "names": ("causal", "masked")}
    axes, bar = difference_map(first, second, ["x", "y"], **said).axes
    assert axes.images[0].get_array().tolist() == [[0, 0], [-0.25, 0.25]]
    assert axes.images[0].get_clim() == (-0.25, 0.25)
    assert [text.get_text() for text in axes.texts] == [".00", ".00", "−.25", "+.25"]
    assert bar.get_ylabel() == "attention weight: causal minus masked"
    assert difference_map(first, first, ["x", "y"], **said).axes[0].images[0].get_clim() == (-1, 1)
    with pytest.raises(ValueError, match=r"weights of 'masked' of shape .* = \(2, 2\)"):
        difference_map(first, np.eye(3), ["x", "y"], **said)
