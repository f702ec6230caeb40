import numpy as np
import pytest

from tlcourse.views import movement, trade_off, unbeaten


def test_what_does_not_move_is_white_and_the_fastest_is_darkest():
    rates = np.array([[0.0, 0.5], [3.0, 0.003]])
    picture = movement({"one": (["embedding", "head"], rates)}, title="A title", alt="alt")
    panel = picture.axes[0]
    (image,) = panel.get_images()
    shades = image.get_array()
    assert shades.mask.tolist() == [[True, False], [False, False]]
    assert shades[1, 0] == shades.max() and shades[1, 1] == pytest.approx(shades.max() - 3)
    assert [label.get_text() for label in panel.get_yticklabels()] == ["embedding", "head"]
    assert panel.get_ylim()[0] < panel.get_ylim()[1]  # the output on top


def test_each_scheme_is_a_panel_and_empty_ones_are_hidden():
    rates = (["a", "b"], np.ones((2, 4)))
    picture = movement({"one": rates, "two": rates, "three": rates}, title="A title", alt="alt")
    shown = [axes for axes in picture.axes if axes.get_visible() and axes.get_images()]
    assert [axes.get_title(loc="left") for axes in shown] == ["one", "two", "three"]


def test_unbeaten_is_who_has_no_better_in_both():
    points = {"cheap": (1, 9), "good": (9, 1), "bad": (9, 9), "equal": (1, 9)}
    assert [name for name in points if unbeaten(name, points)] == ["cheap", "good", "equal"]


def test_the_trade_off_names_each_point_and_colours_the_unbeaten():
    points = {"cheap": (10.0, 9.0, 8.0, 10.0), "good": (1e6, 1.0, 0.5, 1.5), "bad": (1e6, 9.0)}
    picture = trade_off(
        points, title="A title", alt="alt", x_label="x", y_label="y", log_x=True, highlight="good"
    )
    (axes,) = picture.axes
    drawn = {
        (line.get_xdata()[0], line.get_ydata()[0]): line.get_color()
        for line in axes.get_lines()
        if line.get_marker() in "oD"
    }
    colours = [drawn[points[name][:2]] for name in points]
    assert colours[0] == colours[1] != colours[2]
    assert {text.get_text() for text in axes.texts} == set(points)
    assert axes.get_xscale() == "log"
