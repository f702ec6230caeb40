"""Figures of lesson 02: attention, masks, positions, heads, a block, the model, a pronoun."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import matplotlib.patches
import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.patches import FancyArrowPatch

from tlcourse.views.bars import horizontal_bars
from tlcourse.views.diagrams import ACROSS, Drawing, word_width
from tlcourse.views.heat_maps import colour_bar, heat_map, mask_maps
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
from tlcourse.views.tokens import visible

_MOST_HEADS = 6
_HEAD_COLOURS = ("blue", "vermillion", "green", "purple", "orange", "sky")


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
    steady = [name for name, scores in arrays.items() if _by_distance_alone(scores)]
    title = "Scores of all pairs of positions"
    if len(steady) == 1 < len(arrays):
        title = f"With equal content, only {steady[0]} scores depend on distance alone"
    stripes = dict.fromkeys(steady, "depends on distance alone")
    seen = (f"{name} {stripes.get(name, 'depends on the place, too')}" for name in arrays)
    texts = {"title": title, "alt": f"Maps of scores: {'; '.join(seen)}."} | texts
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


def _by_distance_alone(scores: np.ndarray) -> bool:
    """Whether the scores are equal along every diagonal, up to rounding."""
    return bool(np.allclose(scores[1:, 1:], scores[:-1, :-1], atol=1e-3))


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
    shown = "; ".join(
        f"{caption}: " + ", ".join(f"{_between(*pair):+.0f}°" for pair in zip(*hands, strict=True))
        for caption, hands in rows.items()
    )
    texts = {
        "title": "Each pair of features is a clock with two hands",
        "alt": f"A row of {len(names)} clocks. Angles from query to key: {shown}.",
    } | texts
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


def _between(query: float, key: float) -> float:
    """The angle from the query's hand to the key's, in degrees from -180 to 180."""
    return float(np.degrees((key - query + np.pi) % (2 * np.pi) - np.pi))


def _clock(axes: Any, query: float, key: float) -> None:
    """One clock with its two hands and the angle between them."""
    axes.set(xlim=(-1.25, 1.25), ylim=(-1.7, 1.25), aspect="equal")
    axes.axis("off")
    axes.add_patch(matplotlib.patches.Circle((0, 0), 1, fill=False, ec="#BBBBBB", lw=1.5))
    between = _between(query, key)
    start, end = sorted([np.degrees(query), np.degrees(query) + between])
    axes.add_patch(matplotlib.patches.Wedge((0, 0), 0.42, start, end, fc="#D0D0D0", ec=GREY))
    hands = (query, COLOURS["blue"], "q"), (key, COLOURS["vermillion"], "k")
    for angle, ink, letter in hands:
        x, y = np.cos(angle), np.sin(angle)
        axes.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "-|>", "color": ink, "lw": 2})
        axes.text(1.14 * x, 1.14 * y, letter, color=ink, fontweight="bold", **MIDDLE)
    axes.text(0, -1.55, f"{between:+.0f}°", ha="center", fontsize=12)


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
    """How the query of the last word (blue) is compared with all keys, and the values it mixes.

    `keys`, `values`, `scores` and `weights` hold an entry a word; the mixture is computed from the
    last two. Raises ValueError for other numbers of entries, or for more than four words.
    """
    if not 1 <= len(words) <= 4:
        raise ValueError(f"expected 1 to 4 words, got {len(words)}")
    title = f"The query of “{words[-1]}” is compared with every key"
    first, *others = sorted(weights, reverse=True) or [0.0]
    if first > 0.5 and others:
        title = (
            f"The query of “{words[-1]}” matches the key of “{words[list(weights).index(first)]}”"
        )
    given = ", ".join(f"{w} {each:.2f}" for w, each in zip(words, weights, strict=True))
    alt = f"The query of {words[-1]} and {len(words)} keys; the weights {given} mix the values."
    draw = Drawing(3.05, **{"title": title, "alt": alt} | texts)
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
    return draw.finish()


def attention_heads(width: int, heads: int, **texts: Unpack[Texts]) -> Picture:
    """One token's query, key and value, each cut into a coloured part a head, and joined again.

    Raises ValueError for heads that do not divide the width or are more than six.
    """
    if not 0 < heads <= _MOST_HEADS or width <= 0 or width % heads:
        raise ValueError(f"expected 1 to {_MOST_HEADS} heads that divide {width}, got {heads}")
    size = width // heads
    texts = {
        "title": "Each head attends with its own part of query, key and value",
        "alt": f"The layers query, key and value each turn a vector of {width} features into "
        f"another, which is cut into {heads} parts. The three parts of the same colour go to one "
        f"head. {heads} heads attend with {size} features each; side by side they go through the "
        "output layer.",
    } | texts
    draw = Drawing(3.0, **texts)
    given = draw.box((0.35, 2.3), f"x\n{width}", width=0.5, height=0.5, colour="grey")
    left, across = 2.15, 4.55 / heads
    middles = [left + across * (head + 0.5) for head in range(heads)]
    rows = {"query": 2.7, "key": 2.3, "value": 1.9, "output": 0.3}
    for name, y in rows.items():
        layer = draw.box((1.3, y), name, width=0.65, colour="grey")
        if name == "output":
            draw.arrow((left, y), layer.right)
            draw.arrow(layer.left, draw.box((0.35, y), f"{width}", width=0.5, colour="grey").right)
        else:
            draw.arrow(given.right, layer.left)
            draw.arrow(layer.right, (left, y))
    for x, name in zip(middles, _HEAD_COLOURS, strict=False):
        ink, pale = COLOURS[name], tuple(0.7 + 0.3 * each for each in to_rgb(COLOURS[name]))
        for shift, y in zip((-0.1, 0.0, 0.1), list(rows.values())[:3], strict=True):
            bundle = [x + shift * min(1, across)] * 2
            draw.axes.plot(bundle, [y, 1.05], color=ink, lw=1.5, zorder=0)
        draw.axes.plot([x, x], [1.05, 0.3], color=ink, lw=1.5, zorder=0)
        for y in rows.values():
            draw.box((x, y), f"{size}", width=across, height=0.24, fill=pale, edge=ink)
        head = f"head {middles.index(x)}\nattention"
        draw.box((x, 1.1), head, width=0.72, height=0.44, fill=pale, edge=ink)
    return draw.finish()


def feed_forward_layer(width: int, feed_forward: int, **texts: Unpack[Texts]) -> Picture:
    """Three positions, each alone in a lane of its own; boxes are as wide as their vectors."""
    texts = {
        "title": "The same two layers, applied to each position separately",
        "alt": f"Three lanes, one a token, that never touch: {width} features become "
        f"{feed_forward} by the layer up, and {width} again by the layer down.",
    } | texts
    draw = Drawing(1.85, **texts)
    short, long = 0.6, min(2.3, 0.6 * feed_forward / width)
    for y, word in ((1.3, "the"), (0.8, "cat"), (0.3, "sat")):
        draw.axes.axhspan(y - 0.21, y + 0.21, color="#F4F4F4", zorder=0)
        draw.caption((0.55, y), word, "black", bold=True)
        given = draw.box((1.4, y), f"{width}", width=short, height=0.28, colour="grey")
        wide = draw.box((3.75, y), f"{feed_forward}", width=long, height=0.28, colour="vermillion")
        gone = draw.box((6.1, y), f"{width}", width=short, height=0.28, colour="grey")
        draw.chain(given, wide, gone)
    for x, caption in ((2.15, "up"), (3.75, "σ, number by number"), (5.35, "down")):
        draw.caption((x, 1.68), caption)
    return draw.finish()


def block_and_stream(
    width: int, feed_forward: int, *, heads: int = 1, **texts: Unpack[Texts]
) -> Picture:
    """A pre-norm block: two layers that read the stream (below) through a norm and add to it.

    Layers that mix positions are blue, those that work on each alone vermillion.
    """
    texts = {
        "title": "A block reads the stream twice and adds to it twice",
        "alt": "The residual stream runs along the bottom. Attention and feed-forward each read it "
        "through a norm and add their output to it.",
    } | texts
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
    return draw.finish()


def whole_model(config: Any, **texts: Unpack[Texts]) -> Picture:
    """Tokens to logits, from left to right, with the shape behind every step.

    `config` has `vocabulary_size`, `width`, `layers`, `heads` and `feed_forward`.
    """
    texts = {
        "title": "What you build: from tokens to logits",
        "alt": f"Tokens go through the embedding, {config.layers} blocks, a norm and the "
        "embedding, transposed, and become logits. Mask and table of angles go into the blocks.",
    } | texts
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
    return draw.finish()


def who_sees_whom(
    masks: Mapping[str, Any], tokens: Sequence[str], **texts: Unpack[Texts]
) -> Picture:
    """Masks side by side; the title says what "causal" and "padding" drop if they do drop it."""
    causal, padding = (np.asarray(masks.get(name, False)) for name in ("causal", "padding"))
    title = "Which query may look at which key"
    no_future = causal.any() and not np.triu(causal, 1).any()
    if no_future and padding.any() and not padding.all() and (padding == padding[0]).all():
        title = "Causal masks drop the future, padding masks drop columns"
    alt = "; ".join(f"{name}: {np.asarray(each).sum()} pairs kept" for name, each in masks.items())
    return mask_maps(masks, tokens, **{"title": title, "alt": f"Masks. {alt}."} | texts)


def next_token_bars(
    guesses: Mapping[str, tuple[str, float, bool]], **texts: Unpack[Texts]
) -> Picture:
    """Bars of the probability of the likeliest next token of each text.

    `guesses` maps a text to (token, probability, whether it is right); wrong ones are marked.
    """
    right = sum(correct for *_, correct in guesses.values())
    bars = {
        f"{text} …{token}{'' if correct else '  (wrong)'}": 100 * share
        for text, (token, share, correct) in guesses.items()
    }
    texts = {
        "title": f"{right} of {len(guesses)} next tokens are right",
        "alt": "Bars: " + "; ".join(f"{text}, {share:.0f} %" for text, share in bars.items()),
    } | texts
    return horizontal_bars(bars, x_label="probability of this token (%)", number="{:.0f}", **texts)


def trained_head(weights: Any, tokens: Sequence[str], **texts: Unpack[Texts]) -> Picture:
    """The attention weights (queries, keys) of one head; the title is for a causal model."""
    ahead = np.triu(shaped(weights, (len(tokens),) * 2, "weights").astype(float), 1).max()
    title = "Attention weights of one head" if ahead else "Each token looks only at earlier tokens"
    told = f"Attention weights of one head over {len(tokens)} tokens."
    return heat_map(weights, tokens, **{"title": title, "alt": told} | texts)


def pronoun_links(rows: Sequence[tuple[Sequence[str], Any]], **texts: Unpack[Texts]) -> Picture:
    """Sentences as rows of tokens, with arcs from the last token to those it attends to.

    A row is (tokens, weights of the last token); weights from 0.04 on are drawn and written.
    """
    nouns = [tokens[int(np.argmax(weights))].strip() for tokens, weights in rows]
    title = "Where the last token looks"
    if len(set(nouns)) == len(nouns) > 1:
        looks = zip(rows, nouns, strict=True)
        title = "; ".join(f"“{tokens[-1].strip()}” looks at “{n}”" for (tokens, _), n in looks)
    seen = []
    for tokens, weights in rows:
        pairs = zip(tokens, shaped(weights, (len(tokens),), "one weight a token"), strict=True)
        seen.append(", ".join(f"{token.strip()} {weight:.2f}" for token, weight in pairs))
    texts = {"title": title, "alt": f"Weights of the last token. {'; '.join(seen)}."} | texts
    draw = Drawing(1.35 * len(rows), **texts)
    for row, (tokens, weights) in enumerate(rows):
        weights = np.asarray(weights, float)
        y, left = 1.35 * (len(rows) - row) - 0.95, 0.05
        widths = [word_width(visible(token)) + 0.14 for token in tokens]
        gap = min(0.12, (ACROSS - 0.1 - sum(widths)) / max(1, len(tokens) - 1))
        middles = []
        for token, wide, weight in zip(tokens, widths, weights, strict=True):
            fill = "blue" if weight == max(weights) else "grey"
            middles.append(left + wide / 2)
            draw.box((middles[-1], y), visible(token), width=wide, height=0.3, fill=fill)
            left += wide + gap
        for x, weight in zip(middles[:-1], weights[:-1], strict=True):
            if weight >= 0.04:
                bend = f"arc3,rad={0.12 + 0.03 * (middles[-1] - x):.3f}"
                ink = {"color": COLOURS["blue"], "lw": 6 * weight, "alpha": 0.75}
                ends = (middles[-1], y + 0.17), (x, y + 0.17)
                arc = FancyArrowPatch(*ends, arrowstyle="-", connectionstyle=bend, **ink)
                draw.axes.add_patch(arc)
                draw.caption((x, y - 0.27), f"{weight:.2f}", "blue", bold=weight == max(weights))
    return draw.finish()


def heads_right(shares: Any, **texts: Unpack[Texts]) -> Picture:
    """A dot for each head, (layers, heads), at the share of sentences in which it is right.

    The title says if a single head is right in more than 80 %; a line marks chance.
    """
    shares = np.asarray(shares, float)
    layers, heads = shares.shape
    layer, head = (int(n) for n in np.unravel_index(shares.argmax(), shares.shape))
    title = "How often each head prefers the right noun"
    if (shares > 0.8).sum() == 1:
        title = f"One head of {shares.size} connects the pronoun to its noun"
    alt = f"Dots of {shares.size} heads; the highest, {shares.max():.0%}, is head {head} of block"
    picture, axes = figure(height=3.6, **{"title": title, "alt": f"{alt} {layer}."} | texts)
    places = np.arange(layers)[:, None] + np.linspace(-0.2, 0.2, heads)
    inks = np.where(shares == shares.max(), COLOURS["vermillion"], COLOURS["blue"])
    axes.plot([-0.5, layers - 0.5], [50, 50], color=GREY, lw=1.2, ls="--")
    axes.scatter(places.ravel(), 100 * shares.ravel(), c=inks.ravel(), s=45)
    axes.text(layers - 0.45, 50, "chance", color=GREY, fontsize=11, va="center")
    at = places[layer, head] - 0.1, 100 * shares.max()
    axes.text(*at, f"head {head}", color=COLOURS["vermillion"], ha="right", va="center")
    axes.set(xlim=(-0.5, layers + 0.1), ylim=(0, 104), xticks=range(layers))
    label_axes(axes, x="block", y="right sentences (%)")
    return finish(picture)
