"""Figures of lesson 02b: a gated feed-forward layer, and heads that share keys and values."""

from typing import Unpack

from tlcourse.views.diagrams import ACROSS, Drawing
from tlcourse.views.style import Picture, Texts


def gated_feed_forward_layer(width: int, inner: int, **texts: Unpack[Texts]) -> Picture:
    """One position's vector through `gate` and `up` side by side, their product, and `down`."""
    draw = Drawing(1.7, **texts)
    middle, upper, lower = 0.8, 1.25, 0.35
    given = draw.box((0.5, middle), f"x\n{width}", colour="grey", height=0.5)
    gate = draw.box((1.9, upper), f"gate\n{inner:,}", colour="vermillion")
    up = draw.box((1.9, lower), f"up\n{inner:,}", colour="vermillion")
    silu = draw.box((3.1, upper), "SiLU", colour="blue")
    product = draw.box((4.2, middle), "⊙", width=0.28, height=0.28, bold=True)
    down = draw.box((5.2, middle), f"down\n{width}", colour="vermillion")
    for one, other in ((given, gate), (given, up), (gate, silu), (product, down)):
        draw.arrow(one.right, other.left)
    draw.arrow(silu.right, (product.left[0], product.middle[1] + 0.07))
    draw.arrow(up.right, (product.left[0], product.middle[1] - 0.07))
    draw.arrow(down.right, (6.3, middle))
    draw.caption((3.5, upper + 0.3), "how much of each feature passes", "blue")
    draw.caption((3.5, lower - 0.2), "the features", "vermillion")
    return draw.finish(
        f"A vector of {width} features goes through two layers side by side, gate and up, each "
        f"{inner:,} wide. SiLU is applied to the gate; the two are multiplied feature by feature, "
        f"and the layer down leads back to {width}."
    )


def grouped_heads(heads: int, groups: int, **texts: Unpack[Texts]) -> Picture:
    """Which query heads read which head of keys and values: an arrow for each query head.

    Raises ValueError where `groups` does not divide `heads`.
    """
    if heads % groups:
        raise ValueError(
            f"expected groups that divide the heads, got {heads} heads in {groups} groups; "
            f"use 1, {heads} or another divisor of {heads}"
        )
    draw = Drawing(1.6, **texts)
    step, each = (ACROSS - 1.7) / heads, heads // groups
    queries = [
        draw.box((1.6 + step * (i + 0.5), 1.25), str(i), width=0.34, colour="blue")
        for i in range(heads)
    ]
    for group in range(groups):
        above = queries[group * each : (group + 1) * each]
        x = sum(one.middle[0] for one in above) / each
        shared = draw.box((x, 0.35), str(group), width=0.34, colour="vermillion")
        for one in above:
            draw.arrow(one.bottom, shared.top)
    draw.label((0.0, 1.25), "query heads", colour="blue", bold=True)
    draw.label((0.0, 0.35), "heads of keys\nand values", colour="vermillion", bold=True)
    return draw.finish(
        f"{heads} query heads in {groups} groups: each group of {each} reads the same head of "
        "keys and values."
    )
