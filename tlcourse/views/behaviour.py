"""What a model does: without some directions, past attractors, and as it reads more."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from tlcourse.views.lines import label_ends, plain
from tlcourse.views.panels import (
    DASHES,
    Values,
    draw_line,
    head,
    label_below,
    name_lines,
    panels,
    with_ends,
)
from tlcourse.views.style import GREY, Picture, colours_of, figure, finish, label_axes


def removal(
    numbers: Sequence[float],
    effects: Mapping[str, tuple[Mapping[str, Values], Values, float]],
    *,
    title: str = "",
    alt: str = "",
    x_label: str = "directions removed",
    log_x: bool = False,
    note: str | None = None,
) -> Picture:
    """What removing the probed directions does, against the band of as many random directions.

    `effects` maps a label with a unit, "LM loss (nats per token)", to a panel (up to three):
    (series, random, intact). A series maps a name to values at `numbers`, of directions or layers;
    `random` holds (value, low, high) there, over draws; `intact` is the height with nothing
    removed. Raises ValueError for other numbers of panels or values, and without title, alt text
    or label.
    """
    if not 1 <= len(effects) <= 3:
        raise ValueError(f"expected one to three effects side by side, got {len(effects)}")
    picture, grid = figure(title, 4.0, columns=len(effects), squeeze=False)
    shown = list(grid[0])
    colours = colours_of(dict.fromkeys(n for series, _, _ in effects.values() for n in series))
    ends: list[dict[str, tuple]] = []
    for axes, (y_label, (series, random, intact)) in zip(shown, effects.items(), strict=True):
        lines = {"random directions": with_ends(random, len(numbers), "random directions")}
        lines |= {name: with_ends(values, len(numbers), name) for name, values in series.items()}
        ends.append({})
        for name, values in lines.items():
            colour = colours.get(name, GREY)
            draw_line(axes, numbers, values, colour)
            ends[-1][name] = (numbers[-1], values[0, -1], colour)
        axes.axhline(intact, color=GREY, lw=1.2, ls=":", zorder=1)
        ends[-1]["nothing removed"] = (numbers[-1], intact, GREY)
        if log_x:
            axes.set_xscale("log")
        axes.set_xticks(numbers, [plain(number) for number in numbers])
        axes.set_xticks([], minor=True)
        head(axes, y_label, len(effects))
    label_below(shown, x_label)
    name_lines(shown, ends, 2.6)
    return finish(picture, alt, note)


def attractors(
    sense: Mapping[str, Values],
    nonsense: Mapping[str, Values] | None = None,
    *,
    title: str = "",
    alt: str = "",
    chance: float = 0.5,
    y_label: str = "accuracy",
    x_label: str = "attractors between subject and verb",
    note: str | None = None,
) -> Picture:
    """Agreement by number of attractors (from 0), a colour a model; nonsense sentences dashed.

    Both map a model to values, each a number or (value, low, high): take Wilson intervals. Models
    stand a little beside each other. Raises ValueError where numbers of attractors differ, for
    nonsense of a model that has no sense, and without title, alt text or labels.
    """
    nonsense = nonsense or {}
    if not sense or set(nonsense) - set(sense):
        raise ValueError(
            f"expected models, and nonsense of these only, got {list(sense)} and {list(nonsense)}"
        )
    picture, axes = figure(title, 4.3)
    colours = colours_of(sense)
    count = len(next(iter(sense.values())))
    shifts = 0.07 * (np.arange(len(sense)) - (len(sense) - 1) / 2)
    axes.axhline(chance, color=GREY, lw=1.6, ls=":", zorder=1)
    ends = [(count - 1 + shifts[-1], chance, "chance", GREY)]
    for shift, (name, colour) in zip(shifts, colours.items(), strict=True):
        for kind, dash in ((sense, "-"), (nonsense, (0, (4, 2)))):
            if name not in kind:
                continue
            values = with_ends(kind[name], count, name)
            x = np.arange(count) + shift + (0.025 if kind is nonsense else 0)
            axes.plot(
                x, values[0], "o", ls=dash, color=colour, ms=6, lw=2 if dash == "-" else 1.4,
                mfc=colour if kind is sense else "white",
            )  # fmt: skip
            axes.vlines(x, *values[1:], color=colour, lw=1.4)
        ends.append((count - 1 + shift, with_ends(sense[name])[0, -1], name, colour))
    axes.set_xticks(range(count))
    axes.set_ylim(top=max(axes.get_ylim()[1], 1.0 if chance < 1 else 100.0))
    label_axes(axes, x=x_label, y=y_label)
    label_ends(axes, ends, 2.9)
    said = "Full: sentences with sense. Dashed: nonsense, words of the right category."
    return finish(picture, alt, " ".join(filter(None, [said if nonsense else "", note])))


def growth(
    scores: Mapping[str, Mapping[str, tuple[Sequence[float], Values]]],
    levels: Mapping[str, Mapping[str, float]] | None = None,
    *,
    title: str = "",
    alt: str = "",
    x_label: str = "tokens read (logarithmic)",
    note: str | None = None,
) -> Picture:
    """Scores against tokens read, a panel a score (one to six), causal and masked in their colours.

    `scores` maps a label with a unit to series, a series to (tokens, values), each value a number
    or (value, low, high). 0 tokens, before training, stand at the left edge. `levels` maps such
    a label to names of grey lines (chance, word types). Raises ValueError where tokens and values
    differ in number, for levels of no score, and without title or alt text.
    """
    levels = levels or {}
    if set(levels) - set(scores):
        raise ValueError(f"expected levels of {list(scores)}, got some of {list(levels)}")
    read = [t for each in scores.values() for tokens, _ in each.values() for t in tokens]
    if not any(t > 0 for t in read):
        raise ValueError(f"expected at least one score with tokens above 0, got {dict(scores)}")
    first, last = min(t for t in read if t > 0), max(read)
    picture, shown = panels(title, list(scores), height=1.9, sharex=True)
    colours = colours_of(dict.fromkeys(name for each in scores.values() for name in each))
    every = dict.fromkeys(name for each in levels.values() for name in each)
    dashes = dict(zip(every, DASHES * len(every), strict=False))
    ends: list[dict[str, tuple]] = []
    for axes, (label, series) in zip(shown, scores.items(), strict=True):
        ends.append({})
        for name, height in levels.get(label, {}).items():
            draw_line(axes, [min(read), last], with_ends([height] * 2), GREY, dashes[name])
            ends[-1][name] = (last, height, GREY)
        for name, (tokens, values) in series.items():
            drawn = with_ends(values, len(tokens), name)
            draw_line(axes, tokens, drawn, colours[name])
            ends[-1][name] = (tokens[-1], drawn[0, -1], colours[name])
        axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    if 0 in read:
        shown[0].set_xscale("symlog", linthresh=first, linscale=0.5)
    else:
        shown[0].set_xscale("log")
    ticks = 10.0 ** np.arange(np.ceil(np.log10(first)), np.floor(np.log10(last)) + 1)
    for axes in shown:
        axes.set_xticks([*([0] if 0 in read else []), *ticks])
        axes.xaxis.set_major_formatter(FuncFormatter(plain))
        axes.xaxis.set_minor_formatter(NullFormatter())
    label_below(shown, x_label)
    if len(shown) == 1:
        label_axes(shown[0], y=next(iter(scores)))
    name_lines(shown, ends, 2.6 if len(shown) == 1 else 1.3)
    return finish(picture, alt, note)
