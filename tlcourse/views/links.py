"""One head on a text: lines between tokens, and the text shaded by what one token looks at."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba

from tlcourse.views.style import COLOURS, GREY, Picture, figure, finish
from tlcourse.views.tokens import CHARACTER, GAP, ROW, brief, draw_boxes, fitting, named, place
from tlcourse.views.words import scale

_PITCH = 0.19  # inches from a token to the one below
_TALLEST = 5.6  # inches of all tokens
_APART = 2.8  # inches between the columns
_SIZE = 10  # points


def token_lines(
    weights: Any,
    tokens: Sequence[str],
    *,
    title: str = "",
    alt: str = "",
    keys: Sequence[str] | None = None,
    chosen: int | None = None,
    threshold: float = 0.05,
    note: str | None = None,
) -> Picture:
    """Attention of one head, (queries, keys), as lines: the darker a line, the larger its weight.

    Queries stand at the left, `keys` at the right; None: the same tokens.
    Weights below `threshold` are left out. With `chosen`, the position of a query, only its lines
    are drawn and their weights written. Of many tokens every nth is named, those of
    the chosen one's lines first. Raises ValueError when the shape does not fit the tokens, for a
    chosen one that is not there, and without title or alt text.
    """
    keys, weights = tokens if keys is None else keys, np.asarray(weights, float)
    there = chosen is None or 0 <= chosen < len(tokens)
    if weights.shape != (len(tokens), len(keys)) or not weights.size or not there:
        raise ValueError(
            f"expected weights of shape (queries, keys) = {(len(tokens), len(keys))} and a chosen "
            f"query from 0 to {len(tokens) - 1}; got shape {weights.shape} and {chosen}"
        )
    rows = max(len(tokens), len(keys))
    tall = min(_TALLEST, _PITCH * rows)
    picture, axes = figure(title, tall + 1.15 + (0.25 if note else 0))
    axes.set_axis_off()
    pitch = tall / rows
    axes.set(xlim=(-2, _APART + 2), ylim=(rows - 0.2, -0.5 - 0.3 / pitch))
    drawn = weights >= threshold
    if chosen is not None:
        drawn &= (np.arange(len(tokens)) == chosen)[:, None]
    places = np.argwhere(drawn)[np.argsort(weights[drawn], kind="stable")]  # dark ones on top
    shown = weights[tuple(places.T)]
    ink = np.tile(to_rgba(COLOURS["blue"]), (len(places), 1))
    ink[:, 3] = np.clip(shown, 0.1, 1)
    lines = [[(0.06, query), (_APART - 0.06, key)] for query, key in places]
    axes.add_collection(LineCollection(lines, colors=ink, linewidths=2), autolim=False)
    looks = {} if chosen is None else {chosen: ""}
    seen = {} if chosen is None else {
        int(key): f"  {w:.2f}" for (_, key), w in zip(places[::-1], shown[::-1], strict=True)
    }  # fmt: skip
    _column(axes, tokens, pitch, looks, align="right")
    _column(axes, keys, pitch, seen, align="left")
    said = f"Weights below {threshold:g} are not drawn." if threshold > 0 else ""
    return finish(picture, alt, " ".join(filter(None, [said, note])) or None)


def _column(
    axes: Any, tokens: Sequence[str], pitch: float, strong: Mapping[int, str], align: str
) -> None:
    """Writes tokens one below the other, as many as fit, the `strong` ones first and bold.

    `pitch` is in inches a token; `strong` maps positions to what follows their token; `align` is
    the side on which the texts end.
    """
    x = 0.0 if align == "right" else _APART
    head = "query: this token looks" if align == "right" else "key: at this token"
    axes.text(x, -0.5 - 0.18 / pitch, head, ha=align, va="center", fontsize=_SIZE, color=GREY)
    step = named(len(tokens), pitch * len(tokens), _SIZE).step
    taken: list[int] = []
    for position in (*strong, *range(0, len(tokens), step)):
        if any(abs(position - other) < step for other in taken):
            continue
        taken.append(position)
        bold = position in strong
        axes.text(
            x, position, fitting(tokens[position], 1.5, _SIZE) + strong.get(position, ""),
            ha=align, va="center", fontsize=_SIZE, fontweight="bold" if bold else "normal",
            color="black" if bold or not strong else GREY, parse_math=False,
        )  # fmt: skip


def token_shades(
    weights: Sequence[float],
    tokens: Sequence[str],
    *,
    title: str = "",
    alt: str = "",
    chosen: int | None = None,
    label: str = "attention weight",
    note: str | None = None,
) -> Picture:
    """A text with each token shaded by its weight, (n,): attention from one token, or to it.

    The token at `chosen` has a strong border. Tokens of one word touch. Weights may have a sign:
    purple is above zero, orange below. `label` names the colours, with the unit. Raises ValueError
    unless there is a weight for each token, for a chosen one that is not there, and without title
    or alt text.
    """
    weights = np.asarray(weights, float)
    there = chosen is None or 0 <= chosen < len(tokens)
    if weights.shape != (len(tokens),) or not len(tokens) or not there:
        raise ValueError(
            f"expected a weight for each of {len(tokens)} tokens and a chosen one from 0 to "
            f"{len(tokens) - 1}; got shape {weights.shape} and {chosen}"
        )
    drawn = [brief(token, 40) for token in tokens]
    places = place(drawn, [2.5 * GAP if token[:1].isspace() else 0.1 for token in tokens])
    rows = places[-1][1] + 1
    picture, axes = figure(title, 1.35 + ROW * rows + (0.25 if note else 0))
    axes.set_axis_off()
    axes.set(xlim=(-0.2, 6.8 / CHARACTER), ylim=(rows - 0.05, -0.05))
    colours, low, high = scale(weights)
    shades = matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(low, high), colours)
    edges = [("#BFBFBF", 0.5)] * len(tokens)
    if chosen is not None:
        edges[chosen] = (COLOURS["vermillion"], 2.4)
    draw_boxes(axes, drawn, places, shades.to_rgba(weights), edges)
    bar = picture.colorbar(
        shades, ax=axes, orientation="horizontal", shrink=0.3, anchor=(0, 1), aspect=22,
        pad=0.06 / rows,
    )  # fmt: skip
    bar.set_label(label, fontsize=10, loc="left")
    bar.ax.tick_params(labelsize=9)
    bar.outline.set_visible(False)
    return finish(picture, alt, note)
