"""Hidden states as they go through the layers: what they would predict, and where they go."""

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np

from tlcourse.views.style import CYCLE, SHADES, Picture, figure, finish, ink_on, label_axes
from tlcourse.views.tokens import brief, fitting
from tlcourse.views.words import write_beside

_COLUMNS = 12  # positions in a row of the table
_ROWS = 3  # of the table, one below the other
_WIDE = 5.6  # inches of a row
_SIZE = 9  # points
NAMED_UP_TO = 40  # tokens


def lens_table(
    tokens: Sequence[str],
    words: Sequence[Sequence[str]],
    probabilities: Any,
    *,
    title: str = "",
    alt: str = "",
    right: Sequence[str | None] | None = None,
    note: str | None = None,
) -> Picture:
    """The logit lens (nostalgebraist, 2020): the best token of each layer at each position.

    `words` and `probabilities` are (layers + 1, n), the embeddings first and drawn at the bottom,
    above the tokens that are read; a cell is the darker, the higher the probability. `right` are
    the tokens that would be right, (n,), None where there is none: a cell that has it is bold. Up
    to 12 positions stand in a row, up to 36 in the table; of more the last 36 are shown, and the
    note says so. Raises ValueError when shapes do not fit, and without title or alt text.
    """
    probabilities, count = np.asarray(probabilities, float), len(tokens)
    shape = (len(words), count)
    wrong = probabilities.shape != shape or any(len(row) != count for row in words)
    if wrong or not probabilities.size or (right is not None and len(right) != count):
        raise ValueError(
            f"expected words and probabilities of shape (layers + 1, {count}), and a right token "
            f"for each of {count} if any; got {len(words)} rows of words, probabilities of shape "
            f"{probabilities.shape} and {None if right is None else len(right)} right tokens"
        )
    shown = range(max(0, count - _COLUMNS * _ROWS), count)
    columns = min(_COLUMNS, len(shown))
    rows = [shown[i : i + columns] for i in range(0, len(shown), columns)]
    answers = [None] * count if right is None else right
    high = 0.23 * len(words)
    picture, grid = figure(title, 0.95 + len(rows) * (high + 0.4), rows=len(rows), squeeze=False)
    for axes, positions in zip(grid[:, 0], rows, strict=True):
        image = axes.imshow(
            probabilities[:, positions], aspect="auto", cmap=SHADES, vmin=0, vmax=1, origin="lower"
        )
        for layer, column in np.ndindex(len(words), len(positions)):
            position = positions[column]
            word, bold = words[layer][position], words[layer][position] == answers[position]
            axes.text(
                column, layer, fitting(word, 0.92 * _WIDE / columns, _SIZE), ha="center",
                va="center_baseline", fontsize=_SIZE, fontweight="bold" if bold else "normal",
                color=ink_on(image.cmap(image.norm(probabilities[layer, position]))),
                parse_math=False,
            )  # fmt: skip
        axes.set_xlim(-0.5, columns - 0.5)
        read = [fitting(tokens[position], 0.92 * _WIDE / columns, _SIZE) for position in positions]
        axes.set_xticks(range(len(positions)), read, fontsize=_SIZE, parse_math=False)
        axes.set_yticks(range(len(words)), ["emb", *range(1, len(words))], fontsize=_SIZE)
        axes.tick_params(length=0)
        axes.grid(False)
        axes.spines[:].set_visible(False)
        label_axes(axes, y="layer")
    label_axes(grid[-1, 0], x="token read")
    bar = picture.colorbar(image, ax=grid, pad=0.01, aspect=30)
    bar.set_label("probability of the best token", fontsize=10)
    bar.outline.set_visible(False)
    said = ["Bold: the right token."] if right is not None else []
    if len(shown) < count:
        said.append(f"The last {len(shown)} of {count} positions.")
    return finish(picture, alt, " ".join([*said, *([note] if note else [])]) or None)


def state_paths(
    points: Any,
    tokens: Sequence[str],
    *,
    title: str = "",
    alt: str = "",
    chosen: Sequence[int] = (),
    x_label: str = "first principal component",
    y_label: str = "second principal component",
    note: str | None = None,
) -> Picture:
    """Each token's way through the layers in two dimensions: `points` is (layers + 1, n, 2).

    A path begins at a white dot, the embedding, and gets darker with each layer; its token stands
    at the end, where there is room; of more than 40 tokens, each different one stands once. The
    paths of `chosen` tokens, up to 7, have a colour each, and the others are grey. Raises
    ValueError when the shape does not fit the tokens, for chosen ones that are not there, and
    without title, alt text or labels.
    """
    points = np.asarray(points, float)
    if points.ndim != 3 or len(points) < 2 or points.shape[1:] != (len(tokens), 2):
        raise ValueError(
            f"expected points of shape (layers + 1, {len(tokens)}, 2) and at least one layer, got "
            f"shape {points.shape}"
        )
    if len(chosen) > len(CYCLE) or not set(chosen) <= set(range(len(tokens))):
        raise ValueError(
            f"expected at most {len(CYCLE)} chosen tokens from 0 to {len(tokens) - 1}, got "
            f"{list(chosen)}"
        )
    picture, axes = figure(title, 5.2)
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
    label_axes(axes, x=x_label, y=y_label)
    named = {token: number for number, token in enumerate(tokens)}.values()  # the last of each
    named = chosen or (range(len(tokens)) if len(tokens) <= NAMED_UP_TO else named)
    said = f"White: the embedding. Large: layer {len(points) - 1}."
    finish(picture, alt, f"{said} {note}" if note else said)
    picture.draw_without_rendering()  # now the axes have their places
    picture.set_layout_engine("none")
    texts = {token: brief(tokens[token]) for token in named}
    write_beside(axes, points[-1], texts, {token: inks.get(token, "black") for token in named})
    return picture
