"""Heads over time and over number: an induction head is born, and heads are removed."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

from tlcourse.views.lines import label_ends, plain
from tlcourse.views.panels import Values, with_ends
from tlcourse.views.style import COLOURS, GREY, Picture, colours_of, figure, finish, label_axes

Series = Sequence[float] | Mapping[str, Sequence[float]]


def birth_curves(
    steps: Sequence[float],
    loss: Series,
    score: Any,
    *,
    title: str = "",
    alt: str = "",
    jump: float | None = None,
    x_label: str = "training step",
    loss_label: str = "loss (nats per token)",
    score_label: str = "induction score",
    note: str | None = None,
) -> Picture:
    """Losses above scores over the same steps, with a line where the score jumps.

    `loss` is a value a step, or maps names to such values; `score` likewise, or it is (steps,
    layers, heads). The score that ends highest is coloured and named, the others are grey. `jump`
    is the step of the line; None takes the first at which that score is past the middle between its
    first value and its highest (Olsson et al., 2022, see the loss fall there). Raises ValueError
    where steps and values differ in number, and without title, alt text or labels.
    """
    losses, scores = _series(loss), _series(score)
    counts = {values.shape for each in (losses, scores) for values in each.values()}
    if counts != {(len(steps),)} or len(steps) < 2:
        raise ValueError(
            f"expected a loss and a score for each of {len(steps)} steps, at least two, got shapes "
            f"{sorted(counts)}"
        )
    best = max(scores, key=lambda name: scores[name][-1])
    if jump is None:
        values = scores[best]
        jump = steps[int(np.argmax(values >= (values[0] + values.max()) / 2))]
    picture, (upper, lower) = figure(title, 5.0, rows=2, sharex=True)
    colours = colours_of(losses)
    for name, values in losses.items():
        upper.plot(steps, values, color=colours[name])
    for name, values in sorted(scores.items(), key=lambda each: each[0] == best):
        if name == best:
            lower.plot(steps, values, color=COLOURS["green"], lw=2.6)
        else:
            lower.plot(steps, values, color="#A6A6A6", lw=1.2)
    for axes in (upper, lower):
        axes.axvline(jump, color=GREY, lw=1.4, ls=":", zorder=1)
        axes.margins(x=0.01)
    lower.set_ylim(min(0.0, lower.get_ylim()[0]), lower.get_ylim()[1])
    label_axes(upper, y=loss_label)
    label_axes(lower, x=x_label, y=score_label)
    upper.annotate(
        f"step {jump:,g}", (jump, 1), (0, 2), va="bottom", ha="center", color=GREY, fontsize=10.5,
        xycoords=("data", "axes fraction"), textcoords="offset points",
    )  # fmt: skip
    if len(losses) > 1:
        label_ends(upper, [(steps[-1], v[-1], n, colours[n]) for n, v in losses.items()], 1.7, 11)
    if len(scores) > 1:
        label_ends(lower, [(steps[-1], scores[best][-1], best, COLOURS["green"])], 1.7, 11)
    picture.align_ylabels()
    return finish(picture, alt, note)


def _series(values: Any) -> dict[str, np.ndarray]:
    """Arrays by name: "" for a single one, "head 1.2" for the heads of (steps, layers, heads)."""
    if isinstance(values, Mapping):
        return {name: np.asarray(each, float) for name, each in values.items()}
    values = np.asarray(values, float)
    if values.ndim != 3:
        return {"": values}
    return {
        f"head {layer}.{head}": values[:, layer, head]
        for layer, head in np.ndindex(values.shape[1:])
    }


def pruning_curve(
    removed: Sequence[int],
    errors: Mapping[str, Values],
    baseline: float,
    *,
    title: str = "",
    alt: str = "",
    allowed: float = 1.0,
    x_label: str = "heads removed",
    y_label: str = "error (%)",
    note: str | None = None,
) -> Picture:
    """Error over the number of heads removed (Michel et al., 2019), and what still is allowed.

    `errors` maps an order of removing to values at `removed`, each a number or (value, low, high),
    drawn as a band; `baseline` is the error of the whole model in per cent, and the dashed line
    lies `allowed` points above. The first order is coloured, and its last point that is not above
    that line is marked: so many heads can go; the others are grey. The y axis is logarithmic where
    no error is 0. Raises ValueError where numbers of values differ, for no errors, and without
    title, alt text or labels.
    """
    if not errors or len(removed) < 2:
        raise ValueError(f"expected errors at two numbers of heads or more, got {dict(errors)}")
    drawn = {name: with_ends(values, len(removed), name) for name, values in errors.items()}
    picture, axes = figure(title, 4.2)
    first, limit, x = next(iter(drawn)), baseline + allowed, np.asarray(removed, float)
    ends = []
    for name, (value, low, high) in list(drawn.items())[::-1]:
        colour = COLOURS["blue"] if name == first else GREY
        axes.plot(x, value, "o-", color=colour, ms=5, lw=2.2 if name == first else 1.6)
        if np.isfinite(low).any():
            axes.fill_between(x, low, high, color=colour, alpha=0.18, lw=0)
        ends.append((x[-1], value[-1], name, colour))
    axes.axhline(baseline, color=GREY, lw=1.2, ls=":", zorder=1)
    axes.axhline(limit, color=COLOURS["vermillion"], lw=1.6, ls="--", zorder=1)
    more = f"{allowed:g} point{'' if allowed == 1 else 's'} more"
    ends.append((x[-1], baseline, "all heads", GREY))
    ends.append((x[-1], limit, more, COLOURS["vermillion"]))
    everything = np.concatenate([[baseline], *(each.ravel() for each in drawn.values())])
    low = float(np.nanmin(everything))
    if low > 0:
        axes.set_yscale("log")
        axes.set_ylim(bottom=0.6 * low)
        for axis in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
            axis(FuncFormatter(plain))
        axes.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    else:
        axes.set_ylim(bottom=0)
    _mark_last(axes, removed, drawn[first][0], limit)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    label_axes(axes, x=x_label, y=f"{y_label}, logarithmic" if low > 0 and y_label else y_label)
    label_ends(axes, ends, 2.8, 11)
    return finish(picture, alt, note)


def _mark_last(axes: Any, removed: Sequence[int], errors: np.ndarray, limit: float) -> None:
    """A ring around the last point within the limit, which says how many heads can go."""
    within = np.flatnonzero(errors <= limit)
    if not len(within):
        return
    last, count = within[-1], removed[within[-1]]
    axes.plot(removed[last], errors[last], "o", ms=12, mfc="none", mec="black", mew=2)
    axes.annotate(
        f"{count or 'none'} can go", (count, errors[last]),
        (0, -24), ha="center", va="top", textcoords="offset points", fontweight="bold",
        bbox={"fc": "white", "ec": "none", "alpha": 0.8, "pad": 1},
    )  # fmt: skip
