import pytest

from tests.views.drawn import SAID, nothing_overlaps, refused, said, words_in
from tlcourse.views import block_with_schemes, four_knobs, rate_grids

COLUMNS = ("dev error (%)", "forgetting (nats)")
FOUND = {
    "the whole body": {"full": {1e-3: (10.0, 2.0), 5e-4: (12.0, 1.0), 2e-3: (90.0, 4.0)}},
    "added parts": {
        "LoRA": {2e-3: (14.0, 0.5), 4e-3: (11.0, 3.0)},
        "adapters": {1e-3: (15.0, 1.5)},
    },
}


def rings(axes):
    lines = [line for line in axes.lines if line.get_markerfacecolor() == "none"]
    return [tuple(line.get_xydata()[0]) for line in lines]


def test_each_scheme_has_rates_of_its_own_and_the_one_with_the_lowest_error_is_ringed():
    picture = rate_grids(FOUND, COLUMNS, level=10.0, **SAID)
    above, forgets, below, below_forgets = picture.axes
    assert above.get_xscale() == "log" and above.get_xlim() == below_forgets.get_xlim()
    assert rings(above) == [(1e-3, 10.0)] and rings(forgets) == [(1e-3, 2.0)]
    assert rings(below) == [(4e-3, 11.0), (1e-3, 15.0)]
    assert rings(below_forgets) == [(4e-3, 3.0), (1e-3, 1.5)]
    shown = [text.get_color() for axes in (forgets, below_forgets) for text in axes.texts]
    assert len(set(shown)) == 3  # a colour a scheme, over both families
    line = next(line for line in above.lines if len(line.get_xdata()) == 3)
    assert list(line.get_xdata()) == [5e-4, 1e-3, 2e-3] and list(line.get_ydata()) == [12, 10, 90]
    assert above.get_ylim() == below.get_ylim() and above.get_ylim()[1] == 20  # twice 10
    assert [axes.get_ylabel() for axes in picture.axes] == [*COLUMNS, *COLUMNS]
    assert words_in(below_forgets) == ["LoRA", "adapters"]
    dotted = [[line for line in axes.lines if line.get_linestyle() == ":"] for axes in picture.axes]
    heights = [[set(line.get_ydata()) for line in each] for each in dotted]
    assert heights == [[{10.0}], [], [{10.0}], []]


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
    for missing in ({}, {"added parts": {}}):
        refused("in every family", rate_grids, missing, COLUMNS, level=1)
    for points in ({}, {1e-3: (1.0,)}):
        refused("unpack|zip", rate_grids, {"a": {"LoRA": points}}, COLUMNS, level=1)
    with pytest.raises(ValueError, match="expected the knobs edit, groups, schedule, extra_loss"):
        four_knobs({"edit": "nothing"}, title="A title")
