import pytest
from matplotlib.colors import to_hex

from tests.views.drawn import SAID
from tlcourse.views import gains_and_reach

GROUPS = {
    "100 labels": {"TAPT": (-2.4, -5.9, 1.2, 3.8), "STILTs": (0.8, -4.6, 6.3, 5.9)},
    "all labels": {"TAPT": (-1.6, -2.1, -1.1)},
}
AXIS = {"x_label": "points of error"}


def test_rows_stand_below_their_headings_and_both_sides_of_zero_are_seen():
    picture = gains_and_reach(GROUPS, **AXIS, **SAID)
    (axes,) = picture.axes
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    assert names == ["100 labels", "TAPT", "STILTs", "all labels", "TAPT"]
    assert axes.get_yticklabels()[0].get_fontweight() == "bold"
    low, high = axes.get_xlim()
    assert low < -5.9 and high > 6.3
    one_side = gains_and_reach({"": {"frozen": (16.0, 13.0, 20.0)}}, **AXIS, **SAID)
    assert one_side.axes[0].get_xlim()[0] < -3


def test_what_is_clear_is_blue_and_the_reach_is_a_band():
    picture = gains_and_reach(GROUPS, clear={("all labels", "TAPT")}, **AXIS, **SAID)
    (axes,) = picture.axes
    dots = [to_hex(line.get_color()) for line in axes.lines if line.get_marker() == "o"]
    assert dots == ["#8c8c8c", "#8c8c8c", "#0072b2"]
    assert [round(bar.get_width(), 1) for bar in axes.patches] == [7.6, 11.8]


def test_its_own_words_list_the_rows():
    picture = gains_and_reach({"": {"TAPT": (-2.4, -5.9, 1.2)}}, title="The finding.", **AXIS)
    assert picture.alt == "TAPT -2.4 (-5.9 to +1.2)"


def test_what_cannot_be_drawn_is_refused():
    for groups in ({}, {"100 labels": {}}):
        with pytest.raises(ValueError, match="expected rows in each group"):
            gains_and_reach(groups, **AXIS, **SAID)
    with pytest.raises(ValueError, match="expected x_label"):
        gains_and_reach(GROUPS, **SAID)
