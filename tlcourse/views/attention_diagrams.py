"""Drawings of lesson 02: attention as a lookup of one query in all keys, and heads.

What they are made of stands in `drawing`. Numbers come from the cell or the configuration.
"""

from collections.abc import Sequence

from tlcourse.views.drawing import PALE, PALE_BLUE, PALE_VERMILLION, Box, arrow, box, canvas, label
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
    last two. Without an alt text the picture has its own. Raises ValueError for other numbers of
    entries, for more than four words, and without title.
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
    divided = "query · key\ndivided by √dₖ"
    rule = divided, "softmax:\nthey sum to 1", "mixed by\nthe weights"
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
    given = ", ".join(f"{w} {each:.2f}" for w, each in zip(words, weights, strict=True))
    own = f"The query of {words[-1]} meets {len(words)} keys; weights {given} mix the values."
    return finish(picture, alt or own, note)


def attention_heads(
    width: int, heads: int, *, title: str = "", alt: str = "", note: str | None = None
) -> Picture:
    """One token's vector through three layers, cut into heads, and together again.

    Head 1 is blue. Without an alt text the picture has its own. Raises ValueError for heads that do
    not divide the width or are more than six, and without title.
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
    own = (
        f"A vector of {width} features goes through the layers query, key and value. {heads} heads "
        f"attend with {size} features each; side by side they go through the output layer."
    )
    return finish(picture, alt or own, note)
