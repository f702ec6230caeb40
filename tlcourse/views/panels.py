"""Small multiples: one to six panels with the same lines, named once in each row."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from tlcourse.views.lines import label_ends
from tlcourse.views.style import (
    GREY,
    Picture,
    Texts,
    colours_of,
    figure,
    finish,
    label_axes,
    text_width,
)

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
        shape = np.shape(values)
        raise ValueError(f"expected numbers or (value, low, high) for {what!r}, got shape {shape}")
    if count is not None and len(array) != count:
        raise ValueError(f"expected {count} values for {what!r}, got {len(array)}")
    return array.T


def panels(
    headings: Sequence[str], *, height: float = 1.75, **figure_options: Any
) -> tuple[Picture, list[Any]]:
    """A figure with a panel of that height (inches) for each heading; one alone has none.

    Up to three stand in a row, four in two rows. `figure_options` go to `figure` (`sharey=True`).
    Raises ValueError for no panel or more than six.
    """
    if not 1 <= len(headings) <= MOST:
        raise ValueError(f"expected 1 to {MOST} panels in one figure, got {len(headings)}")
    columns = 2 if len(headings) == 4 else min(3, len(headings))
    rows = -(-len(headings) // columns)
    tall = 4.0 if len(headings) == 1 else 1.25 + rows * height
    picture, grid = figure(height=tall, rows=rows, columns=columns, squeeze=False, **figure_options)
    shown = list(grid.flat)[: len(headings)]
    for axes in list(grid.flat)[len(headings) :]:
        axes.set_visible(False)
    for place, (axes, heading) in enumerate(zip(shown, headings, strict=True)):
        if len(headings) > 1:
            head(axes, heading, columns)
        axes.tick_params(labelsize=11 if len(headings) == 1 else 10)
        if place + columns >= len(headings):  # nothing below
            axes.tick_params(labelbottom=True)
    return picture, shown


def head(axes: Any, heading: str, columns: int) -> None:
    """Writes what a panel shows above it, smaller where it would reach into the next column."""
    room = 5.2 / columns  # inches; the names of the lines have the rest
    size = min(11, 11 * room / max(text_width(heading, 11), 0.1))
    axes.set_title(heading, loc="left", fontsize=max(size, 7))


def label_below(shown: Sequence[Any], x_label: str) -> None:
    """Labels the x axis of each panel that has none below it, in lines that are not too wide."""
    columns = shown[0].get_subplotspec().get_gridspec().ncols
    for place, axes in enumerate(shown):
        if place + columns >= len(shown):
            wrapped = x_label if columns == 1 else textwrap.fill(x_label, 48 // columns)
            label_axes(axes, size=12 if columns == 1 else 10, x=wrapped)


def draw_line(
    axes: Any, x: Sequence[float], values: np.ndarray, colour: str, dash: Any = "-"
) -> tuple[float, float, str]:
    """Draws (3, n) values as a line, their interval as a band; grey lines are thin, unmarked.

    Returns where the line ends, and its colour, as `name_lines` takes them.
    """
    mark = {"lw": 1.6} if colour == GREY else {"lw": 2.2, "marker": "o", "ms": 5}
    axes.plot(x, values[0], color=colour, ls=dash, zorder=1.5 if colour == GREY else 3, **mark)
    if np.isfinite(values[1:]).any():
        axes.fill_between(x, *values[1:], color=colour, alpha=0.2, lw=0, label="_interval")
    return x[-1], values[0, -1], colour


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
    to_axes = axes.transData + axes.transAxes.inverted()
    lines = [line for line in axes.lines if len(line.get_xdata())]
    mine = next(line for line in lines if tuple(line.get_xydata()[-1]) == end)
    along, *others = (
        to_axes.transform(line.get_xydata()).T
        for line in sorted(lines, key=lambda x: x is not mine)
    )
    x, best = np.linspace(*along[0][[0, -1]], 41), (-1.0, 0.0, 0.0, "left")
    heights = [np.interp(x, *line) for line in others] + [np.zeros_like(x), np.ones_like(x)]
    for half, align, at in ((slice(0, 26), "left", 0), (slice(15, 41), "right", -1)):
        for side in (0.08, -0.08):
            y = np.interp(x, *along) + side
            room = min(np.abs(each - y)[half].min() for each in heights)
            if room > best[0]:
                best = (room, x[at], y[at], align)
    font = {"color": colour, "fontsize": 9, "fontweight": "bold", "transform": axes.transAxes}
    axes.text(best[1], best[2], name, ha=best[3], va="center", **font)


def by_layer(
    tasks: Mapping[str, Mapping[str, Values]],
    baselines: Mapping[str, Mapping[str, float | Values]] | None = None,
    *,
    y_label: str = "accuracy",
    x_label: str = "layer",
    limits: tuple[float, float] | None = None,
    **texts: Unpack[Texts],
) -> Picture:
    """Scores by layer, a panel a task (one to six, on the same axes), baselines in grey.

    `tasks` maps a task to series, a series to its values: embeddings ("emb"), then layer 1 to the
    last, each a number or (value, low, high), whose interval is drawn as a band. `baselines` maps a
    task to others: a number is the same at every layer, values are as above. Every line is named at
    the right of its row. `limits` are the ends of the vertical axis. Raises ValueError where tasks
    differ in series or layers, or for a baseline of no task.
    """
    names = {tuple(each) for each in tasks.values()}
    counts = {len(values) for each in tasks.values() for values in each.values()}
    if len(names) > 1 or len(counts) > 1:
        got = f"series {sorted(names)} with {sorted(counts)} layers"
        raise ValueError(f"expected the same series and layers in every task, got {got}")
    greys = baselines or {}
    if set(greys) - set(tasks):
        raise ValueError(f"expected baselines of {list(tasks)}, got some of {list(greys)}")
    picture, shown = panels(list(tasks), sharex=True, sharey=True, **texts)
    layers = np.arange(counts.pop())
    colours = colours_of(names.pop())
    every = dict.fromkeys(name for each in greys.values() for name in each)
    dashes = dict(zip(every, DASHES * len(every), strict=False))
    ends: list[dict[str, tuple]] = []
    for axes, (task, series) in zip(shown, tasks.items(), strict=True):
        flat = {
            name: np.broadcast_to(v, len(layers)) if np.ndim(v) == 0 else v
            for name, v in greys.get(task, {}).items()
        }
        ends.append({})
        for name, values in {**flat, **series}.items():
            drawn = with_ends(values, len(layers), name)
            colour = GREY if name in flat else colours[name]
            dash = dashes[name] if name in flat else "-"
            ends[-1][name] = draw_line(axes, layers, drawn, colour, dash)
        if limits is not None:
            axes.set_ylim(limits)
    label_layers(shown, len(layers), x_label, y_label)
    name_lines(shown, ends, 2.6 if len(shown) == 1 else 1.25)
    return finish(picture)


def label_layers(shown: Sequence[Any], count: int, x_label: str, y_label: str) -> None:
    """Names layers below each panel, as many as fit, and the axes at the outer edges."""
    columns = shown[0].get_subplotspec().get_gridspec().ncols
    step = -(-count // {1: 14, 2: 9}.get(columns, 5))
    for place, axes in enumerate(shown):
        axes.set_xticks(range(0, count, step), [i or "emb" for i in range(0, count, step)])
        label_axes(axes, **({} if place % columns else {"y": y_label}))
    label_below(shown, x_label)
