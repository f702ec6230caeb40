"""Figures of lesson 04: a classifier on a body, its errors, and a sign-flip test.

A kind of model has one colour in all charts.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.ticker import NullLocator

from tlcourse.views.diagrams import Drawing, word_width
from tlcourse.views.lines import label_ends, log_scale, plain
from tlcourse.views.panels import head
from tlcourse.views.style import COLOURS, GREY, Picture, Texts, figure, finish, label_axes
from tlcourse.views.tokens import visible

_ROOM = 3.9  # inches for the tokens
FLIPS = 10_000
# by what a name begins with: the shipped models, and what they are judged against
_KINDS = {"causal": "blue", "pretrained": "blue", "masked": "vermillion", "from scratch": "orange"}
_KINDS |= {"TF-IDF": "black", "counting words": "black", "released": "green"}
Interval = tuple[float, float, float, float]  # labels, value, low, high


def classifier_on_body(
    tokens: Sequence[str],
    labels: Sequence[str],
    answer: str,
    *,
    layers: int = 0,
    width: int = 0,
    **texts: Unpack[Texts],
) -> Picture:
    """Tokens run through a grey body; the state of the last goes through a blue head to a label.

    `answer` is the label that wins, `layers` and `width` are the body's. Raises ValueError for an
    answer that is no label, or for tokens that do not fit.
    """
    if answer not in labels:
        raise ValueError(f"expected an answer out of {list(labels)}, got {answer!r}")
    names = [visible(token.removeprefix(" ")) for token in tokens]
    wide = max(0.5, *(word_width(name) + 0.2 for name in names))
    if wide * len(names) > _ROOM:
        raise ValueError(f"expected tokens that fit into {_ROOM} inches, got {len(names)}")
    draw = Drawing(2.45, **texts)
    middle = 0.1 + wide * len(names) / 2
    body = draw.box((middle, 0.95), width=wide * len(names), height=0.52, colour="grey")
    draw.caption((middle, 1.05), f"body: {layers} blocks of width {width:,}", "black")
    draw.caption((middle, 0.84), "pretrained (lessons 02 and 03)")
    for place, name in enumerate(names):
        x, last = 0.1 + wide * (place + 0.5), place == len(names) - 1
        token = draw.box((x, 0.28), name, width=wide - 0.06, height=0.26)
        draw.arrow(token.top, (x, body.bottom[1]))
        hue = "blue" if last else "faint"
        state = draw.box((x, 1.65), width=wide - 0.06, height=0.2, colour=hue)
        draw.arrow((x, body.top[1]), state.bottom)
    draw.caption((middle, 1.95), "a hidden state for each token")
    blue = {"colour": "blue"}
    text = f"head (linear)\n{width:,} → {len(labels)}"
    head = draw.box((5.15, 1.65), text, height=0.45, **blue)
    draw.arrow(state.right, head.left, colour="blue")
    between = (state.right[0] + head.left[0]) / 2, 1.95
    draw.caption(between, "last_token", "blue")
    step = 2.2 / len(labels)
    for place, name in enumerate(labels):
        y, wins = 2.3 - step * (place + 0.5), name == answer
        hue, tall = "blue" if wins else "white", step - 0.08
        found = draw.box((6.4, y), name, width=0.72, height=tall, bold=wins, colour=hue)
        draw.arrow(head.right, found.left, colour="blue" if wins else "#9A9A9A")
    return draw.finish(
        f"{len(names)} tokens, the last of them {names[-1]}, go through a body of {layers} blocks. "
        f"The hidden state of the last goes through a linear head to {len(labels)} labels; "
        f"{answer} wins."
    )


def _colour(name: str) -> str:
    return next((COLOURS[c] for kind, c in _KINDS.items() if name.startswith(kind)), GREY)


def _log(axis: Any, ticks: Sequence[float]) -> None:
    """A logarithmic axis with these numbers and no others."""
    log_scale(axis)
    axis.set_ticks(ticks)
    axis.set_major_formatter(lambda value, _: f"{value:,g}")
    axis.set_minor_locator(NullLocator())


def _errors(axes: Any, lines: Sequence[np.ndarray], label: str) -> None:
    """A logarithmic axis of errors in percent, with as many of the usual numbers as fit."""
    values = np.concatenate([np.ravel(each) for each in lines])
    low, high = values[values > 0].min() / 1.15, min(100, values.max() * 1.1)
    axes.set_ylim(low, high)
    _log(axes.yaxis, [t for t in (1, 2, 3, 5, 10, 15, 20, 30, 50, 75, 100) if low <= t <= high])
    axes.set_ylim(low, high)
    label_axes(axes, y=label)


def errors_by_rate(
    rates: Sequence[float],
    errors: Mapping[str, Sequence[tuple[float, float, float]]],
    levels: Mapping[str, float],
    **texts: Unpack[Texts],
) -> Picture:
    """Dev errors in percent over learning rates, both axes logarithmic; the best are ringed.

    `errors` maps a model to (error, low, high) for each rate, `levels` others to one error. Raises
    ValueError for another number of errors than of rates.
    """
    picture, axes = figure(height=3.6, **texts)
    label_axes(axes, x="learning rate of the body; the head has three times it")
    ends = []
    _errors(axes, [*errors.values(), *levels.values()], "dev error (%)")
    shifts = 1.03 ** (np.arange(len(errors)) - (len(errors) - 1) / 2)
    for shift, (name, found) in zip(shifts, errors.items(), strict=True):
        at, (each, low, high) = np.multiply(rates, shift), np.array(found, float).T
        axes.plot(at, each, "o-", color=_colour(name), ms=6)
        axes.vlines(at, low, high, color=_colour(name), lw=1.6)
        best = int(np.argmin(each))
        axes.plot(at[best], each[best], "o", ms=13, mfc="none", mec=_colour(name), mew=1.6)
        ends.append((at[-1], each[-1], name, _colour(name)))
    _log(axes.xaxis, rates)
    axes.margins(x=0.08)
    for name, value in levels.items():
        axes.axhline(value, color=_colour(name), lw=1.2, ls=":", zorder=1)
        ends.append((rates[-1], value, name, _colour(name)))
    label_ends(axes, ends, 2.4)
    return finish(picture)


def errors_by_labels(
    errors: Mapping[str, Mapping[int, Sequence[float]]],
    differences: Mapping[str, Sequence[Interval]],
    **texts: Unpack[Texts],
) -> Picture:
    """Errors over the number of labels, and below, on the same axis, differences in pairs.

    `errors` maps a model to its errors, one a seed, at each number of labels: means and single runs
    on logarithmic axes. `differences` maps "one − other" to (labels, mean, low, high) in points,
    drawn in the colour of the other. Raises ValueError for no model or no pair.
    """
    if not errors or not differences:
        raise ValueError("expected a model and a pair at least, got none")
    picture, (above, below) = figure(
        height=6.2, rows=2, sharex=True, height_ratios=[1.5, 1], **texts
    )
    everything = [each for at in errors.values() for each in at.values()]
    _errors(above, everything, "test error (%)")
    ends, counts = [], sorted({labels for at in errors.values() for labels in at})
    for name, at in errors.items():
        labels, colour = sorted(at), _colour(name)
        means = [float(np.mean(at[each])) for each in labels]
        above.plot(labels, means, "-", color=colour)
        for each in labels:
            above.plot([each] * len(at[each]), at[each], "o", color=colour, ms=4, alpha=0.45)
        ends.append((labels[-1], means[-1], name, colour))
    shifts = np.linspace(-1, 1, len(differences)) * 0.05 if len(differences) > 1 else [0.0]
    below.axhline(0, color="black", lw=1.4, zorder=1)
    names = []
    for shift, (name, found) in zip(shifts, differences.items(), strict=True):
        labels, values, low, high = np.array(found, float).T
        at, colour = labels * math.exp(shift), _colour(name.split(" − ")[-1])
        below.vlines(at, low, high, color=colour, lw=2)
        below.plot(at, values, "o", color=colour, ms=6)
        names.append((at[-1], values[-1], name.replace(" − ", "\n− "), colour))
    _log(below.xaxis, counts)
    below.margins(x=0.06)
    label_axes(below, x="labelled questions", y="difference (points)")
    below.yaxis.set_major_formatter(plain)
    head(above, "dots: single seeds; lines: means", 1)
    head(below, "in pairs, on the same labelled questions", 1)
    label_ends(above, ends, 2.6)
    label_ends(below, names, 1.7, 10)
    return finish(picture)


def flipped_sums(
    differences: Sequence[int],
    *,
    x_label: str = "",
    **texts: Unpack[Texts],
) -> Picture:
    """The sums of random sign flips as bars, and the observed sum; as far or further is blue.

    `differences` holds a whole number for each question. Raises ValueError where all are 0.
    """
    found = np.asarray(differences, int)
    found = found[found != 0]
    if not len(found):
        raise ValueError("expected questions that differ, got none; there is nothing to flip")
    signs = np.random.default_rng(0).choice([-1, 1], size=(FLIPS, len(found)))
    sums, counts = np.unique(signs @ found, return_counts=True)
    observed = int(found.sum())
    far = abs(sums) >= abs(observed)
    picture, axes = figure(height=3.4, **texts)
    step = float(np.diff(sums).min()) if len(sums) > 1 else 1.0
    shares = 100 * counts / FLIPS
    colours = np.where(far, COLOURS["blue"], "#BDBDBD")
    axes.bar(sums, shares, width=0.85 * step, color=colours)
    axes.axvline(observed, color=COLOURS["blue"], lw=2)
    p = shares[far].sum() / 100
    share_as_far = (
        f"{100 * p:.2g} % of the flips are as far" if p else f"none of {FLIPS:,} flips is as far"
    )
    side = "left" if observed < 0 else "right"
    where = {"ha": side, "va": "top", "transform": axes.get_xaxis_transform()}
    text = f" observed: {plain(observed)} "
    axes.text(observed, 0.97, text, color=COLOURS["blue"], fontweight="bold", **where)
    reach = 1.1 * max(abs(observed), abs(sums).max())
    axes.set_xlim(-reach, reach)
    axes.xaxis.set_major_formatter(plain)
    label_axes(axes, x=x_label, y="share of flips (%)")
    return finish(
        picture,
        f"Bars of the sums of {FLIPS:,} random flips, around 0 and from {sums.min()} to "
        f"{sums.max()}. The observed sum is {observed}; {share_as_far}.",
    )
