"""Drawings of lesson 02: attention as a lookup, heads, a block with its stream, the whole model.

What they are made of stands in `drawing`. Numbers come from the live configuration.
"""

from collections.abc import Sequence
from typing import Any

from tlcourse.views.drawing import (
    ACROSS,
    PALE,
    PALE_BLUE,
    PALE_VERMILLION,
    Box,
    arrow,
    box,
    canvas,
    label,
)
from tlcourse.views.style import COLOURS, GREY, Picture, finish

_BLUE, _RED = COLOURS["blue"], COLOURS["vermillion"]
_MOST_HEADS = 6


def _vector(numbers: Sequence[float]) -> str:
    return ", ".join(f"{each:.2g}".replace("-", "−") for each in numbers)


def attention_lookup(
    words: Sequence[str],
    query: Sequence[float],
    keys: Sequence[Sequence[float]],
    *,
    values: Sequence[Sequence[float]] = (),
    scores: Sequence[float] = (),
    weights: Sequence[float] = (),
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """How the query of the last word (blue) meets all keys, and what mixture of values it gets.

    `keys`, `values`, `scores` and `weights` hold an entry a word; the mixture is computed from the
    last two. Raises ValueError for other numbers of entries, for more than four words, and without
    title or alt text.
    """
    counts = [len(each) for each in (words, keys, values, scores, weights)]
    if len(set(counts)) > 1 or not 1 <= len(words) <= 4:
        raise ValueError(f"expected a key, value, score and weight for 1 to 4 words, got {counts}")
    picture, axes = canvas(title, 3.05)
    places = [2.65 + 1.35 * i for i in range(len(words))]
    rows = {"keys": 2.35, "scores": 1.8, "weights": 1.25, "values": 0.7}
    for name, y in rows.items():
        label(axes, (1.85, y), name, align="right", colour=GREY)
    asks = box(axes, (0.75, rows["keys"]), f"query of {words[-1]}\n{_vector(query)}",
               fill=PALE_BLUE, edge=_BLUE)  # fmt: skip
    rule = "query · key\ndivided by √d", "softmax:\nthey sum to 1", "mixed by\nthe weights"
    for said, name in zip(rule, list(rows)[1:], strict=True):
        label(axes, (0.75, rows[name]), said, align="center", colour=GREY)
    label(axes, (1.85, 2.8), "tokens", align="right", colour=GREY)
    mixture = [sum(w * v[i] for w, v in zip(weights, values, strict=True)) for i in range(
        len(values[0]))]  # fmt: skip
    result = box(axes, (places[len(words) // 2], 0.15), f"mixture: {_vector(mixture)}",
                 fill=PALE_BLUE, edge=_BLUE, bold=True)  # fmt: skip
    most = max(weights)
    for x, word, key, value, score, weight in zip(
        places, words, keys, values, scores, weights, strict=True
    ):
        label(axes, (x, 2.8), word, align="center", bold=True)
        offer = box(axes, (x, rows["keys"]), _vector(key), width=1.1)
        found = box(axes, (x, rows["scores"]), _vector([score]), width=0.6, fill=PALE)
        fill = PALE_BLUE if weight == most else "white"
        share = box(axes, (x, rows["weights"]), f"{weight:.2f}", width=0.6, fill=fill, edge=_BLUE,
                    bold=weight == most)  # fmt: skip
        gives = box(axes, (x, rows["values"]), _vector(value), width=1.1, fill=PALE_VERMILLION,
                    edge=_RED)  # fmt: skip
        arrow(axes, offer.bottom, found.top)
        arrow(axes, found.bottom, share.top)
        arrow(axes, share.bottom, gives.top, colour=_BLUE)
        arrow(axes, gives.bottom, (result.middle[0] + 0.25 * (x - result.middle[0]), result.top[1]))
    axes.plot([asks.right[0], places[-1]], [2.07] * 2, color=_BLUE, lw=1)
    axes.plot([asks.right[0] - 0.2] * 2, [asks.bottom[1], 2.07], color=_BLUE, lw=1)
    axes.plot([asks.right[0] - 0.2, asks.right[0]], [2.07] * 2, color=_BLUE, lw=1)
    return finish(picture, alt, note)


def attention_heads(
    width: int, heads: int, *, title: str = "", alt: str = "", note: str | None = None
) -> Picture:
    """One token's vector through three layers, cut into heads, and together again.

    Head 1 is blue. Raises ValueError for heads that do not divide the width or are more than six,
    and without title or alt text.
    """
    if not 0 < heads <= _MOST_HEADS or width <= 0 or width % heads:
        raise ValueError(f"expected 1 to {_MOST_HEADS} heads that divide {width}, got {heads}")
    tall = 0.3 * heads
    picture, axes = canvas(title, max(tall, 1.35) + 0.55)
    y, size = (max(tall, 1.35) + 0.55) / 2 - 0.05, width // heads
    given = box(axes, (0.45, y), f"x\n{width}", width=0.55, height=0.5, fill=PALE)
    columns = {"query": 1.45, "key": 1.45, "value": 1.45}
    for place, (name, x) in enumerate(columns.items()):
        each = box(axes, (x, y + 0.42 * (1 - place)), name, width=0.62, fill=PALE)
        arrow(axes, given.right, each.left)
        arrow(axes, each.right, (2.22, each.right[1]))
    cells = [
        box(axes, (3.3, y + 0.3 * ((heads - 1) / 2 - head)), f"head {head}: attention on {size}",
            width=2.1, height=0.25, fill=PALE_BLUE if head == 1 % heads else "white",
            edge=_BLUE if head == 1 % heads else GREY)
        for head in range(heads)
    ]  # fmt: skip
    joined = Box((5.0, y), 0.55, tall)
    for head, cell in enumerate(cells):
        mine = head == 1 % heads
        part = box(axes, (5.0, cell.middle[1]), f"{size}", width=0.55, height=0.3,
                   fill=PALE_BLUE if mine else "white", edge=_BLUE if mine else GREY)  # fmt: skip
        arrow(axes, cell.right, part.left, colour=_BLUE if mine else GREY)
    output = box(axes, (5.85, y), "output", fill=PALE)
    arrow(axes, joined.right, output.left)
    gone = box(axes, (6.55, y), f"{width}", width=0.42, height=0.5, fill=PALE)
    arrow(axes, output.right, gone.left)
    top = y + max(tall, 1.35) / 2 + 0.12
    for x, said in ((1.45, "three layers"), (3.3, f"cut into {heads}"), (5.0, "side by side")):
        label(axes, (x, top), said, align="center", colour=GREY)
    return finish(picture, alt, note)


def block_and_stream(
    width: int,
    feed_forward: int,
    *,
    heads: int = 1,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """A pre-norm block: two layers that read the stream (below) through a norm and add to it.

    Layers that mix positions are blue, those that work on each alone vermillion. Raises ValueError
    without title or alt text.
    """
    picture, axes = canvas(title, 2.35)
    stream, row = 0.55, 1.35
    halves = (
        (0.25, "attention_norm", f"attention\n{heads} heads", PALE_BLUE, _BLUE,
         "moves information\nbetween positions"),
        (3.55, "feed_forward_norm", f"feed_forward\n{width} → {feed_forward} → {width}",
         PALE_VERMILLION, _RED, "works on each\nposition alone"),
    )  # fmt: skip
    sums = []
    for left, norm_name, name, fill, edge, said in halves:
        norm = box(axes, (left + 0.6, row), norm_name, fill=PALE)
        layer = box(axes, (left + 2.1, row), name, fill=fill, edge=edge, height=0.5)
        total = box(axes, (left + 2.92, stream), "+", width=0.22, height=0.22, bold=True)
        arrow(axes, (norm.middle[0], stream), norm.bottom)
        arrow(axes, norm.right, layer.left)
        axes.plot([layer.right[0], total.middle[0]], [row, row], color=GREY, lw=1)
        arrow(axes, (total.middle[0], row), total.top)
        label(axes, (layer.middle[0], 1.95), said, align="center", colour=edge)
        sums.append(total)
    edges = [0.05, *(x for each in sums for x in (each.left[0], each.right[0]))]
    axes.plot(edges[:2], [stream] * 2, color="black", lw=1)
    axes.plot(edges[2:4], [stream] * 2, color="black", lw=1)
    arrow(axes, sums[1].right, (ACROSS, stream), colour="black")
    label(axes, (0.05, 0.2), "residual stream: (batch, length, " + f"{width})", bold=True)
    label(axes, (ACROSS, 0.2), "on to the next block", align="right", colour=GREY)
    return finish(picture, alt, note)


def whole_model(config: Any, *, title: str = "", alt: str = "", note: str | None = None) -> Picture:
    """Tokens to logits, from left to right, with the shape behind every step.

    `config` has `vocabulary_size`, `width`, `layers`, `heads` and `feed_forward`. Raises ValueError
    without title or alt text.
    """
    picture, axes = canvas(title, 2.3)
    row, width = 1.3, config.width
    steps = [
        ("tokens", None, "(batch, length)", 0.62, "white"),
        ("embedding", f"{config.vocabulary_size:,} × {width}", "", 1.72, PALE_BLUE),
        (f"{config.layers} blocks", f"width {width}", "", 3.12, PALE_VERMILLION),
        ("norm", None, "", 4.3, PALE),
        ("embedding", "turned round", "", 5.33, PALE_BLUE),
        ("logits", None, "", 6.42, "white"),
    ]
    drawn = []
    for name, second, _, x, fill in steps:
        text = name if second is None else f"{name}\n{second}"
        drawn.append(box(axes, (x, row), text, fill=fill, height=0.5))
    for one, other in zip(drawn, drawn[1:], strict=False):
        arrow(axes, one.right, other.left)
    below = row - 0.48
    label(axes, (0.62, below), "(batch, length)", align="center", colour=GREY)
    shape = f"(batch, length, {width})"
    label(axes, (3.12, below), shape, align="center", colour=GREY)
    said = f"(batch, length, {config.vocabulary_size:,})"
    label(axes, (ACROSS, below), said, align="right", colour=GREY)
    blocks = drawn[2]
    for x, text in ((2.55, "mask"), (3.7, "table of angles")):
        each = box(axes, (x, 2.1), text, fill=PALE)
        arrow(axes, each.bottom, (blocks.middle[0] + 0.25 * (x - 3.12), blocks.top[1]))
    y = 0.35
    axes.plot([drawn[1].middle[0]] * 2, [drawn[1].bottom[1], y], color=_BLUE, lw=1)
    axes.plot([drawn[1].middle[0], drawn[4].middle[0]], [y, y], color=_BLUE, lw=1)
    arrow(axes, (drawn[4].middle[0], y), drawn[4].bottom, colour=_BLUE)
    label(axes, (3.5, y - 0.14), "one matrix, used twice", align="center", colour=_BLUE)
    return finish(picture, alt, note)
