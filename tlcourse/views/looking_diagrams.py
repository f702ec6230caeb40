"""Drawings for looking inside: where a block is read and changed, and what an induction head does.

What they are made of stands in `drawing`. Numbers come from the live configuration.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tlcourse.views.drawing import (
    ACROSS,
    PALE,
    PALE_BLUE,
    PALE_VERMILLION,
    SIZE,
    Box,
    Point,
    arrow,
    box,
    canvas,
    label,
)
from tlcourse.views.style import COLOURS, GREY, Picture, finish, text_width
from tlcourse.views.tokens import brief

_STREAM = 0.75  # inches, the height of the residual stream
_ROW = 1.35  # inches, the height of the tokens
_MOST_HEADS = 16
_BLUE, _RED = COLOURS["blue"], COLOURS["vermillion"]


def attention_record(
    layer: int,
    head: int,
    *,
    heads: int = 0,
    width: int = 0,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """Where in a block attention and hidden states are read (blue) and changed (vermillion).

    A pre-norm block: its number is `layer`, and `head` the one that is switched off, both from 0;
    it has `heads` of them and is `width` wide. Names are those of the modules. Raises ValueError
    for a head that is not there, heads that do not divide the width, and without title or alt text.
    """
    fits = 0 < heads <= _MOST_HEADS and width > 0 and width % heads == 0
    if not fits or not 0 <= head < heads or layer < 0:
        raise ValueError(
            f"expected a head of 1 to {_MOST_HEADS} that divide the width, got block {layer}, head "
            f"{head} of {heads} and width {width}"
        )
    picture, axes = canvas(title, 3.25)
    norm = box(axes, (0.72, 1.4), "attention_norm", fill=PALE)
    query, key, value = (
        box(axes, (1.75, y), name, width=0.56, fill=PALE)
        for name, y in (("query", 2.4), ("key", 2.05), ("value", 1.4))
    )
    weights = box(axes, (2.75, 2.22), "softmax of\nquery · key", fill=PALE_BLUE, edge=_BLUE)
    for part in (query, key, value):
        arrow(axes, norm.right, part.left)
    for part in (query, key):
        arrow(axes, part.right, (weights.left[0], part.middle[1]))
    mixed = _slices(axes, (3.75, 1.4), heads, head)
    arrow(axes, value.right, mixed.left)
    arrow(axes, weights.bottom, (weights.middle[0], 1.42))
    label(axes, (2.68, 1.72), "weights × value", align="right", colour=GREY)
    output = box(axes, (4.55, 1.4), "output", fill=PALE)
    arrow(axes, mixed.right, output.left)
    forward = box(axes, (5.7, 1.4), "feed_forward_norm,\nup, down", fill=PALE)
    _stream(axes, (norm, output, forward))
    _said(axes, (weights.middle[0], 3.0), f"read: seen.attention[{layer}]",
          f"(batch, {heads} heads, queries, keys)", _BLUE)  # fmt: skip
    arrow(axes, weights.top, (weights.middle[0], 2.7), colour=_BLUE)
    _said(axes, (5.0, 2.6), f"change: switch head {layer}.{head} off",
          f"its {width // heads} of {width:,} numbers: 0 or their mean", _RED)  # fmt: skip
    arrow(axes, (4.45, 2.28), (mixed.right[0] - 0.02, mixed.top[1] + 0.03), colour=_RED)
    label(axes, (0.05, 0.5), f"read: seen.hidden_states[{layer}]", colour=_BLUE, bold=True)
    after = f"read: seen.hidden_states[{layer + 1}]"
    label(axes, (ACROSS, 0.5), after, colour=_BLUE, align="right", bold=True)
    patch = "change: patch, a state of another text takes its place"
    label(axes, (ACROSS, 0.27), patch, colour=_RED, align="right", bold=True)
    return finish(picture, alt, note)


def _said(axes: Any, at: Point, first: str, second: str, colour: str) -> None:
    """Two lines around a point, the first bold."""
    label(axes, at, first, colour=colour, align="center", bold=True)
    label(axes, (at[0], at[1] - 0.18), second, colour=colour, align="center")


def _slices(axes: Any, middle: Point, heads: int, head: int) -> Box:
    """What the heads give, one cell each from top to bottom, one of them switched off."""
    tall = min(0.2, 0.9 / heads)
    for each in range(heads):
        y = middle[1] + tall * ((heads - 1) / 2 - each)
        fill, edge = (PALE_VERMILLION, _RED) if each == head else ("white", GREY)
        cell = box(axes, (middle[0], y), width=0.5, height=tall, fill=fill, edge=edge)
        if tall >= 0.15:
            label(axes, cell.middle, f"head {each}", align="center")
    return Box(middle, 0.5, tall * heads)


def _stream(axes: Any, parts: tuple[Box, Box, Box]) -> None:
    """The residual stream below, from which norms read and to which two sums add."""
    norm, output, forward = parts
    sums = [box(axes, (x, _STREAM), "+", width=0.2, height=0.2) for x in (output.middle[0], 6.25)]
    edges = [0.05, *(x for each in sums for x in (each.left[0], each.right[0])), ACROSS]
    for left, right in ((0, 1), (2, 3)):
        axes.plot([edges[left], edges[right]], [_STREAM] * 2, color=GREY, lw=1)
    arrow(axes, sums[1].right, (ACROSS, _STREAM))
    arrow(axes, (norm.middle[0], _STREAM), norm.bottom)
    arrow(axes, output.bottom, sums[0].top)
    arrow(axes, (5.15, _STREAM), (5.15, forward.bottom[1]))
    arrow(axes, (6.25, forward.bottom[1]), sums[1].top)
    label(axes, (2.6, _STREAM + 0.12), "residual stream", colour=GREY, align="center")


def induction_pattern(
    tokens: Sequence[str],
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """A B … A → B: how two heads continue a text whose last token stood in it before.

    In `tokens` the last one (A) stands a second time; what followed it the first time (B) is what
    comes next: one head looks at the previous token, an induction head in a later layer finds
    it (Elhage et al., 2021; Olsson et al., 2022). Raises ValueError where the last token does not
    stand before with another one behind it, for too many tokens for the width, and without title
    or alt text.
    """
    before = [i for i, token in enumerate(tokens[:-2]) if token == tokens[-1]]
    if not before:
        raise ValueError(
            f"expected a last token that stands before, another one behind it, got {list(tokens)}"
        )
    names = [brief(token) for token in tokens]
    wide = [max(0.4, text_width(name, SIZE, "bold") + 0.2) for name in names]
    first, room = before[-1], ACROSS - 0.7 - wide[before[-1] + 1]
    total = sum(wide)
    if total > room:
        raise ValueError(
            f"expected tokens that fit into {room:.1f} inches, got {total:.1f}; take fewer"
        )
    picture, axes = canvas(title, 2.75)
    lefts = (room - total) / 2 + 0.1 + np.cumsum([0, *wide])
    boxes = []
    for place, (name, left, width) in enumerate(zip(names, lefts, wide, strict=False)):
        letter = {first: "A", first + 1: "B", len(tokens) - 1: "A"}.get(place)
        fill = {"A": PALE_BLUE, "B": PALE_VERMILLION, None: "white"}[letter]
        boxes.append(box(axes, (left + width / 2, _ROW), name, width=width - 0.06, height=0.28,
                         fill=fill, bold=letter is not None))  # fmt: skip
    next_one = (lefts[-1] + 0.5 + wide[first + 1] / 2, _ROW)
    said = box(axes, next_one, names[first + 1], width=wide[first + 1] - 0.06, height=0.28,
               fill=PALE_VERMILLION, edge=_RED, bold=True)  # fmt: skip
    arrow(axes, boxes[-1].right, said.left, colour=_RED)
    a, b = names[first], names[first + 1]
    _arc(axes, boxes[first + 1].bottom, boxes[first].bottom, -0.3, _BLUE)
    _arc(axes, boxes[-1].top, boxes[first + 1].top, 0.55, _RED)
    x = min(max(boxes[first + 1].middle[0], 2.1), 4.7)
    label(axes, (x, 0.62), "1. previous-token head", colour=_BLUE,
          align="center", bold=True)  # fmt: skip
    label(axes, (x, 0.32), f"“{b}” looks one back and takes along:\nbefore me stands “{a}”",
          colour=_BLUE, align="center")  # fmt: skip
    x = min(max((boxes[-1].middle[0] + boxes[first + 1].middle[0]) / 2, 2.5), 4.3)
    _said(axes, (x, 2.6), "2. induction head",
          f"“{a}” looks for “before me stands {a}”, finds “{b}”, copies it", _RED)  # fmt: skip
    return finish(picture, alt, note)


def _arc(axes: Any, start: Point, end: Point, height: float, colour: str) -> None:
    """A bent arrow of 1 pt whose middle lies `height` inches above its ends."""
    bend = 2 * height / abs(end[0] - start[0])
    axes.annotate(
        "", end, start,
        arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1, "shrinkA": 0, "shrinkB": 0,
                    "mutation_scale": 8, "connectionstyle": f"arc3,rad={bend:.3f}"},
    )  # fmt: skip
