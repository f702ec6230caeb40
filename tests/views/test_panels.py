import numpy as np
import pytest

from tlcourse.views.panels import draw_line, label_below, name_lines, panels, with_ends


def test_values_are_numbers_or_have_ends():
    flat = with_ends([0.5, 0.6])
    assert flat[0].tolist() == [0.5, 0.6] and np.isnan(flat[1:]).all()
    assert with_ends([(0.5, 0.4, 0.7)]).tolist() == [[0.5], [0.4], [0.7]]
    with pytest.raises(ValueError, match=r"numbers or \(value, low, high\) for 'POS', got shape"):
        with_ends([(0.5, 0.4)], what="POS")
    with pytest.raises(ValueError, match="expected 3 values for 'POS', got 2"):
        with_ends([1, 2], 3, "POS")


@pytest.mark.parametrize(("count", "shape"), [(1, (1, 1)), (3, (1, 3)), (4, (2, 2)), (5, (2, 3))])
def test_panels_fill_rows(count, shape):
    headings = [f"task {i}" for i in range(count)]
    picture, shown = panels("title", headings)
    grid = shown[0].get_subplotspec().get_gridspec()
    assert (grid.nrows, grid.ncols) == shape and picture.get_figwidth() == 7
    assert sum(axes.get_visible() for axes in picture.axes) == len(shown) == count
    assert [axes.get_title(loc="left") for axes in shown] == (headings if count > 1 else [""])
    label_below(shown, "layer")
    assert [bool(axes.get_xlabel()) for axes in shown] == [
        i + shape[1] >= count for i in range(count)
    ]


@pytest.mark.parametrize("count", [0, 7])
def test_other_numbers_of_panels_are_refused(count):
    with pytest.raises(ValueError, match=f"1 to 6 panels in one figure, got {count}"):
        panels("title", ["x"] * count)


def test_a_line_is_named_at_the_right_or_inside_where_there_is_room():
    picture, shown = panels("title", ["a", "b"], sharey=True)
    for axes, lines in zip(
        shown, ({"up": [0, 1], "flat": [0.1, 0.1]}, {"up": [0, 1]}), strict=True
    ):
        for values in lines.values():
            draw_line(axes, [0, 1], with_ends(values), "#000000")
    ends = [{"up": (1, 1, "red"), "flat": (1, 0.1, "grey")}, {"up": (1, 1, "red")}]
    name_lines(shown, ends, 1.5)
    assert [text.get_text() for text in shown[1].texts] == ["up"]
    (inside,) = shown[0].texts
    assert (inside.get_text(), inside.get_ha()) == ("flat", "right"), "at the left the lines meet"
    picture.draw_without_rendering()
    box = inside.get_window_extent()
    assert shown[0].bbox.x0 <= box.x0 and box.x1 <= shown[0].bbox.x1


def test_headings_do_not_reach_into_the_next_panel():
    headings = ["grandparent constituent", "object or subject of which verb", "depth"] * 2
    picture, shown = panels("title", headings, sharey=True)
    for axes in shown:
        draw_line(axes, [0, 1], with_ends([0, 1]), "#000000")
    name_lines(shown, [{"random encoder": (1, 1, "grey")}] * 6, 1.5)
    picture.draw_without_rendering()
    boxes = [axes._left_title.get_window_extent() for axes in shown]
    assert all(a.x1 < b.x0 for a, b in zip(boxes[:2], boxes[1:3], strict=True))
    assert shown[2]._left_title.get_fontsize() == 11 > shown[1]._left_title.get_fontsize()
