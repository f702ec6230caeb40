"""Dots: every single run in a row, a few values with their intervals, or pairs of numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.lines import Line2D

from tlcourse.views.style import CYCLE, GREY, Picture, figure, finish, label_axes

IN_A_LINE = 50  # letters of all names of series that fit beside each other


def strips(
    values: Mapping[str, Sequence[float]],
    *,
    title: str = "",
    alt: str = "",
    x_label: str = "",
    levels: Mapping[str, float] | None = None,
    note: str | None = None,
) -> Picture:
    """A row of dots for each name, one dot a run, and a bar at the mean; near dots are stacked.

    `levels` maps names to places of dotted grey lines. Raises ValueError where a row is empty,
    and without title, alt text or label of the axis.
    """
    if not values or not all(len(each) for each in values.values()):
        raise ValueError(f"expected at least one value in each row, got {dict(values)}")
    picture, axes = figure(title, 1.6 + 0.75 * len(values))
    marks = dict(levels or {})
    everything = [x for each in (*values.values(), marks.values()) for x in each]
    near = 0.016 * ((max(everything) - min(everything)) or 1.0)
    for row, each in enumerate(values.values()):
        colour = CYCLE[row % len(CYCLE)]
        places = np.sort(np.asarray(each, float))
        heights = _stacked(places, near)
        step = min(0.13, 0.5 / max(1.0, heights.max()))  # the highest stays below the row above
        axes.plot(places, row - step * heights, "o", color=colour, ms=7, alpha=0.8)
        axes.plot([places.mean()] * 2, [row - 0.3, row + 0.3], color="black", lw=2)
    _levels(axes, marks, len(values))
    _rows(axes, list(values), x_label)
    return finish(picture, alt, note)


def _levels(axes: Any, levels: Mapping[str, float], rows: int) -> None:
    """Dotted lines from top to bottom, each with its name below the last of so many rows."""
    for name, place in levels.items():
        axes.axvline(place, color=GREY, lw=1.2, ls=":", zorder=1)
        axes.annotate(
            name, (place, rows - 0.45), (4, 0), textcoords="offset points",
            color=GREY, va="bottom", fontweight="bold",
        )  # fmt: skip


def _stacked(places: np.ndarray, near: float) -> np.ndarray:
    """How many dots of its stack each of the sorted places has below it."""
    heights, first = np.zeros(len(places)), 0
    for number in range(1, len(places)):
        if places[number] - places[first] < near:
            heights[number] = number - first
        else:
            first = number
    return heights


def grouped_dots(
    rows: Mapping[str, Mapping[str, tuple[float, float, float]]],
    *,
    title: str = "",
    alt: str = "",
    x_label: str = "",
    levels: Mapping[str, float] | None = None,
    note: str | None = None,
) -> Picture:
    """Rows of dots with intervals: `rows` maps a name to series, a series to (value, low, high).

    All rows have the same series; they lie one below the other and are named above the first row,
    beside a dot of their colour. `levels` maps names to places of dotted grey lines. Raises
    ValueError where series differ or there is no row, and without title, alt text or label of the
    axis.
    """
    names = list(next(iter(rows.values()), {}))
    if not names or any(list(each) != names for each in rows.values()):
        raise ValueError(f"expected the same series in every row, got {dict(rows)}")
    picture, axes = figure(title, 1.5 + (0.2 + 0.18 * len(names)) * len(rows))
    step = min(0.22, 0.8 / len(names))
    shifts = step * (np.arange(len(names)) - (len(names) - 1) / 2)
    for row, series in enumerate(rows.values()):
        for shift, colour, (value, low, high) in zip(shifts, CYCLE, series.values(), strict=False):
            axes.hlines(row + shift, low, high, color=colour, lw=1.6)
            axes.plot(value, row + shift, "o", color=colour, ms=7)
    _levels(axes, levels or {}, len(rows))
    _rows(axes, list(rows), x_label)
    axes.set_ylim(len(rows) - (0.4 if levels else 0.5), -0.6)
    keys = [Line2D([], [], color=c, marker="o", ms=7, lw=1.6) for c in CYCLE[: len(names)]]
    axes.legend(
        keys, names, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0,
        ncols=len(names) if len("".join(names)) <= IN_A_LINE else 3, frameon=False,
        labelcolor="linecolor", prop={"weight": "bold"}, handlelength=1.2, columnspacing=1.2,
    )  # fmt: skip
    return finish(picture, alt, note)


def _rows(axes: Any, names: Sequence[str], x_label: str) -> None:
    """Names at the left, from top to bottom."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    label_axes(axes, x=x_label)


def scatter(
    points: Sequence[Sequence[float]],
    *,
    title: str = "",
    alt: str = "",
    x_label: str = "",
    y_label: str = "",
    named: Mapping[str, Sequence[float]] | None = None,
    note: str | None = None,
) -> Picture:
    """A dot for each pair (x, y); those of `named` have another colour and their name beside them.

    Raises ValueError without points, title, alt text or the labels of both axes.
    """
    if not len(points):
        raise ValueError("expected at least one point, got none")
    picture, axes = figure(title, 4.4)
    label_axes(axes, x=x_label, y=y_label)
    x, y = np.asarray(points, float).T
    axes.plot(x, y, "o", color=CYCLE[0], ms=7, alpha=0.75, mew=0)
    for name, (right, up) in (named or {}).items():
        axes.plot(right, up, "o", color=CYCLE[1], ms=9)
        axes.annotate(
            name, (right, up), (-9, 0), textcoords="offset points",
            color=CYCLE[1], ha="right", va="center", fontweight="bold",
        )  # fmt: skip
    return finish(picture, alt, note)
