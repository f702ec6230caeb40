"""What drawings are made of: boxes, arrows and labels, placed in inches.

At most two hues beside grey, 9 pt text, 1 pt arrows. Numbers come from the live configuration. A
drawing of one's own is a few lines:

    picture, axes = canvas("A block adds to the stream", 2.0)
    block = box(axes, (2.0, 1.0), "block", fill=PALE)
    arrow(axes, block.right, (5.0, 1.0))
    label(axes, (5.1, 1.0), "stream + what the block adds")
    finish(picture, "A box with an arrow to the right.")
"""

from typing import Any, NamedTuple

from matplotlib.patches import FancyBboxPatch

from tlcourse.views.style import GREY, Picture, figure, text_width

Point = tuple[float, float]  # inches from the lower left corner
ACROSS = 6.8  # inches
SIZE = 9  # points
PALE, PALE_BLUE, PALE_VERMILLION = "#EDEDED", "#CFE4F1", "#F6D5BF"


class Box(NamedTuple):
    """A drawn box: its middle, width and height, in inches; arrows begin and end at its sides."""

    middle: Point
    width: float
    height: float

    @property
    def left(self) -> Point:
        """The middle of the left side; likewise the others."""
        return self.middle[0] - self.width / 2, self.middle[1]

    @property
    def right(self) -> Point:
        return self.middle[0] + self.width / 2, self.middle[1]

    @property
    def top(self) -> Point:
        return self.middle[0], self.middle[1] + self.height / 2

    @property
    def bottom(self) -> Point:
        return self.middle[0], self.middle[1] - self.height / 2


def canvas(title: str, height: float) -> tuple[Picture, Any]:
    """A figure with room for a drawing 6.8 inches wide and `height` inches tall, and its axes."""
    picture, axes = figure(title, height + 0.55)
    axes.set_axis_off()
    axes.set(xlim=(0, ACROSS), ylim=(0, height))
    return picture, axes


def box(
    axes: Any,
    middle: Point,
    text: str = "",
    *,
    width: float | None = None,
    height: float | None = None,
    fill: str = "white",
    edge: str = GREY,
    bold: bool = False,
) -> Box:
    """A rounded box around `text`, as large as it needs or as `width` and `height` say (inches)."""
    weight = "bold" if bold else "normal"
    rows = text.split("\n")
    if width is None:
        width = 0.2 + 1.05 * max(text_width(row, SIZE, weight) for row in rows)
    height = 0.12 + 0.16 * len(rows) if height is None else height
    axes.add_patch(
        FancyBboxPatch(
            (middle[0] - width / 2, middle[1] - height / 2), width, height,
            boxstyle=f"round,pad=0,rounding_size={min(0.04, width / 9)}", fc=fill, ec=edge, lw=1,
        )
    )  # fmt: skip
    if text:
        label(axes, middle, text, align="center", bold=bold)
    return Box(middle, width, height)


def arrow(axes: Any, start: Point, end: Point, *, colour: str = GREY, dashed: bool = False) -> None:
    """A straight arrow of 1 pt from `start` to `end`."""
    axes.annotate(
        "", end, start,
        arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1, "shrinkA": 0, "shrinkB": 0,
                    "ls": "--" if dashed else "-", "mutation_scale": 8},
    )  # fmt: skip


def label(
    axes: Any,
    at: Point,
    text: str,
    *,
    colour: str = "black",
    align: str = "left",
    bold: bool = False,
) -> Any:
    """Text of 9 pt at a point, to its right, around it ("center") or to its left ("right")."""
    return axes.text(
        *at, text, color=colour, fontsize=SIZE, ha=align, va="center_baseline", linespacing=1.25,
        fontweight="bold" if bold else "normal", parse_math=False,
    )  # fmt: skip
