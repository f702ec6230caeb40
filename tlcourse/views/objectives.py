"""Losses of several objectives: what a token is worth to each, and what a target."""

from collections.abc import Mapping, Sequence

from matplotlib.ticker import FuncFormatter, MaxNLocator

from tlcourse.views.lines import plain
from tlcourse.views.style import Picture, colours_of, figure, finish, label_axes

Run = tuple[Sequence[float], Sequence[float], Sequence[float]]


def over_tokens_and_targets(
    runs: Mapping[str, Run],
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """The same losses twice: over the tokens that were read, and over the targets asked for.

    `runs` maps a name to (tokens, targets, losses), a number a step. Raises ValueError where these
    differ in length, and without title or alt text.
    """
    picture, row = figure(title, 3.7, columns=2, sharey=True)
    colours = colours_of(runs)
    for place, (axes, said) in enumerate(
        zip(row, ("tokens read", "targets asked for"), strict=True)
    ):
        for name, run in runs.items():
            if len(set(map(len, run))) > 1:
                raise ValueError(
                    f"expected tokens, targets and losses of the same steps for {name!r}, got "
                    f"{[*map(len, run)]} numbers"
                )
            axes.plot(run[place], run[2], color=colours[name])
        axes.xaxis.set_major_formatter(FuncFormatter(plain))
        axes.tick_params(labelsize=10)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.set_xlim(left=0)
        label_axes(axes, x=said)
    right = row[1].get_xlim()[1]
    for name, (_, targets, losses) in runs.items():
        inside = targets[-1] < 0.7 * right  # the line of a longer run passes above its end
        row[1].annotate(
            name, (targets[-1], losses[-1]), (0, -8) if inside else (0, 14),
            textcoords="offset points", ha="center" if inside else "right",
            va="top" if inside else "bottom", color=colours[name], fontweight="bold",
        )  # fmt: skip
    label_axes(row[0], y="loss (nats per target)")
    return finish(picture, alt, note)
