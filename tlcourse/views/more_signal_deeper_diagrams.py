"""Drawings of lesson 06b: a model that teaches itself, and one text under two dropout masks.

What they are made of stands in `drawing`. Numbers come from the live run. Each picture has an alt
text of its own, for cells that write none.
"""

from collections.abc import Sequence
from typing import Any

from tlcourse.views.drawing import (
    ACROSS,
    PALE,
    PALE_BLUE,
    SIZE,
    Point,
    arrow,
    box,
    canvas,
    label,
)
from tlcourse.views.style import COLOURS, GREY, Picture, finish, text_width

_BLUE = COLOURS["blue"]


def self_training_loop(
    labelled: int,
    unlabelled: int,
    *,
    least: float = 0.8,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """Labels to a teacher, its guesses through a choice to a student; blue is what you write.

    Raises ValueError without title.
    """
    picture, axes = canvas(title, 2.4)
    top, low, tall = 1.75, 0.7, 0.45
    given = box(axes, (0.8, top), f"{labelled:,} questions\nwith labels", fill=PALE, height=tall)
    rest = box(axes, (0.8, low), f"{unlabelled:,} questions\nwithout", fill=PALE, height=tall)
    teacher = box(axes, (2.45, top), "teacher", width=0.85, height=tall, bold=True)
    guesses = box(axes, (2.45, low), "its guesses", width=1.05, height=tall)
    choice = box(axes, (4.1, low), f"choose_guesses\nsure by {least:g}", fill=PALE_BLUE,
                 edge=_BLUE, height=tall)  # fmt: skip
    student = box(axes, (6.0, top), "student", width=0.85, height=tall, bold=True)
    believed = box(axes, (6.0, low), "believed:\nnew labels", width=0.95, height=tall)
    for one, other in ((given, teacher), (rest, guesses), (guesses, choice), (choice, believed)):
        arrow(axes, one.right, other.left)
    arrow(axes, teacher.bottom, guesses.top)
    arrow(axes, believed.top, student.bottom)
    over = top + 0.45
    axes.plot([given.top[0], given.top[0], student.top[0]], [given.top[1], over, over],
              color=GREY, lw=1)  # fmt: skip
    arrow(axes, (student.top[0], over), student.top)
    label(axes, (4.1, over + 0.13), "the labels, too", align="center", colour=GREY)
    label(axes, (0.05, 0.12), "blue: you write it", colour=_BLUE)
    own = (
        f"{labelled:,} questions with labels train a teacher. It guesses the labels of "
        f"{unlabelled:,} others, choose_guesses keeps those it is sure of by {least:g}, and a "
        "student learns from these and from the labels."
    )
    return finish(picture, alt or own, note)


def two_masks(
    text: str,
    labels: Sequence[str],
    shares: tuple[Sequence[float], Sequence[float]],
    *,
    nats: float | None = None,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """One text through one model under two dropout masks, and how far its two answers are apart.

    `shares` are the two answers, a probability a label each; `nats` is their divergence, if it is
    known. Raises ValueError where their numbers differ, for a text that does not fit, and without
    title.
    """
    if any(len(each) != len(labels) for each in shares):
        raise ValueError(
            f"expected two answers for {len(labels)} labels, got {[*map(len, shares)]}"
        )
    if text_width(text, SIZE) > ACROSS - 0.4:
        raise ValueError(f"expected a text that fits into {ACROSS - 0.4} inches, got {text!r}")
    told = "one number" if nats is None else f"{nats:.3f} nats"
    picture, axes = canvas(title, 2.85)
    question = box(axes, (ACROSS / 2, 2.65), text, fill=PALE, height=0.26)
    loss = box(axes, (5.95, 1.3), f"consistency_loss\n{told}", fill=PALE_BLUE,
               edge=_BLUE, height=0.45)  # fmt: skip
    axes.plot([0.6, 0.6], [2.65, 0.7], color=GREY, lw=1)
    axes.plot([0.6, question.left[0]], [2.65, 2.65], color=GREY, lw=1)
    for place, (y, answer) in enumerate(zip((1.9, 0.7), shares, strict=True), start=1):
        model = box(axes, (1.55, y), f"the same model,\ndropout mask {place}", height=0.45)
        arrow(axes, (0.6, y), model.left)
        arrow(axes, model.right, (2.75, y))
        _answer(axes, (2.85, y - 0.22), labels, answer)
        arrow(axes, (4.75, y), (loss.left[0] - 0.02, 1.3 + (0.1 if y > 1.3 else -0.1)))
    label(axes, (5.95, 0.25), "a gradient for both", align="center", colour=_BLUE)
    arrow(axes, loss.bottom, (5.95, 0.4), colour=_BLUE)
    best = [labels[max(range(len(labels)), key=each.__getitem__)] for each in shares]
    own = (
        f"{text!r} goes through the same model under two dropout masks. Likeliest labels: "
        f"{best[0]} and {best[1]}. consistency_loss makes {told} of the two answers, and its "
        "gradient reaches both."
    )
    return finish(picture, alt or own, note)


def _answer(axes: Any, corner: Point, labels: Sequence[str], shares: Sequence[float]) -> None:
    """A bar a label, as tall as its probability, with the label below."""
    wide = 1.85 / len(labels)
    for place, (name, share) in enumerate(zip(labels, shares, strict=True)):
        x, tall = corner[0] + wide * (place + 0.5), max(0.5 * share, 0.01)
        box(axes, (x, corner[1] + tall / 2), width=0.6 * wide, height=tall, fill=GREY)
        axes.text(x, corner[1] - 0.12, name, fontsize=7, ha="center", va="center", color=GREY)
