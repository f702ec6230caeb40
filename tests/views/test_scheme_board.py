import pytest
from matplotlib.colors import to_hex

from tlcourse.views import KNOB_COLOURS, Panel, scheme_board

SAID = {"title": "A finding.", "alt": "What is seen."}
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
    assert points(errors) == [
        (30.0, 0, colour["nothing"], True),
        (38.0, 1, colour["edit"], True),
        (31.0, 2, colour["schedule"], True),
    ]
    assert points(differences) == [
        (8.0, 1, colour["edit"], True),
        (1.0, 2, colour["schedule"], False),
    ]
    assert [text.get_text() for text in errors.get_yticklabels()] == list(ROWS)
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


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ({}, "at least one row"),
        ({"a": ("knob", (1.0,))}, "got 'knob' and 1"),
        ({"a": ("edit", (1.0, 2.0))}, "got 'edit' and 2"),
    ],
)
def test_what_does_not_fit_is_refused(rows, said):
    with pytest.raises(ValueError, match=said):
        scheme_board(rows, (Panel("a"),), **SAID)
