"""The attention of all heads at once; "head 3.1" is head 1 of block 3, both counted from 0."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import PowerNorm

from tlcourse.views.head_scores import bare, column_names
from tlcourse.views.style import COLOURS, SHADES, Picture, figure, finish
from tlcourse.views.tokens import brief

_WIDE = 5.6  # inches of all maps or grids side by side
_GAP = 0.06  # of a map, between two
Head = tuple[int, int]


def head_grid(
    weights: Any,
    tokens: Sequence[str],
    *,
    title: str = "",
    alt: str = "",
    mark: Collection[Head] = (),
    note: str | None = None,
) -> Picture:
    """The attention of every head, (layers, heads, queries, keys), as one map a head.

    In each map rows are queries and columns keys. One scale for all, stretched near zero (the
    shade is the square root of the weight), so that small weights are seen. `mark` holds heads as
    (layer, head), framed. Raises ValueError when the shape does not fit the tokens, for a marked
    head that is not there, and without title or alt text.
    """
    weights = np.asarray(weights, np.float32)
    length = len(tokens)
    if weights.ndim != 4 or weights.shape[2:] != (length, length) or not weights.size:
        raise ValueError(
            f"expected weights of shape (layers, heads, {length}, {length}) for {length} tokens, "
            f"got shape {weights.shape}"
        )
    layers, heads = weights.shape[:2]
    if not all(0 <= layer < layers and 0 <= head < heads for layer, head in mark):
        raise ValueError(
            f"expected marks (layer, head) below ({layers}, {heads}), got {sorted(mark)}"
        )
    wide = min(_WIDE / heads, 2.4)  # inches of a map
    high = min(wide, max(0.62 * wide, 5.2 / layers))
    picture, axes = figure(title, high * layers + 1.35 + (0.2 if note else 0))
    norm = PowerNorm(0.5, 0, float(weights.max()) or 1.0)
    for layer, head in np.ndindex(layers, heads):
        corners = (head + _GAP, head + 1 - _GAP, layer + 1 - _GAP, layer + _GAP)
        image = axes.imshow(weights[layer, head], cmap=SHADES, norm=norm, extent=corners)
    axes.set_aspect("auto")
    axes.set(xlim=(0, max(heads, _WIDE / wide)), ylim=(layers, 0))
    _frames(axes, np.ndindex(layers, heads), ("#8C8C8C", 0.6))
    _frames(axes, mark, (COLOURS["vermillion"], 2.4))
    axes.set_xticks(np.arange(heads) + 0.5, column_names(heads, wide))
    axes.set_yticks(np.arange(layers) + 0.5, [f"block {layer}" for layer in range(layers)])
    bare(axes)
    axes.xaxis.tick_top()
    bar = picture.colorbar(image, ax=axes, pad=0.02, aspect=40, shrink=0.8)
    bar.set_ticks([t for t in (0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1) if t <= norm.vmax])
    bar.set_label("attention weight", fontsize=11)
    bar.ax.tick_params(labelsize=10)
    bar.outline.set_visible(False)
    text = " ".join(brief(token, 20) for token in tokens)
    text = text if len(text) <= 76 else text[:75] + "…"
    said = f"{length} tokens: “{text}”"
    return finish(picture, alt, f"{said}. {note}" if note else said)


def _frames(axes: Any, heads: Iterable[Head], line: tuple[str, float]) -> None:
    """A frame of this colour and width (points) around the map of each head."""
    low, high = _GAP, 1 - _GAP
    square = np.array([(low, low), (high, low), (high, high), (low, high), (low, low)])
    frames = [square + (head, layer) for layer, head in heads]
    axes.add_collection(LineCollection(frames, colors=line[0], linewidths=line[1]), autolim=False)
