"""Differences between pairs, each with its interval, against the line of no difference."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from tlcourse.views.lines import plain
from tlcourse.views.panels import head
from tlcourse.views.style import COLOURS, GREY, Picture, figure, finish, label_axes

Interval = tuple[float, float, float]  # value, low, high


def paired_differences(
    pairs: Mapping[str, tuple[Sequence[float], Sequence[Interval]]],
    *,
    above: str = "",
    below: str = "",
    title: str = "",
    alt: str = "",
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    note: str | None = None,
) -> Picture:
    """A panel for each pair: its differences with their intervals, and the line at 0.

    `pairs` maps a heading to (x, differences), a difference being (value, low, high). An interval
    that leaves out 0 is blue, the others are grey. `above` and `below` say in the first panel what
    lies on either side of the line. Raises ValueError for no pair or more than 4, for another
    number of differences than of x, and without title, alt text or the labels of both axes.
    """
    if not 1 <= len(pairs) <= 4:
        raise ValueError(f"expected 1 to 4 pairs, one a panel, got {len(pairs)}")
    picture, grid = figure(title, 3.7, columns=len(pairs), sharey=True, squeeze=False)
    for axes, (heading, (x, differences)) in zip(grid[0], pairs.items(), strict=True):
        if len(x) != len(differences):
            raise ValueError(
                f"expected a difference for each of {len(x)} places of {heading!r}, got "
                f"{len(differences)}"
            )
        head(axes, heading, len(pairs))
        if log_x:
            axes.set_xscale("log")
        _draw(axes, np.asarray(x, float), np.asarray(differences, float))
        axes.tick_params(labelsize=10)
        label_axes(axes, x=x_label)
        axes.xaxis.label.set_size(10)
    first = grid[0][0]
    label_axes(first, y=y_label)
    reach = max(map(abs, first.get_ylim()))
    first.set_ylim(-reach, reach)
    first.yaxis.set_major_formatter(FuncFormatter(plain))
    for said, place, align in ((above, 0.98, "top"), (below, 0.02, "bottom")):
        first.text(0.03, place, said, transform=first.transAxes, va=align, color=GREY, fontsize=10)
    return finish(picture, alt, note)


def _draw(axes: Any, x: np.ndarray, found: np.ndarray) -> None:
    axes.axhline(0, color="black", lw=1.4, zorder=1)
    axes.plot(x, found[:, 0], color=GREY, lw=1, zorder=1.5)
    for place, (value, low, high) in zip(x, found, strict=True):
        colour = COLOURS["blue"] if low > 0 or high < 0 else "#8C8C8C"
        axes.vlines(place, low, high, color=colour, lw=2.2)
        axes.plot(place, value, "o", color=colour, ms=6, zorder=3)
    axes.set_xticks(x, [plain(each) for each in x])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.margins(x=0.12)
