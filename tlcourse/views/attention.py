"""Masks with their polarity, and attention as heat maps over tokens."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np

from tlcourse.views.style import COLOURS, SHADES, Picture, figure, finish, ink_on

NUMBERS_UP_TO = 10  # tokens; a larger map has no numbers in its cells
_PALE = "#EDEDED"


def _checked(matrix: Any, queries: Sequence[str], keys: Sequence[str], name: str) -> np.ndarray:
    matrix = np.asarray(matrix)
    wanted = (len(queries), len(keys))
    if matrix.shape != wanted:
        raise ValueError(
            f"expected {name} of shape (queries, keys) = {wanted}, a row and a column for each "
            f"token; got shape {matrix.shape}"
        )
    return matrix


def _cells(axes: Any, matrix: np.ndarray, colours: Any, top: float) -> Any:
    """Draws one square per cell, white lines between them; returns the image."""
    image = axes.imshow(matrix, cmap=colours, vmin=0, vmax=top, aspect="equal")
    rows, columns = matrix.shape
    axes.hlines(np.arange(1, rows) - 0.5, -0.5, columns - 0.5, color="white", lw=1)
    axes.vlines(np.arange(1, columns) - 0.5, -0.5, rows - 0.5, color="white", lw=1)
    axes.grid(False)
    axes.tick_params(length=0)
    axes.spines[:].set(visible=True, color="#8C8C8C", linewidth=0.8)
    return image


def _names(axes: Any, queries: Sequence[str], keys: Sequence[str], size: float) -> None:
    """Writes queries at the left and keys on top, upright only where they are short."""
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    slanted = max(map(len, keys)) > 2
    axes.set_xticks(
        range(len(keys)),
        keys,
        fontsize=size,
        rotation=55 if slanted else 0,
        ha="left" if slanted else "center",
        rotation_mode="anchor",
    )
    axes.set_yticks(range(len(queries)), queries, fontsize=size)


def _write(axes: Any, row: int, column: int, text: str, colour: str, size: float) -> None:
    axes.text(column, row, text, color=colour, fontsize=size, ha="center", va="center")


def _point_size(side: float, count: int) -> float:
    """The size of a token's name beside a cell of `side / count` inches, in points."""
    return float(np.clip(0.72 * 72 * side / count, 7, 12))


def mask_maps(
    masks: Mapping[str, Any],
    queries: Sequence[str],
    *,
    title: str = "",
    alt: str = "",
    keys: Sequence[str] | None = None,
    note: str | None = None,
) -> Picture:
    """One to three boolean masks (queries, keys) side by side, each under its name; True = keep.

    Kept cells are blue with a dot, dropped ones pale with a cross. Raises ValueError when a
    mask is not boolean or its shape does not fit the tokens, and without title or alt text.
    """
    keys, count = queries if keys is None else keys, len(masks)
    if not 1 <= count <= 3:
        raise ValueError(f"expected one to three masks side by side, got {count}")
    side = min(3.4, 5.6 / count, 0.65 * len(keys))  # inches, of one mask
    tall = side * len(queries) / len(keys)
    height = min(tall, side) + (2.1 if count < 3 else 1.8)
    picture, grid = figure(title, height, columns=count, squeeze=False, sharey=True)
    picture.set_layout_engine("compressed")
    colours = matplotlib.colors.ListedColormap([_PALE, COLOURS["blue"]])
    size = _point_size(side, max(len(keys), len(queries)))
    for axes, (name, mask) in zip(grid[0], masks.items(), strict=True):
        mask = _checked(mask, queries, keys, f"the mask {name!r}")
        if mask.dtype != bool:
            raise ValueError(f"expected a boolean mask {name!r} (True = keep), got {mask.dtype}")
        _cells(axes, mask, colours, top=1)
        _names(axes, queries, keys, size)
        for (row, column), keep in np.ndenumerate(mask):
            mark, ink = ("●", "white") if keep else ("×", "#767676")
            _write(axes, row, column, mark, ink, 0.8 * size)
        axes.text(
            0.5, -0.03, name, transform=axes.transAxes, ha="center", va="top", fontweight="bold"
        )
    grid[0, 0].set_ylabel("query: this token looks")
    grid[0, 0].set_xlabel("key: at this token", fontsize=12)
    legend = "●  True = keep      ×  False = drop"
    return finish(picture, alt, f"{legend}      {note}" if note else legend)


def heat_map(
    weights: Any,
    queries: Sequence[str],
    *,
    title: str = "",
    alt: str = "",
    keys: Sequence[str] | None = None,
    label: str = "attention weight",
    note: str | None = None,
    y_label: str = "query",
) -> Picture:
    """Attention weights (queries, keys) of one head over tokens; rows are queries.

    Up to 10 tokens the numbers stand in the cells. `label` names the colour bar, `y_label` what
    the rows are (one query in several heads, for example). Raises ValueError when the shape does
    not fit the tokens, and without title or alt text.
    """
    keys = queries if keys is None else keys
    weights = _checked(weights, queries, keys, "weights").astype(float)
    side = min(4.4, 0.8 * max(len(keys), len(queries)))  # inches
    tall = min(side, side * len(queries) / len(keys))
    picture, axes = figure(title, tall + 1.6 + (0.3 if note else 0))
    picture.set_layout_engine("compressed")
    image = _cells(axes, weights, SHADES, top=weights.max())
    _names(axes, queries, keys, _point_size(tall, len(queries)))
    if max(weights.shape) <= NUMBERS_UP_TO:
        for (row, column), weight in np.ndenumerate(weights):
            ink = ink_on(image.cmap(image.norm(weight)))
            _write(axes, row, column, f"{weight:.2f}".lstrip("0"), ink, 10 if len(keys) > 5 else 13)
    axes.set_ylabel(y_label)
    axes.set_xlabel("key")
    bar = picture.colorbar(image, ax=axes, label=label, shrink=0.7, pad=0.04)
    bar.outline.set_visible(False)
    return finish(picture, alt, note)
