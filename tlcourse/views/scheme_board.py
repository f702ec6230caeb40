"""Schemes of adaptation in rows, coloured by their knob, with one panel a number.

scheme_board(
    {"LoRA": ("edit", ((35.2, 25.6, 44.8), 3.4)), ...},
    (Panel("test error (%)", log=True), Panel("forgetting (nats per token)", level=0.0)),
    title="...", alt="...",
)
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import blended_transform_factory

from tlcourse.views.lines import plain
from tlcourse.views.style import COLOURS, Picture, figure, finish, label_axes

KNOB_COLOURS = {  # of the knob that a scheme turns, in every figure of lessons 05 and 05b
    "nothing": COLOURS["black"],
    "edit": COLOURS["blue"],
    "groups": COLOURS["orange"],
    "schedule": COLOURS["green"],
    "extra_loss": COLOURS["purple"],
}
Value = float | tuple[float, float, float] | None  # with its interval, alone, or not there


class Panel(NamedTuple):
    """One column of numbers: its label, a line to compare with, and who is drawn hollow."""

    label: str
    level: float | None = None
    log: bool = False
    hollow: Collection[str] = ()


def scheme_board(
    rows: Mapping[str, tuple[str, Sequence[Value]]],
    panels: Sequence[Panel],
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """A row for each scheme, a panel for each number, intervals drawn; rows in the given order.

    `rows` maps a scheme's name to its knob, one of KNOB_COLOURS, and a value for each panel:
    (value, low, high), a number without an interval, or None. Raises ValueError for another knob,
    another number of values than of panels, no row, and without title or alt text.
    """
    for name, (knob, values) in rows.items():
        if knob not in KNOB_COLOURS or len(values) != len(panels):
            raise ValueError(
                f"expected a knob of {', '.join(KNOB_COLOURS)} and {len(panels)} values for "
                f"{name!r}, got {knob!r} and {len(values)}"
            )
    if not rows:
        raise ValueError("expected at least one row, got none")
    picture, grid = figure(
        title, 1.75 + 0.27 * len(rows), columns=len(panels), sharey=True, squeeze=False
    )
    for number, (axes, panel) in enumerate(zip(grid[0], panels, strict=True)):
        _draw(axes, panel, {name: (knob, values[number]) for name, (knob, values) in rows.items()})
    first = grid[0][0]
    first.set_yticks(range(len(rows)), list(rows), fontsize=10.5)
    first.set_ylim(len(rows) - 0.4, -0.6)
    for tick, (knob, _) in zip(first.get_yticklabels(), rows.values(), strict=True):
        tick.set_color(KNOB_COLOURS[knob])
    _legend(picture, first, dict.fromkeys(knob for knob, _ in rows.values()))
    return finish(picture, alt, note)


def _draw(axes: Any, panel: Panel, values: Mapping[str, tuple[str, Value]]) -> None:
    """One column of points with their intervals."""
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    if panel.log:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
        axes.xaxis.set_minor_formatter(NullFormatter())
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
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    axes.tick_params(axis="x", labelsize=10)
    label_axes(axes, x=panel.label)
    axes.xaxis.label.set_size(10.5)


def _legend(picture: Picture, first: Any, knobs: Collection[str]) -> None:
    """The knobs' names in their colours, in a line above all panels."""
    names = [f"knob: {knob}" if knob != "nothing" else "no knob turned" for knob in knobs]
    handles = [
        Line2D([], [], color=KNOB_COLOURS[knob], marker="o", ms=6.5, ls="") for knob in knobs
    ]
    legend = first.legend(
        handles, names, loc="lower left", bbox_to_anchor=(0.012, 1.0), ncols=len(names),
        bbox_transform=blended_transform_factory(picture.transFigure, first.transAxes),
        frameon=False, fontsize=9.5, handletextpad=0.1, columnspacing=1.0, labelcolor="linecolor",
        borderaxespad=0.3, borderpad=0.0,
    )  # fmt: skip
    legend.set_in_layout(False)
    first.set_title(" ", fontsize=10)  # its room
