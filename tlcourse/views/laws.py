"""Laws fitted to small runs, and what they said of a long one."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.ticker import FuncFormatter, NullFormatter

from tlcourse.views.lines import label_ends, plain
from tlcourse.views.style import CYCLE, Picture, figure, finish

Points = tuple[Sequence[float], Sequence[float]]


def predicted_and_true(
    laws: Mapping[str, tuple[Points, Points, tuple[float, float]]],
    beyond: tuple[str, float, float],
    *,
    later: tuple[str, float, float] | None = None,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """Losses over tokens (logarithmic): runs, the laws fitted to them, and a run far beyond.

    `laws` maps a name to (runs, line, interval): the runs it was fitted to and its line for the
    shape of the long run, both as (tokens, losses), and the interval of its prediction. The line is
    dashed where it has no runs. `beyond` is the long run, where the laws are asked: name, tokens,
    loss. `later` is the same run after it went on, a hollow star. Raises ValueError for more laws
    than colours (7), and without title or alt text.
    """
    if not 1 <= len(laws) <= len(CYCLE):
        raise ValueError(f"expected 1 to {len(CYCLE)} laws in one figure, got {len(laws)}")
    picture, axes = figure(title, 4.2)
    axes.set(xscale="log", xlabel="tokens read (logarithmic)", ylabel="held-out loss (nats/token)")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    named, (name, far, loss) = [], beyond
    for place, (colour, (each, (runs, line, (low, high)))) in enumerate(
        zip(CYCLE, laws.items(), strict=False)
    ):
        aside = 1.09 ** (place - (len(laws) - 1) / 2)  # bars side by side
        axes.plot(np.asarray(runs[0]) * aside, runs[1], "o", color=colour, ms=5, alpha=0.45)
        tokens, said = (np.asarray(part, float) for part in line)
        seen = tokens <= max(runs[0])
        axes.plot(tokens[seen], said[seen], color=colour)
        axes.plot(tokens[~seen], said[~seen], color=colour, ls="--")
        axes.vlines(far * aside, low, high, color=colour, lw=2)
        there = np.interp(np.log(far), np.log(tokens), said)
        axes.plot(far * aside, there, "_", color=colour, ms=12, mew=2.5)
        named.append((max(far * aside, tokens[-1]), said[-1], each, colour))
    axes.plot(far, loss, "*", color="black", ms=13)
    told = (far, loss, name, "black")
    if later is not None:
        name, tokens, after = later
        axes.plot([far, tokens], [loss, after], ":", color="black", lw=1)
        axes.plot(tokens, after, "*", color="black", mfc="white", ms=13)
        axes.annotate(told[2], (far, loss), (12, 10), textcoords="offset points")
        told = (tokens, after, name, "black")
    axes.margins(x=0.06)
    label_ends(axes, [*named, told], 2.9)
    return finish(picture, alt, note)
