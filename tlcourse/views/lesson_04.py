"""Figures of lesson 04: a classifier on a body, its answers and errors, and two statistics.

A kind of model has one colour in all charts. A title states a finding only if the data show it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.ticker import NullLocator

from tlcourse.views.diagrams import Drawing, word_width
from tlcourse.views.dots import strips
from tlcourse.views.heat_maps import bare, write_cells
from tlcourse.views.lines import curves, label_ends, log_scale, plain
from tlcourse.views.panels import head, label_below, panels
from tlcourse.views.style import (
    COLOURS,
    GREY,
    SHADES,
    Picture,
    Texts,
    figure,
    finish,
    label_axes,
    shaped,
)
from tlcourse.views.tokens import visible

_ROOM = 3.9  # inches for the tokens
FLIPS = 10_000
# by what a name begins with: the shipped models, and what they are judged against
_KINDS = {"causal": "blue", "pretrained": "blue", "masked": "vermillion", "from scratch": "orange"}
_KINDS |= {"TF-IDF": "black", "counting words": "black", "released": "green"}
Interval = tuple[float, float, float, float]  # labels, value, low, high
_FIT = 3.0  # % wrong on train: below this, a model has learned its questions by heart


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
    texts = {"title": "What you build: one linear layer on your pretrained model"} | texts
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


def _table(
    values: Any, rows: Sequence[str], columns: Sequence[str], bold: Any = None, **texts: Any
) -> Picture:
    """Percentages as shaded cells, rows and columns named; `bold` marks some of them."""
    values = shaped(values, (len(rows), len(columns)), "percentages").astype(float)
    picture, axes = figure(height=1.1 + 0.38 * len(rows), **texts)
    image = axes.imshow(values, cmap=SHADES, vmin=0, vmax=100, aspect="auto")
    write_cells(axes, image, np.vectorize("{:.0f}".format)(values), 11, bold=bold)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(top=True, labeltop=True, labelbottom=False)
    bare(axes)
    return finish(picture)


def label_probabilities(
    questions: Mapping[str, str], probabilities: Any, labels: Sequence[str], **texts: Unpack[Texts]
) -> Picture:
    """A row of label probabilities for each question, as percentages; the right labels are bold.

    `questions` maps each to its right label; `probabilities` are (questions, labels). The title
    says how many likeliest labels are right.
    """
    shares = shaped(probabilities, (len(questions), len(labels)), "probabilities")
    best = [labels[place] for place in shares.argmax(axis=1)]
    right = list(questions.values())
    hits = sum(guess == label for guess, label in zip(best, right, strict=True))
    told = (f"{q} {b}, {s.max():.0%}" for q, b, s in zip(questions, best, shares, strict=True))
    texts = {
        "title": f"{hits} of {len(questions)} answers are right (the right labels are bold)",
        "alt": "The likeliest label of each question: " + "; ".join(told),
        "note": "Probability of each label, in percent.",
    } | texts
    bold = [[label == wanted for label in labels] for wanted in right]
    return _table(100 * shares, questions, labels, bold, **texts)


def class_scores(scores: Mapping[str, Mapping[str, float]], **texts: Unpack[Texts]) -> Picture:
    """A table of percentages: a row for each class, a column for each score.

    `scores` maps a class to its scores, the same for all. The title names the lowest last score.
    """
    last = {name: list(each.items())[-1] for name, each in scores.items()}
    lowest = min(last, key=lambda name: last[name][1])
    told = (f"{k}: " + ", ".join(f"{s} {v:.0f}" for s, v in e.items()) for k, e in scores.items())
    texts = {
        "title": f"{lowest.split(' (')[0]} has the lowest {last[lowest][0]}",
        "alt": "Scores in percent. " + "; ".join(told),
    } | texts
    columns = list(next(iter(scores.values())))
    return _table([list(each.values()) for each in scores.values()], list(scores), columns, **texts)


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
    label_axes(axes, y=f"{label}, log scale")


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
    told = (f"{name} {[round(each[0]) for each in line]}" for name, line in errors.items())
    texts = {
        "title": _rate_finding(rates, errors, levels),
        "alt": f"Dev error in percent at the learning rates {list(rates)}: " + "; ".join(told),
    } | texts
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


def _rate_finding(rates: Any, errors: Mapping[str, Any], levels: Mapping[str, float]) -> str:
    """A title: who beats all levels, if this happens at a single learning rate."""
    lowest = min(levels.values(), default=0)
    lower = [
        (name, rate)
        for name, line in errors.items()
        for rate, (error, *_) in zip(rates, line, strict=True)
        if error < lowest
    ]
    if len(lower) != 1:
        return "Dev errors by learning rate"
    [(name, rate)], baseline = lower, min(levels, key=lambda level: levels[level])
    return f"Only {name} at {rate:g} makes fewer errors than {baseline}"


def epoch_errors(
    runs: Mapping[float, Mapping[str, Sequence[float]]],
    level: tuple[str, float],
    **texts: Unpack[Texts],
) -> Picture:
    """Errors in percent after each epoch, on train and on dev, a panel for each learning rate.

    `runs` maps a rate to (part → errors), the first before any training. `level` is a dotted line
    with its name. The title states what the highest rate shows, if it shows it.
    """
    last = {rate: {part: each[-1] for part, each in run.items()} for rate, run in runs.items()}
    fitted = [rate for rate, at in last.items() if at["train"] < _FIT]
    title = "Errors on train and on dev after each epoch"
    if len(fitted) > 1 and last[fitted[-1]]["dev"] > 1.2 * last[fitted[0]]["dev"]:
        title = f"{len(fitted)} of {len(runs)} rates fit train, but their errors on dev differ"
    told = (
        f"at {rate:g} " + ", ".join(f"{part} {error:.0f}" for part, error in at.items())
        for rate, at in last.items()
    )
    texts = {"title": title, "alt": "Errors in percent at the end: " + "; ".join(told)} | texts
    headings = [f"learning rate {rate:g}" for rate in runs]
    picture, shown = panels(headings, height=2.3, sharey=True, **texts)
    hues = {"train": COLOURS["orange"], "dev": COLOURS["blue"]}
    for axes, run in zip(shown, runs.values(), strict=True):
        for part, errors in run.items():
            axes.plot(errors, "o-", ms=4, color=hues[part])
        axes.axhline(level[1], color=COLOURS["black"], lw=1.2, ls=":", zorder=1)
    shown[0].set_ylim(0, 100)
    label_axes(shown[0], y="error (%)")
    label_below(shown, "epochs of training")
    ends = [(len(each) - 1, each[-1], part, hues[part]) for part, each in run.items()]
    label_ends(axes, [*ends, (len(errors) - 1, level[1], level[0], "black")], 2.0, 10)
    return finish(picture)


def interval_by_size(
    sizes: Sequence[int], share: float, ends: Any, **texts: Unpack[Texts]
) -> Picture:
    """The interval of an error rate of `share` percent over the size of a test set.

    `ends` are the low and high ends in percent, (2, sizes). The title names the smallest test set
    with an interval narrower than a point, if there is one.
    """
    low, high = shaped(ends, (2, len(sizes)), "low and high ends").astype(float)
    widths = high - low
    narrow = [size for size, width in zip(sizes, widths, strict=True) if width < 1]
    title = f"The interval around {share:g} %, by the size of the test set"
    if narrow:
        title = f"At {narrow[0]:,} questions the interval is narrower than a point"
    wide = ", ".join(f"{size:,}: {width:.1f}" for size, width in zip(sizes, widths, strict=True))
    texts = {"title": title, "alt": f"Widths of the interval in points by size: {wide}"} | texts
    return curves(
        {f"{share:g} % wrong": (sizes, np.full(len(sizes), share), low, high)},
        x_label="questions in the test set",
        y_label="error (%)",
        log_x=True,
        x_ticks=sizes,
        **texts,
    )


def restarts(
    errors: Mapping[str, Sequence[float]], commonest: float, **texts: Unpack[Texts]
) -> Picture:
    """Dev errors in percent, a dot for each seed, a row for each recipe.

    `commonest` is the error of always answering the most frequent label. A run that is no better
    has failed; the title says how many have.
    """
    everything = [error for each in errors.values() for error in each]
    failed = sum(error >= commonest for error in everything)
    spread = max(max(each) - min(each) for each in errors.values())
    count = failed or "None"
    texts = {
        "title": f"{count} of {len(everything)} runs failed; seeds differ by up to {spread:.0f} "
        "points",
        "alt": f"Dots of dev errors between {min(everything):.0f} and {max(everything):.0f} %, "
        "one for each seed.",
    } | texts
    return strips(
        errors, levels={"most frequent label": commonest}, x_label="dev error (%)", **texts
    )


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
    title = "Errors by number of labels"
    (one, _), *_ = pairs = [name.split(" − ") for name in differences]
    highs = [high for name in differences for *_, high in differences[name]]
    if max(highs) < 0 and all(name == one for name, _ in pairs):
        others = " and ".join(other for _, other in pairs)
        title = f"At every number of labels, {one} beats {others}"
    told = (
        f"{name} {[round(float(np.mean(each)), 1) for each in at.values()]}"
        for name, at in errors.items()
    )
    texts = {"title": title, "alt": "Test errors: " + "; ".join(told)} | texts
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

    The title says which share of the flips is as far from 0.

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
    share = 100 * counts[far].sum() / FLIPS
    as_far = f"{share:.2g} % of the flips are" if share else f"None of {FLIPS:,} flips is"
    texts = {"title": f"{as_far} as far from 0 as the observed sum"} | texts
    picture, axes = figure(height=3.4, **texts)
    step = float(np.diff(sums).min()) if len(sums) > 1 else 1.0
    shares = 100 * counts / FLIPS
    colours = np.where(far, COLOURS["blue"], "#BDBDBD")
    axes.bar(sums, shares, width=0.85 * step, color=colours)
    axes.axvline(observed, color=COLOURS["blue"], lw=2)
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
        f"{sums.max()}. The observed sum is {observed}; {as_far} as far.",
    )
