"""Masks with their polarity, attention as heat maps over tokens, and the difference of two."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np

from tlcourse.views.style import COLOURS, SHADES, Picture, figure, finish, ink_on
from tlcourse.views.tokens import fitting, named

NUMBERS_UP_TO = 10  # tokens; a larger map has no numbers in its cells
_LONGEST = 1.0  # inches of a name
LINES_UP_TO = 40  # tokens; a larger map has no lines between its cells
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


def _cells(axes: Any, matrix: np.ndarray, colours: Any, ends: tuple[float, float]) -> Any:
    """Draws one square per cell, white lines between them; `ends` are the scale's."""
    image = axes.imshow(matrix, cmap=colours, vmin=ends[0], vmax=ends[1], aspect="equal")
    rows, columns = matrix.shape
    if max(rows, columns) <= LINES_UP_TO:
        axes.hlines(np.arange(1, rows) - 0.5, -0.5, columns - 0.5, color="white", lw=1)
        axes.vlines(np.arange(1, columns) - 0.5, -0.5, rows - 0.5, color="white", lw=1)
    axes.grid(False)
    axes.tick_params(length=0)
    axes.spines[:].set(visible=True, color="#8C8C8C", linewidth=0.8)
    return image


def _names(axes: Any, queries: Sequence[str], keys: Sequence[str], side: float) -> float:
    """Writes queries at the left and keys on top, upright only where they are short.

    `side` is that of the map's longer side, in inches. Where not all names fit, it is every second,
    third, and so on. Returns the size of the names, in points.
    """
    pitch = side / max(len(queries), len(keys))
    size = float(np.clip(0.72 * 72 * pitch, 8, 12))
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    across, down = (named(len(each), pitch * len(each), size) for each in (keys, queries))
    above = [fitting(keys[i], _LONGEST, size) for i in across]
    slanted = max(map(len, above)) > 2
    axes.set_xticks(
        across,
        above,
        fontsize=size,
        rotation=55 if slanted else 0,
        ha="left" if slanted else "center",
        rotation_mode="anchor",
        parse_math=False,
    )
    left = [fitting(queries[i], 1.3 * _LONGEST, size) for i in down]
    axes.set_yticks(down, left, fontsize=size, parse_math=False)
    return size


def _write(axes: Any, row: int, column: int, text: str, colour: str, size: float) -> None:
    axes.text(column, row, text, color=colour, fontsize=size, ha="center", va="center")


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

    Kept cells are blue with a dot, dropped ones pale with a cross. A mask of one row is that of all
    queries. Raises ValueError when a mask is not boolean or its shape does not fit the tokens, and
    without title or alt text.
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
    for axes, (name, mask) in zip(grid[0], masks.items(), strict=True):
        mask = np.asarray(mask)
        mask = np.repeat(mask, len(queries), axis=0) if len(mask) == 1 else mask
        mask = _checked(mask, queries, keys, f"the mask {name!r}")
        if mask.dtype != bool:
            raise ValueError(f"expected a boolean mask {name!r} (True = keep), got {mask.dtype}")
        _cells(axes, mask, colours, (0, 1))
        size = _names(axes, queries, keys, max(side, tall))
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
    breaks: Sequence[int] = (),
) -> Picture:
    """Attention weights (queries, keys) of one head over tokens; rows are queries.

    Up to 10 tokens the numbers stand in the cells; of very many tokens every nth is named. `label`
    names the colour bar, `y_label` what the rows are (one query in several heads, for example).
    `breaks` are the positions where another sentence begins: a line is drawn before each. Raises
    ValueError when the shape does not fit the tokens, for a break outside, and without title or
    alt text.
    """
    weights = _checked(weights, queries, queries if keys is None else keys, "weights")
    picture, axes = _map(
        weights.astype(float), queries, keys, (SHADES, 0.0, weights.max(), "{:.2f}"),
        label=label, y_label=y_label, title=title, alt=alt, note=note,
    )  # fmt: skip
    if (keys is not None and breaks) or not all(0 < each < len(queries) for each in breaks):
        raise ValueError(
            f"expected breaks from 1 to {len(queries) - 1}, and no other keys, got {list(breaks)}"
        )
    for each in breaks:
        axes.axhline(each - 0.5, color="black", lw=1.4)
        axes.axvline(each - 0.5, color="black", lw=1.4)
    return picture


def difference_map(
    first: Any,
    second: Any,
    tokens: Sequence[str],
    *,
    title: str = "",
    alt: str = "",
    names: tuple[str, str] = ("first", "second"),
    note: str | None = None,
) -> Picture:
    """Attention of one head less that of another over the same tokens, both (n, n).

    `first` minus `second`: after minus before, causal minus masked. Purple is more in the first,
    orange more in the second. Up to 10 tokens the numbers stand in the cells. Raises ValueError
    when a shape does not fit the tokens, and without title or alt text.
    """
    first, second = (
        _checked(each, tokens, tokens, f"weights of {name!r}").astype(float)
        for each, name in zip((first, second), names, strict=True)
    )
    difference = first - second
    reach = float(np.abs(difference).max()) or 1.0
    said = f"attention weight: {names[0]} minus {names[1]}"
    return _map(
        difference, tokens, None, ("PuOr", -reach, reach, "{:+.2f}"),
        label=said, y_label="query", title=title, alt=alt, note=note,
    )[0]  # fmt: skip


def _map(
    matrix: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str] | None,
    scale: tuple[str, float, float, str],
    *,
    label: str,
    y_label: str,
    title: str,
    alt: str,
    note: str | None,
) -> tuple[Picture, Any]:
    """One matrix with its names; `scale` is the colours, their ends and the format of a number."""
    keys = queries if keys is None else keys
    colours, low, high, number = scale
    side = min(4.4, 0.8 * max(len(keys), len(queries)))  # inches
    tall = min(side, side * len(queries) / len(keys))
    picture, axes = figure(title, tall + 1.6 + (0.3 if note else 0))
    picture.set_layout_engine("compressed")
    image = _cells(axes, matrix, colours, (low, high))
    _names(axes, queries, keys, side)
    if max(matrix.shape) <= NUMBERS_UP_TO:
        for (row, column), value in np.ndenumerate(matrix):
            text = _short(number.format(value))
            ink = ink_on(image.cmap(image.norm(value)))
            _write(axes, row, column, text, ink, 10 if len(keys) > 5 else 13)
    axes.set_ylabel(y_label)
    axes.set_xlabel("key")
    bar = picture.colorbar(image, ax=axes, label=label, shrink=0.7, pad=0.04)
    bar.outline.set_visible(False)
    return finish(picture, alt, note), axes


def _short(number: str) -> str:
    """+0.12 as +.12, -0.12 as −.12, and what rounds to nothing without a sign."""
    if not number.strip("+-0."):
        return number.lstrip("+-0") or "0"
    return number.replace("0.", ".", 1).replace("-", "−") if abs(float(number)) < 1 else number
