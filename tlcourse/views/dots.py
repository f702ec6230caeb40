"""Dots in rows, in panels or in the plane, with intervals, and texts beside points."""

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple, Unpack

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, NullLocator
from matplotlib.transforms import blended_transform_factory

from tlcourse.views.bars import name_rows
from tlcourse.views.lines import log_scale, plain
from tlcourse.views.panels import head
from tlcourse.views.style import (
    ABOVE,
    COLOURS,
    CYCLE,
    GREY,
    MIDDLE,
    NEAR,
    Picture,
    Texts,
    figure,
    finish,
    label_axes,
)

IN_A_LINE = 50  # letters of all names of series that fit beside each other
Interval = tuple[float, float, float]  # value, low, high
KNOB_COLOURS = {  # of the knob that a scheme turns, in every figure of lessons 05 and 05b
    "nothing": COLOURS["black"],
    "edit": COLOURS["blue"],
    "groups": COLOURS["orange"],
    "schedule": COLOURS["green"],
    "extra_loss": COLOURS["purple"],
}
BoardValue = float | tuple[float, float, float] | None  # with its interval, alone, or not there
COVERED = 1  # points that one of them may cover


def strips(
    values: Mapping[str, Sequence[float]],
    *,
    x_label: str = "",
    levels: Mapping[str, float] | None = None,
    **texts: Unpack[Texts],
) -> Picture:
    """A row of dots for each name, one dot a run, and a bar at the mean; near dots are stacked.

    `levels` maps names to places of dotted grey lines. Raises ValueError where a row is empty.
    """
    if not values or not all(len(each) for each in values.values()):
        raise ValueError(f"expected at least one value in each row, got {dict(values)}")
    picture, axes = figure(height=1.6 + 0.75 * len(values), **texts)
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
    name_rows(axes, list(values), 0.6, 0.6)
    label_axes(axes, x=x_label)
    return finish(picture)


def _levels(axes: Any, levels: Mapping[str, float], rows: int) -> None:
    """Dotted lines from top to bottom, each with its name below the last of so many rows."""
    for name, place in levels.items():
        axes.axvline(place, color=GREY, lw=1.2, ls=":", zorder=1)
        axes.annotate(name, (place, rows - 0.45), (4, 0), color=GREY, va="bottom", **NEAR)


def _stacked(places: np.ndarray, near: float) -> np.ndarray:
    """How many dots of its stack each of the sorted places has below it."""
    heights, first = np.zeros(len(places)), 0
    for number, place in enumerate(places):
        first = first if place - places[first] < near else number
        heights[number] = number - first
    return heights


def grouped_dots(
    rows: Mapping[str, Mapping[str, tuple[float, float, float]]],
    *,
    x_label: str = "",
    levels: Mapping[str, float] | None = None,
    **texts: Unpack[Texts],
) -> Picture:
    """Rows of dots with intervals: `rows` maps a name to series, a series to (value, low, high).

    All rows have the same series; they lie one below the other and are named above the first row,
    beside a dot of their colour. `levels` maps names to places of dotted grey lines. Raises
    ValueError where series differ or there is no row.
    """
    names = list(next(iter(rows.values()), {}))
    if not names or any(list(each) != names for each in rows.values()):
        raise ValueError(f"expected the same series in every row, got {dict(rows)}")
    picture, axes = figure(height=1.5 + (0.2 + 0.18 * len(names)) * len(rows), **texts)
    step = min(0.22, 0.8 / len(names))
    shifts = step * (np.arange(len(names)) - (len(names) - 1) / 2)
    for row, series in enumerate(rows.values()):
        for shift, colour, (value, low, high) in zip(shifts, CYCLE, series.values(), strict=False):
            axes.hlines(row + shift, low, high, color=colour, lw=1.6)
            axes.plot(value, row + shift, "o", color=colour, ms=7)
    _levels(axes, levels or {}, len(rows))
    name_rows(axes, list(rows))
    label_axes(axes, x=x_label)
    axes.set_ylim(len(rows) - (0.4 if levels else 0.5), -0.6)
    keys = [Line2D([], [], color=c, marker="o", ms=7, lw=1.6) for c in CYCLE[: len(names)]]
    columns = len(names) if len("".join(names)) <= IN_A_LINE else 3
    look = {"labelcolor": "linecolor", "prop": {"weight": "bold"}, "borderaxespad": 0}
    axes.legend(keys, names, ncols=columns, handlelength=1.2, columnspacing=1.2, **ABOVE, **look)
    return finish(picture)


def scatter(
    points: Sequence[Sequence[float]],
    *,
    x_label: str = "",
    y_label: str = "",
    named: Mapping[str, Sequence[float]] | None = None,
    **texts: Unpack[Texts],
) -> Picture:
    """A dot for each pair (x, y); those of `named` have another colour and their name beside them.

    Raises ValueError without points.
    """
    if not len(points):
        raise ValueError("expected at least one point, got none")
    picture, axes = figure(height=4.4, **texts)
    label_axes(axes, x=x_label, y=y_label)
    x, y = np.asarray(points, float).T
    axes.plot(x, y, "o", color=CYCLE[0], ms=7, alpha=0.75, mew=0)
    for name, (right, up) in (named or {}).items():
        axes.plot(right, up, "o", color=CYCLE[1], ms=9)
        where = {"ha": "right", "va": "center", "color": CYCLE[1]}
        axes.annotate(name, (right, up), (-9, 0), **where, **NEAR)
    return finish(picture)


def paired_differences(
    pairs: Mapping[str, tuple[Sequence[float], Sequence[Interval]]],
    *,
    above: str = "",
    below: str = "",
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    **texts: Unpack[Texts],
) -> Picture:
    """A panel for each pair: its differences with their intervals, and the line at 0.

    `pairs` maps a heading to (x, differences), a difference being (value, low, high). An interval
    that leaves out 0 is blue, the others are grey. `above` and `below` say in the first panel what
    lies on either side of the line. Raises ValueError for no pair or more than 4, or for another
    number of differences than of x.
    """
    if not 1 <= len(pairs) <= 4:
        raise ValueError(f"expected 1 to 4 pairs, one a panel, got {len(pairs)}")
    picture, grid = figure(height=3.7, columns=len(pairs), sharey=True, squeeze=False, **texts)
    for axes, (heading, (x, differences)) in zip(grid[0], pairs.items(), strict=True):
        head(axes, heading, len(pairs))
        if log_x:
            axes.set_xscale("log")
        _draw_differences(axes, np.asarray(x, float), np.asarray(differences, float))
        axes.tick_params(labelsize=10)
        label_axes(axes, size=10, x=x_label)
    first = grid[0][0]
    label_axes(first, y=y_label)
    reach = max(map(abs, first.get_ylim()))
    first.set_ylim(-reach, reach)
    first.yaxis.set_major_formatter(plain)
    font = {"transform": first.transAxes, "color": GREY, "fontsize": 10}
    first.text(0.03, 0.98, above, va="top", **font)
    first.text(0.03, 0.02, below, va="bottom", **font)
    return finish(picture)


def _draw_differences(axes: Any, x: np.ndarray, found: np.ndarray) -> None:
    axes.axhline(0, color="black", lw=1.4, zorder=1)
    axes.plot(x, found[:, 0], color=GREY, lw=1, zorder=1.5)
    for place, (value, low, high) in zip(x, found, strict=True):
        colour = COLOURS["blue"] if low > 0 or high < 0 else "#8C8C8C"
        axes.vlines(place, low, high, color=colour, lw=2.2)
        axes.plot(place, value, "o", color=colour, ms=6, zorder=3)
    axes.set_xticks(x, [plain(each) for each in x])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.margins(x=0.12)


class Panel(NamedTuple):
    """One column of numbers: its label, a line to compare with, and who is drawn hollow."""

    label: str
    level: float | None = None
    log: bool = False
    hollow: Collection[str] = ()


def scheme_board(
    rows: Mapping[str, tuple[str, Sequence[BoardValue]]],
    panels: Sequence[Panel],
    **texts: Unpack[Texts],
) -> Picture:
    """A row for each scheme, a panel for each number, intervals drawn; rows in the given order.

    `rows` maps a scheme's name to its knob, one of KNOB_COLOURS, and a value for each panel:
    (value, low, high), a number without an interval, or None. Raises ValueError for another knob,
    another number of values than of panels, or no row.
    """
    for name, (knob, values) in rows.items():
        if knob not in KNOB_COLOURS or len(values) != len(panels):
            wanted = f"a knob of {', '.join(KNOB_COLOURS)} and {len(panels)} values for {name!r}"
            raise ValueError(f"expected {wanted}, got {knob!r} and {len(values)}")
    if not rows:
        raise ValueError("expected at least one row, got none")
    picture, grid = figure(
        height=1.75 + 0.27 * len(rows), columns=len(panels), sharey=True, squeeze=False, **texts
    )
    for number, (axes, panel) in enumerate(zip(grid[0], panels, strict=True)):
        _draw_panel(axes, panel, {name: (knob, v[number]) for name, (knob, v) in rows.items()})
    first = grid[0][0]
    first.set_yticks(range(len(rows)), list(rows), fontsize=10.5)
    first.set_ylim(len(rows) - 0.4, -0.6)
    for tick, (knob, _) in zip(first.get_yticklabels(), rows.values(), strict=True):
        tick.set_color(KNOB_COLOURS[knob])
    _name_knobs(picture, first, dict.fromkeys(knob for knob, _ in rows.values()))
    return finish(picture)


def _draw_panel(axes: Any, panel: Panel, values: Mapping[str, tuple[str, BoardValue]]) -> None:
    """One column of points with their intervals."""
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    if panel.log:
        log_scale(axes.xaxis)
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
    if panel.level is not None:
        axes.axvline(panel.level, color="black", lw=1.2, zorder=1)
    for row, (name, (knob, value)) in enumerate(values.items()):
        if value is None:
            continue
        at, *interval = value if isinstance(value, tuple) else (value,)
        colour = KNOB_COLOURS[knob]
        if interval:
            axes.hlines(row, *interval, color=colour, lw=1.8)
        fill = "white" if name in panel.hollow else colour
        axes.plot(at, row, "o", color=colour, mfc=fill, mew=1.6, ms=6.5, zorder=3)
    axes.xaxis.set_major_formatter(plain)
    axes.tick_params(axis="x", labelsize=10)
    label_axes(axes, size=10.5, x=panel.label)


def _name_knobs(picture: Picture, first: Any, knobs: Collection[str]) -> None:
    """The knobs' names in their colours, in a line above all panels."""
    names = [f"knob: {knob}" if knob != "nothing" else "no knob turned" for knob in knobs]
    handles = [Line2D([], [], color=KNOB_COLOURS[k], marker="o", ms=6.5, ls="") for k in knobs]
    across = blended_transform_factory(picture.transFigure, first.transAxes)
    place = {"bbox_to_anchor": (0.012, 1.0), "bbox_transform": across, "ncols": len(names)}
    gaps = {"handletextpad": 0.1, "columnspacing": 1.0, "borderaxespad": 0.3, "borderpad": 0.0}
    look = {"labelcolor": "linecolor", "fontsize": 9.5, **ABOVE}
    legend = first.legend(handles, names, **(look | place | gaps))
    legend.set_in_layout(False)
    first.set_title(" ", fontsize=10)  # its room


def write_beside(
    axes: Any, points: np.ndarray, texts: Mapping[int, str], inks: Mapping[int, str]
) -> None:
    """Writes each text near its point, where it covers no other text and the fewest points."""
    to_pixels = axes.get_figure().dpi / 72
    at = axes.transData.transform(points) / to_pixels  # in points of 1/72 inch
    room = np.array(axes.get_window_extent().extents) / to_pixels
    taken = [_box(text, to_pixels) for text in axes.texts]
    for number, text in texts.items():
        thin = {"arrowstyle": "-", "color": inks[number], "lw": 0.7, "shrinkA": 0, "shrinkB": 3}
        back = {"fc": "white", "ec": "none", "alpha": 0.7, "pad": 0}
        font = {"fontsize": 8.5, "color": inks[number], "zorder": 4, "parse_math": False, **MIDDLE}
        where = {"xytext": (0, 0), "textcoords": "offset points"}
        written = axes.annotate(text, points[number], arrowprops=thin, bbox=back, **where, **font)
        extent = _box(written, to_pixels)
        size = np.array([extent[2] - extent[0], extent[3] - extent[1]]) + 2
        best, least = None, np.inf
        for reach, angle in product((5, 10, 16, 24, 34), np.pi * np.arange(0, 2, 0.125)):
            way = np.array([np.cos(angle), np.sin(angle)])
            middle = at[number] + way * (reach + size / 2)
            box = np.concatenate([middle - size / 2, middle + size / 2])
            inside = (box[:2] >= room[:2] + 2).all() and (box[2:] <= room[2:] - 2).all()
            if not inside or any(_overlap(box, other) for other in taken):
                continue
            covered = ((at > box[:2] - 3) & (at < box[2:] + 3)).all(axis=1).sum()
            if covered <= COVERED and reach + 20 * covered < least:
                best, least = (middle, box), reach + 20 * covered
        if best is None:
            written.remove()
            continue
        written.set_position(best[0] - at[number])
        taken.append(best[1])


def _box(text: Any, to_pixels: float) -> np.ndarray:
    """Left, bottom, right, top of a text without its line, in points of 1/72 inch."""
    return np.array(Text.get_window_extent(text).extents) / to_pixels


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    return bool((a[:2] < b[2:]).all() and (b[:2] < a[2:]).all())
