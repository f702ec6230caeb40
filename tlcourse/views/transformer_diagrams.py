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


def gated_feed_forward_layer(
    width: int, inner: int, *, title: str = "", alt: str = "", note: str | None = None
) -> Picture:
    """One position's vector through `gate` and `up` side by side, their product, and `down`.

    Raises ValueError without title.
    """
    picture, axes = canvas(title, 1.7)
    middle, upper, lower = 0.8, 1.25, 0.35
    given = box(axes, (0.5, middle), f"x\n{width}", fill=PALE, height=0.5)
    gate = box(axes, (1.9, upper), f"gate\n{inner:,}", fill=PALE_VERMILLION, edge=_RED)
    up = box(axes, (1.9, lower), f"up\n{inner:,}", fill=PALE_VERMILLION, edge=_RED)
    silu = box(axes, (3.1, upper), "SiLU", fill=PALE_BLUE, edge=_BLUE)
    product = box(axes, (4.2, middle), "⊙", width=0.28, height=0.28, bold=True)
    down = box(axes, (5.2, middle), f"down\n{width}", fill=PALE_VERMILLION, edge=_RED)
    for one, other in ((given, gate), (given, up), (gate, silu), (product, down)):
        arrow(axes, one.right, other.left)
    arrow(axes, silu.right, (product.left[0], product.middle[1] + 0.07))
    arrow(axes, up.right, (product.left[0], product.middle[1] - 0.07))
    arrow(axes, down.right, (6.3, middle))
    label(axes, (3.5, upper + 0.3), "how much of each feature passes", align="center", colour=_BLUE)
    label(axes, (3.5, lower - 0.2), "the features", align="center", colour=_RED)
    own = (
        f"A vector of {width} features goes through two layers side by side, gate and up, each "
        f"{inner:,} wide. SiLU is applied to the gate; the two are multiplied feature by feature, "
        f"and the layer down leads back to {width}."
    )
    return finish(picture, alt or own, note)


def grouped_heads(
    heads: int, groups: int, *, title: str = "", alt: str = "", note: str | None = None
) -> Picture:
    """Which query heads read which head of keys and values: an arrow for each query head.

    Raises ValueError without title, or where `groups` does not divide `heads`.
    """
    if heads % groups:
        raise ValueError(
            f"expected groups that divide the heads, got {heads} heads in {groups} groups; "
            f"use 1, {heads} or another divisor of {heads}"
        )
    picture, axes = canvas(title, 1.6)
    step, each = (ACROSS - 1.7) / heads, heads // groups
    queries = [
        box(axes, (1.6 + step * (i + 0.5), 1.25), str(i), width=0.34, fill=PALE_BLUE, edge=_BLUE)
        for i in range(heads)
    ]
    for group in range(groups):
        above = queries[group * each : (group + 1) * each]
        x = sum(one.middle[0] for one in above) / each
        shared = box(axes, (x, 0.35), str(group), width=0.34, fill=PALE_VERMILLION, edge=_RED)
        for one in above:
            arrow(axes, one.bottom, shared.top)
    label(axes, (0.0, 1.25), "query heads", colour=_BLUE, bold=True)
    label(axes, (0.0, 0.35), "heads of keys\nand values", colour=_RED, bold=True)
    own = (
        f"{heads} query heads in {groups} groups: each group of {each} reads the same head of "
        "keys and values."
    )
    return finish(picture, alt or own, note)
