import pytest
from matplotlib.colors import to_hex

from tests.views.drawn import SAID
from tlcourse.views import paired_differences

AXES = {"x_label": "tokens", "y_label": "difference (points)"}
PAIRS = {
    "b − a": ([1e5, 1e6], [(3.0, 1.0, 5.0), (0.5, -1.0, 2.0)]),
    "c − a": ([1e5, 1e6], [(-2.0, -3.0, -1.0), (-6.0, -8.0, -4.0)]),
}


def test_a_panel_for_each_pair_with_the_line_of_no_difference():
    picture = paired_differences(PAIRS, above="worse", below="better", log_x=True, **AXES, **SAID)
    assert [axes.get_title(loc="left") for axes in picture.axes] == list(PAIRS)
    for axes in picture.axes:
        assert any(list(line.get_ydata()) == [0, 0] for line in axes.lines)
        assert [text.get_text() for text in axes.get_xticklabels()] == ["100k", "1M"]
        low, high = axes.get_ylim()
        assert low == -high and high >= 8
    assert [text.get_text() for text in picture.axes[0].texts] == ["worse", "better"]


def test_an_interval_that_leaves_out_zero_is_blue_and_the_others_are_grey():
    picture = paired_differences(PAIRS, **AXES, **SAID)
    colours = [
        [to_hex(line.get_color()) for line in axes.lines if line.get_marker() == "o"]
        for axes in picture.axes
    ]
    assert colours == [["#0072b2", "#8c8c8c"], ["#0072b2", "#0072b2"]]


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="1 to 4 pairs"):
        paired_differences({}, **AXES, **SAID)
    with pytest.raises(ValueError, match="each of 2 places of 'x', got 1"):
        paired_differences({"x": ([1, 2], [(0, 0, 0)])}, **AXES, **SAID)
    with pytest.raises(ValueError, match="expected x_label"):
        paired_differences(PAIRS, **SAID)
