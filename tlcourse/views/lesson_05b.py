"""Figures of lesson 05b: boards of schemes, what they cost, learning rates, relatives of LoRA.

A title states a finding only where the data bear it out; otherwise it says what is drawn.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Unpack

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator, StrMethodFormatter

from tlcourse.views.bars import name_rows
from tlcourse.views.diagrams import Box, Drawing
from tlcourse.views.dots import BoardValue, Interval, Panel, grouped_dots, scheme_board
from tlcourse.views.heat_maps import movement
from tlcourse.views.lines import label_ends
from tlcourse.views.panels import head
from tlcourse.views.style import (
    ABOVE,
    CYCLE,
    GREY,
    Picture,
    Texts,
    colours_of,
    figure,
    finish,
    ink_on,
    label_axes,
    text_width,
)

Row = tuple[str, Sequence[BoardValue]]  # a scheme's knob, and its numbers
FORGETTING = "forgetting (nats per token)"
_STEP = 1.7  # inches from one layer to the next
_FEW = 15  # percent of the parameters


def errors_and_forgetting(
    rows: Mapping[str, Row], against: str, *, own: str = "", lost: str = FORGETTING,
    **texts: Unpack[Texts],
) -> Picture:  # fmt: skip
    """A board of schemes: points of error more than the scheme `against`, and what was forgotten.

    `rows` maps a scheme to its knob, (points, low, high), and a number or (number, low, high), in
    the unit that `lost` names. `own` is the learner's scheme, which the title is about.
    """
    points = {name: _interval(values[0]) for name, (_, values) in rows.items()}
    nats = {name: _interval(values[1])[0] for name, (_, values) in rows.items()}
    told = "; ".join(f"{name} {points[name][0]:+.1f}, {nats[name]:+.2f}" for name in rows)
    texts = {
        "title": _rank(own, points, nats) if own else _apart_in_forgetting(points, nats),
        "alt": f"Points of error more than {against}, and {lost}: {told}",
    } | texts
    named = {f"{name} (yours)" if name == own else name: row for name, row in rows.items()}
    return scheme_board(named, (Panel(f"points more than {against}", 0), Panel(lost, 0)), **texts)


def _interval(value: BoardValue) -> Interval:
    """(value, low, high), all equal for a number without an interval."""
    return value if isinstance(value, tuple) else (value or 0.0,) * 3


def _apart_in_forgetting(points: Mapping[str, Interval], nats: Mapping[str, float]) -> str:
    """A title: which of the schemes without a clear difference in error forget most and least."""
    equal = [name for name, (_, low, high) in points.items() if low <= 0 <= high]
    most, least = (pick(equal, key=nats.__getitem__, default="") for pick in (max, min))
    if most and nats[least] > 0 and nats[most] >= 2 * nats[least]:
        times = int(nats[most] / nats[least])
        return f"No clear difference in error, but {most} forgets {times} times as much as {least}"
    return "Errors and forgetting, scheme by scheme"


def _rank(own: str, points: Mapping[str, Interval], nats: Mapping[str, float]) -> str:
    """A title: of how many others one scheme has fewer errors, and of how many it forgets less."""
    others = [name for name in points if name != own]
    fewer = sum(points[own][0] < points[name][0] for name in others)
    less = sum(nats[own] < nats[name] for name in others)
    count = len(others)
    return f"Your scheme: fewer errors than {fewer} of {count} others, less forgetting than {less}"


def layers_over_steps(
    rates: Mapping[str, tuple[Sequence[str], Sequence[Sequence[float]]]], **texts: Unpack[Texts]
) -> Picture:
    """The learning rate of each layer at each step, a panel for each scheme; see `movement`."""
    again = [name for name, (_, rows) in rates.items() if any(map(_stops, rows))]
    names = ", ".join(rates)
    texts = {
        "title": "Learning rates of all layers over the steps",
        "alt": f"Rows are layers from the embedding to the head, columns are steps: {names}. "
        f"Layers are frozen again in: {', '.join(again) or 'none'}.",
    } | texts
    if len(again) == 1 and len(rates) > 1:
        texts = {**texts, "title": f"Only {again[0]} freezes a layer again"}
    return movement(rates, **texts)


def _stops(row: Sequence[float]) -> bool:
    """Whether a layer is frozen after a step in which it was trained."""
    return any(before > 0 and now == 0 for before, now in pairwise(row))


def costs_of_schemes(rows: Mapping[str, Row], full: str, **texts: Unpack[Texts]) -> Picture:
    """A board of costs: percent of the parameters, seconds, and MiB, beside the scheme `full`."""
    costs = {name: [_interval(value)[0] for value in values] for name, (_, values) in rows.items()}
    told = "; ".join(
        f"{name} {p:.3g} %, {s:.0f} s, {m:.0f} MiB" for name, (p, s, m) in costs.items()
    )
    _, seconds, memory = costs[full]
    few = [each for each in costs.values() if each[0] < _FEW]
    fast = [each for each in costs.values() if each[1] < 0.4 * seconds]
    holds = few and all(each[2] < 0.75 * memory for each in few)
    holds = holds and fast and all(each[0] < 0.1 for each in fast)
    texts = {
        "title": "Few parameters save memory; only a frozen body saves much time"
        if holds
        else "What the schemes cost",
        "alt": told,
    } | texts
    panels = Panel("parameters trained (%)"), Panel("seconds"), Panel("memory (MiB)")
    return scheme_board(rows, panels, **texts)


def searched_schemes(
    rows: Mapping[str, Row], unclear: Collection[str], full: str, **texts: Unpack[Texts]
) -> Picture:
    """A board of searched schemes: test error, points more than the scheme `full`, dev error.

    The points of schemes in `unclear` are drawn hollow: their difference is not clear.
    """
    clear = [name for name in rows if name not in unclear and name != full]
    told = "; ".join(f"{name} {_interval(v[0])[0]:.1f} %" for name, (_, v) in rows.items())
    title = "Test errors of schemes, each with its best settings"
    if len(clear) == 1 and len(rows) > 2:
        title = f"Only the {clear[0]} differs clearly from {full}"
    panels = (
        Panel("test error (%)", log=True),
        Panel(f"points more than\n{full}", 0.0, hollow=unclear),
        Panel("dev error (%)", log=True),
    )
    return scheme_board(rows, panels, **({"title": title, "alt": f"Test error: {told}"} | texts))


def errors_against_counting(
    rows: Mapping[str, Mapping[str, Interval]], **texts: Unpack[Texts]
) -> Picture:
    """Points of error more than counting words: a row for each number of labels, a dot a scheme."""
    schemes = list(next(iter(rows.values()), {}))
    behind = [name for name in schemes if all(each[name][2] >= 0 for each in rows.values())]
    ahead = [name for name in schemes if all(each[name][2] < 0 for each in rows.values())]
    title = "Test errors beside counting words"
    if len(behind) == 1 and len(ahead) == len(schemes) - 1 > 0:
        title = f"All schemes but the {behind[0]} beat counting words"
    told = "; ".join(
        f"{labels}: " + ", ".join(f"{name} {each[0]:+.1f}" for name, each in row.items())
        for labels, row in rows.items()
    )
    texts = {"title": title, "alt": f"Points of error more than counting words: {told}"} | texts
    x_label = "points of test error more than counting words"
    return grouped_dots(rows, levels={"counting words": 0}, x_label=x_label, **texts)


def rate_grids(
    families: Mapping[str, Mapping[str, Mapping[float, Sequence[float]]]],
    columns: Sequence[str],
    level: float,
    **texts: Unpack[Texts],
) -> Picture:
    """Numbers over learning rates (logarithmic): a row of panels a family, a column a number.

    `families` maps a family to its schemes (seven at most, of all families), a scheme to {learning
    rate: numbers}, one for each of `columns`. In every column the learning rate with the lowest
    first number, an error, is ringed. `level` is an error to hold all against, dotted. Errors above
    twice the lowest are cut off. Raises ValueError for a family without schemes, or a scheme
    without numbers or with others than columns.
    """
    if not families or not all(families.values()):
        raise ValueError(f"expected a scheme at least in every family, got {dict(families)}")
    lows = [_best_rates(schemes) for schemes in families.values()]
    texts = {
        "title": "Added parts need a higher learning rate"
        if len(lows) == 2 and min(lows[1].values()) > max(lows[0].values())
        else "Error and forgetting at each learning rate",
        "alt": "Two numbers over the learning rate. The lowest error is at: "
        + "; ".join(f"{name} {rate:g}" for each in lows for name, rate in each.items()),
    } | texts
    size = {"rows": len(families), "columns": len(columns), "squeeze": False}
    height = 1.2 + 1.9 * len(families)
    picture, grid = figure(height=height, sharex=True, sharey="col", **size, **texts)
    colours = colours_of([name for schemes in families.values() for name in schemes])
    ends = []
    for row, (family, schemes) in zip(grid, families.items(), strict=True):
        ends.append([_curves(row, name, schemes[name], colours[name]) for name in schemes])
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
    for axes in grid[:, 0]:
        axes.axhline(level, color=GREY, lw=1.4, ls=":", zorder=1)
    for row, labels in zip(grid, ends, strict=True):
        label_ends(row[-1], labels, 1.5, 10.5)
    return finish(picture)


def _curves(
    row: Sequence[Axes], name: str, points: Mapping[float, Sequence[float]], colour: str
) -> tuple[float, float, str, str]:
    """Draws a scheme's curves into a row of panels; returns the label of the last one's end."""
    rates, numbers = zip(*sorted(points.items()), strict=True)
    best = numbers.index(min(numbers, key=itemgetter(0)))
    for axes, values in zip(row, zip(*numbers, strict=True), strict=True):
        axes.plot(rates, values, "o-", color=colour, ms=4)
        axes.plot(rates[best], values[best], "o", ms=11, mfc="none", mec=colour, mew=1.6)
    return rates[-1], numbers[-1][-1], name, colour


def _best_rates(schemes: Mapping[str, Mapping[float, Sequence[float]]]) -> dict[str, float]:
    """The learning rate with the lowest first number, of each scheme."""
    return {name: min(found, key=lambda rate: found[rate][0]) for name, found in schemes.items()}


def memory_bars(held: Mapping[str, Mapping[str, float]], **texts: Unpack[Texts]) -> Picture:
    """A row for each scheme: the MiB of each kind side by side, and the sum at the end.

    `held` maps a name to kinds and their MiB; all names have the same kinds, which are named above
    the first row. Raises ValueError for no row, or for kinds that differ.
    """
    kinds = list(next(iter(held.values()), {}))
    if not kinds or any(list(each) != kinds for each in held.values()):
        raise ValueError(f"expected the same kinds of memory in every row, got {dict(held)}")
    texts = {"title": _what_shrinks(held)} | texts
    picture, axes = figure(height=1.55 + 0.36 * len(held), **texts)
    colours = dict(zip(kinds, CYCLE, strict=False))
    most = max(sum(each.values()) for each in held.values())
    for row, each in enumerate(held.values()):
        left = 0.0
        for kind, size in each.items():
            axes.barh(row, size, left=left, height=0.66, color=colours[kind], ec="white", lw=0.8)
            text = f"{size:.0f}"
            if 4.2 * size / most > text_width(text, 9) + 0.08:  # about as wide as the axes
                ink = ink_on(colours[kind])
                font = {"ha": "center", "va": "center_baseline", "fontsize": 9, "color": ink}
                axes.text(left + size / 2, row, text, **font)
            left += size
        axes.text(left + 0.012 * most, row, f"{left:.0f}", va="center", fontweight="bold")
    name_rows(axes, list(held))
    axes.set_xlim(0, 1.12 * most)
    label_axes(axes, x="memory of one training step (MiB)")
    look = {"ncols": len(kinds), "borderaxespad": 0, "handlelength": 1.0, "columnspacing": 1.4}
    axes.legend(axes.patches[: len(kinds)], kinds, **ABOVE, **look)
    rows_in_words = "; ".join(
        f"{name}: " + ", ".join(f"{kind} {size:.0f}" for kind, size in each.items())
        for name, each in held.items()
    )
    return finish(picture, f"MiB of one training step. {rows_in_words}")


def _what_shrinks(held: Mapping[str, Mapping[str, float]]) -> str:
    """A title: whether LoRA saves gradients and running means, and QLoRA alone the weights, too."""
    first, *others = held.items()
    small = {name for name, each in others if each.get("weights", 0) < 0.75 * first[1]["weights"]}
    states = {
        name: each["gradients"] + each["AdamW"] for name, each in held.items() if "AdamW" in each
    }
    if small == {"QLoRA"} and states.get("LoRA", np.inf) < 0.1 * states.get(first[0], 0.0):
        return "LoRA saves gradients and AdamW's means; only QLoRA shrinks the weights"
    return "Memory of one training step, by kind"


def lora_relatives(width: int, rank: int, **texts: Unpack[Texts]) -> Picture:
    """Four times one linear layer of `width`: LoRA, QLoRA, DoRA and IA³ beside each other.

    Grey is frozen, blue is new and learned; below each stands how many numbers are learned. Raises
    ValueError for sizes below 1.
    """
    if min(width, rank) < 1:
        raise ValueError(f"expected a width and a rank of 1 or more, got {width} and {rank}")
    title = "One linear layer, four ways to change it with few new numbers"
    draw = Drawing(3.05, **({"title": title} | texts))
    thin = 2 * rank * width
    learned = {"LoRA": thin, "QLoRA": thin, "DoRA": thin + width, "IA³": width}
    for place, (name, count) in enumerate(learned.items()):
        frozen = "W\n4 bits" if name == "QLoRA" else "W\n32 bits"
        middle = 0.85 + _STEP * place
        draw.caption((middle, 2.9), name, "black", bold=True)
        last = _layer(draw, middle, frozen, "" if name == "IA³" else f"B A\nrank {rank}")
        _output(draw, middle, last, name)
        draw.caption((middle, 0.08), f"{count:,} learned", "blue")
    return draw.finish(
        f"Four linear layers of {width} inputs and outputs. LoRA: the frozen W and beside it the "
        f"learned B A of rank {rank}, added up. QLoRA: the same, W in 4 bits. DoRA: the sum is "
        "divided by its length and multiplied by a learned m. IA³: no B A, the output is "
        "multiplied by learned factors."
    )


def _layer(draw: Drawing, middle: float, frozen: str, new: str) -> tuple[float, float]:
    """x below, W and what stands beside it, a sum; returns the point from where it goes on."""
    draw.caption((middle, 0.36), "x", "black")
    start = (middle, 0.45)
    if not new:
        weight = draw.box((middle, 1.08), frozen, width=0.68, height=0.5, colour="grey")
        draw.arrow(start, weight.bottom)
        return weight.top
    weight = draw.box((middle - 0.38, 1.08), frozen, width=0.68, height=0.5, colour="grey")
    update = draw.box((middle + 0.38, 1.08), new, width=0.68, height=0.5, colour="blue")
    draw.arrow(start, weight.bottom)
    draw.arrow(start, update.bottom, colour="blue")
    plus = draw.box((middle, 1.66), "+", width=0.26, height=0.24)
    draw.arrow(weight.top, plus.left)
    draw.arrow(update.top, plus.right, colour="blue")
    return plus.top


def _output(draw: Drawing, middle: float, last: tuple[float, float], name: str) -> None:
    """What is done to the sum, and the output above."""
    above: Box | None = None
    if name in ("DoRA", "IA³"):
        text = "÷ length  × m" if name == "DoRA" else "× l"
        above = draw.box((middle, 2.18), text, colour="blue")
        draw.arrow(last, above.bottom)
    draw.arrow(above.top if above else last, (middle, 2.58))
    draw.caption((middle, 2.68), "output")
