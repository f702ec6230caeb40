from itertools import combinations

import numpy as np
import pytest
from matplotlib.patches import FancyBboxPatch

from tests.views.drawn import (
    SAID,
    nothing_overlaps,
    refused,
    said,
    texts,
    title_of,
    words_in,
)
from tlcourse.transformer import Block, Config, Transformer
from tlcourse.views import (
    attention_heads,
    attention_lookup,
    block_and_stream,
    clocks,
    feed_forward_layer,
    heads_right,
    next_token_bars,
    pronoun_links,
    score_maps,
    trained_head,
    who_sees_whom,
    whole_model,
)

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
    assert {"the", "cat", "sat", "0.24", "0.67", "0.09"} <= set(written)
    assert {"1, 1, 0, 0", "1, −1, 1, −1"} <= set(written)
    mixture = np.array(WEIGHTS) @ np.array(VALUES)
    assert f"mixture: {mixture[0]:.2g}, {mixture[1]:.2g}" in written
    assert any(text.startswith("query of sat") for text in written)
    bold = [text.get_text() for text in texts(picture) if text.get_fontweight() == "bold"]
    assert f"{WEIGHTS[1]:.2f}" in bold and f"{WEIGHTS[0]:.2f}" not in bold


@pytest.mark.parametrize("heads", [1, 2, 4, 6])
def test_heads_share_the_width(heads):
    picture = attention_heads(240, heads, **SAID)
    nothing_overlaps(picture)
    written = said(picture)
    assert "240" in " ".join(written) and {"query", "key", "value", "output"} <= set(written)
    for n in range(heads):
        (head,) = (box for box in boxes_of(picture) if f"head {n}" in within(picture, box))
        parts = [box for box in boxes_of(picture) if alike(box, head) and box.width > head.width]
        assert heads > 4 or len(parts) == 4, "query, key, value and output in the head's colour"


def within(picture, box):
    """The words in a box."""
    inside = (text for text in texts(picture) if box.contains(*text.get_position()))
    return " ".join(text.get_text() for text in inside).split("\n")


def alike(box, other):
    """Whether two boxes have the same middle from left to right."""
    return abs(box.x0 + box.x1 - other.x0 - other.x1) < 0.01


def test_without_an_alt_text_the_pictures_say_what_they_show():
    given = {"values": VALUES, "scores": SCORES, "weights": WEIGHTS, "title": "The finding."}
    lookup = attention_lookup(WORDS, QUERY, KEYS, **given)
    assert "sat" in lookup.alt and "cat 0.67" in lookup.alt
    assert "4 heads attend with 64 features" in attention_heads(256, 4, title="The finding.").alt
    assert attention_heads(256, 4, **SAID).alt == SAID["alt"]


def arcs(picture):
    return [text for axes in picture.axes for text in words_in(axes) if "°" in text]


def test_score_maps_stand_in_units_of_their_spread_on_one_scale() -> None:
    maps = {"a": np.eye(2), "b": 5 - 3 * np.eye(2), "c": np.diag([1.0, 0, 0, 0])}
    picture = score_maps(maps, title="Three maps", alt="alt")
    images = [axes.images[0] for axes in picture.axes if axes.images]
    assert np.allclose(images[0].get_array(), 2 * np.eye(2) - 1)
    assert np.allclose(images[1].get_array(), 1 - 2 * np.eye(2))
    largest = 15**0.5  # one of 16 is 1, the others 0
    assert all(image.get_clim() == pytest.approx((-largest, largest)) for image in images)
    assert picture.alt == "alt" and picture.png()[:4] == b"\x89PNG"


def test_clocks_write_the_angle_between_the_hands() -> None:
    quarter = np.pi / 2
    row = [0, quarter, 0.1], [quarter, 0, 2 * np.pi]
    picture = clocks({"one row": row}, ["a", "b", "c"], title="Clocks", alt="alt")
    assert arcs(picture) == ["+90°", "-90°", "-6°"]


def test_turning_both_hands_leaves_the_angle() -> None:
    rows = {f"at {shift}": ([1 + shift], [2 + shift]) for shift in (0.0, 3.0, 40.0)}
    picture = clocks(rows, ["a"], **SAID)
    assert arcs(picture) == ["+57°"] * 3
    assert set(rows) < {text for axes in picture.axes for text in words_in(axes)}


def boxes_of(picture):
    boxes = (patch for patch in picture.axes[0].patches if isinstance(patch, FancyBboxPatch))
    return [box.get_bbox() for box in boxes]


def titled(*masks_or_maps, draw=score_maps, **given):
    return title_of(draw(*masks_or_maps, **given))


def test_titles_claim_only_what_the_data_bear_out():
    steady, noisy = np.add.outer(-np.arange(4.0), np.arange(4.0)), np.diag([1.0, 2, 3, 4])
    assert "only rotary" in titled({"rotary": steady, "learned": noisy})
    assert titled({"rotary": noisy, "learned": noisy}) == "Scores of all pairs of positions"
    causal, padding = np.tril(np.ones((3, 3), bool)), np.array([[True, True, False]] * 3)
    given = {"causal": causal, "padding": padding}
    assert titled(given, WORDS, draw=who_sees_whom).startswith("Causal masks drop the future")
    given["causal"] = ~causal
    assert titled(given, WORDS, draw=who_sees_whom) == "Which query may look at which key"
    values = {"values": VALUES, "scores": SCORES}
    found = attention_lookup(WORDS, QUERY, KEYS, weights=WEIGHTS, **values)
    assert title_of(found) == "The query of “sat” matches the key of “cat”"
    even = attention_lookup(WORDS, QUERY, KEYS, weights=[0.34, 0.33, 0.33], **values)
    assert title_of(even) == "The query of “sat” is compared with every key"


def test_next_tokens_are_counted_and_wrong_ones_marked():
    picture = next_token_bars(
        {"the United": (" States", 0.7, True), "France is": (" a", 0.1, False)}
    )
    assert title_of(picture) == "1 of 2 next tokens are right"
    names = [label.get_text() for label in picture.axes[0].get_yticklabels()]
    assert names == ["the United … States", "France is … a  (wrong)"]


def test_a_pronoun_is_linked_to_what_it_attends_to():
    it, they = [0.6, 0.3, 0.02, 0.08], [0.1, 0.8, 0.03, 0.07]
    rows = [([" castle", " men", " as", " it"], it), ([" castle", " men", " as", " they"], they)]
    picture = pronoun_links(rows)
    nothing_overlaps(picture)
    assert title_of(picture) == "“it” looks at “castle”; “they” looks at “men”"
    assert said(picture).count("0.60") == 1 and "0.02" not in said(picture)
    same = pronoun_links([rows[0], (rows[1][0], it)])
    assert title_of(same) == "Where the last token looks"
    refused("one weight a token", pronoun_links, [([" a", " b"], [1.0])])


def test_one_head_stands_out_only_if_it_does():
    shares = np.full((2, 3), 0.5)
    assert title_of(heads_right(shares)) == "How often each head prefers the right noun"
    shares[1, 2] = 0.9
    picture = heads_right(shares)
    assert title_of(picture) == "One head of 6 connects the pronoun to its noun"
    assert "head 2 of block 1" in picture.alt and {"chance", "head 2"} <= set(said(picture))
    shares[0, 0] = 0.85
    assert title_of(heads_right(shares)) == "How often each head prefers the right noun"


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


@pytest.mark.parametrize(("width", "wide"), [(256, 1024), (768, 3072), (64, 64)])
def test_the_feed_forward_layer_takes_each_token_alone(width, wide):
    picture = feed_forward_layer(width, wide, **SAID)
    nothing_overlaps(picture)
    written = said(picture)
    assert written.count(str(width)) == (9 if wide == width else 6)
    assert written.count(str(wide)) == (9 if wide == width else 3)
    assert not any(a.overlaps(b) for a, b in combinations(boxes_of(picture), 2))
    rows = {round(box.y0, 3) for box in boxes_of(picture)}
    assert len(rows) == 3


def test_without_an_alt_text_a_model_says_what_it_shows():
    config = Config(vocabulary_size=50_257, width=768, layers=12, heads=12)
    assert "12 blocks" in whole_model(config, title="The finding.").alt
    assert "256 features become 1024" in feed_forward_layer(256, 1024, title="The finding.").alt
    assert "stream" in block_and_stream(64, 256, title="The finding.").alt


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="zip"):
        looked_up(scores=[1, 2])
    five = {"values": [[1]] * 5, "scores": [0] * 5, "weights": [0.2] * 5}
    refused("1 to 4 words", attention_lookup, ["a"] * 5, [1], [[1]] * 5, **five)
    for wrong in ((256, 0), (256, 3), (256, 8), (0, 1)):
        refused("heads that divide", attention_heads, *wrong)
    for maps in (
        {},
        {"a": np.eye(3)[:2]},
        {"a": np.ones((2, 2))},
        dict.fromkeys("abcd", np.eye(2)),
    ):
        refused("expected", score_maps, maps)
    refused("zip", clocks, {"row": ([0], [0])}, ["a", "b"])


def test_only_a_map_without_weights_ahead_is_called_causal():
    tokens, causal = ["the", "cat"], [[1.0, 0.0], [0.4, 0.6]]
    assert title_of(trained_head(causal, tokens)) == "Each token looks only at earlier tokens"
    both = trained_head([[0.9, 0.1], [0.4, 0.6]], tokens)
    assert title_of(both) == "Attention weights of one head"
    refused("weights of shape", trained_head, causal, ["the"])
