import time
from itertools import pairwise

import numpy as np
import pytest
import torch
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

from tests.views.drawn import SAID, column_names, refused, row_names, titles_of, words_in
from tlcourse.views import (
    ablation_grid,
    difference_map,
    head_grid,
    heat_map,
    importance,
    mask_maps,
    movement,
    score_grid,
    task_by_layer,
)
from tlcourse.views.style import COLOURS


def test_what_does_not_move_is_white_and_the_fastest_is_darkest():
    rates = np.array([[0.0, 0.5], [3.0, 0.003]])
    picture = movement({"one": (["embedding", "head"], rates)}, **SAID)
    panel = picture.axes[0]
    (image,) = panel.get_images()
    shades = image.get_array()
    assert shades.mask.tolist() == [[True, False], [False, False]]
    assert shades[1, 0] == shades.max() and shades[1, 1] == pytest.approx(shades.max() - 3)
    assert row_names(panel) == ["embedding", "head"]
    assert panel.get_ylim()[0] < panel.get_ylim()[1]  # the output on top


def test_each_scheme_is_a_panel_and_empty_ones_are_hidden():
    rates = (["a", "b"], np.ones((2, 4)))
    picture = movement({"one": rates, "two": rates, "three": rates}, **SAID)
    shown = [axes for axes in picture.axes if axes.get_visible() and axes.get_images()]
    assert titles_of(shown) == ["one", "two", "three"]


TOKENS = ["who", "wrote", "it", "?"]
CAUSAL = torch.ones(4, 4).tril().bool()


def names(axes):
    return (row_names(axes), column_names(axes))


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


def test_a_heat_map_has_numbers_when_small():
    weights = np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]])
    axes = heat_map(weights, ["a", "b", "c"], **SAID, keys=["x", "y"]).axes[0]
    assert names(axes) == (["a", "b", "c"], ["x", "y"])
    assert words_in(axes) == [".25", ".75", "1.00", ".00", ".50", ".50"]
    assert axes.images[0].get_array().tolist() == weights.tolist()
    assert axes.get_ylabel() == "query"
    rows = heat_map(weights, ["1", "2", "3"], **SAID, keys=["x", "y"], y_label="head")
    assert rows.axes[0].get_ylabel() == "head"
    assert not heat_map(np.ones((11, 11)), list("abcdefghijk"), **SAID).axes[0].texts
    refused("weights of shape", heat_map, weights.T, ["a", "b", "c"], keys=["x", "y"])


def test_a_line_stands_before_each_sentence_of_a_pair():
    axes = heat_map(np.eye(4), TOKENS, **SAID, breaks=[1, 3]).axes[0]
    plain = heat_map(np.eye(4), TOKENS, **SAID).axes[0]
    assert not plain.lines
    across = sorted(line.get_ydata()[0] for line in axes.lines if len(set(line.get_ydata())) == 1)
    down = sorted(line.get_xdata()[0] for line in axes.lines if len(set(line.get_xdata())) == 1)
    assert across == down == [0.5, 2.5]
    for wrong in ({"breaks": [4]}, {"breaks": [0]}, {"breaks": [1], "keys": TOKENS}):
        refused("breaks from 1 to 3, and no other keys", heat_map, np.eye(4), TOKENS, **wrong)


def test_of_many_tokens_those_are_named_that_fit():
    tokens = [f"token{i}" for i in range(128)]
    picture = heat_map(np.eye(128), tokens, **SAID)
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
    assert words_in(axes) == [".00", ".00", "−.25", "+.25"]
    assert bar.get_ylabel() == "attention weight: causal minus masked"
    assert difference_map(first, first, ["x", "y"], **said).axes[0].images[0].get_clim() == (-1, 1)
    with pytest.raises(ValueError, match=r"weights of 'masked' of shape \(2, 2\)"):
        difference_map(first, np.eye(3), ["x", "y"], **said)


def shown(picture):
    return [axes for axes in picture.axes if axes.get_visible() and axes.images]


def test_trained_stands_above_random_on_the_same_colours():
    trained = {"previous": np.array([[0.5, 0.25]]), "entropy": np.array([[3.0, 0.04]])}
    random = {"entropy": np.array([[4.0, 4.0]]), "previous": np.array([[0.125, 1.0]])}
    picture = score_grid(trained, random, **SAID)
    first, second, below, other = shown(picture)
    assert [a.get_title(loc="left") for a in (first, second)] == ["previous", "entropy"]
    assert words_in(first) == [".50", ".25"] and words_in(below) == [".12", "1.00"]
    assert words_in(second) == ["3.0", ".0"] and words_in(other) == ["4.0", "4.0"]
    assert first.images[0].get_clim() == below.images[0].get_clim() == (0, 1)
    assert second.images[0].get_clim() == other.images[0].get_clim() == (0, 4)
    assert "trained" in first.get_ylabel() and "random weights" in below.get_ylabel()
    assert below.get_xlabel() == "head" and not first.get_xlabel()


def test_five_scores_take_two_rows_and_large_models_a_colour_bar():
    five = {str(i): np.ones((2, 2)) for i in range(5)}
    picture = score_grid(five, five, **SAID)
    tops = {axes.get_subplotspec().rowspan.start for axes in shown(picture)}
    assert len(shown(picture)) == len(picture.axes) - 6 == 10 and tops == {0, 1, 2, 3}
    large = {name: np.ones((24, 16)) for name in "abcd"}
    many = score_grid(large, large, **SAID)
    assert not any(words_in(axes) for axes in many.axes)
    assert len([axes for axes in many.axes if not axes.images]) == 4, "a bar for each"


def test_a_head_that_helps_and_one_that_harms_have_two_colours():
    picture = ablation_grid([[0.5, -0.25], [0.0004, 0.0]], label="nats per token", **SAID)
    axes, bar = picture.axes
    assert words_in(axes) == ["+.500", "−.250", ".000", ".000"]
    assert axes.images[0].get_clim() == (-0.5, 0.5)
    assert bar.get_ylabel() == "nats per token"
    assert column_names(axes) == ["head 0", "head 1"]
    refused(r"changes of shape \(layers, heads\), got shape \(3,\)", ablation_grid, np.ones(3))
    refused("expected y_label", ablation_grid, np.ones((3, 2)))


RANDOM = np.random.default_rng(0)


def test_each_head_is_a_map_in_its_row_and_column():
    weights = RANDOM.dirichlet(np.ones(3), (2, 4, 3))
    picture = head_grid(weights, ["a", " b", "\n"], **SAID, note="Size tiny.")
    axes, bar = picture.axes
    assert len(axes.images) == 8 and axes.yaxis_inverted()
    for image in axes.images:
        left, right, bottom, top = image.get_extent()
        assert right - left == pytest.approx(bottom - top), "rows are queries, from the top"
        layer, head = int(top), int(left)
        np.testing.assert_allclose(image.get_array(), weights[layer, head], rtol=1e-6)
    assert len({image.norm for image in axes.images}) == 1, "one scale for all"
    assert row_names(axes) == ["block 0", "block 1"]
    assert column_names(axes) == [f"head {i}" for i in range(4)]
    assert picture.get_supxlabel().replace("\n", " ") == "3 tokens: “a b ↵”. Size tiny."
    assert bar.get_ylabel() == "attention weight"


def test_marked_heads_are_framed():
    picture = head_grid(np.ones((2, 3, 1, 1)), ["a"], **SAID, mark=[(1, 2)])
    frames = [c for c in picture.axes[0].collections if isinstance(c, LineCollection)]
    strong = [c for c in frames if to_hex(c.get_color()[0]).upper() == COLOURS["vermillion"]]
    (segment,) = strong[0].get_segments()
    assert segment.min(axis=0).astype(int).tolist() == [2, 1]
    assert (segment.max(axis=0) < [3, 2]).all()


def test_128_tokens_of_24_heads_take_less_than_a_second():
    weights = np.tril(RANDOM.random((6, 4, 128, 128)))
    weights /= weights.sum(-1, keepdims=True)
    head_grid(weights[:, :, :2, :2], ["a", "b"], **SAID).png()  # fonts are loaded
    seconds = []
    for _ in range(3):  # the quickest: what else the machine does only adds to it
        start = time.process_time()
        picture = head_grid(weights, ["token"] * 128, **SAID)
        assert len(picture.png()) > 10_000
        seconds.append(time.process_time() - start)
    assert min(seconds) < 1
    assert sum(len(axes.get_children()) for axes in picture.axes) < 100, "no artist for a cell"


def test_a_cell_is_the_score_above_its_baseline_and_the_best_is_framed():
    scores = {"POS": [0.5, 0.9, 0.7], "depth": [0.3, 0.2, 0.1]}
    picture = task_by_layer(scores, {"POS": 0.6, "depth": [0.3, 0.3, 0.3]}, **SAID)
    axes, bar = picture.axes
    cells = axes.images[0].get_array()
    assert np.allclose(cells, [[-0.1, 0.3, 0.1], [0, -0.1, -0.2]])
    assert words_in(axes)[:3] == ["−0.10", "+0.30", "+0.10"]
    bold = [text.get_position() for text in axes.texts if text.get_fontweight() == "bold"]
    assert bold == [(1, 0), (0, 1)]
    assert np.allclose([frame.get_center() for frame in axes.patches], bold)
    low, high = axes.images[0].get_clim()
    assert low == -high and bar.get_ylim() == pytest.approx((-0.3, 0.3))
    given = {"label": "accuracy", "number": "{:.1f}", "framed": "the largest weight"}
    whole = task_by_layer(scores, **SAID, **given)
    assert whole.get_supxlabel() == "Framed: the largest weight."
    plain = whole.axes
    assert words_in(plain[0])[:3] == ["0.5", "0.9", "0.7"]
    assert plain[1].get_ylabel() == "accuracy" and plain[1].get_ylim()[0] == 0


def test_what_helps_and_what_hurts_have_colours_around_zero():
    effects = np.array([[0.5, -0.25], [-0.001, 1.0]])
    said = {**SAID, "x_label": "layer", "label": "rise of the loss (nats)"}
    axes, bar = importance(effects, ["who", "?"], ["emb", 1], **said).axes
    assert axes.images[0].get_clim() == (-1, 1) and bar.get_ylabel() == "rise of the loss (nats)"
    assert words_in(axes) == ["0.50", "−0.25", "0.00", "1.00"]
    assert row_names(axes) == ["who", "?"]
    assert importance(effects**2, ["a", "b"], [0, 1], **said).axes[0].images[0].get_clim() == (0, 1)
    many = importance(np.ones((2, 256)), ["a", "b"], range(256), **said).axes[0]
    assert not many.texts and len(many.get_xticks()) <= 16
    with pytest.raises(ValueError, match=r"effects of shape \(1, 2\)"):
        importance(effects, ["a"], [0, 1], **said)
    refused("expected y_label", importance, effects, ["a", "b"], [0, 1], x_label="layer")


def test_what_cannot_be_drawn_is_refused():
    refused("boolean mask 'm'", mask_maps, {"m": CAUSAL.float()}, TOKENS)
    refused(
        r"the mask 'm' of shape \(3, 3\), got shape \(4, 4\)", mask_maps, {"m": CAUSAL}, TOKENS[:3]
    )
    refused("one to three", mask_maps, {str(i): CAUSAL for i in range(4)}, TOKENS)
    one = {"a": np.ones((2, 2))}
    two = {**one, "b": np.ones((2, 3))}
    refused(r"'b' of shape \(2, 2\), got shape \(2, 3\)", score_grid, two, two)
    refused("the same scores at random", score_grid, one, {"b": np.ones((2, 2))})
    refused(r"scores of shape \(layers, heads\)", score_grid, {}, {})
    for wrong in (np.ones((2, 4, 3, 2)), np.ones((4, 3, 3)), np.ones((0, 4, 3, 3))):
        refused(r"\(layers, heads, 3, 3\), got", head_grid, wrong, [*"abc"])
    said = r"marks \(layer, head\) below \(2, 4\), got \[\(2, 0\)\]"
    refused(said, head_grid, np.ones((2, 4, 1, 1)), ["a"], mark=[(2, 0)])
    for scores, baseline in (({}, None), ({"a": [1], "b": [1, 2]}, None), ({"a": [1]}, {"b": 0})):
        refused("as many layers for every task, and its baseline", task_by_layer, scores, baseline)
