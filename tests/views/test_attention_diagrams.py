import numpy as np
import pytest

from tests.views.drawn import SAID, nothing_overlaps, said, texts
from tlcourse.views import attention_heads, attention_lookup

WORDS, QUERY = ["the", "cat", "sat"], [1, 1, 1, 1]
KEYS = [[1, 1, 0, 0], [1, 1, 1, 1], [1, -1, 1, -1]]
VALUES, SCORES, WEIGHTS = [[1, 0], [0, 1], [1, 1]], [1, 2, 0], [0.24, 0.67, 0.09]


def looked_up(**changes):
    given = {"values": VALUES, "scores": SCORES, "weights": WEIGHTS} | changes
    return attention_lookup(WORDS, QUERY, KEYS, **given, **SAID)


def test_the_lookup_shows_every_step_and_mixes_the_values_by_the_weights():
    picture = looked_up()
    nothing_overlaps(picture)
    written = said(picture)
    assert {"the", "cat", "sat", "1, 1, 0, 0", "1, −1, 1, −1", "0.24", "0.67", "0.09"} <= set(
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
        attention_lookup(["a"] * 5, [1], [[1]] * 5, values=[[1]] * 5, scores=[0] * 5,
                         weights=[0.2] * 5, **SAID)  # fmt: skip


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


def test_without_an_alt_text_the_pictures_say_what_they_show():
    lookup = attention_lookup(
        WORDS, QUERY, KEYS, values=VALUES, scores=SCORES, weights=WEIGHTS, title="The finding."
    )
    assert "sat" in lookup.alt and "cat 0.67" in lookup.alt
    assert "4 heads attend with 64 features" in attention_heads(256, 4, title="The finding.").alt
    assert attention_heads(256, 4, **SAID).alt == SAID["alt"]
