"""Figures of lesson 04: errors by learning rate and by labels, and the sums of a sign-flip test.

A kind of model has one colour in all of them.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from tlcourse.views.lines import label_ends, plain
from tlcourse.views.panels import head
from tlcourse.views.style import COLOURS, GREY, Picture, figure, finish, label_axes

# by what a name begins with: the shipped models, and what they are judged against
_KINDS = {
    "causal": "blue", "pretrained": "blue", "masked": "vermillion", "from scratch": "orange",
    "TF-IDF": "black", "counting words": "black", "released": "green",
}  # fmt: skip
Interval = tuple[float, float, float, float]  # labels, value, low, high


def _colour(name: str) -> str:
    return next((COLOURS[c] for kind, c in _KINDS.items() if name.startswith(kind)), GREY)


def _log(axis: Any, ticks: Sequence[float]) -> None:
    """A logarithmic axis with these numbers and no others."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_ticks(ticks)
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


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
    *,
    levels: Mapping[str, float] | None = None,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """Dev errors in percent over learning rates, both axes logarithmic; the best are ringed.

    `errors` maps a model to (error, low, high) for each rate, `levels` others to one error. Raises
    ValueError for another number of errors than of rates, and without title or alt text.
    """
    if not errors or any(len(each) != len(rates) for each in errors.values()):
        raise ValueError(f"expected an error for each of {len(rates)} rates, got {dict(errors)}")
    picture, axes = figure(title, 3.6)
    label_axes(axes, x="learning rate of the body; the head has three times it")
    ends = []
    _errors(axes, [*errors.values(), *(levels or {}).values()], "dev error (%)")
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
    for name, value in (levels or {}).items():
        axes.axhline(value, color=_colour(name), lw=1.2, ls=":", zorder=1)
        ends.append((rates[-1], value, name, _colour(name)))
    label_ends(axes, ends, 2.4)
    return finish(picture, alt, note)


def errors_by_labels(
    errors: Mapping[str, Mapping[int, Sequence[float]]],
    differences: Mapping[str, Sequence[Interval]],
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """Errors over the number of labels, and below, on the same axis, differences in pairs.

    `errors` maps a model to its errors, one a seed, at each number of labels: means and single
    runs on logarithmic axes. `differences` maps "one − other" to (labels, mean, low, high) in
    points, drawn in the colour of the other. Raises ValueError for no model or no pair, and without
    title or alt text.
    """
    if not errors or not differences:
        raise ValueError("expected a model and a pair at least, got none")
    picture, (above, below) = figure(title, 6.2, rows=2, sharex=True, height_ratios=[1.5, 1])
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
    below.yaxis.set_major_formatter(FuncFormatter(plain))
    head(above, "dots: single seeds; lines: means", 1)
    head(below, "in pairs, on the same labelled questions", 1)
    label_ends(above, ends, 2.6)
    label_ends(below, names, 1.7, 10)
    return finish(picture, alt, note)


def flipped_sums(
    differences: Sequence[int],
    *,
    flips: int = 10_000,
    seed: int = 0,
    title: str = "",
    alt: str = "",
    x_label: str = "",
    note: str | None = None,
) -> Picture:
    """The sums of random sign flips as bars, and the observed sum; as far or further is blue.

    `differences` holds a whole number for each question. Raises ValueError where all are 0, and
    without title or label of the axis.
    """
    found = np.asarray(differences, int)
    found = found[found != 0]
    if not len(found):
        raise ValueError("expected questions that differ, got none; there is nothing to flip")
    signs = np.random.default_rng(seed).choice([-1, 1], size=(flips, len(found)))
    sums, counts = np.unique(signs @ found, return_counts=True)
    observed = int(found.sum())
    far = abs(sums) >= abs(observed)
    picture, axes = figure(title, 3.4)
    step = float(np.diff(sums).min()) if len(sums) > 1 else 1.0
    shares = 100 * counts / flips
    colours = np.where(far, COLOURS["blue"], "#BDBDBD")
    axes.bar(sums, shares, width=0.85 * step, color=colours)
    axes.axvline(observed, color=COLOURS["blue"], lw=2)
    p = shares[far].sum() / 100
    said = f"{100 * p:.2g} % of the flips are as far" if p else f"none of {flips:,} flips is as far"
    side = "left" if observed < 0 else "right"
    axes.text(
        observed, 0.97, f" observed: {plain(observed)} ", ha=side, va="top",
        color=COLOURS["blue"], transform=axes.get_xaxis_transform(), fontweight="bold",
    )  # fmt: skip
    reach = 1.1 * max(abs(observed), abs(sums).max())
    axes.set_xlim(-reach, reach)
    axes.xaxis.set_major_formatter(FuncFormatter(plain))
    label_axes(axes, x=x_label, y="share of flips (%)")
    own = (
        f"Bars of the sums of {flips:,} random flips, around 0 and from {sums.min()} to "
        f"{sums.max()}. The observed sum is {observed}; {said}."
    )
    return finish(picture, alt or own, note)
