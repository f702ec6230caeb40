"""Schemes of adaptation: which parameters move when, and what an error costs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from tlcourse.views.lines import label_ends, plain
from tlcourse.views.style import CYCLE, GREY, SHADES, Picture, figure, finish, label_axes


def movement(
    factors: Mapping[str, tuple[Sequence[str], Any]],
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """Which groups of parameters move when: a panel a scheme, a row a group, the output on top.

    `factors` maps a scheme's name to its groups' names, from input to output, and (groups, steps)
    learning rates as shares of the recipe's; white does not move. Darker is faster,
    logarithmically. Raises ValueError without title or alt text.
    """
    columns = min(2, len(factors))
    rows = -(-len(factors) // columns)
    most = max(len(names) for names, _ in factors.values())
    height = 0.9 + rows * (0.75 + 0.19 * most)
    picture, axes = figure(title, height, rows=rows, columns=columns, squeeze=False)
    top = max(np.max(values) for _, values in factors.values())
    for panel, (name, (groups, values)) in zip(axes.flat, factors.items(), strict=False):
        values = np.asarray(values, float)
        shade = np.log10(np.maximum(values, top / 1000))
        drawn = panel.imshow(
            np.ma.masked_where(values == 0, shade),
            aspect="auto", origin="lower", cmap=SHADES, interpolation="nearest",
            vmin=np.log10(top / 1000), vmax=np.log10(top), extent=(0, 100, -0.5, len(groups) - 0.5),
        )  # fmt: skip
        panel.set_title(name, loc="left", fontsize=12)
        panel.set_yticks(range(len(groups)), groups, fontsize=9)
        panel.set_xticks([0, 50, 100], ["0 %", "50 %", "100 %"])
        panel.grid(False)
    for panel in list(axes.flat)[len(factors) :]:
        panel.set_visible(False)
    for panel in axes[-1]:
        panel.set_xlabel("of the steps")
    bar = picture.colorbar(drawn, ax=axes, fraction=0.035, pad=0.02)
    bar.set_ticks(np.log10(top) - np.arange(4), labels=[plain(top / 10**n) for n in range(4)])
    bar.set_label("learning rate\n(share of the recipe's)")
    return finish(picture, alt, note)


def trade_off(
    points: Mapping[str, tuple[float, float] | tuple[float, float, float, float]],
    *,
    title: str = "",
    alt: str = "",
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    highlight: str | None = None,
    note: str | None = None,
) -> Picture:
    """One point a scheme, (x, y) or (x, y, low, high) with the interval of y; names at the right.

    Points that no other beats in both, lower being better, have a colour; the others are grey.
    `highlight` is drawn as a diamond with a line at its height. Raises ValueError without title,
    alt text or the labels of both axes.
    """
    picture, axes = figure(title, max(4.2, 1.4 + 0.26 * len(points)))
    label_axes(axes, x=x_label, y=y_label)
    if log_x:
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
        reach = max(x for x, *_ in points.values()) / min(x for x, *_ in points.values())
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if reach < 100 else (1,)))
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    ends = []
    for name, (x, y, *interval) in points.items():
        colour = CYCLE[0] if unbeaten(name, points) else GREY
        if interval:
            axes.vlines(x, *interval, color=colour, lw=1.2, alpha=0.6)
        axes.plot(
            x, y, "D" if name == highlight else "o", color=colour, ms=8 if name == highlight else 7
        )
        ends.append((x, y, name, colour))
    if highlight is not None:
        axes.axhline(points[highlight][1], color=GREY, lw=1, ls=":", zorder=0)
    axes.margins(x=0.05)
    label_ends(axes, ends, 0.75 * picture.get_figheight())
    return finish(picture, alt, note)


def unbeaten(name: str, points: Mapping[str, Sequence[float]]) -> bool:
    """Whether no other point is at most as large in both numbers and smaller in one."""
    x, y = points[name][:2]
    return not any(
        a <= x and b <= y and (a, b) != (x, y) for a, b, *_ in (points[each] for each in points)
    )
