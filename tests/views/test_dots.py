import numpy as np
import pytest

from tlcourse.views import grouped_dots, scatter, strips


def test_strips_show_every_run_and_the_mean():
    runs = {"short": [30.0, 50.0, 40.0], "long": [30.0, 30.0, 30.1, 35.0]}
    axes = strips(
        runs, title="t", alt="alt", x_label="dev error (%)", levels={"TF-IDF": 45.0}
    ).axes[0]
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [sorted(line.get_xdata()) for line in dots] == [sorted(each) for each in runs.values()]
    means = [line.get_xdata()[0] for line in axes.lines if line.get_color() == "black"]
    assert means == pytest.approx([40.0, 31.275])
    assert [text.get_text() for text in axes.texts] == ["TF-IDF"]
    assert axes.texts[0].xy[0] == 45.0
    assert [label.get_text() for label in axes.get_yticklabels()] == ["short", "long"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1], "the first row stands at the top"


def test_runs_that_came_out_alike_do_not_hide_each_other():
    axes = strips({"a": [30.0, 30.0, 30.1, 60.0]}, title="t", alt="alt", x_label="x").axes[0]
    heights = axes.lines[0].get_ydata()
    assert len(set(np.round(heights, 6))) == 3
    assert heights[3] == heights[0] == 0, "a dot that stands alone stays on its row"


def test_no_runs_is_an_error():
    with pytest.raises(ValueError, match="at least one value in each row"):
        strips({"a": []}, title="t", alt="alt", x_label="x")


def test_grouped_dots_lie_below_each_other_with_intervals_and_names():
    rows = {
        "HUM": {"precision": (90.0, 80.0, 95.0), "recall": (85.0, 75.0, 91.0)},
        "LOC": {"precision": (70.0, 60.0, 79.0), "recall": (95.0, 88.0, 98.0)},
    }
    axes = grouped_dots(rows, title="t", alt="alt", x_label="%").axes[0]
    assert [line.get_xdata()[0] for line in axes.lines] == [90.0, 85.0, 70.0, 95.0]
    heights = [line.get_ydata()[0] for line in axes.lines]
    assert heights == sorted(heights) and len(set(heights)) == 4
    ends = [part.get_segments()[0][:, 0].tolist() for part in axes.collections]
    assert ends == [[80, 95], [75, 91], [60, 79], [88, 98]]
    legend = axes.get_legend()
    named = {text.get_text(): text.get_color() for text in legend.get_texts()}
    assert [key.get_color() for key in legend.get_lines()] == list(named.values())
    assert named == {"precision": axes.lines[0].get_color(), "recall": axes.lines[1].get_color()}


def test_every_row_has_the_same_series():
    with pytest.raises(ValueError, match="the same series in every row"):
        grouped_dots(
            {"a": {"x": (1, 0, 2)}, "b": {"y": (1, 0, 2)}}, title="t", alt="alt", x_label="%"
        )
    with pytest.raises(ValueError, match="the same series in every row"):
        grouped_dots({}, title="t", alt="alt", x_label="%")


def test_a_level_is_drawn_through_all_rows_of_grouped_dots():
    rows = {"1M": {"one": (0.5, -0.2, 1.0)}, "2M": {"one": (-1.0, -2.0, 0.1)}}
    axes = grouped_dots(rows, levels={"equal": 0}, title="T", alt="A", x_label="points").axes[0]
    assert [list(line.get_xdata()) for line in axes.lines].count([0, 0]) == 1
    assert "equal" in [text.get_text() for text in axes.texts]


def test_many_names_of_series_take_two_lines_and_stay_inside_the_picture():
    names = ("causal-small", "masked-small", "Transformer", "LSTM", "counts of 5-grams")
    rows = {"1M": dict.fromkeys(names, (0.5, 0.2, 1.0))}
    picture = grouped_dots(rows, title="T", alt="A", x_label="points")
    picture.draw_without_rendering()
    legend = picture.axes[0].get_legend()
    assert [word.get_text() for word in legend.get_texts()] == list(names)
    box, line = legend.get_window_extent(), legend.get_texts()[0].get_window_extent()
    assert box.x1 <= picture.bbox.x1
    assert 2 * line.height < box.height < 4 * line.height


def test_every_pair_is_a_dot_and_the_named_one_stands_out():
    points = [(1, 10), (2, 30), (3, 20)]
    axes = scatter(
        points, title="t", alt="alt", x_label="x", y_label="y", named={"worst": (2, 30)}
    ).axes[0]
    every, one = axes.lines
    assert np.column_stack([every.get_xdata(), every.get_ydata()]).tolist() == [
        [1, 10], [2, 30], [3, 20],
    ]  # fmt: skip
    assert (one.get_xdata()[0], one.get_ydata()[0]) == (2, 30)
    assert one.get_color() != every.get_color()
    assert [text.get_text() for text in axes.texts] == ["worst"] and axes.texts[0].xy == (2, 30)
    with pytest.raises(ValueError, match="at least one point"):
        scatter([], title="t", alt="alt", x_label="x", y_label="y")
