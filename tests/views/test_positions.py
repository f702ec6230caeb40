import numpy as np
import pytest

from tlcourse.views import clocks, score_maps


def arcs(picture):
    return [
        text.get_text() for axes in picture.axes for text in axes.texts if "°" in text.get_text()
    ]


def test_score_maps_stand_in_units_of_their_spread_on_one_scale() -> None:
    maps = {"a": np.eye(2), "b": 5 - 3 * np.eye(2), "c": np.diag([1.0, 0, 0, 0])}
    picture = score_maps(maps, title="Three maps", alt="alt")
    images = [axes.images[0] for axes in picture.axes if axes.images]
    assert np.allclose(images[0].get_array(), 2 * np.eye(2) - 1)
    assert np.allclose(images[1].get_array(), 1 - 2 * np.eye(2))
    largest = 15**0.5  # one of 16 is 1, the others 0
    assert all(image.get_clim() == pytest.approx((-largest, largest)) for image in images)
    assert picture.alt == "alt" and picture.png()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    "maps", [{}, {"a": np.eye(3)[:2]}, {"a": np.ones((2, 2))}, dict.fromkeys("abcd", np.eye(2))]
)
def test_other_maps_are_refused(maps) -> None:
    with pytest.raises(ValueError, match="expected"):
        score_maps(maps, title="title", alt="alt")


def test_clocks_write_the_angle_between_the_hands() -> None:
    quarter = np.pi / 2
    row = [0, quarter, 0.1], [quarter, 0, 2 * np.pi]
    picture = clocks({"one row": row}, ["a", "b", "c"], title="Clocks", alt="alt")
    assert arcs(picture) == ["+90°", "-90°", "-6°"]


def test_turning_both_hands_leaves_the_angle() -> None:
    rows = {f"at {shift}": ([1 + shift], [2 + shift]) for shift in (0.0, 3.0, 40.0)}
    picture = clocks(rows, ["a"], title="t", alt="alt")
    assert arcs(picture) == ["+57°"] * 3
    said = [text.get_text() for axes in picture.axes for text in axes.texts]
    assert set(rows) < set(said)


def test_clocks_need_as_many_angles_as_names() -> None:
    with pytest.raises(ValueError, match=r"2 names .* got \[1, 1\]"):
        clocks({"row": ([0], [0])}, ["a", "b"], title="t", alt="alt")
    with pytest.raises(ValueError, match="expected as many"):
        clocks({}, ["a"], title="t", alt="alt")
