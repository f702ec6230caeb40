"""Positions: scores between any two of them, and rotary pairs as the hands of clocks."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.patches
import numpy as np

from tlcourse.views.style import COLOURS, GREY, Picture, figure, finish


def score_maps(
    maps: Mapping[str, Any],
    *,
    title: str = "",
    alt: str = "",
    label: str = "score (in its map's std)",
    note: str | None = None,
) -> Picture:
    """One to three square matrices (query position, key position) side by side, each named.

    Each map is shown less its mean and in units of its standard deviation: orange is below the
    mean, purple above, on one scale for all. Raises ValueError for another number of maps, one that
    is not square or is the same everywhere, and without title or alt text.
    """
    arrays = {name: np.asarray(scores, float) for name, scores in maps.items()}
    if not 1 <= len(arrays) <= 3:
        raise ValueError(f"expected one to three maps side by side, got {len(arrays)}")
    for name, scores in arrays.items():
        if scores.ndim != 2 or len(set(scores.shape)) > 1:
            raise ValueError(f"expected a square matrix {name!r}, got shape {scores.shape}")
        if np.ptp(scores) == 0:
            raise ValueError(f"expected scores that differ in {name!r}, got {scores.flat[0]} only")
    arrays = {name: (each - each.mean()) / each.std() for name, each in arrays.items()}
    reach = max(np.abs(scores).max() for scores in arrays.values())
    picture, grid = figure(title, 6.2 / len(arrays) + 1.1, columns=len(arrays), squeeze=False)
    for axes, (name, scores) in zip(grid[0], arrays.items(), strict=True):
        image = axes.imshow(scores, cmap="PuOr", vmin=-reach, vmax=reach)
        axes.set_title(name, fontsize=11)
        axes.grid(False)
        axes.set_xlabel("key at position", fontsize=11)
    grid[0, 0].set_ylabel("query at position", fontsize=11)
    bar = picture.colorbar(image, ax=grid, shrink=0.7, pad=0.02, aspect=30)
    bar.set_label(label, fontsize=11)
    bar.outline.set_visible(False)
    return finish(picture, alt, note)


def clocks(
    rows: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    names: Sequence[str],
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """One clock per pair of features: where the query's and the key's hand stand (radians).

    `rows` maps what a row shows to its (query angles, key angles), one a clock; `names` are those
    of the clocks, from left to right. Angles run counter-clockwise from the right. The grey arc is
    the angle from the query's hand to the key's, which alone decides the score; it is written
    below in degrees. Raises ValueError unless there are as many angles as names, and without
    title or alt text.
    """
    counts = [len(angles) for pair in rows.values() for angles in pair]
    if not rows or set(counts) != {len(names)} or not names:
        raise ValueError(
            f"expected as many query and key angles as the {len(names)} names in every row, got "
            f"{counts}"
        )
    picture, grid = figure(
        title, (5.6 / len(names) + 0.15) * len(rows) + 1.0,
        rows=len(rows), columns=len(names), squeeze=False,
    )  # fmt: skip
    for row, (said, (queries, keys)) in enumerate(rows.items()):
        for axes, query, key in zip(grid[row], queries, keys, strict=True):
            _clock(axes, query, key)
        grid[row, 0].text(-1.6, 0, said, rotation=90, ha="center", va="center", fontsize=11)
    for axes, name in zip(grid[0], names, strict=True):
        axes.set_title(name, fontsize=11)
    return finish(picture, alt, note)


def _clock(axes: Any, query: float, key: float) -> None:
    """One clock with its two hands and the angle between them."""
    axes.set(xlim=(-1.25, 1.25), ylim=(-1.7, 1.25), aspect="equal")
    axes.axis("off")
    axes.add_patch(matplotlib.patches.Circle((0, 0), 1, fill=False, ec="#BBBBBB", lw=1.5))
    between = (key - query + np.pi) % (2 * np.pi) - np.pi
    start, end = np.degrees(sorted([query, query + between]))
    axes.add_patch(matplotlib.patches.Wedge((0, 0), 0.42, start, end, fc="#D0D0D0", ec=GREY))
    for angle, colour, letter in ((query, "blue", "q"), (key, "vermillion", "k")):
        x, y = np.cos(angle), np.sin(angle)
        axes.annotate(
            "", (x, y), (0, 0), arrowprops={"arrowstyle": "-|>", "color": COLOURS[colour], "lw": 2}
        )
        axes.text(
            1.14 * x, 1.14 * y, letter, color=COLOURS[colour], ha="center", va="center",
            fontweight="bold",
        )  # fmt: skip
    axes.text(0, -1.55, f"{np.degrees(between):+.0f}°", ha="center", fontsize=12)
