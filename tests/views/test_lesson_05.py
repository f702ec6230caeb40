import pytest

from tests.views.drawn import nothing_overlaps, said
from tlcourse.views import block_with_schemes, four_knobs

CHOICES = {
    "edit": "nothing",
    "groups": "everything, the\nhead 3 times as fast",
    "schedule": "one triangle for all:\nup, then down to 0",
    "extra_loss": "nothing",
}


def test_the_sizes_of_the_block_are_those_handed_in():
    picture = block_with_schemes(128, 512, title="Every scheme has its place in a block")
    words = said(picture)
    assert "LoRA: A 8 × 128, B 128 × 8" in words and words.count("adapter") == 2
    assert words.count("128\n→ 32\n→ 128") == 2 and "prefix: 10 learned\nkeys and values" in words
    assert "grey: frozen; up is 128 → 512" in words
    nothing_overlaps(picture)
    assert picture.alt


def test_each_knob_says_what_it_is_set_to():
    picture = four_knobs(CHOICES, title="One loop, four knobs: the setting of full fine-tuning")
    assert set(CHOICES) | set(CHOICES.values()) <= set(said(picture))
    nothing_overlaps(picture)
    assert "schedule (how fast, when?) is set to one triangle for all: up" in picture.alt


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="expected the knobs edit, groups, schedule, extra_loss"):
        four_knobs({"edit": "nothing"}, title="A title")
