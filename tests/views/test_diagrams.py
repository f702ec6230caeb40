import pytest

from tlcourse.views.diagrams import SIZE, Drawing


def test_a_box_holds_its_text_and_gives_its_sides():
    draw = Drawing(2.0, title="title")
    axes, drawn = draw.axes, draw.box((3.0, 1.0), "a block of some\nwords", bold=True)
    assert drawn.left == (3.0 - drawn.width / 2, 1.0) and drawn.top == (3.0, 1.0 + drawn.height / 2)
    assert drawn.right[0] - drawn.left[0] == pytest.approx(drawn.width)
    assert drawn.bottom[1] == pytest.approx(1.0 - drawn.height / 2)
    draw.arrow(drawn.right, (6.0, 1.0), dashed=True)
    draw.label((6.0, 1.0), "x")
    assert axes.texts[-1].get_fontsize() == SIZE == 9
    draw.picture.draw_without_rendering()
    outer, inner = axes.patches[0].get_window_extent(), axes.texts[0].get_window_extent()
    assert outer.x0 <= inner.x0 and inner.x1 <= outer.x1
    assert outer.y0 <= inner.y0 and inner.y1 <= outer.y1
    assert axes.texts[1].arrow_patch.get_linewidth() == 1
