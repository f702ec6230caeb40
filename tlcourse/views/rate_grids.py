"""The errors of several schemes, each over learning rates of its own (lesson 05b)."""

from collections.abc import Mapping

from matplotlib.ticker import NullLocator, StrMethodFormatter

from tlcourse.views.lines import label_ends
from tlcourse.views.panels import head
from tlcourse.views.style import GREY, Picture, colours_of, figure, finish, label_axes


def rate_grids(
    families: Mapping[str, Mapping[str, Mapping[float, float]]],
    *,
    levels: Mapping[str, float] | None = None,
    title: str = "",
    alt: str = "",
    y_label: str = "dev error (%)",
    note: str | None = None,
) -> Picture:
    """Errors over learning rates (logarithmic), a row of the figure a family; the best are ringed.

    `families` maps a family to its schemes (seven at most), a scheme to {learning rate: error}.
    `levels` are errors to hold all of them against, dotted in every row. Errors above three times
    the lowest are cut off. Raises ValueError for a family without schemes, a scheme without errors,
    and without title or alt text.
    """
    if not families or not all(families.values()):
        raise ValueError(f"expected a scheme at least in every family, got {dict(families)}")
    for name, errors in (item for each in families.values() for item in each.items()):
        if not errors:
            raise ValueError(f"expected errors of {name!r}, got none; leave it out")
    picture, grid = figure(
        title, 1.2 + 1.9 * len(families), rows=len(families), sharex=True, sharey=True,
        squeeze=False,
    )  # fmt: skip
    ends = []
    for axes, (family, schemes) in zip(grid.flat, families.items(), strict=True):
        ends.append([])
        for name, colour in colours_of(schemes).items():
            rates, errors = zip(*sorted(schemes[name].items()), strict=True)
            best = errors.index(min(errors))
            axes.plot(rates, errors, "o-", color=colour, ms=5)
            axes.plot(rates[best], errors[best], "o", ms=12, mfc="none", mec=colour, mew=1.6)
            ends[-1].append((rates[-1], errors[-1], name, colour))
        for level in (levels or {}).values():
            axes.axhline(level, color=GREY, lw=1.4, ls=":", zorder=1)
        head(axes, family, 1)
        label_axes(axes, y=y_label)
        axes.margins(x=0.06)
    last = grid.flat[-1]
    label_axes(last, x="learning rate")
    last.set_xscale("log")
    last.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    last.xaxis.set_minor_locator(NullLocator())
    lowest = min(min(found.values()) for each in families.values() for found in each.values())
    top = min(last.get_ylim()[1], 3 * lowest)
    last.set_ylim(top=top)
    for axes, each in zip(grid.flat, ends, strict=True):
        label_ends(axes, [(x, min(y, top), name, colour) for x, y, name, colour in each], 1.5, 10.5)
    for name, level in (levels or {}).items():
        grid.flat[0].annotate(
            name, (0.99, level), (0, 3), xycoords=("axes fraction", "data"), ha="right",
            textcoords="offset points", color=GREY, fontsize=9.5,
        )  # fmt: skip
    return finish(picture, alt, note)
