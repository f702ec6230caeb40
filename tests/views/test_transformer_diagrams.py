from itertools import combinations

import numpy as np
import pytest

from tlcourse.transformer import Block, Config, Transformer
from tlcourse.views import attention_heads, attention_lookup, block_and_stream, whole_model

SAID = {"title": "The finding.", "alt": "What is seen."}
WORDS, QUERY = ["the", "cat", "sat"], [1, 1, 1, 1]
KEYS = [[1, 1, 0, 0], [1, 1, 1, 1], [1, -1, 1, -1]]
VALUES, SCORES, WEIGHTS = [[1, 0], [0, 1], [1, 1]], [1, 2, 0], [0.24, 0.67, 0.09]


def texts(picture):
    return [text for text in picture.axes[0].texts if text.get_text()]


def said(picture):
    return [text.get_text() for text in texts(picture)]


def nothing_overlaps(picture):
    picture.draw_without_rendering()
    boxes = [text.get_window_extent() for text in texts(picture)]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    assert all(box.x0 >= 0 and box.x1 <= picture.bbox.x1 and box.y0 >= 0 for box in boxes)
    assert all(box.y1 <= picture._suptitle.get_window_extent().y0 for box in boxes)


def boxes_of(picture):
    return [patch.get_bbox() for patch in picture.axes[0].patches if hasattr(patch, "get_bbox")]


def looked_up(**changes):
    given = {"values": VALUES, "scores": SCORES, "weights": WEIGHTS} | changes
    return attention_lookup(WORDS, QUERY, KEYS, **given, **SAID)


def test_the_lookup_shows_every_step_and_mixes_the_values_by_the_weights():
    picture = looked_up()
    nothing_overlaps(picture)
    written = said(picture)
    assert {"the", "cat", "sat", "1, 1, 0, 0", "1, −1, 1, −1", "0.24", "0.66", "0.09"} & set(
        written
    )
    mixture = np.array(WEIGHTS) @ np.array(VALUES)
    assert f"mixture: {mixture[0]:.2g}, {mixture[1]:.2g}" in written
    assert any(text.startswith("query of sat") for text in written)
    bold = [text.get_text() for text in texts(picture) if text.get_fontweight() == "bold"]
    assert f"{WEIGHTS[1]:.2f}" in bold and f"{WEIGHTS[0]:.2f}" not in bold


def test_a_lookup_with_other_counts_is_refused():
    with pytest.raises(ValueError, match=r"got \[3, 3, 3, 2, 3\]"):
        looked_up(scores=[1, 2])
    with pytest.raises(ValueError, match="1 to 4 words"):
        attention_lookup(["a"] * 5, [1], [[1]] * 5, values=[[1]] * 5, scores=[0] * 5, weights=[0.2] * 5,
                         **SAID)  # fmt: skip


@pytest.mark.parametrize("heads", [1, 2, 4, 6])
def test_heads_share_the_width(heads):
    picture = attention_heads(240, heads, **SAID)
    nothing_overlaps(picture)
    written = said(picture)
    assert written.count(str(240 // heads)) >= heads and "240" in " ".join(written)
    assert [f"head {n}: attention on {240 // heads}" in written for n in range(heads)] == [
        1
    ] * heads


@pytest.mark.parametrize("wrong", [(256, 0), (256, 3), (256, 8), (0, 1)])
def test_heads_that_do_not_fit_are_refused(wrong):
    with pytest.raises(ValueError, match="heads that divide"):
        attention_heads(*wrong, **SAID)


def test_the_block_has_the_names_of_the_code_and_its_boxes_lie_apart():
    picture = block_and_stream(768, 3072, heads=12, **SAID)
    nothing_overlaps(picture)
    written = " ".join(said(picture))
    for name in ("attention_norm", "feed_forward_norm"):
        assert name in written and name in Block.__init__.__code__.co_names
    assert "12 heads" in written and "768 → 3072 → 768" in written
    assert "(batch, length, 768)" in written
    assert not any(a.overlaps(b) for a, b in combinations(boxes_of(picture), 2))


def test_the_model_has_the_names_of_the_code_and_the_sizes_of_its_configuration():
    config = Config(vocabulary_size=50_257, width=768, layers=12, heads=12)
    picture = whole_model(config, **SAID)
    nothing_overlaps(picture)
    written = " ".join(said(picture))
    for name in ("embedding", "norm", "blocks"):
        assert name in written and name in Transformer.__init__.__code__.co_names
    assert "50,257 × 768" in written and "12 blocks" in written
    assert "(batch, length, 50,257)" in written
    assert not any(a.overlaps(b) for a, b in combinations(boxes_of(picture), 2))
