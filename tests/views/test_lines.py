import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from tests.views.drawn import LABELLED, SAID, column_names
from tlcourse.views import curves, smooth
from tlcourse.views.lines import _spread
from tlcourse.views.style import CYCLE


def texts(axes):
    return {text.get_text(): text for text in axes.texts}


def test_curves_are_labelled_at_their_ends():
    x = np.arange(1, 101)
    said = {**SAID, "x_label": "step", "y_label": "loss (nats)"}
    picture = curves({"causal": (x, 1 / x), "masked": (x, 2 / x)}, **said)
    axes = picture.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("step", "loss (nats)")
    assert [line.get_color() for line in axes.lines] == list(CYCLE[:2])
    assert list(texts(axes)) == ["causal", "masked"]
    assert texts(axes)["masked"].get_color() == CYCLE[1]
    assert texts(axes)["masked"].xy == (100, 0.02)
    assert axes.get_legend() is None and picture.alt == SAID["alt"]


def test_labels_do_not_overlap():
    ends = {f"scheme {i}": ([1, 2], [1, 2 + i / 1000]) for i in range(7)}
    picture = curves(ends, title="All alike", alt="alt", x_label="x", y_label="y")
    picture.draw_without_rendering()
    boxes = [Text.get_window_extent(text) for text in picture.axes[0].texts]
    boxes.sort(key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 3 for low, high in zip(boxes, boxes[1:], strict=False))
    assert boxes[-1].x1 <= picture.bbox.x1


@given(st.lists(st.floats(-1, 2), min_size=1, max_size=8), st.sampled_from([0.0, 0.05, 0.3]))
def test_labels_that_touch_share_their_mean(wanted, gap):
    """Isotonic regression by its closed form: the largest of the smallest means to the right."""
    values = np.sort(wanted) - gap * np.arange(len(wanted))
    n = len(values)
    nearest = [
        max(min(values[j : k + 1].mean() for k in range(i, n)) for j in range(i + 1))
        for i in range(n)
    ]
    expected = np.clip(nearest, 0, max(0, 1 - gap * (n - 1))) + gap * np.arange(n)
    found = np.sort(_spread(np.array(wanted), gap))
    assert found.tolist() == pytest.approx(expected.tolist(), abs=1e-9)
    assert all(np.diff(found) >= gap - 1e-9)


@pytest.mark.parametrize("without", ["title", "alt", "x_label", "y_label"])
def test_a_figure_needs_its_words(without):
    given = {name: text for name, text in LABELLED.items() if name != without}
    for words in (given, given | {without: " "}):
        with pytest.raises(ValueError, match=f"expected (a )?{without}"):
            curves({"a": ([1], [1])}, **words)


def test_intervals_are_bars_for_few_points_and_a_band_for_many():
    few, many = np.arange(1, 4), np.arange(1, 50)
    bars = curves({"a": (few, few, few - 0.5, few + 0.5)}, **LABELLED).axes[0]
    band = curves({"a": (many, many, many - 1, many + 1)}, **LABELLED).axes[0]
    segments = bars.collections[0].get_segments()
    assert [segment[:, 1].tolist() for segment in segments] == [[0.5, 1.5], [1.5, 2.5], [2.5, 3.5]]
    assert type(band.collections[0]).__name__ in ("PolyCollection", "FillBetweenPolyCollection")
    assert not bars.texts  # one curve needs no name


def test_log_axes_and_ticks():
    how = {"log_x": True, "log_y": True, "x_ticks": [100, 5452]}
    axes = curves({"a": ([100, 5452], [1, 2])}, **LABELLED, **how).axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert column_names(axes) == ["100", "5452"]


def test_too_many_curves_are_refused():
    with pytest.raises(ValueError, match="got 15"):
        curves({str(i): ([1], [1]) for i in range(15)}, **LABELLED)
    with pytest.raises(ValueError, match="got 0"):
        curves({}, **LABELLED)


def test_a_dashed_curve_does_not_hide_what_it_covers():
    series = {"norm": ([0, 1], [1, 2]), "disguise": ([0, 1], [1, 2])}
    axes = curves(series, **LABELLED, dashed=["disguise"]).axes[0]
    assert [line.get_linestyle() for line in axes.lines] == ["-", "--"]


def test_levels_are_grey_lines_with_names_on_an_axis_from_zero():
    series = {"a": ([1, 2], [60, 90]), "b": ([1, 2], [40, 30])}
    axes = curves(series, **LABELLED, levels={"chance": 25}).axes[0]
    assert list(axes.lines[-1].get_ydata()) == [25, 25]
    assert axes.lines[-1].get_linestyle() == ":"
    assert texts(axes)["chance"].xy[1] == 25
    assert axes.get_ylim()[0] == 0 and axes.get_ylim()[1] > 90


def test_with_a_top_the_axis_ends_there_and_no_line_is_cut() -> None:
    series = {"a": ([1, 2], [100.0, 100.0], [90, 90], [100, 100])}
    axes = curves(series, **LABELLED, top=100).axes[0]
    assert axes.get_ylim() == (0, 100) and not any(line.get_clip_on() for line in axes.lines)


def test_smooth_is_the_mean_of_the_last_values():
    assert smooth([4, 2, 6, 0], 2).tolist() == [4, 3, 4, 3]
    assert smooth([4, 2, 6, 0], 1).tolist() == [4, 2, 6, 0]
    assert smooth([4, 2, 6, 0], 9).tolist() == pytest.approx([4, 3, 4, 3])
