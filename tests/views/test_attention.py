import numpy as np
import pytest
import torch

from tlcourse.views import heat_map, mask_maps

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
