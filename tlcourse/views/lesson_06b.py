"""Figures of lesson 06b: gains that can be seen, self-training, two dropout masks."""

from collections.abc import Collection, Mapping, Sequence
from typing import Unpack

from matplotlib.ticker import LogLocator

from tlcourse.views.diagrams import ACROSS, Drawing, Point, word_width
from tlcourse.views.lines import label_ends, log_scale, plain
from tlcourse.views.style import (
    COLOURS,
    CYCLE,
    GREY,
    MIDDLE,
    Picture,
    Texts,
    figure,
    finish,
    label_axes,
    shaped,
)

Row = tuple[float, float, float] | tuple[float, float, float, float]
_UNCLEAR, _BAND = "#8C8C8C", "#E9E9E9"


def trade_off(
    points: Mapping[str, tuple[float, float] | tuple[float, float, float, float]],
    highlight: str,
    *,
    x_label: str = "",
    y_label: str = "",
    log_x: bool = False,
    **texts: Unpack[Texts],
) -> Picture:
    """One point a scheme, (x, y) or (x, y, low, high) with the interval of y; names at the right.

    Points that no other beats in both, lower being better, have a colour; the others are grey.
    `highlight` is drawn as a diamond with a line at its height.
    """
    picture, axes = figure(height=max(4.2, 1.4 + 0.26 * len(points)), **texts)
    label_axes(axes, x=x_label, y=y_label)
    if log_x:
        log_scale(axes.xaxis)
        reach = max(x for x, *_ in points.values()) / min(x for x, *_ in points.values())
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if reach < 100 else (1,)))
    axes.xaxis.set_major_formatter(plain)
    ends = []
    for name, (x, y, *interval) in points.items():
        colour = CYCLE[0] if unbeaten(name, points) else GREY
        if interval:
            axes.vlines(x, *interval, color=colour, lw=1.2, alpha=0.6)
        mark, size = ("D", 8) if name == highlight else ("o", 7)
        axes.plot(x, y, mark, color=colour, ms=size)
        ends.append((x, y, name, colour))
    axes.axhline(points[highlight][1], color=GREY, lw=1, ls=":", zorder=0)
    axes.margins(x=0.05)
    label_ends(axes, ends, 0.75 * picture.get_figheight())
    return finish(picture)


def unbeaten(name: str, points: Mapping[str, Sequence[float]]) -> bool:
    """Whether no other point is at most as large in both numbers and smaller in one."""
    x, y = points[name][:2]
    return not any(a <= x and b <= y and (a, b) != (x, y) for a, b, *_ in points.values())


def gains_and_reach(
    groups: Mapping[str, Mapping[str, Row]],
    *,
    clear: Collection[tuple[str, str]] = (),
    x_label: str = "",
    **texts: Unpack[Texts],
) -> Picture:
    """Rows of differences with intervals around the line of no difference, group by group.

    `groups` maps a heading ("" for none) to rows, a row's name to (value, low, high) or (value,
    low, high, reach): a true difference smaller than `reach` would often be missed, and a grey band
    is drawn that far to both sides of 0. The (heading, name) in `clear` are blue, others grey.
    Without an alt text the picture lists its rows.
    Raises ValueError for a group without rows.
    """
    if not groups or not all(groups.values()):
        raise ValueError(f"expected rows in each group, got {dict(groups)}")
    lines = sum(len(rows) + bool(heading) for heading, rows in groups.items())
    picture, axes = figure(height=1.65 + 0.27 * lines, **texts)
    axes.axvline(0, color="black", lw=1.2, zorder=1)
    place, names, rows_in_words, ends = 0.0, [], [], [0.0]
    for heading, rows in groups.items():
        if heading:
            names.append((place, heading))
            place += 1
        for name, (value, low, high, *reach) in rows.items():
            colour = COLOURS["blue"] if (heading, name) in clear else _UNCLEAR
            for each in reach:
                axes.barh(place, 2 * each, left=-each, height=0.84, color=_BAND, zorder=0.5)
            axes.hlines(place, low, high, color=colour, lw=2, zorder=2)
            axes.plot(value, place, "o", color=colour, ms=6.5, zorder=3)
            ends += [low, high, *reach, *(-each for each in reach)]
            names.append((place, name))
            under = f", {heading}" if heading else ""
            rows_in_words.append(f"{name}{under} {value:+.1f} ({low:+.1f} to {high:+.1f})")
            place += 1
    axes.set_ylim(place - 0.4, -0.6)
    far = max(max(ends) - min(ends), 1e-9)  # with room for the words on either side of 0
    axes.set_xlim(min(min(ends), -0.2 * far) - 0.04 * far, max(max(ends), 0.2 * far) + 0.04 * far)
    axes.set_yticks([at for at, _ in names], [name for _, name in names])
    for (_, name), tick in zip(names, axes.get_yticklabels(), strict=True):
        if name in groups:
            tick.set(fontweight="bold")
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter(plain)
    font = {"transform": axes.transAxes, "color": GREY, "fontsize": 10}
    axes.text(0, 1.01, "← fewer errors", ha="left", **font)
    axes.text(1, 1.01, "more errors →", ha="right", **font)
    label_axes(axes, x=x_label)
    return finish(picture, "; ".join(rows_in_words))


def self_training_loop(
    labelled: int, unlabelled: int, *, least: float = 0.8, **texts: Unpack[Texts]
) -> Picture:
    """Labels to a teacher, its guesses through a choice to a student; blue is what you write."""
    draw = Drawing(2.4, **texts)
    top, low, tall = 1.75, 0.7, 0.45
    given = draw.box((0.8, top), f"{labelled:,} questions\nwith labels", colour="grey", height=tall)
    rest = draw.box((0.8, low), f"{unlabelled:,} questions\nwithout", colour="grey", height=tall)
    teacher = draw.box((2.45, top), "teacher", width=0.85, height=tall, bold=True)
    guesses = draw.box((2.45, low), "its guesses", width=1.05, height=tall)
    choice = draw.box((4.1, low), f"choose_guesses\nsure by {least:g}", colour="blue", height=tall)
    student = draw.box((6.0, top), "student", width=0.85, height=tall, bold=True)
    believed = draw.box((6.0, low), "believed:\nnew labels", width=0.95, height=tall)
    draw.chain(given, teacher)
    draw.chain(rest, guesses, choice, believed)
    draw.arrow(teacher.bottom, guesses.top)
    draw.arrow(believed.top, student.bottom)
    over = top + 0.45
    draw.stroke(given.top, (given.top[0], over), (student.top[0], over))
    draw.arrow((student.top[0], over), student.top)
    draw.caption((4.1, over + 0.13), "the labels, too")
    draw.label((0.05, 0.12), "blue: you write it", colour="blue")
    return draw.finish(
        f"{labelled:,} questions with labels train a teacher. It guesses the labels of "
        f"{unlabelled:,} others, choose_guesses keeps those it is sure of by {least:g}, and a "
        "student learns from these and from the labels."
    )


def two_masks(
    text: str,
    labels: Sequence[str],
    shares: tuple[Sequence[float], Sequence[float]],
    **texts: Unpack[Texts],
) -> Picture:
    """One text through one model under two dropout masks, and how far its two answers are apart.

    `shares` are the two answers, a probability a label each. Raises ValueError where their numbers
    differ, or for a text that does not fit.
    """
    best = [labels[each] for each in shaped(shares, (2, len(labels)), "answers").argmax(axis=1)]
    if word_width(text) > ACROSS - 0.4:
        raise ValueError(f"expected a text that fits into {ACROSS - 0.4} inches, got {text!r}")
    draw = Drawing(2.85, **texts)
    question = draw.box((ACROSS / 2, 2.65), text, colour="grey", height=0.26)
    loss = draw.box((5.95, 1.3), "consistency_loss\none number", colour="blue", height=0.45)
    draw.stroke((0.6, 2.65), (0.6, 0.7))
    draw.stroke((0.6, 2.65), question.left)
    for place, (y, answer) in enumerate(zip((1.9, 0.7), shares, strict=True), start=1):
        model = draw.box((1.55, y), f"the same model,\ndropout mask {place}", height=0.45)
        draw.arrow((0.6, y), model.left)
        draw.arrow(model.right, (2.75, y))
        _answer(draw, (2.85, y - 0.22), labels, answer)
        draw.arrow((4.75, y), (loss.left[0] - 0.02, 1.3 + (0.1 if y > 1.3 else -0.1)))
    draw.caption((5.95, 0.25), "a gradient for both", "blue")
    draw.arrow(loss.bottom, (5.95, 0.4), colour="blue")
    return draw.finish(
        f"{text!r} goes through the same model under two dropout masks. Likeliest labels: "
        f"{best[0]} and {best[1]}. consistency_loss makes one number of the two answers, and its "
        "gradient reaches both."
    )


def _answer(draw: Drawing, corner: Point, labels: Sequence[str], shares: Sequence[float]) -> None:
    """A bar a label, as tall as its probability, with the label below."""
    wide = 1.85 / len(labels)
    for place, (name, share) in enumerate(zip(labels, shares, strict=True)):
        x, tall = corner[0] + wide * (place + 0.5), max(0.5 * share, 0.01)
        draw.box((x, corner[1] + tall / 2), width=0.6 * wide, height=tall, fill=GREY)
        draw.axes.text(x, corner[1] - 0.12, name, fontsize=7, **MIDDLE, color=GREY)
