"""Figures of lesson 06b: draws that disagree, gains that can be seen, self-training, two masks.

A title states a finding only where the data bear it out; otherwise it says what is drawn.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Unpack

import numpy as np

from tlcourse.views.bars import name_rows
from tlcourse.views.diagrams import ACROSS, Drawing, Point, word_width
from tlcourse.views.dots import scatter
from tlcourse.views.lines import plain
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
Groups = Mapping[str, Mapping[str, Row]]
SAVED = "points of error saved (right of 0: fewer errors)"
_UNCLEAR, _BAND = "#8C8C8C", "#E9E9E9"


def draws_disagree(
    rows: Mapping[str, tuple[float, float]], draws: tuple[int, int], **texts: Unpack[Texts]
) -> Picture:
    """A row for each method: the points that it saved in one draw of labels, and in another.

    The title says that the draws disagree if every method saves errors in one of them only.
    """
    first, second = (np.array(each) for each in zip(*rows.values(), strict=True))
    title = "Points saved in two draws"
    if (first > 0).all() and (second < 0).all():
        title = "Every method helps in one draw, and none in the other"
    told = "; ".join(f"{name} {one:+.1f} and {other:+.1f}" for name, (one, other) in rows.items())
    alt = f"Points saved in draw {draws[0]} and in draw {draws[1]}. {told}."
    picture, axes = figure(height=1.7 + 0.5 * len(rows), **{"title": title, "alt": alt} | texts)
    axes.axvline(0, color="black", lw=1.2, zorder=1)
    for draw, each, colour in zip(draws, (first, second), CYCLE, strict=False):
        look = {"color": colour, "fontweight": "bold", "ha": "center", "va": "bottom"}
        axes.plot(each, range(len(rows)), "o", color=colour, ms=9)
        axes.text(each.mean(), -0.45, f"draw {draw}", fontsize=10, **look)
    name_rows(axes, list(rows), 0.85)
    far = 1.25 * max(np.abs([first, second]).max(), 1e-9)
    axes.set_xlim(-far, far)
    label_axes(axes, x=SAVED)
    return finish(picture)


def gains_and_reach(
    groups: Groups,
    *,
    clear: Collection[tuple[str, str]] = (),
    x_label: str = SAVED,
    **texts: Unpack[Texts],
) -> Picture:
    """Rows of gains with their intervals around the line of no difference, group by group.

    `groups` maps a heading ("" for none) to rows, a row's name to (value, low, high) or (value,
    low, high, reach): a true gain smaller than `reach` would often be missed, so a grey band
    reaches that far to both sides of 0. The (heading, name) in `clear` are blue, others grey.
    Without an alt text the picture lists its rows. Raises ValueError for a group without rows.
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
    axes.text(0, 1.01, "← more errors", ha="left", **font)
    axes.text(1, 1.01, "fewer errors →", ha="right", **font)
    label_axes(axes, x=x_label)
    return finish(picture, "; ".join(rows_in_words))


def one_run_each(rows: Mapping[str, Row], seed: str, **texts: Unpack[Texts]) -> Picture:
    """One run of each method; the row named `seed` is the baseline with another seed.

    The title says whether any method differs from the baseline by more than that row does. A row
    whose interval leaves out 0 is blue.
    """
    apart = {name: abs(value) for name, (value, *_) in rows.items()}
    title = "One run of each method"
    if all(apart[name] <= apart[seed] for name in rows):
        title = "No method differs from the baseline by more than another seed does"
    clear = {("", name) for name, (_, low, high) in rows.items() if low > 0 or high < 0}
    return gains_and_reach({"": rows}, clear=clear, **{"title": title} | texts)


def nulls_and_reach(
    groups: Groups, clear: Collection[tuple[str, str]], **texts: Unpack[Texts]
) -> Picture:
    """Stored studies as `gains_and_reach` draws them; the title counts the clear gains."""
    total = sum(len(rows) for rows in groups.values())
    title = f"{len(clear)} of {total} comparisons are clear; grey: gains too small to be seen"
    return gains_and_reach(groups, clear=clear, **{"title": title} | texts)


def task_gains(
    groups: Groups, clear: Collection[tuple[str, str]], what: str, **texts: Unpack[Texts]
) -> Picture:
    """Errors that `what` saves on several tasks; the title counts where it is clearly ahead."""
    values = {
        (heading, name): row[0] for heading, rows in groups.items() for name, row in rows.items()
    }
    ahead = sum(values[each] > 0 for each in clear)
    counts = f"clearly ahead in {ahead}, clearly behind in {len(clear) - ahead} of {len(values)}"
    return gains_and_reach(groups, clear=clear, **{"title": f"{what}: {counts}"} | texts)


def descriptions_missed(
    points: Sequence[tuple[float, float]],
    worst: int,
    rank: tuple[float, float, float],
    **texts: Unpack[Texts],
) -> Picture:
    """Descriptions missed in each draw, over a draw's surplus of entities behind "What is".

    `rank` is the rank correlation of the later draws and its interval. The title says that the two
    rise together if the interval lies above 0.
    """
    title = "Descriptions missed, and questions with What is"
    if rank[1] > 0:
        title = "More entities behind What is, more descriptions missed"
    alt = "Descriptions missed over entities minus descriptions behind What is, "
    alt += "{} draws; rank correlation {:.2f} ({:.2f} to {:.2f}).".format(len(points), *rank)
    return scatter(
        points,
        named={f"draw {worst}": points[worst]},
        x_label="labelled What is questions: entities minus descriptions",
        y_label="descriptions missed in the test set",
        **{"title": title, "alt": alt} | texts,
    )


def draws_needed(
    rows: Mapping[str, tuple[int, int, bool]], points: float, **texts: Unpack[Texts]
) -> Picture:
    """A bar for each null: the draws that would show a gain of so many points, and those it had.

    The largest need comes first. `rows` maps a name to (needed, had, whether its interval still
    contains such a gain). Bars of nulls that leave it open are blue, the others grey, and the title
    counts both. Raises ValueError without rows.
    """
    if not rows:
        raise ValueError("expected at least one row, got none")
    rows = dict(sorted(rows.items(), key=lambda each: -each[1][0]))
    unit = "one point" if points == 1 else f"{points:g} points"
    left = sum(still for *_, still in rows.values())
    title = f"A gain of {unit} is ruled out by {len(rows) - left} nulls, left open by {left}"
    told = "; ".join(
        f"{name} needed {needed}, had {had}, {'open' if still else 'ruled out'}"
        for name, (needed, had, still) in rows.items()
    )
    texts = {"title": title, "alt": f"Draws for a gain of {unit}. {told}."} | texts
    picture, axes = figure(height=1.6 + 0.34 * len(rows), **texts)
    far = max(max(needed, had) for needed, had, _ in rows.values())
    for row, (needed, had, still) in enumerate(rows.values()):
        axes.barh(row, needed, height=0.62, color=COLOURS["blue"] if still else _UNCLEAR)
        axes.plot([had, had], [row - 0.42, row + 0.42], color="black", lw=2.4)
        says = f"{needed}, {'still open' if still else 'ruled out'}"
        axes.text(max(needed, had) + 0.015 * far, row, says, va="center", fontsize=10)
    name_rows(axes, list(rows))
    axes.set_xlim(0, 1.4 * far)
    label_axes(axes, x="draws (bar: needed, black line: had)")
    return finish(picture)


def self_training_loop(
    labelled: int, unlabelled: int, *, least: float = 0.8, **texts: Unpack[Texts]
) -> Picture:
    """Labels to a teacher, its guesses through a choice to a student; blue is what you write."""
    texts = {"title": "A teacher writes labels for its student"} | texts
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
    draw = Drawing(2.85, **{"title": "One question, two dropout masks, two predictions"} | texts)
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
