"""Gains in pairs: every pair, their mean and its interval, against the line of no gain."""

from collections.abc import Mapping, Sequence

import numpy as np

from tlcourse.views.style import COLOURS, GREY, Picture, figure, finish, label_axes

Gain = tuple[Sequence[float], tuple[float, float, float]]  # each pair's; mean, low, high


def paired_gains(
    rows: Mapping[str, Gain],
    *,
    title: str = "",
    alt: str = "",
    x_label: str = "",
    note: str | None = None,
) -> Picture:
    """A row for each comparison: a small dot for every pair, the mean, and its interval.

    `rows` maps a name to (the pairs, (mean, low, high)). An interval that leaves out 0 is blue, the
    others are grey. Raises ValueError without rows, and without title, alt text or label.
    """
    if not rows or not all(len(each) for each, _ in rows.values()):
        raise ValueError(f"expected rows with at least one pair each, got {dict(rows)}")
    picture, axes = figure(title, 1.5 + 0.55 * len(rows))
    axes.axvline(0, color="black", lw=1.4, zorder=1)
    for row, (each, (mean, low, high)) in enumerate(rows.values()):
        colour = COLOURS["blue"] if low > 0 or high < 0 else "#8C8C8C"
        axes.plot(each, np.full(len(each), row + 0.17), "o", color=GREY, ms=3.5, alpha=0.6)
        axes.hlines(row - 0.08, low, high, color=colour, lw=2.4)
        axes.plot(mean, row - 0.08, "o", color=colour, ms=8, zorder=3)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_ylim(len(rows) - 0.5, -0.6)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    label_axes(axes, x=x_label)
    return finish(picture, alt, note)
