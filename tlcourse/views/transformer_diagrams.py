"""Drawings of lesson 02: the feed-forward layer, a block with its stream, the whole model.

What they are made of stands in `drawing`. Numbers come from the live configuration. Each picture
has an alt text of its own, for cells that write none.
"""

from typing import Any

from tlcourse.views.drawing import (
    ACROSS,
    PALE,
    PALE_BLUE,
    PALE_VERMILLION,
    arrow,
    box,
    canvas,
    label,
)
from tlcourse.views.style import COLOURS, GREY, Picture, finish

_BLUE, _RED = COLOURS["blue"], COLOURS["vermillion"]


def feed_forward_layer(
    width: int, feed_forward: int, *, title: str = "", alt: str = "", note: str | None = None
) -> Picture:
    """Three positions, each alone through the layers up and down; boxes as wide as their vectors.

    Raises ValueError without title.
    """
    picture, axes = canvas(title, 1.75)
    short, long = 0.6, min(2.3, 0.6 * feed_forward / width)
    for y, word in ((1.2, "the"), (0.8, "cat"), (0.4, "sat")):
        label(axes, (0.55, y), word, align="center", bold=True)
        given = box(axes, (1.4, y), f"{width}", width=short, height=0.28, fill=PALE)
        wide = box(axes, (3.75, y), f"{feed_forward}", width=long, height=0.28,
                   fill=PALE_VERMILLION, edge=_RED)  # fmt: skip
        gone = box(axes, (6.1, y), f"{width}", width=short, height=0.28, fill=PALE)
        arrow(axes, given.right, wide.left)
        arrow(axes, wide.right, gone.left)
    for x, said in ((2.15, "up"), (3.75, "σ, number by number"), (5.35, "down")):
        label(axes, (x, 1.55), said, align="center", colour=GREY)
    label(axes, (3.75, 0.08), "no arrow from one token to another", align="center", colour=GREY)
    own = (
        f"Three tokens, each by itself: {width} features become {feed_forward} by the layer up, "
        f"and {width} again by the layer down. No arrow leads from one token to another."
    )
    return finish(picture, alt or own, note)


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
    without title.
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
    own = (
        "The residual stream runs along the bottom. Attention and feed-forward each read it "
        "through a norm and add their output to it."
    )
    return finish(picture, alt or own, note)


def whole_model(config: Any, *, title: str = "", alt: str = "", note: str | None = None) -> Picture:
    """Tokens to logits, from left to right, with the shape behind every step.

    `config` has `vocabulary_size`, `width`, `layers`, `heads` and `feed_forward`. Raises ValueError
    without title.
    """
    picture, axes = canvas(title, 2.3)
    row, width = 1.3, config.width
    steps = [
        ("tokens", None, "(batch, length)", 0.62, "white"),
        ("embedding", f"{config.vocabulary_size:,} × {width}", "", 1.72, PALE_BLUE),
        (f"{config.layers} blocks", f"width {width}", "", 3.12, PALE_VERMILLION),
        ("norm", None, "", 4.3, PALE),
        ("embedding", "transposed", "", 5.33, PALE_BLUE),
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
    own = (
        f"Tokens go through the embedding, {config.layers} blocks, a norm and the embedding, "
        "transposed, and become logits. Mask and table of angles go into the blocks."
    )
    return finish(picture, alt or own, note)
