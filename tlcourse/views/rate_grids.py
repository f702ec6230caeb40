"""What several schemes reach and cost, each over learning rates of its own (lesson 05)."""

from collections.abc import Mapping, Sequence
from operator import itemgetter

from matplotlib.ticker import NullLocator, StrMethodFormatter

from tlcourse.views.lines import label_ends
from tlcourse.views.panels import head
from tlcourse.views.style import GREY, Picture, colours_of, figure, finish, label_axes


def rate_grids(
    families: Mapping[str, Mapping[str, Mapping[float, Sequence[float]]]],
    columns: Sequence[str],
    *,
    level: float | None = None,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """Numbers over learning rates (logarithmic): a row of panels a family, a column a number.

    `families` maps a family to its schemes (seven at most, of all families), a scheme to {learning
    rate: numbers}, one for each of `columns`. In every column the learning rate with the lowest
    first number, an error, is ringed. `level` is an error to hold all against, dotted. Errors above
    twice the lowest are cut off. Raises ValueError for a family without schemes, a scheme without
    numbers or with others than columns, and without title or alt text.
    """
    if not families or not all(families.values()):
        raise ValueError(f"expected a scheme at least in every family, got {dict(families)}")
    for name, found in (item for each in families.values() for item in each.items()):
        if {len(numbers) for numbers in found.values()} != {len(columns)}:
            raise ValueError(
                f"expected {len(columns)} numbers at each learning rate of {name!r}, got {found}"
            )
    picture, grid = figure(
        title, 1.2 + 1.9 * len(families), rows=len(families), columns=len(columns), sharex=True,
        sharey="col", squeeze=False,
    )  # fmt: skip
    colours = colours_of([name for schemes in families.values() for name in schemes])
    ends = []
    for row, (family, schemes) in zip(grid, families.items(), strict=True):
        ends.append([])
        for name, found in schemes.items():
            colour, (rates, numbers) = colours[name], zip(*sorted(found.items()), strict=True)
            best = numbers.index(min(numbers, key=itemgetter(0)))
            for axes, values in zip(row, zip(*numbers, strict=True), strict=True):
                axes.plot(rates, values, "o-", color=colour, ms=4)
                axes.plot(rates[best], values[best], "o", ms=11, mfc="none", mec=colour, mew=1.6)
            ends[-1].append((rates[-1], numbers[-1][-1], name, colour))
        head(row[0], family, len(columns))
    first = grid[0, 0]
    every = (found for schemes in families.values() for found in schemes.values())
    lowest = min(error for found in every for error, *_ in found.values())
    first.set_ylim(top=min(first.get_ylim()[1], 2 * lowest))
    first.set_xscale("log")
    first.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    first.xaxis.set_minor_locator(NullLocator())
    for axes, name in zip(grid.T, columns, strict=True):
        label_axes(axes[-1], x="learning rate")
        for each in axes:
            label_axes(each, y=name)
    if level is not None:
        for axes in grid[:, 0]:
            axes.axhline(level, color=GREY, lw=1.4, ls=":", zorder=1)
    for row, each in zip(grid, ends, strict=True):
        label_ends(row[-1], each, 1.5, 10.5)
    return finish(picture, alt, note)
