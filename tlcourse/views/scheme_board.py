"""Stand-in."""

from typing import NamedTuple

from tlcourse.views.style import COLOURS, GREY, figure, finish, label_axes

KNOB_COLOURS = {
    "nothing": "black", "edit": COLOURS["blue"], "groups": COLOURS["green"],
    "schedule": COLOURS["orange"], "extra_loss": COLOURS["purple"],
}  # fmt: skip


class Panel(NamedTuple):
    label: str
    level: float | None = None
    log: bool = False
    hollow: tuple = ()


def scheme_board(rows, panels, *, title="", alt="", note=None):
    picture, grid = figure(title, 1.6 + 0.3 * len(rows), columns=len(panels), sharey=True, squeeze=False)
    for place, (axes, panel) in enumerate(zip(grid[0], panels)):
        if panel.log:
            axes.set_xscale("log")
        for row, (knob, values) in enumerate(rows.values()):
            value = values[place]
            if value is None:
                continue
            c = KNOB_COLOURS[knob]
            if isinstance(value, tuple):
                axes.hlines(row, value[1], value[2], color=c, lw=1.6)
                value = value[0]
            axes.plot(value, row, "o", color=c)
        if panel.level is not None:
            axes.axvline(panel.level, color=GREY, lw=1, ls=":")
        label_axes(axes, x=panel.label)
    grid[0][0].set_yticks(range(len(rows)), list(rows))
    grid[0][0].set_ylim(len(rows) - 0.5, -0.5)
    return finish(picture, alt, note)
