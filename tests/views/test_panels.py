import numpy as np
import pytest
from matplotlib.text import Text

from tests.views.drawn import SAID, column_names, inks, refused, titles_of, words_in
from tlcourse.views import by_layer
from tlcourse.views.panels import draw_line, label_below, name_lines, panels, with_ends
from tlcourse.views.style import COLOURS, GREY


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
    picture, shown = panels(headings, title="title")
    grid = shown[0].get_subplotspec().get_gridspec()
    assert (grid.nrows, grid.ncols) == shape and picture.get_figwidth() == 7
    assert sum(axes.get_visible() for axes in picture.axes) == len(shown) == count
    assert titles_of(shown) == (headings if count > 1 else [""])
    label_below(shown, "layer")
    labelled = [bool(axes.get_xlabel()) for axes in shown]
    assert labelled == [i + shape[1] >= count for i in range(count)]


def test_a_line_is_named_at_the_right_or_inside_where_there_is_room():
    picture, shown = panels(["a", "b"], title="title", sharey=True)
    for axes, lines in zip(
        shown, ({"up": [0, 1], "flat": [0.1, 0.1]}, {"up": [0, 1]}), strict=True
    ):
        for values in lines.values():
            draw_line(axes, [0, 1], with_ends(values), "#000000")
    ends = [{"up": (1, 1, "red"), "flat": (1, 0.1, "grey")}, {"up": (1, 1, "red")}]
    name_lines(shown, ends, 1.5)
    assert words_in(shown[1]) == ["up"]
    (inside,) = shown[0].texts
    assert (inside.get_text(), inside.get_ha()) == ("flat", "right"), "at the left the lines meet"
    picture.draw_without_rendering()
    box = inside.get_window_extent()
    assert shown[0].bbox.x0 <= box.x0 and box.x1 <= shown[0].bbox.x1


def test_headings_do_not_reach_into_the_next_panel():
    headings = ["grandparent constituent", "object or subject of which verb", "depth"] * 2
    picture, shown = panels(headings, title="title", sharey=True)
    for axes in shown:
        draw_line(axes, [0, 1], with_ends([0, 1]), "#000000")
    name_lines(shown, [{"random encoder": (1, 1, "grey")}] * 6, 1.5)
    picture.draw_without_rendering()
    boxes = [axes._left_title.get_window_extent() for axes in shown]
    assert all(a.x1 < b.x0 for a, b in zip(boxes[:2], boxes[1:3], strict=True))
    assert shown[2]._left_title.get_fontsize() == 11 > shown[1]._left_title.get_fontsize()


CAUSAL = [(0.6, 0.58, 0.62), (0.8, 0.78, 0.82), (0.7, 0.68, 0.72)]
POS = {"causal": CAUSAL, "masked": [0.6, 0.9, 0.8]}
BASE = {"majority": 0.2, "random encoder": [0.5, 0.45, 0.4]}


def apart(texts):
    boxes = sorted((Text.get_window_extent(text) for text in texts), key=lambda box: box.y0)
    return all(low.y1 <= high.y0 + 3 for low, high in zip(boxes, boxes[1:], strict=False))


def test_scores_by_layer_are_coloured_and_what_they_must_beat_is_grey():
    picture = by_layer({"POS": POS}, {"POS": BASE}, **SAID, note="Size small.")
    (axes,) = picture.axes
    drawn = {tuple(line.get_ydata()): line for line in axes.lines}
    assert drawn[0.6, 0.8, 0.7].get_color() == COLOURS["blue"]
    assert drawn[0.6, 0.9, 0.8].get_color() == COLOURS["vermillion"]
    greys = drawn[0.2, 0.2, 0.2], drawn[0.5, 0.45, 0.4]
    assert {line.get_color() for line in greys} == {GREY}
    assert len({line.get_linestyle() for line in greys}) == 2
    assert inks(axes).items() >= {
        ("causal", COLOURS["blue"]),
        ("majority", GREY),
        ("random encoder", GREY),
    }
    assert len(axes.collections) == 1, "a band for the one with intervals"
    assert column_names(axes) == ["emb", "1", "2"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("layer", "accuracy")
    assert picture.get_suptitle() == "The finding." and picture.get_supxlabel() == "Size small."
    picture.draw_without_rendering()
    assert apart(axes.texts)
    assert max(t.get_window_extent().x1 for t in axes.texts) <= 7 * picture.dpi


def test_tasks_are_panels_on_the_same_axes():
    tasks = {f"task {i}": POS for i in range(5)}
    picture = by_layer(tasks, dict.fromkeys(tasks, BASE), **SAID)
    shown = [axes for axes in picture.axes if axes.get_visible()]
    assert titles_of(shown) == list(tasks)
    assert len({axes.get_ylim() for axes in shown}) == 1
    assert [len(axes.texts) for axes in shown] == [0, 0, 4, 0, 4], "named once a row"
    picture.draw_without_rendering()
    assert apart(shown[4].texts)
    assert all(text.get_window_extent().x1 <= picture.bbox.x1 for text in shown[4].texts)


def test_what_cannot_be_drawn_is_refused():
    for count in (0, 7):
        with pytest.raises(ValueError, match=f"1 to 6 panels in one figure, got {count}"):
            panels(["x"] * count, title="title")
    for other in ({"causal": CAUSAL}, {name: [0.5] for name in POS}):
        refused("the same series and layers in every task", by_layer, {"a": POS, "b": other})
    refused(r"baselines of \['a'\], got some of \['b'\]", by_layer, {"a": POS}, {"b": BASE})
    refused("y_label", by_layer, {"a": POS}, y_label="")
    refused("1 to 6 panels", by_layer, {})
