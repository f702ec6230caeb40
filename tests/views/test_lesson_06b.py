from matplotlib.colors import to_hex

from tests.views.drawn import LABELLED, SAID, nothing_overlaps, refused, row_names, said, words_in
from tlcourse.exercises.task import get
from tlcourse.views import gains_and_reach, self_training_loop, trade_off, two_masks


def test_the_trade_off_names_each_point_and_colours_the_unbeaten():
    points = {"cheap": (10.0, 9.0, 8.0, 10.0), "good": (1e6, 1.0, 0.5, 1.5), "bad": (1e6, 9.0)}
    picture = trade_off(points, **LABELLED, log_x=True, highlight="good")
    (axes,) = picture.axes
    drawn = {
        (line.get_xdata()[0], line.get_ydata()[0]): line.get_color()
        for line in axes.get_lines()
        if line.get_marker() in "oD"
    }
    colours = [drawn[points[name][:2]] for name in points]
    assert colours[0] == colours[1] != colours[2]
    assert set(words_in(axes)) == set(points)
    assert axes.get_xscale() == "log"


GROUPS = {
    "100 labels": {"TAPT": (-2.4, -5.9, 1.2, 3.8), "STILTs": (0.8, -4.6, 6.3, 5.9)},
    "all labels": {"TAPT": (-1.6, -2.1, -1.1)},
}
AXIS = {"x_label": "points of error"}


def test_rows_stand_below_their_headings_and_both_sides_of_zero_are_seen():
    picture = gains_and_reach(GROUPS, **AXIS, **SAID)
    (axes,) = picture.axes
    names = row_names(axes)
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


LABELS = ["ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"]
SHARES = [0.1, 0.5, 0.2, 0.1, 0.1, 0.0], [0.0, 0.2, 0.6, 0.1, 0.1, 0.0]


def test_the_loop_has_the_numbers_of_the_run_and_the_name_of_the_code():
    picture = self_training_loop(100, 4742, least=0.8, **SAID)
    nothing_overlaps(picture)
    written = " ".join(said(picture))
    assert "100 questions" in written and "4,742 questions" in written
    assert "choose_guesses" in written and get("more_signal.choose_guesses").name in written
    assert "sure of by 0.8" in self_training_loop(100, 4742, title="The finding.").alt


def test_two_answers_and_their_divergence():
    picture = two_masks("What is a caldera ?", LABELS, SHARES, **SAID)
    nothing_overlaps(picture)
    written = " ".join(said(picture))
    assert (
        "one number" in written.replace("\n", " ")
        and get("more_signal.consistency_loss").name in written
    )
    assert written.count("ABBR") == 2
    own = two_masks("What is a caldera ?", LABELS, SHARES, title="The finding.").alt
    assert "DESC and ENTY" in own


def test_what_cannot_be_drawn_is_refused():
    for groups in ({}, {"100 labels": {}}):
        refused("expected rows in each group", gains_and_reach, groups, **AXIS)
    refused("expected x_label", gains_and_reach, GROUPS)
    refused(r"answers of shape \(2, 6\)", two_masks, "Who ?", LABELS, ([0.5, 0.5], [0.5, 0.5]))
    refused("a text that fits", two_masks, "Who ?" * 40, LABELS, SHARES)
