import numpy as np
import pytest
from matplotlib.colors import to_hex

from tests.views.drawn import LABELLED, SAID, column_names, refused, row_names, titles_of, words_in
from tlcourse.views import (
    KNOB_COLOURS,
    Panel,
    grouped_dots,
    paired_differences,
    scatter,
    scheme_board,
    strips,
)

AXES = {"x_label": "tokens", "y_label": "difference (points)"}
PAIRS = {
    "b − a": ([1e5, 1e6], [(3.0, 1.0, 5.0), (0.5, -1.0, 2.0)]),
    "c − a": ([1e5, 1e6], [(-2.0, -3.0, -1.0), (-6.0, -8.0, -4.0)]),
}


def test_a_panel_for_each_pair_with_the_line_of_no_difference():
    picture = paired_differences(PAIRS, above="worse", below="better", log_x=True, **AXES, **SAID)
    assert titles_of(picture.axes) == list(PAIRS)
    for axes in picture.axes:
        assert any(list(line.get_ydata()) == [0, 0] for line in axes.lines)
        assert column_names(axes) == ["100k", "1M"]
        low, high = axes.get_ylim()
        assert low == -high and high >= 8
    assert words_in(picture.axes[0]) == ["worse", "better"]


def test_an_interval_that_leaves_out_zero_is_blue_and_the_others_are_grey():
    picture = paired_differences(PAIRS, **AXES, **SAID)
    colours = [
        [to_hex(line.get_color()) for line in axes.lines if line.get_marker() == "o"]
        for axes in picture.axes
    ]
    assert colours == [["#0072b2", "#8c8c8c"], ["#0072b2", "#0072b2"]]


def test_strips_show_every_run_and_the_mean():
    runs = {"short": [30.0, 50.0, 40.0], "long": [30.0, 30.0, 30.1, 35.0]}
    axes = strips(runs, **SAID, x_label="dev error (%)", levels={"TF-IDF": 45.0}).axes[0]
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [sorted(line.get_xdata()) for line in dots] == [sorted(each) for each in runs.values()]
    means = [line.get_xdata()[0] for line in axes.lines if line.get_color() == "black"]
    assert means == pytest.approx([40.0, 31.275])
    assert words_in(axes) == ["TF-IDF"]
    assert axes.texts[0].xy[0] == 45.0
    assert row_names(axes) == ["short", "long"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1], "the first row stands at the top"


def test_runs_that_came_out_alike_do_not_hide_each_other():
    axes = strips({"a": [30.0, 30.0, 30.1, 60.0]}, **SAID, x_label="x").axes[0]
    heights = axes.lines[0].get_ydata()
    assert len(set(np.round(heights, 6))) == 3
    assert heights[3] == heights[0] == 0, "a dot that stands alone stays on its row"


def test_grouped_dots_lie_below_each_other_with_intervals_and_names():
    rows = {
        "HUM": {"precision": (90.0, 80.0, 95.0), "recall": (85.0, 75.0, 91.0)},
        "LOC": {"precision": (70.0, 60.0, 79.0), "recall": (95.0, 88.0, 98.0)},
    }
    axes = grouped_dots(rows, **SAID, x_label="%").axes[0]
    assert [line.get_xdata()[0] for line in axes.lines] == [90.0, 85.0, 70.0, 95.0]
    heights = [line.get_ydata()[0] for line in axes.lines]
    assert heights == sorted(heights) and len(set(heights)) == 4
    ends = [part.get_segments()[0][:, 0].tolist() for part in axes.collections]
    assert ends == [[80, 95], [75, 91], [60, 79], [88, 98]]
    legend = axes.get_legend()
    named = {text.get_text(): text.get_color() for text in legend.get_texts()}
    assert [key.get_color() for key in legend.get_lines()] == list(named.values())
    assert named == {"precision": axes.lines[0].get_color(), "recall": axes.lines[1].get_color()}


def test_a_level_is_drawn_through_all_rows_of_grouped_dots():
    rows = {"1M": {"one": (0.5, -0.2, 1.0)}, "2M": {"one": (-1.0, -2.0, 0.1)}}
    axes = grouped_dots(rows, levels={"equal": 0}, **SAID, x_label="points").axes[0]
    assert [list(line.get_xdata()) for line in axes.lines].count([0, 0]) == 1
    assert "equal" in words_in(axes)


def test_many_names_of_series_take_two_lines_and_stay_inside_the_picture():
    names = ("causal-small", "masked-small", "Transformer", "LSTM", "counts of 5-grams")
    rows = {"1M": dict.fromkeys(names, (0.5, 0.2, 1.0))}
    picture = grouped_dots(rows, **SAID, x_label="points")
    picture.draw_without_rendering()
    legend = picture.axes[0].get_legend()
    assert [word.get_text() for word in legend.get_texts()] == list(names)
    box, line = legend.get_window_extent(), legend.get_texts()[0].get_window_extent()
    assert box.x1 <= picture.bbox.x1
    assert 2 * line.height < box.height < 4 * line.height


def test_every_pair_is_a_dot_and_the_named_one_stands_out():
    points = [(1, 10), (2, 30), (3, 20)]
    axes = scatter(points, **LABELLED, named={"worst": (2, 30)}).axes[0]
    every, one = axes.lines
    assert every.get_xydata().tolist() == [list(point) for point in points]
    assert (one.get_xdata()[0], one.get_ydata()[0]) == (2, 30)
    assert one.get_color() != every.get_color()
    assert words_in(axes) == ["worst"] and axes.texts[0].xy == (2, 30)
    with pytest.raises(ValueError, match="at least one point"):
        scatter([], **LABELLED)


ROWS = {
    "full": ("nothing", ((30.0, 26.0, 34.0), None)),
    "LoRA": ("edit", ((38.0, 34.0, 42.0), (8.0, 4.0, 12.0))),
    "thawed": ("schedule", ((31.0, 27.0, 35.0), 1.0)),
}


def points(axes):
    """(x, y, colour, filled) of every point."""
    return [
        (*line.get_xydata()[0], to_hex(line.get_color()), line.get_markerfacecolor() != "white")
        for line in axes.get_lines()
        if line.get_marker() == "o"
    ]


def test_a_point_a_scheme_and_panel_in_the_colour_of_its_knob():
    panels = (Panel("error (%)", log=True), Panel("points", level=0.0, hollow={"thawed"}))
    picture = scheme_board(ROWS, panels, **SAID)
    errors, differences = picture.axes
    colour = {knob: to_hex(each) for knob, each in KNOB_COLOURS.items()}
    knobs = zip((30.0, 38.0, 31.0), range(3), ("nothing", "edit", "schedule"), strict=True)
    assert points(errors) == [(x, y, colour[knob], True) for x, y, knob in knobs]
    hollow = (1.0, 2, colour["schedule"], False)
    assert points(differences) == [(8.0, 1, colour["edit"], True), hollow]
    assert row_names(errors) == list(ROWS)
    assert errors.get_ylim()[0] > errors.get_ylim()[1]  # the first row on top
    assert errors.get_xscale() == "log" and differences.get_xscale() == "linear"
    assert len(errors.collections) == 3 and len(differences.collections) == 1  # intervals


def test_the_legend_names_the_knobs_that_are_there_below_the_title():
    picture = scheme_board(ROWS, (Panel("a"), Panel("b")), **SAID)
    legend = picture.axes[0].get_legend()
    named = [text.get_text() for text in legend.get_texts()]
    assert named == ["no knob turned", "knob: edit", "knob: schedule"]
    picture.draw_without_rendering()
    box, title = legend.get_window_extent(), picture._suptitle.get_window_extent()
    assert box.y1 <= title.y0 and box.x0 >= 0 and box.x1 <= picture.bbox.x1


def test_what_cannot_be_drawn_is_refused():
    refused("1 to 4 pairs", paired_differences, {}, **AXES)
    short = {"x": ([1, 2], [(0, 0, 0)])}
    refused("same first dimension", paired_differences, short, **AXES)
    refused("expected x_label", paired_differences, PAIRS)
    refused("at least one value in each row", strips, {"a": []}, x_label="x")
    for wrong in ({"a": {"x": (1, 0, 2)}, "b": {"y": (1, 0, 2)}}, {}):
        refused("the same series in every row", grouped_dots, wrong, x_label="%")
    for rows, said in (
        ({}, "at least one row"),
        ({"a": ("knob", (1.0,))}, "got 'knob' and 1"),
        ({"a": ("edit", (1.0, 2.0))}, "got 'edit' and 2"),
    ):
        refused(said, scheme_board, rows, (Panel("a"),))
