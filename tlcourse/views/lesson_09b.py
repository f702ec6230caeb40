"""Figures of lesson 09b: texts that are written from other texts.

A title states a finding only if the data show it.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.patches import Rectangle

from tlcourse.views.heat_maps import heat_map
from tlcourse.views.style import COLOURS, Picture, Texts, shaped


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
