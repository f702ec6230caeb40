"""Small multiples: one to six panels with the same lines, named once in each row."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tlcourse.views.lines import label_ends
from tlcourse.views.style import GREY, Picture, figure

MOST = 6  # panels in one figure
DASHES = (":", "--", "-.", (0, (6, 1)), (0, (1, 4)), (0, (3, 1, 1, 1, 1, 1)))
Values = Sequence[float] | Sequence[tuple[float, float, float]]  # or with (low, high) ends


def with_ends(values: Values, count: int | None = None, what: str = "series") -> np.ndarray:
    """(3, n) values with the low and high ends of their intervals, NaN where none are given.

    Raises ValueError unless each value is a number or (value, low, high), and there are `count`.
    """
    array = np.asarray(values, float)
    if array.ndim == 1:
        array = np.stack([array, *np.full((2, len(array)), np.nan)], axis=1)
    if array.ndim != 2 or array.shape[1] != 3 or not len(array):
        raise ValueError(
            f"expected numbers or (value, low, high) for {what!r}, got shape "
            f"{np.asarray(values).shape}"
        )
    if count is not None and len(array) != count:
        raise ValueError(f"expected {count} values for {what!r}, got {len(array)}")
    return array.T


def panels(
    title: str, headings: Sequence[str], *, height: float = 1.75, **subplots: Any
) -> tuple[Picture, list[Any]]:
    """A figure with a panel of that height (inches) for each heading; one alone has none.

    Up to three stand in a row, four in two rows. `subplots` goes to `figure` (`sharey=True`).
    Raises ValueError for no panel or more than six, and without title.
    """
    if not 1 <= len(headings) <= MOST:
        raise ValueError(f"expected 1 to {MOST} panels in one figure, got {len(headings)}")
    columns = 2 if len(headings) == 4 else min(3, len(headings))
    rows = -(-len(headings) // columns)
    tall = 4.0 if len(headings) == 1 else 1.25 + rows * height
    picture, grid = figure(title, tall, rows=rows, columns=columns, squeeze=False, **subplots)
    shown = list(grid.flat)[: len(headings)]
    for axes in list(grid.flat)[len(headings) :]:
        axes.set_visible(False)
    for place, (axes, heading) in enumerate(zip(shown, headings, strict=True)):
        if len(headings) > 1:
            axes.set_title(heading, loc="left", fontsize=11)
        axes.tick_params(labelsize=11 if len(headings) == 1 else 10)
        if place + columns >= len(headings):  # nothing below
            axes.tick_params(labelbottom=True)
    return picture, shown


def draw_line(
    axes: Any, x: Sequence[float], values: np.ndarray, colour: str, dash: Any = "-"
) -> None:
    """A line through (3, n) values with its interval as a band; grey ones are thin, unmarked."""
    mark = {"lw": 1.6} if colour == GREY else {"lw": 2.2, "marker": "o", "ms": 5}
    axes.plot(x, values[0], color=colour, ls=dash, zorder=1.5 if colour == GREY else 3, **mark)
    if np.isfinite(values[1:]).any():
        axes.fill_between(x, *values[1:], color=colour, alpha=0.2, lw=0, label="_interval")


def name_lines(shown: Sequence[Any], ends: Sequence[Mapping[str, tuple]], height: float) -> None:
    """Names the lines at the right of each row of panels; `ends` is theirs, name → (x, y, colour).

    A line that the last panel of a row lacks is named inside the last one that has it, where there
    is most room. `height` is that of a panel, in inches. The limits of the axes are frozen.
    """
    columns = shown[0].get_subplotspec().get_gridspec().ncols
    size = 12 if len(shown) == 1 else 10
    for start in range(0, len(shown), columns):
        row = ends[start : start + columns]
        last, named = shown[start + len(row) - 1], list(row[-1].items())
        before = len(last.texts)
        label_ends(last, [(x, y, name, colour) for name, (x, y, colour) in named], height, size)
        for text in last.texts[before:]:
            text.set_in_layout(len(row) == columns)  # else the empty place at the right has room
        left: dict[str, tuple] = {}
        for axes, each in zip(shown[start:], row[:-1], strict=False):
            left |= {name: (axes, *end) for name, end in each.items() if name not in row[-1]}
        for name, (axes, x, y, colour) in left.items():
            _name_inside(axes, name, (x, y), colour)


def _name_inside(axes: Any, name: str, end: tuple[float, float], colour: str) -> None:
    """Writes the name of a line along it: above or below, at its left or right, away from others.

    `end` is the line's last point.
    """
    lines = [np.array(line.get_data(), float) for line in axes.lines]
    mine = next(line for line in lines if tuple(line[:, -1]) == end)
    (left, right), (low, high) = mine[0][[0, -1]], axes.get_ylim()
    x, best = np.linspace(left, right, 41), (-1.0, 0.0, 0.0, "left")
    others = [np.interp(x, *line) for line in lines if line is not mine]
    others += [np.full_like(x, low), np.full_like(x, high)]
    for half, align in ((slice(0, 26), "left"), (slice(15, 41), "right")):
        for side in (1, -1):
            y = np.interp(x, *mine) + side * 0.08 * (high - low)
            room = min(
                np.abs(each - y)[half].min() for each in [*others, 0 * x + low, 0 * x + high]
            )
            if room > best[0]:
                at = 0 if align == "left" else -1
                best = (room, x[at], y[at], align)
    axes.text(
        best[1], best[2], name, ha=best[3], va="center", color=colour, fontsize=9,
        fontweight="bold",
    )  # fmt: skip
