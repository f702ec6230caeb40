"""A figure of lesson 08b: the paths of hidden states through the layers."""

from collections.abc import Sequence
from typing import Any, Unpack

import matplotlib
import numpy as np

from tlcourse.views.dots import write_beside
from tlcourse.views.style import CYCLE, SHADES, Picture, Texts, figure, finish, label_axes, shaped
from tlcourse.views.tokens import brief

NAMED_UP_TO = 40  # tokens


def state_paths(
    points: Any,
    tokens: Sequence[str],
    *,
    chosen: Sequence[int] = (),
    **texts: Unpack[Texts],
) -> Picture:
    """Each token's way through the layers in two dimensions: `points` is (layers + 1, n, 2).

    A path begins at a white dot, the embedding, and gets darker with each layer; its token stands
    at the end, where there is room; of more than 40 tokens, each different one stands once. The
    paths of `chosen` tokens, up to 7, have a colour each, and the others are grey. Raises
    ValueError when the shape does not fit the tokens, or for chosen ones that are not there.
    """
    points = shaped(points, ("layers + 1", len(tokens), 2), "points").astype(float)
    if len(chosen) > len(CYCLE) or not set(chosen) <= set(range(len(tokens))):
        wanted = f"at most {len(CYCLE)} chosen tokens from 0 to {len(tokens) - 1}"
        raise ValueError(f"expected {wanted}, got {list(chosen)}")
    picture, axes = figure(height=5.2, **texts)
    inks = dict(zip(chosen, CYCLE, strict=False))
    shades = matplotlib.colormaps[SHADES](np.linspace(0.25, 1, len(points)))
    for token in sorted(range(len(tokens)), key=inks.__contains__):
        path = points[:, token]
        colour = inks.get(token, "#BFBFBF" if chosen else "#9FB6C9")
        above = 3 if token in inks else 1.5
        axes.plot(*path.T, color=colour, lw=1.6 if token in inks else 0.8, zorder=above)
        dots = colour if chosen else shades
        axes.scatter(*path.T, c=dots, s=np.r_[[12] * (len(path) - 1), 34], zorder=above + 0.1)
        axes.plot(*path[0], "o", mfc="white", mec=colour, ms=4.5, zorder=above + 0.2)
    axes.margins(0.08)
    label_axes(axes, x="first principal component", y="second principal component")
    named = {token: number for number, token in enumerate(tokens)}.values()  # the last of each
    named = chosen or (range(len(tokens)) if len(tokens) <= NAMED_UP_TO else named)
    legend = f"White: the embedding. Large: layer {len(points) - 1}."
    finish(picture, note=legend)
    picture.draw_without_rendering()  # now the axes have their places
    picture.set_layout_engine("none")
    texts = {token: brief(tokens[token]) for token in named}
    write_beside(axes, points[-1], texts, {token: inks.get(token, "black") for token in named})
    return picture
