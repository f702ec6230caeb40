"""Paired differences in groups, each with its interval and with the smallest gain to be seen."""

from collections.abc import Collection, Mapping

from matplotlib.ticker import FuncFormatter

from tlcourse.views.lines import plain
from tlcourse.views.style import COLOURS, GREY, Picture, figure, finish, label_axes

Row = tuple[float, float, float] | tuple[float, float, float, float]
_UNCLEAR, _BAND = "#8C8C8C", "#E9E9E9"


def gains_and_reach(
    groups: Mapping[str, Mapping[str, Row]],
    *,
    clear: Collection[tuple[str, str]] = (),
    title: str = "",
    alt: str = "",
    x_label: str = "",
    left: str = "fewer errors",
    right: str = "more errors",
    note: str | None = None,
) -> Picture:
    """Rows of differences with intervals around the line of no difference, group by group.

    `groups` maps a heading ("" for none) to rows, a row's name to (value, low, high) or (value,
    low, high, reach): a true difference smaller than `reach` would often be missed, and a grey
    band is drawn that far to both sides of 0. The (heading, name) in `clear` are blue, others
    grey. `left` and `right` say what lies on either side. Without an alt text the picture lists
    its rows. Raises ValueError for a group without rows, and without title or label of the axis.
    """
    if not groups or not all(groups.values()):
        raise ValueError(f"expected rows in each group, got {dict(groups)}")
    lines = sum(len(rows) + bool(heading) for heading, rows in groups.items())
    picture, axes = figure(title, 1.65 + 0.27 * lines)
    axes.axvline(0, color="black", lw=1.2, zorder=1)
    place, names, told, ends = 0.0, [], [], [0.0]
    for heading, rows in groups.items():
        if heading:
            names.append((place, heading))
            place += 1
        for name, (value, low, high, *reach) in rows.items():
            colour = COLOURS["blue"] if (heading, name) in clear else _UNCLEAR
            for each in reach:
                axes.barh(place, 2 * each, left=-each, height=0.84, color=_BAND, zorder=0.5)
            axes.hlines(place, low, high, color=colour, lw=2, zorder=2)
            axes.plot(value, place, "o", color=colour, ms=6.5, zorder=3)
            ends += [low, high, *reach, *(-each for each in reach)]
            names.append((place, name))
            told.append(f"{name}{f', {heading}' if heading else ''} {value:+.1f} ({low:+.1f} to "
                        f"{high:+.1f})")  # fmt: skip
            place += 1
    axes.set_ylim(place - 0.4, -0.6)
    far = max(max(ends) - min(ends), 1e-9)  # with room for the words on either side of 0
    axes.set_xlim(min(min(ends), -0.2 * far) - 0.04 * far, max(max(ends), 0.2 * far) + 0.04 * far)
    axes.set_yticks([at for at, _ in names], [name for _, name in names])
    for (_, name), tick in zip(names, axes.get_yticklabels(), strict=True):
        if name in groups:
            tick.set(fontweight="bold")
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    for x, said, align in ((0.0, f"← {left}", "left"), (1.0, f"{right} →", "right")):
        axes.text(x, 1.01, said, transform=axes.transAxes, ha=align, color=GREY, fontsize=10)
    label_axes(axes, x=x_label)
    return finish(picture, alt or "; ".join(told), note)
