"""Figures of lesson 02: positions, attention as a lookup, heads, a block, the whole model."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import matplotlib.patches
import numpy as np

from tlcourse.views.diagrams import ACROSS, Box, Drawing
from tlcourse.views.heat_maps import colour_bar
from tlcourse.views.style import (
    COLOURS,
    GREY,
    MIDDLE,
    Picture,
    Texts,
    figure,
    finish,
    label_axes,
    shaped,
)

_MOST_HEADS = 6


def score_maps(maps: Mapping[str, Any], **texts: Unpack[Texts]) -> Picture:
    """One to three square matrices (query position, key position) side by side, each named.

    Each map is shown less its mean and in units of its standard deviation: orange is below the
    mean, purple above, on one scale for all. Raises ValueError for another number of maps, or one
    that is not square or is the same everywhere.
    """
    arrays = {name: np.asarray(scores, float) for name, scores in maps.items()}
    if not 1 <= len(arrays) <= 3:
        raise ValueError(f"expected one to three maps side by side, got {len(arrays)}")
    for name, scores in arrays.items():
        shaped(scores, (len(scores), len(scores)), f"a square matrix {name!r}")
        if np.ptp(scores) == 0:
            raise ValueError(f"expected scores that differ in {name!r}, got {scores.flat[0]} only")
    arrays = {name: (each - each.mean()) / each.std() for name, each in arrays.items()}
    reach = max(np.abs(scores).max() for scores in arrays.values())
    picture, grid = figure(
        height=6.2 / len(arrays) + 1.1, columns=len(arrays), squeeze=False, **texts
    )
    for axes, (name, scores) in zip(grid[0], arrays.items(), strict=True):
        image = axes.imshow(scores, cmap="PuOr", vmin=-reach, vmax=reach)
        axes.set_title(name, fontsize=11)
        axes.grid(False)
        label_axes(axes, size=11, x="key at position")
    label_axes(grid[0, 0], size=11, y="query at position")
    colour_bar(picture, image, grid, "score (in its map's std)", size=11, shrink=0.7)
    return finish(picture)


def clocks(
    rows: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    names: Sequence[str],
    **texts: Unpack[Texts],
) -> Picture:
    """One clock per pair of features: where the query's and the key's hand stand (radians).

    `rows` maps what a row shows to its (query angles, key angles), one a clock; `names` are those
    of the clocks, from left to right. Angles run counter-clockwise from the right. The grey arc is
    the angle from the query's hand to the key's, which alone decides the score; it is written below
    in degrees. Raises ValueError unless there are as many angles as names.
    """
    height = (5.6 / len(names) + 0.15) * len(rows) + 1.0
    grid_size = {"rows": len(rows), "columns": len(names), "squeeze": False}
    picture, grid = figure(height=height, **grid_size, **texts)
    for row, (caption, (queries, keys)) in enumerate(rows.items()):
        for axes, query, key in zip(grid[row], queries, keys, strict=True):
            _clock(axes, query, key)
        grid[row, 0].text(-1.6, 0, caption, rotation=90, **MIDDLE, fontsize=11)
    for axes, name in zip(grid[0], names, strict=True):
        axes.set_title(name, fontsize=11)
    return finish(picture)


def _clock(axes: Any, query: float, key: float) -> None:
    """One clock with its two hands and the angle between them."""
    axes.set(xlim=(-1.25, 1.25), ylim=(-1.7, 1.25), aspect="equal")
    axes.axis("off")
    axes.add_patch(matplotlib.patches.Circle((0, 0), 1, fill=False, ec="#BBBBBB", lw=1.5))
    between = (key - query + np.pi) % (2 * np.pi) - np.pi
    start, end = np.degrees(sorted([query, query + between]))
    axes.add_patch(matplotlib.patches.Wedge((0, 0), 0.42, start, end, fc="#D0D0D0", ec=GREY))
    hands = (query, COLOURS["blue"], "q"), (key, COLOURS["vermillion"], "k")
    for angle, ink, letter in hands:
        x, y = np.cos(angle), np.sin(angle)
        axes.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "-|>", "color": ink, "lw": 2})
        axes.text(1.14 * x, 1.14 * y, letter, color=ink, fontweight="bold", **MIDDLE)
    axes.text(0, -1.55, f"{np.degrees(between):+.0f}°", ha="center", fontsize=12)


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
    **texts: Unpack[Texts],
) -> Picture:
    """How the query of the last word (blue) meets all keys, and what mixture of values it gets.

    `keys`, `values`, `scores` and `weights` hold an entry a word; the mixture is computed from the
    last two. Raises ValueError for other numbers of entries, or for more than four words.
    """
    if not 1 <= len(words) <= 4:
        raise ValueError(f"expected 1 to 4 words, got {len(words)}")
    draw = Drawing(3.05, **texts)
    places = [2.65 + 1.35 * i for i in range(len(words))]
    rows = {"keys": 2.35, "scores": 1.8, "weights": 1.25, "values": 0.7}
    for name, y in rows.items():
        draw.label((1.85, y), name, align="right", colour="grey")
    asks = draw.box((0.75, rows["keys"]), f"query of {words[-1]}\n{_vector(query)}", colour="blue")
    draw.caption((0.75, rows["scores"]), "query · key\ndivided by √dₖ")
    draw.caption((0.75, rows["weights"]), "softmax:\nthey sum to 1")
    draw.caption((0.75, rows["values"]), "mixed by\nthe weights")
    draw.label((1.85, 2.8), "tokens", align="right", colour="grey")
    mixture = f"mixture: {_vector(np.array(weights) @ np.array(values))}"
    result = draw.box((places[len(words) // 2], 0.15), mixture, colour="blue", bold=True)
    entries = zip(places, words, keys, values, scores, weights, strict=True)
    for x, word, key, value, score, weight in entries:
        draw.caption((x, 2.8), word, "black", bold=True)
        offer = draw.box((x, rows["keys"]), _vector(key), width=1.1)
        found = draw.box((x, rows["scores"]), _vector([score]), width=0.6, colour="grey")
        best = weight == max(weights)
        fill, place = None if best else "white", (x, rows["weights"])
        share = draw.box(place, f"{weight:.2f}", width=0.6, colour="blue", fill=fill, bold=best)
        gives = draw.box((x, rows["values"]), _vector(value), width=1.1, colour="vermillion")
        draw.arrow(offer.bottom, found.top)
        draw.arrow(found.bottom, share.top)
        draw.arrow(share.bottom, gives.top, colour="blue")
        draw.arrow(gives.bottom, (result.middle[0] + 0.25 * (x - result.middle[0]), result.top[1]))
    turn = asks.right[0] - 0.2
    draw.stroke((turn, asks.bottom[1]), (turn, 2.07), colour="blue")
    draw.stroke((turn, 2.07), (places[-1], 2.07), colour="blue")
    given = ", ".join(f"{w} {each:.2f}" for w, each in zip(words, weights, strict=True))
    return draw.finish(
        f"The query of {words[-1]} meets {len(words)} keys; weights {given} mix the values."
    )


def attention_heads(width: int, heads: int, **texts: Unpack[Texts]) -> Picture:
    """One token's vector through three layers, cut into heads, and together again.

    Head 1 is blue. Raises ValueError for heads that do not divide the width or are more than six.
    """
    if not 0 < heads <= _MOST_HEADS or width <= 0 or width % heads:
        raise ValueError(f"expected 1 to {_MOST_HEADS} heads that divide {width}, got {heads}")
    tall = 0.3 * heads
    draw = Drawing(max(tall, 1.35) + 0.55, **texts)
    y, size = (max(tall, 1.35) + 0.55) / 2 - 0.05, width // heads
    given = draw.box((0.45, y), f"x\n{width}", width=0.55, height=0.5, colour="grey")
    for place, name in enumerate(("query", "key", "value")):
        each = draw.box((1.45, y + 0.42 * (1 - place)), name, width=0.62, colour="grey")
        draw.arrow(given.right, each.left)
        draw.arrow(each.right, (2.22, each.right[1]))
    for head in range(heads):
        height, hue = y + 0.3 * ((heads - 1) / 2 - head), "blue" if head == 1 % heads else "white"
        text = f"head {head}: attention on {size}"
        cell = draw.box((3.3, height), text, width=2.1, height=0.25, colour=hue)
        part = draw.box((5.0, height), f"{size}", width=0.55, height=0.3, colour=hue)
        draw.chain(cell, part, colour="grey" if hue == "white" else hue)
    output = draw.box((5.85, y), "output", colour="grey")
    gone = draw.box((6.55, y), f"{width}", width=0.42, height=0.5, colour="grey")
    draw.chain(Box((5.0, y), 0.55, tall), output, gone)
    top = y + max(tall, 1.35) / 2 + 0.12
    for x, caption in ((1.45, "three layers"), (3.3, f"cut into {heads}"), (5.0, "side by side")):
        draw.caption((x, top), caption)
    return draw.finish(
        f"A vector of {width} features goes through the layers query, key and value. {heads} heads "
        f"attend with {size} features each; side by side they go through the output layer."
    )


def feed_forward_layer(width: int, feed_forward: int, **texts: Unpack[Texts]) -> Picture:
    """Three positions, each alone through up and down; boxes are as wide as their vectors."""
    draw = Drawing(1.75, **texts)
    short, long = 0.6, min(2.3, 0.6 * feed_forward / width)
    for y, word in ((1.2, "the"), (0.8, "cat"), (0.4, "sat")):
        draw.caption((0.55, y), word, "black", bold=True)
        given = draw.box((1.4, y), f"{width}", width=short, height=0.28, colour="grey")
        wide = draw.box((3.75, y), f"{feed_forward}", width=long, height=0.28, colour="vermillion")
        gone = draw.box((6.1, y), f"{width}", width=short, height=0.28, colour="grey")
        draw.chain(given, wide, gone)
    for x, caption in ((2.15, "up"), (3.75, "σ, number by number"), (5.35, "down")):
        draw.caption((x, 1.55), caption)
    draw.caption((3.75, 0.08), "no arrow from one token to another")
    return draw.finish(
        f"Three tokens, each by itself: {width} features become {feed_forward} by the layer up, "
        f"and {width} again by the layer down. No arrow leads from one token to another."
    )


def block_and_stream(
    width: int, feed_forward: int, *, heads: int = 1, **texts: Unpack[Texts]
) -> Picture:
    """A pre-norm block: two layers that read the stream (below) through a norm and add to it.

    Layers that mix positions are blue, those that work on each alone vermillion.
    """
    draw = Drawing(2.35, **texts)
    stream, row = 0.55, 1.35
    shapes = f"{heads} heads", f"{width} → {feed_forward} → {width}"
    work = "moves information\nbetween positions", "works on each\nposition alone"
    layers = zip((0.25, 3.55), ("attention", "feed_forward"), shapes, work, strict=True)
    sums = []
    for left, part, shape, caption in layers:
        name, hue = f"{part}\n{shape}", "blue" if part == "attention" else "vermillion"
        norm = draw.box((left + 0.6, row), f"{part}_norm", colour="grey")
        layer = draw.box((left + 2.1, row), name, colour=hue, height=0.5)
        total = draw.box((left + 2.92, stream), "+", width=0.22, height=0.22, bold=True)
        draw.arrow((norm.middle[0], stream), norm.bottom)
        draw.arrow(norm.right, layer.left)
        draw.stroke(layer.right, (total.middle[0], row))
        draw.arrow((total.middle[0], row), total.top)
        draw.caption((layer.middle[0], 1.95), caption, hue)
        sums.append(total)
    draw.stroke((0.05, stream), sums[0].left, colour="black")
    draw.stroke(sums[0].right, sums[1].left, colour="black")
    draw.arrow(sums[1].right, (ACROSS, stream), colour="black")
    draw.label((0.05, 0.2), f"residual stream: (batch, length, {width})", bold=True)
    draw.label((ACROSS, 0.2), "on to the next block", align="right", colour="grey")
    return draw.finish(
        "The residual stream runs along the bottom. Attention and feed-forward each read it "
        "through a norm and add their output to it."
    )


def whole_model(config: Any, **texts: Unpack[Texts]) -> Picture:
    """Tokens to logits, from left to right, with the shape behind every step.

    `config` has `vocabulary_size`, `width`, `layers`, `heads` and `feed_forward`.
    """
    draw = Drawing(2.3, **texts)
    row, width = 1.3, config.width
    steps = [
        ("tokens", 0.62, "white"),
        (f"embedding\n{config.vocabulary_size:,} × {width}", 1.72, "blue"),
        (f"{config.layers} blocks\nwidth {width}", 3.12, "vermillion"),
        ("norm", 4.3, "grey"),
        ("embedding\ntransposed", 5.33, "blue"),
        ("logits", 6.42, "white"),
    ]
    drawn = [draw.box((x, row), text, fill=fill, height=0.5) for text, x, fill in steps]
    draw.chain(*drawn)
    below = row - 0.48
    draw.caption((0.62, below), "(batch, length)")
    shape = f"(batch, length, {width})"
    draw.caption((3.12, below), shape)
    shape_of_logits = f"(batch, length, {config.vocabulary_size:,})"
    draw.label((ACROSS, below), shape_of_logits, align="right", colour="grey")
    blocks = drawn[2]
    for x, text in ((2.55, "mask"), (3.7, "table of angles")):
        each = draw.box((x, 2.1), text, colour="grey")
        draw.arrow(each.bottom, (blocks.middle[0] + 0.25 * (x - 3.12), blocks.top[1]))
    y, (first, _), (last, _) = 0.35, drawn[1].middle, drawn[4].middle
    draw.stroke(drawn[1].bottom, (first, y), colour="blue")
    draw.stroke((first, y), (last, y), colour="blue")
    draw.arrow((last, y), drawn[4].bottom, colour="blue")
    draw.caption((3.5, y - 0.14), "one matrix, used twice", "blue")
    return draw.finish(
        f"Tokens go through the embedding, {config.layers} blocks, a norm and the embedding, "
        "transposed, and become logits. Mask and table of angles go into the blocks."
    )
