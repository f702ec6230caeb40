"""Drawings of boxes, arrows and labels, in inches."""

from itertools import pairwise
from typing import NamedTuple, Unpack

from matplotlib.patches import FancyBboxPatch

from tlcourse.views.style import COLOURS, GREY, Picture, Texts, figure, finish, text_width

Point = tuple[float, float]  # inches from the lower left corner
ACROSS = 6.8  # inches
SIZE = 9  # points
PALE, PALE_BLUE, PALE_VERMILLION = "#EDEDED", "#CFE4F1", "#F6D5BF"
_INKS = {"grey": GREY, **COLOURS}
_PALES = {"grey": PALE, "blue": PALE_BLUE, "vermillion": PALE_VERMILLION, "faint": "white"}
_EDGES = {"white": GREY, "faint": "#9A9A9A", **_INKS}


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


def word_width(text: str, *, bold: bool = False) -> float:
    """How wide a drawing writes a text, in inches."""
    return text_width(text, SIZE, "bold" if bold else "normal")


class Drawing:
    """A figure with room for a drawing 6.8 inches wide and `height` inches tall.

    `picture` is the figure, `axes` are its axes, whose unit is an inch.
    """

    def __init__(self, height: float, **texts: Unpack[Texts]):
        self.picture, self.axes = figure(height=height + 0.55, **texts)
        self.axes.set_axis_off()
        self.axes.set(xlim=(0, ACROSS), ylim=(0, height))

    def finish(self, alt: str = "", note: str | None = None) -> Picture:
        """The figure with its alt text and its note, as by `finish` of the style."""
        return finish(self.picture, alt, note)

    def box(
        self,
        middle: Point,
        text: str = "",
        *,
        width: float | None = None,
        height: float | None = None,
        colour: str = "white",
        fill: str | None = None,
        edge: str | None = None,
        bold: bool = False,
    ) -> Box:
        """A rounded box around `text`, as large as it needs or as `width` and `height` say.

        `colour` is "white", "faint" (with a paler edge), "grey", "blue" or "vermillion": a pale
        fill and an edge of that colour. `fill` alone leaves the edge grey; `edge` alone replaces
        it.
        """
        rows = text.split("\n")
        if width is None:
            width = 0.2 + 1.05 * max(word_width(row, bold=bold) for row in rows)
        height = 0.12 + 0.16 * len(rows) if height is None else height
        corner = (middle[0] - width / 2, middle[1] - height / 2)
        style = f"round,pad=0,rounding_size={min(0.04, width / 9)}"
        look = {"fc": _PALES.get(fill or colour, fill or colour), "ec": edge or _EDGES[colour]}
        self.axes.add_patch(FancyBboxPatch(corner, width, height, boxstyle=style, lw=1, **look))
        if text:
            self.caption(middle, text, "black", bold=bold)
        return Box(middle, width, height)

    def stroke(self, *points: Point, colour: str = "grey") -> None:
        """A line of 1 pt through the points."""
        self.axes.plot(*zip(*points, strict=True), color=_INKS.get(colour, colour), lw=1)

    def arrow(
        self,
        start: Point,
        end: Point,
        *,
        colour: str = "grey",
        dashed: bool = False,
        bend: float | None = None,
    ) -> None:
        """An arrow of 1 pt from `start` to `end`: straight, or an arc with `bend` as its `rad`."""
        style = {"color": _INKS.get(colour, colour), "lw": 1, "ls": "--" if dashed else "-"}
        style |= {"arrowstyle": "-|>", "mutation_scale": 8, "shrinkA": 0, "shrinkB": 0}
        if bend is not None:
            style["connectionstyle"] = f"arc3,rad={bend:.3f}"
        self.axes.annotate("", end, start, arrowprops=style)

    def chain(self, *boxes: Box, colour: str = "grey") -> None:
        """An arrow from each box to the next one at its right."""
        for one, other in pairwise(boxes):
            self.arrow(one.right, other.left, colour=colour)

    def label(
        self,
        at: Point,
        text: str,
        *,
        colour: str = "black",
        align: str = "left",
        bold: bool = False,
    ) -> None:
        """Text of 9 pt at a point, to its right, around it ("center") or to its left ("right")."""
        font = {"fontsize": SIZE, "fontweight": "bold" if bold else "normal", "linespacing": 1.25}
        font |= {"ha": align, "va": "center_baseline", "parse_math": False}
        self.axes.text(*at, text, color=_INKS.get(colour, colour), **font)

    def caption(
        self, middle: Point, text: str, colour: str = "grey", *, bold: bool = False
    ) -> None:
        """Text as by `label` around a point, grey by default."""
        self.label(middle, text, colour=colour, align="center", bold=bold)
