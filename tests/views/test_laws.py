import pytest

from tests.views.drawn import SAID
from tlcourse.views import predicted_and_true

RUNS = ([1e6, 2e6, 4e6], [6.0, 5.5, 5.2])
LINE = ([1e6, 4e6, 16e6, 64e6], [5.8, 5.0, 4.1, 3.4])


def test_a_law_is_drawn_through_its_runs_and_dashed_beyond():
    laws = {"one": (RUNS, LINE, (3.3, 3.5)), "other": (RUNS, LINE, (3.0, 4.4))}
    picture = predicted_and_true(laws, ("shipped", 64e6, 3.7), **SAID)
    axes = picture.axes[0]
    lines = [line.get_ydata().tolist() for line in axes.lines if len(line.get_ydata()) > 1]
    assert lines[:3] == [RUNS[1], [5.8, 5.0], [4.1, 3.4]]
    styles = {tuple(line.get_ydata()): line.get_linestyle() for line in axes.lines}
    assert (styles[5.8, 5.0], styles[4.1, 3.4]) == ("-", "--")
    assert ([64e6], [3.7]) in [(list(x.get_xdata()), list(x.get_ydata())) for x in axes.lines]
    assert [text.get_text() for text in axes.texts] == ["one", "other", "shipped"]
    assert axes.get_xscale() == "log"


def test_bars_of_two_laws_lie_side_by_side():
    laws = {"one": (RUNS, LINE, (3.3, 3.5)), "other": (RUNS, LINE, (3.0, 4.4))}
    bars = predicted_and_true(laws, ("shipped", 64e6, 3.7), **SAID).axes[0].collections
    (left, right) = (bar.get_segments()[0][:, 0] for bar in bars)
    assert left[0] == left[1] < 64e6 < right[0] == right[1]


def test_a_run_that_went_on_is_a_hollow_star_joined_to_the_first():
    laws = {"one": (RUNS, LINE, (4.0, 4.2))}
    picture = predicted_and_true(laws, ("first", 16e6, 4.3), later=("both", 64e6, 3.9), **SAID)
    lines = {tuple(line.get_ydata()): line for line in picture.axes[0].lines}
    assert lines[4.3, 3.9].get_linestyle() == ":"
    assert lines[(3.9,)].get_markerfacecolor() == "white" != lines[(4.3,)].get_markerfacecolor()
    marks = [line for line in picture.axes[0].lines if line.get_marker() == "_"]
    assert [list(mark.get_ydata()) for mark in marks] == [[pytest.approx(4.1)]]  # after one leg
    assert [text.get_text() for text in picture.axes[0].texts] == ["first", "one", "both"]


def test_no_law_is_refused():
    with pytest.raises(ValueError, match="expected 1 to 7 laws in one figure, got 0"):
        predicted_and_true({}, ("shipped", 64e6, 3.7), **SAID)
