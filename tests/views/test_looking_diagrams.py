import pytest
from matplotlib.colors import to_hex

from tests.views.drawn import SAID, nothing_overlaps, said, texts
from tlcourse.transformer import Block
from tlcourse.views import attention_record, induction_pattern
from tlcourse.views.style import COLOURS

SIZES = {"heads": 4, "width": 256}
TOKENS = [" Marie", " Curie", " won", " and", " Marie"]


def test_the_drawing_of_a_block_takes_names_and_numbers_from_the_model():
    picture = attention_record(3, 1, **SIZES, **SAID)
    words = " ".join(said(picture))
    for name in ("attention_norm", "query", "key", "value", "output", "feed_forward_norm"):
        assert name in words
    assert "read: seen.attention[3]" in words and "(batch, 4 heads, queries, keys)" in words
    assert "seen.hidden_states[3]" in words and "seen.hidden_states[4]" in words
    assert "switch head 3.1 off" in words and "its 64 of 256 numbers" in words
    nothing_overlaps(picture)
    off = [p for p in picture.axes[0].patches
           if to_hex(p.get_edgecolor()).upper() == COLOURS["vermillion"]]  # fmt: skip
    heads = {t.get_text(): t.get_position()[1] for t in texts(picture) if "head " in t.get_text()}
    assert len(off) == 1
    box = off[0].get_bbox()
    assert box.y0 < heads["head 1"] < box.y1 and not box.y0 < heads["head 2"] < box.y1


def test_the_names_are_those_of_the_code():
    parts = set(Block.__init__.__code__.co_names)
    assert {"attention_norm", "feed_forward_norm", "up", "down"} <= parts


def test_many_heads_are_drawn_without_names():
    picture = attention_record(11, 0, heads=12, width=768, **SAID)
    nothing_overlaps(picture)
    assert "head 0" not in said(picture) and "switch head 11.0 off" in " ".join(said(picture))


@pytest.mark.parametrize("wrong", [(3, 4, 4, 256), (0, 0, 0, 256), (0, 0, 3, 256), (-1, 0, 4, 256)])
def test_a_head_that_is_not_there_is_refused(wrong):
    layer, head, heads, width = wrong
    with pytest.raises(ValueError, match="a head of 1 to 16 that divide the width"):
        attention_record(layer, head, heads=heads, width=width, **SAID)


def test_the_induction_head_looks_behind_the_token_that_stood_before():
    picture = induction_pattern(TOKENS, **SAID)
    row = [t for t in texts(picture) if t.get_position()[1] == pytest.approx(1.35)]
    drawn = [t.get_text() for t in sorted(row, key=lambda t: t.get_position()[0])]
    assert drawn == ["Marie", "Curie", "won", "and", "Marie", "Curie"], "and what comes next"
    places = sorted(t.get_position()[0] for t in row)
    bent = [a for a in picture.axes[0].texts if not a.get_text() and abs(a.xyann[0] - a.xy[0]) > 0]
    ends = {(round(a.xyann[0], 2), round(a.xy[0], 2)) for a in bent}
    first, second, last = (round(places[i], 2) for i in (0, 1, 4))
    assert {(second, first), (last, second)} <= ends, "from B to A before it; from A to B"
    words = " ".join(said(picture))
    assert "1. previous-token head" in words and "2. induction head" in words
    nothing_overlaps(picture)


def test_a_pattern_that_is_none_is_refused():
    for tokens in (["a", "b"], ["a", "a"], []):
        with pytest.raises(ValueError, match="a last token that stands before, another one behind"):
            induction_pattern(tokens, **SAID)
    with pytest.raises(ValueError, match="tokens that fit into .* inches"):
        induction_pattern(["a", *["word"] * 20, "a"], **SAID)
