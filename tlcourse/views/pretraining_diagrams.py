"""Drawings of lesson 03: the training loop, the two questions, nats and targets, three phases.

What they are made of stands in `drawing`. Numbers come from the live configuration. Each picture
has an alt text of its own, for cells that write none.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tlcourse.views.drawing import (
    ACROSS,
    PALE,
    PALE_BLUE,
    SIZE,
    Box,
    Point,
    arrow,
    box,
    canvas,
    label,
)
from tlcourse.views.style import COLOURS, GREY, Picture, finish, text_width
from tlcourse.views.tokens import visible

_BLUE, _LINE = COLOURS["blue"], "#9A9A9A"
MASK = "<mask>"


def _word(token: str) -> str:
    """A token as it is drawn: without the space that begins a word."""
    return visible(token.removeprefix(" "))


def training_loop(
    batch_size: int,
    length: int,
    vocabulary: int,
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """A step of pretraining: tokens to a loss along the top, the gradient back along the bottom.

    Blue is what the learner writes. Raises ValueError without title.
    """
    picture, axes = canvas(title, 2.55)
    top, low = 1.75, 0.62
    mine = {"fill": PALE_BLUE, "edge": _BLUE, "height": 0.42}
    file = box(axes, (0.55, top), "token\nfile", fill=PALE, height=0.42)
    cut = box(axes, (1.75, top), "windows", **mine)
    model = box(axes, (3.35, top), "model", width=0.85, **mine)
    loss = box(axes, (5.0, top), "causal_loss", **mine)
    found = box(axes, (6.25, top), "nats,\ntargets", height=0.42)
    row = (file, cut, model, loss, found)
    for one, other in zip(row, row[1:], strict=False):
        arrow(axes, one.right, other.left)
    shapes = f"({batch_size}, {length} + 1)", f"({batch_size}, {length}, {vocabulary:,})"
    for x, said, shape in ((2.5, "tokens", shapes[0]), (4.2, "logits", shapes[1])):
        label(axes, (x, top + 0.55), said, align="center", colour=GREY)
        label(axes, (x, top + 0.37), shape, align="center", colour=GREY)
    mean = box(axes, (6.25, low), "nats /\ntargets", height=0.42)
    clip = box(axes, (5.0, low), "gradient,\nclipped", height=0.42)
    step = box(axes, (3.35, low), "optimizer", width=0.85, height=0.42)
    rate = box(axes, (1.75, low), "schedule", **mine)
    arrow(axes, found.bottom, mean.top)
    arrow(axes, mean.left, clip.right)
    arrow(axes, clip.left, step.right)
    arrow(axes, step.top, model.bottom)
    arrow(axes, rate.right, step.left)
    label(axes, (3.43, (top + low) / 2), "moves the weights", colour=GREY)
    label(axes, (2.52, low + 0.32), "learning rate", align="center", colour=GREY)
    label(axes, (0.05, 0.1), "blue: you write it", colour=_BLUE)
    label(axes, (ACROSS, 0.1), "train: all of it, once a step", colour=_BLUE, align="right")
    own = (
        "A loop. From the token file, windows cuts a batch; the model gives logits, causal_loss a "
        "sum of nats and a number of targets. Their quotient's gradient is clipped, and the "
        "optimizer, whose learning rate comes from the schedule, moves the weights."
    )
    return finish(picture, alt or own, note)


def next_and_hidden(
    tokens: Sequence[str],
    hidden: Collection[int],
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """The two questions: what goes in, what is asked for, and who sees whom.

    Above the next token (a decoder: only what stands before is seen), below the tokens at the
    places `hidden` (an encoder: both sides are seen). Raises ValueError for a place that is not
    there, for tokens that do not fit, and without title.
    """
    if not hidden or not set(hidden) <= set(range(len(tokens))):
        raise ValueError(f"expected places from 0 to {len(tokens) - 1}, got {sorted(hidden)}")
    names = [_word(token) for token in tokens]
    wide = max(text_width(name, SIZE) for name in [*names, MASK]) + 0.13
    left, cell = 0.68, 0.15
    if left + wide * len(tokens) > 5.5:
        raise ValueError(
            f"expected tokens that fit into {5.5 - left:.1f} inches, got {len(tokens)}; take fewer"
        )
    picture, axes = canvas(title, 3.3)
    asked = [*names[1:], None]
    masked = [MASK if place in hidden else name for place, name in enumerate(names)]
    gaps = [name if place in hidden else None for place, name in enumerate(names)]
    for top, heading, seen, targets, causal in (
        (3.15, "next token: a decoder, as GPT", names, asked, True),
        (1.45, "hidden tokens: an encoder, as BERT", masked, gaps, False),
    ):
        label(axes, (0.05, top), heading, bold=True)
        label(axes, (0.62, top - 0.4), "goes in", colour=GREY, align="right")
        label(axes, (0.62, top - 0.95), "asked for", colour=_BLUE, align="right")
        _questions(axes, (left, top - 0.4), wide, seen, targets)
        label(axes, (5.6, top), "who sees whom", colour=GREY)
        _who_sees_whom(axes, (5.6, top - 0.2), cell, len(tokens), causal)
    own = (
        f"Two rows. Above, all {len(tokens)} tokens but the first are asked for, and the map is "
        f"a lower triangle. Below, {len(hidden)} tokens are replaced by {MASK} and asked for, and "
        "every token sees all."
    )
    return finish(picture, alt or own, note)


def _questions(
    axes: Any, at: Point, wide: float, seen: Sequence[str], targets: Sequence[str | None]
) -> None:
    """A row of tokens, and below each, where there is one, its target in blue."""
    for place, (token, target) in enumerate(zip(seen, targets, strict=True)):
        x = at[0] + wide * (place + 0.5)
        above = box(axes, (x, at[1]), token, width=wide - 0.05, height=0.26, fill=PALE)
        if target is not None:
            below = box(axes, (x, at[1] - 0.55), target, width=wide - 0.05, height=0.26,
                        fill=PALE_BLUE, edge=_BLUE)  # fmt: skip
            arrow(axes, above.bottom, below.top, colour=_BLUE)


def _who_sees_whom(axes: Any, corner: Point, cell: float, count: int, causal: bool) -> None:
    """A small map, a row a query: filled where a key is seen."""
    for row in range(count):
        for column in range(count):
            middle = corner[0] + cell * (column + 0.5), corner[1] - cell * (row + 0.5)
            kept = column <= row or not causal
            box(axes, middle, width=cell, height=cell, fill=_BLUE if kept else "white", edge=_LINE)


Answered = tuple[Sequence[str], Mapping[int, tuple[str, float]]]


def nats_of_targets(
    rows: Mapping[str, Answered],
    *,
    pad: str = "<pad>",
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """What each target costs, as bars, and at the right the sum, the count and their quotient.

    `rows` maps a name to (what goes in, targets), and targets map a place to (token, nats). Places
    that hold `pad` are white. Raises ValueError for a place that is not there, for tokens that do
    not fit, for a row without targets, and without title.
    """
    picture, axes = canvas(title, 1.95 * len(rows))
    for name, (seen, targets) in rows.items():
        if not targets or not set(targets) <= set(range(len(seen))):
            raise ValueError(
                f"expected targets at places from 0 to {len(seen) - 1} for {name!r}, got "
                f"{sorted(targets)}"
            )
    longest = max(len(seen) for seen, _ in rows.values())
    wide, left = 5.5 / longest, 0.05
    texts = [text for seen, found in rows.values() for text in (*seen, *dict(found.values()))]
    if max(text_width(_word(text), SIZE) for text in texts) > wide - 0.04:
        raise ValueError(f"expected tokens that fit into {wide:.2f} inches, got {longest} tokens")
    most = max(nats for _, found in rows.values() for _, nats in found.values())
    said = []
    for number, (name, (seen, targets)) in enumerate(rows.items()):
        ground = 1.95 * (len(rows) - number) - 1.55
        label(axes, (0.1, ground + 1.4), name, bold=True)
        for place, token in enumerate(seen):
            _token(axes, (left + wide * (place + 0.5), ground), wide, token, token == pad)
        for place, (target, nats) in targets.items():
            foot = left + wide * (place + 0.5), ground + 0.2
            _cost(axes, foot, wide, target, nats, 0.62 * nats / most)
        total, count = sum(nats for _, nats in targets.values()), len(targets)
        told = f"{total:.1f} nats\n÷ {count} targets\n= {total / count:.2f} nats\nper target"
        label(axes, (5.75, ground + 0.6), told, colour=_BLUE)
        said.append(f"{name}: {count} targets of {len(seen)} places, {total / count:.2f} nats each")
    return finish(picture, alt or "; ".join(said), note)


def _token(axes: Any, middle: Point, wide: float, text: str, is_pad: bool) -> Box:
    fill, edge = ("white", _LINE) if is_pad else (PALE, GREY)
    return box(axes, middle, _word(text), width=wide - 0.05, height=0.26, fill=fill, edge=edge)


def _cost(axes: Any, foot: Point, wide: float, target: str, nats: float, tall: float) -> None:
    """A bar as tall as the target is hard to predict, the nats and the target above it."""
    tall = max(tall, 0.02)
    middle = foot[0], foot[1] + tall / 2
    box(axes, middle, width=0.5 * wide, height=tall, fill=_BLUE, edge=_BLUE)
    label(axes, (foot[0], foot[1] + tall + 0.1), f"{nats:.1f}", align="center", colour=_BLUE)
    label(axes, (foot[0], foot[1] + tall + 0.27), _word(target), align="center")


def three_phases(
    phases: Sequence[tuple[str, str, str]],
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """Pretrain, adapt, judge: boxes from left to right, with what each reads below it.

    A phase is (name, what is done, what it reads); lines are broken by `\\n`. Raises ValueError for
    no phase, for more than four, and without title.
    """
    if not 1 <= len(phases) <= 4:
        raise ValueError(f"expected 1 to 4 phases, got {len(phases)}")
    picture, axes = canvas(title, 1.75)
    room = ACROSS / len(phases)
    drawn = []
    for place, (name, done, reads) in enumerate(phases):
        x = room * (place + 0.5)
        drawn.append(box(axes, (x, 1.1), width=room - 0.5, height=0.95,
                         fill=PALE_BLUE if place == 0 else PALE))  # fmt: skip
        label(axes, (x, 1.42), name, align="center", bold=True)
        label(axes, (x, 1.02), done, align="center")
        label(axes, (x, 0.3), reads, align="center", colour=GREY)
    for one, other in zip(drawn, drawn[1:], strict=False):
        arrow(axes, one.right, other.left)
    own = "; then ".join(f"{name}: {done}, {reads}" for name, done, reads in phases)
    return finish(picture, alt or own.replace("\n", " "), note)
