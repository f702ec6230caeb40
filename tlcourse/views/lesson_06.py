"""Figures of lesson 06: gains in pairs, where signals enter, answers before and after.

A title states a finding only where the data bear it out; otherwise it says what is drawn.
"""

import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Unpack

import numpy as np

from tlcourse.views.bars import name_rows
from tlcourse.views.diagrams import Box, Drawing
from tlcourse.views.dots import paired_differences
from tlcourse.views.style import COLOURS, GREY, Picture, Texts, figure, finish, label_axes

Gain = tuple[Sequence[float], tuple[float, float, float]]  # each pair's; mean, low, high
Answer = tuple[str, float]  # the label that a model chose, and its probability of the right one
STAGES = ("pretrain", "TAPT", "adapt", "evaluate")


def _paired_gains(rows: Mapping[str, Gain], x_label: str, **texts: Unpack[Texts]) -> Picture:
    """A row for each comparison: a small dot for every pair, the mean, and its interval.

    `rows` maps a name to (the pairs, (mean, low, high)). An interval that leaves out 0 is blue, the
    others are grey. Raises ValueError without rows.
    """
    if not rows or not all(len(each) for each, _ in rows.values()):
        raise ValueError(f"expected rows with at least one pair each, got {dict(rows)}")
    picture, axes = figure(height=1.5 + 0.55 * len(rows), **texts)
    axes.axvline(0, color="black", lw=1.4, zorder=1)
    for row, (each, (mean, low, high)) in enumerate(rows.values()):
        colour = COLOURS["blue"] if low > 0 or high < 0 else "#8C8C8C"
        axes.plot(each, np.full(len(each), row + 0.17), "o", color=GREY, ms=3.5, alpha=0.6)
        axes.hlines(row - 0.08, low, high, color=colour, lw=2.4)
        axes.plot(mean, row - 0.08, "o", color=colour, ms=8, zorder=3)
    name_rows(axes, list(rows), 0.6)
    label_axes(axes, x=x_label)
    return finish(picture)


def what_saves(rows: Mapping[str, Gain], what: str, **texts: Unpack[Texts]) -> Picture:
    """Errors saved by `what`, a row for each comparison, with every pair as a dot.

    The title names the rows whose interval lies above 0, if there are any.
    """
    clear = [name for name, (_, (_, low, _)) in rows.items() if low > 0]
    title = f"{what}: no interval lies above 0"
    if clear and len(clear) == len(rows):
        title = f"{what}: fewer errors, and the interval lies above 0"
    elif clear:
        title = f"{what}: a clear gain only from {' and '.join(clear)}"
    told = "; ".join(
        f"{name} {mean:+.1f} ({low:+.1f} to {high:+.1f})"
        for name, (_, (mean, low, high)) in rows.items()
    )
    texts = {"title": title, "alt": f"Points of error saved. {told}."} | texts
    return _paired_gains(rows, "points of error saved (right of 0: fewer errors)", **texts)


def pairs_and_columns(
    saved: Sequence[float],
    paired: tuple[float, float, float],
    columns: tuple[float, float, float],
    **texts: Unpack[Texts],
) -> Picture:
    """The same differences `saved` with two intervals: in pairs, and as independent columns."""
    title = "One gain, two intervals"
    if paired[2] - paired[1] < columns[2] - columns[1]:
        title = "Pairs take the luck of the sample out of a comparison"
    rows = {"in pairs": (saved, paired), "as if independent": (saved, columns)}
    return what_saves(rows, "TAPT", **{"title": title} | texts)


def gains_by_labels(
    counts: Sequence[int], gains: Sequence[tuple[float, float, float]], **texts: Unpack[Texts]
) -> Picture:
    """Errors that TAPT saves over the number of labels, with intervals.

    The title says that it helps while labels are few if the first interval lies above 0 and the
    last one does not.
    """
    title = "Errors saved by TAPT"
    if gains[0][1] > 0 >= gains[-1][1]:
        title = "TAPT saves errors while labels are few"
    told = ", ".join(
        f"{gain:+.1f} with {count:,} labels"
        for count, (gain, *_) in zip(counts, gains, strict=True)
    )
    texts = {"title": title, "alt": f"Points of error that TAPT saves: {told}."} | texts
    labels = {"x_label": "labelled questions", "y_label": "points of error saved"}
    return paired_differences({"TAPT": (counts, gains)}, log_x=True, **labels, **texts)


def before_and_after(
    questions: Mapping[str, str],
    before: Sequence[Answer],
    after: Sequence[Answer],
    **texts: Unpack[Texts],
) -> Picture:
    """For each question two bars, the probability of its right label before and after.

    `questions` maps a question to its label; what a model answered stands at the end of its bar.
    The title counts the right answers.
    """
    labels = list(questions.values())
    right = [
        sum(answer == label for (answer, _), label in zip(each, labels, strict=True))
        for each in (before, after)
    ]
    told = "; ".join(
        f"{question} ({label}) {one[0]} before, {other[0]} after"
        for (question, label), one, other in zip(questions.items(), before, after, strict=True)
    )
    title = f"Right answers of {len(labels)}: {right[0]} before, {right[1]} after"
    picture, axes = figure(height=1.5 + 0.62 * len(labels), **{"title": title, "alt": told} | texts)
    series = (("before", before, "#8C8C8C", -0.19), ("after", after, COLOURS["blue"], 0.19))
    for when, answers, colour, shift in series:
        for row, (answer, share) in enumerate(answers):
            axes.barh(row + shift, 100 * share, height=0.34, color=colour)
            says = f"{when}: {answer}" + (" ✓" if answer == labels[row] else "")
            axes.text(100 * share + 1.5, row + shift, says, va="center", fontsize=10, color=colour)
    axes.set_xlim(0, 128)
    axes.set_xticks(range(0, 101, 25))
    name_rows(axes, [f"{question}\n{label}" for question, label in questions.items()], 0.6)
    label_axes(axes, x="probability of the right label (%)")
    return finish(picture)


def signal_pipeline(
    signals: Mapping[str, Sequence[str]], yours: Collection[str] = (), **texts: Unpack[Texts]
) -> Picture:
    """Pretrain, TAPT, adapt, evaluate, and above each stage the signals that enter it.

    `signals` maps a stage of STAGES to its signals, lines broken by `\\n`; those in `yours` are
    blue. Raises ValueError for another stage, or for a signal in `yours` that is not there.
    """
    texts = {"title": "Labels are one signal of many"} | texts
    there = {signal for each in signals.values() for signal in each}
    if not set(signals) <= set(STAGES) or not set(yours) <= there:
        wanted = f"stages out of {', '.join(STAGES)} and signals of theirs as yours"
        raise ValueError(f"expected {wanted}, got {list(signals)} and {sorted(yours)}")
    rows = max(len(each) for each in signals.values())
    height = 0.75 + 0.62 * rows
    draw = Drawing(height, **texts)
    places = dict(zip(STAGES, (0.7, 2.36, 4.47, 6.2), strict=True))
    wide = {"pretrain": 1.3, "TAPT": 1.6, "adapt": 2.1, "evaluate": 1.1}
    mine = {stage for stage, each in signals.items() if set(each) & set(yours)}
    drawn = {}
    for stage, x in places.items():
        size = {"width": wide[stage], "height": 0.36}
        fill = "blue" if stage in mine else "grey"
        drawn[stage] = draw.box((x, 0.3), stage, fill=fill, bold=True, **size)
    draw.chain(*drawn.values())
    for stage, each in signals.items():
        _enter(draw, drawn[stage], each, yours)
    description = "; ".join(f"into {stage}: {', '.join(each)}" for stage, each in signals.items())
    return draw.finish(f"Pretrain, TAPT, adapt, evaluate. {description}".replace("\n", " "))


def _enter(draw: Drawing, stage: Box, signals: Sequence[str], yours: Collection[str]) -> None:
    """The signals of a stage, one above the other, and a line down its left side into the stage."""
    left, foot = stage.left[0], stage.top[1]
    for row, signal in enumerate(signals):
        y = foot + 0.5 + 0.62 * row
        mine, middle = signal in yours, (stage.middle[0] + 0.06, y)
        hue = "blue" if mine else "white"
        drawn = draw.box(middle, signal, width=stage.width - 0.12, height=0.46, colour=hue)
        draw.stroke((left, y), drawn.left, colour="blue" if mine else "grey")
    top = foot + 0.5 + 0.62 * (len(signals) - 1)
    draw.stroke((left, foot + 0.12), (left, top))
    draw.arrow((left, foot + 0.2), (left, foot - 0.02))


def decision_path(branches: Sequence[tuple[str, str, str]], **texts: Unpack[Texts]) -> Picture:
    """Questions from top to bottom; the answer "yes" leads to a piece of advice and its evidence.

    A branch is (question, advice, evidence). Raises ValueError for none, or for more than 7.
    """
    texts = {"title": "What to try first, and what the runs say about it"} | texts
    if not 1 <= len(branches) <= 7:
        raise ValueError(f"expected 1 to 7 branches, got {len(branches)}")
    wrapped = [
        tuple(textwrap.fill(text, at) for text, at in zip(each, (25, 32, 29), strict=True))
        for each in branches
    ]
    tall = [0.2 + 0.17 * max(1 + text.count("\n") for text in each) for each in wrapped]
    gap = 0.2
    height = sum(tall) + gap * len(tall) + 0.25
    draw = Drawing(height, **texts)
    draw.label((4.75, height - 0.1), "what the stored runs say", colour="grey")
    above, top = None, height - 0.27
    for (question, advice, evidence), room in zip(wrapped, tall, strict=True):
        y = top - room / 2
        asked = draw.box((0.95, y), question, width=1.85, height=room, colour="grey")
        advised = draw.box((3.4, y), advice, width=2.4, height=room, colour="blue")
        draw.arrow(asked.right, advised.left, colour="blue")
        draw.label((4.75, y), evidence)
        if above is not None:
            draw.arrow(above.bottom, asked.top)
        above, top = asked, top - room - gap
    description = " ".join(
        f"{question} {advice} ({evidence})" for question, advice, evidence in branches
    )
    return draw.finish(description)
