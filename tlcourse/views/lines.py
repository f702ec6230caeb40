"""Curves with their names at their ends and intervals, numbers on axes, moving averages."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.ticker import NullFormatter

from tlcourse.views.style import CYCLE, GREY, Picture, Texts, figure, finish, label_axes

BARS_UP_TO = 10  # points; a longer curve shows its interval as a band


def _spread(wanted: np.ndarray, gap: float) -> np.ndarray:
    """Positions near `wanted` (any order), at least `gap` apart, between 0 and 1 if they fit."""
    from scipy.optimize import isotonic_regression  # takes longer to import than all views

    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    nearest = isotonic_regression(wanted[order] - steps).x  # labels that touch share their mean
    result = np.empty(len(wanted))
    result[order] = np.clip(nearest, 0, max(0, 1 - steps[-1])) + steps
    return result


def label_ends(
    axes: Any, ends: Sequence[tuple[float, float, str, str]], height: float, size: float = 12
) -> None:
    """Writes each (x, y, text, colour) to the right of the axes, apart from the others.

    `height` is the height of the axes in inches, roughly; `size` is the text's, in points. The
    limits of the axes are frozen.
    """
    axes.set_xlim(axes.get_xlim())
    axes.set_ylim(axes.get_ylim())
    to_axes = axes.transData + axes.transAxes.inverted()
    at = np.array([to_axes.transform((x, y)) for x, y, _, _ in ends])
    places = _spread(at[:, 1], size / 60 / height)
    for (x, y, text, colour), place in zip(ends, places, strict=True):
        # the line begins at the text's left edge: it never runs through another label
        line = {"arrowstyle": "-", "color": colour, "lw": 0.8, "relpos": (0, 0.5)}
        line |= {"shrinkA": 1, "shrinkB": 2}
        font = {"color": colour, "fontsize": size, "fontweight": "bold", "va": "center"}
        where = {"xytext": (1.03, place), "textcoords": "axes fraction", "annotation_clip": False}
        axes.annotate(text, (x, y), arrowprops=line, **where, **font)


def plain(value: float, _: Any = None) -> str:
    """1200000 as 1.2M, 0.05 as 0.05."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == 'k' else size):g}{letter}".replace("-", "−")
    return f"{value:g}".replace("-", "−")


def log_scale(axis: Any) -> None:
    """Makes an axis logarithmic, with the numbers of its major ticks alone, as by `plain`."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_formatter(plain)
    axis.set_minor_formatter(NullFormatter())


def _interval(axes: Any, x: np.ndarray, y: np.ndarray, low: Any, high: Any, colour: str) -> None:
    low, high = np.asarray(low, float), np.asarray(high, float)
    if len(x) <= BARS_UP_TO:
        axes.vlines(x, low, high, color=colour, lw=1.6, capstyle="butt", label="_interval")
        for edge in (low, high):
            axes.plot(x, edge, "_", color=colour, ms=7, label="_interval")
    else:
        axes.fill_between(x, low, high, color=colour, alpha=0.2, lw=0, label="_interval")


def draw_curves(
    axes: Any,
    series: Mapping[str, tuple],
    height: float,
    dashed: Collection[str] = (),
    levels: Mapping[str, float] | None = None,
    top: float | None = None,
) -> None:
    """Draws what `curves` takes under these names on axes whose scales are set."""
    ends = []
    for index, (name, (x, y, *interval)) in enumerate(series.items()):
        x, y = np.asarray(x, float), np.asarray(y, float)
        colour = CYCLE[index % len(CYCLE)]
        style = {"color": colour, "ls": "--" if name in dashed or index >= len(CYCLE) else "-"}
        axes.plot(x, y, marker="o" if len(x) <= BARS_UP_TO else "", ms=6, label=name, **style)
        if interval:
            _interval(axes, x, y, *interval, colour)
        last = np.flatnonzero(np.isfinite(y))[-1]
        ends.append((x[last], y[last], name, colour))
    for name, value in (levels or {}).items():
        axes.axhline(value, color=GREY, lw=1.2, ls=":", zorder=1)
        axes.set_ylim(bottom=0)  # after the curves, which have set the top
        ends.append((axes.get_xlim()[1], value, name, GREY))
    if top is not None:
        axes.set_ylim(0, top)
        for line in axes.lines:
            line.set_clip_on(False)  # one that runs along the edge keeps its width
    if len(ends) > 1:
        label_ends(axes, ends, height)


def curves(
    series: Mapping[str, tuple],
    *,
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    log_y: bool = False,
    x_ticks: Sequence[float] | None = None,
    height: float = 3.8,
    dashed: Collection[str] = (),
    levels: Mapping[str, float] | None = None,
    top: float | None = None,
    **texts: Unpack[Texts],
) -> Picture:
    """Curves with their names at the right end.

    `series` maps a name to (x, y) or (x, y, low, high); an interval is drawn as bars for up to 10
    points, else as a band. Labels carry the units. One series alone gets no name. Series named in
    `dashed` are drawn dashed, so that one that they cover is still seen. `levels` maps names to
    heights of grey lines (chance, a bound); the y axis then starts at 0. With `top` it runs from 0
    to there: shares end at 100 %, probabilities at 1. Raises ValueError for no series, or more than
    14 (7 colours, full and dashed).
    """
    if not 1 <= len(series) <= 2 * len(CYCLE):
        raise ValueError(f"expected 1 to {2 * len(CYCLE)} curves in one figure, got {len(series)}")
    picture, axes = figure(height=height, **texts)
    label_axes(axes, x=x_label, y=y_label)
    for wanted, axis in ((log_x, axes.xaxis), (log_y, axes.yaxis)):
        axis.set_major_formatter(plain)
        if wanted:
            log_scale(axis)
    draw_curves(axes, series, height * 0.66, dashed, levels, top)
    if x_ticks is not None:
        axes.set_xticks(x_ticks)
        axes.set_xticks([], minor=True)
    return finish(picture)


def smooth(values: Sequence[float], width: int) -> np.ndarray:
    """(n,) the mean of each value and the up to `width` - 1 values before it."""
    total = np.concatenate([[0.0], np.cumsum(np.asarray(values, float))])
    stop = np.arange(1, len(total))
    start = np.maximum(0, stop - width)
    return (total[stop] - total[start]) / (stop - start)
