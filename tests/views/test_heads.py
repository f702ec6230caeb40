import time

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

from tlcourse.views import head_grid
from tlcourse.views.style import COLOURS

SAID = {"title": "The finding.", "alt": "What is seen."}
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
    assert [t.get_text() for t in axes.get_yticklabels()] == ["block 0", "block 1"]
    assert [t.get_text() for t in axes.get_xticklabels()] == [f"head {i}" for i in range(4)]
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


def test_what_does_not_fit_is_refused():
    for wrong in (np.ones((2, 4, 3, 2)), np.ones((4, 3, 3)), np.ones((0, 4, 3, 3))):
        with pytest.raises(ValueError, match=r"\(layers, heads, 3, 3\) for 3 tokens, got shape"):
            head_grid(wrong, ["a", "b", "c"], **SAID)
    with pytest.raises(ValueError, match=r"marks \(layer, head\) below \(2, 4\), got \[\(2, 0\)\]"):
        head_grid(np.ones((2, 4, 1, 1)), ["a"], **SAID, mark=[(2, 0)])
