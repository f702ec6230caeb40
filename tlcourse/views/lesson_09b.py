"""Figures of lesson 09b: texts that are written from other texts.

A title states a finding only if the data show it.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Unpack

import numpy as np
from matplotlib.patches import Rectangle

from tlcourse.views.diagrams import Drawing
from tlcourse.views.heat_maps import heat_map
from tlcourse.views.style import COLOURS, Picture, Texts, shaped


def two_stacks(source: str, target: str, **texts: Unpack[Texts]) -> Picture:
    """An encoder beside a decoder, of which one block each is drawn, and what flows between them.

    `source` is the text that is read, `target` its translation so far.
    """
    told = (
        f"The encoder reads “{source}” with self-attention and a feed-forward layer in each block. "
        f"The decoder reads “{target}” with masked self-attention, cross-attention and a "
        "feed-forward layer. Cross-attention takes its keys and values from the encoder's states. "
        "The decoder predicts the next token."
    )
    draw = Drawing(3.1, **{"title": "Cross-attention joins two stacks", "alt": told} | texts)
    left, right, size = 1.6, 5.1, {"width": 2.1, "height": 0.34}
    read = draw.box((left, 0.2), source)
    reads = draw.box((left, 0.95), "self-attention", **size)
    thinks = draw.box((left, 1.45), "feed-forward", **size)
    states = draw.box((left, 2.2), "a state for each source token", fill="grey")
    begun = draw.box((right, 0.2), target)
    looks = draw.box((right, 0.95), "self-attention, causal", **size)
    crosses = draw.box((right, 1.45), "cross-attention", colour="blue", bold=True, **size)
    writes = draw.box((right, 1.95), "feed-forward", **size)
    after = draw.box((right, 2.75), "the next token of the target")
    for column in ((read, reads, thinks, states), (begun, looks, crosses, writes, after)):
        for below, above in pairwise(column):
            draw.arrow(below.top, above.bottom)
    turn = 3.3
    draw.stroke(states.right, (turn, states.right[1]), (turn, crosses.left[1]), colour="blue")
    draw.arrow((turn, crosses.left[1]), crosses.left, colour="blue")
    draw.caption((turn + 0.36, crosses.left[1] - 0.24), "keys, values", "blue")
    draw.label((0.35, 0.58), "encoder", bold=True)
    draw.label((right + 1.2, 0.58), "decoder", align="right", bold=True)
    return draw.finish()


def alignment(
    weights: Any,
    source: Sequence[str],
    target: Sequence[str],
    *,
    gold: Iterable[tuple[int, int]],
    **texts: Unpack[Texts],
) -> Picture:
    """Cross-attention (target words, source words), with the gold links as outlined cells.

    `gold` has pairs (source word, target word), counted from 0. The title says at how many linked
    target words the largest weight lies on a gold link. Raises ValueError for weights of another
    shape, for no link, and for one outside.
    """
    weights = shaped(np.asarray(weights), (len(target), len(source)), "weights")
    links = {(int(place), int(number)) for number, place in gold}
    if not links or not all(0 <= i < len(target) and 0 <= j < len(source) for i, j in links):
        raise ValueError(
            f"expected links (source word, target word) from (0, 0) to ({len(source) - 1}, "
            f"{len(target) - 1}), got {sorted((j, i) for i, j in links)}"
        )
    linked = sorted({place for place, _ in links})
    best = {place: int(weights[place].argmax()) for place in linked}
    found = sum((place, best[place]) in links for place in linked)
    told = ", ".join(f"{target[place]} most to {source[best[place]]}" for place in linked)
    title = f"{found} of {len(linked)} words attend most to the word that they translate"
    alt = f"Attention of target words to source words: {told}. Gold links are outlined."
    names = {"keys": source, "label": "attention weight", "y_label": "target word"}
    picture = heat_map(weights, target, **names, **{"title": title, "alt": alt} | texts)
    axes = picture.axes[0]
    axes.set_xlabel("source word")
    for place, number in links:
        look = {"fill": False, "edgecolor": COLOURS["vermillion"], "linewidth": 2, "zorder": 3}
        axes.add_patch(Rectangle((number - 0.45, place - 0.45), 0.9, 0.9, **look))
    return picture
