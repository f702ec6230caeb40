"""What is measured for each head, as grids of cells: scores over a corpus, effects of removing it.

Blocks are rows and heads columns, both counted from 0: "head 3.1" is block 3, head 1.
"""

import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from tlcourse.views.style import Picture, figure, finish, ink_on, label_axes, text_width
from tlcourse.views.tokens import named
from tlcourse.views.words import scale

_IN_A_ROW = 4  # scores side by side
SMALLEST = 7  # points; numbers that would be smaller are left out


def column_names(heads: int, pitch: float) -> list[str]:
    """The names of the columns, short where a column has less than 0.7 inches."""
    return [f"head {head}" if pitch >= 0.7 else str(head) for head in range(heads)]


def bare(axes: Any) -> None:
    """Takes away what a grid of cells does not need: ticks, grid, frame."""
    axes.tick_params(length=0, labelsize=10)
    axes.grid(False)
    axes.spines[:].set_visible(False)


def _checked(scores: Any, name: str, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """The scores as (layers, heads), of that shape if one is given."""
    scores = np.asarray(scores, float)
    if scores.ndim != 2 or not scores.size or (shape is not None and scores.shape != shape):
        raise ValueError(
            f"expected {name} of shape {shape or '(layers, heads)'}, got shape {scores.shape}"
        )
    return scores


def _written(values: np.ndarray, colours: tuple[str, float, float], number: str) -> list[str]:
    """The numbers of the cells: a sign where some are below zero, no 0 before the point."""
    signed = colours[1] < 0
    texts = []
    for value in values.flat:
        text = number.format(abs(value)).removeprefix("0") or "0"
        rounds_to_zero = not text.strip("0.")
        sign = "" if rounds_to_zero or not signed else "−" if value < 0 else "+"
        texts.append(sign + text)
    return texts


def _cells(
    axes: Any,
    values: np.ndarray,
    colours: tuple[str, float, float],
    number: str,
    room: tuple[float, float],
) -> tuple[Any, bool]:
    """Draws a cell a head, with its number if that fits; returns the image and whether it does.

    `room` is the width of a cell and the height of all, in inches.
    """
    image = axes.imshow(values, aspect="auto", cmap=colours[0], vmin=colours[1], vmax=colours[2])
    layers, heads = values.shape
    texts = _written(values, colours, number)
    widest = max(text_width(text, 10) for text in set(texts))
    size = min(11.0, 10 * 0.8 * room[0] / widest)
    for place, text in zip(
        np.ndindex(layers, heads), texts if size >= SMALLEST else (), strict=False
    ):
        ink = ink_on(image.cmap(image.norm(values[place])))
        axes.text(*place[::-1], text, ha="center", va="center", fontsize=size, color=ink)
    axes.hlines(np.arange(1, layers) - 0.5, -0.5, heads - 0.5, color="white", lw=1)
    axes.vlines(np.arange(1, heads) - 0.5, -0.5, layers - 0.5, color="white", lw=1)
    axes.set_yticks(named(layers, room[1], 10))
    bare(axes)
    return image, size >= SMALLEST


def score_grid(
    scores: Mapping[str, Any],
    beside: Mapping[str, Any] | None = None,
    *,
    title: str = "",
    alt: str = "",
    names: tuple[str, str] = ("trained", "random weights"),
    note: str | None = None,
) -> Picture:
    """Scores a head over a corpus, (layers, heads) each, as small grids; four in a row.

    `beside` holds the same scores of another model, drawn below on the same colours: what a score
    is worth shows beside random weights. `names` are the two models'. Numbers stand in the cells
    where they fit, else a colour bar below. Raises ValueError for no scores, shapes that differ,
    other scores beside, and without title or alt text.
    """
    beside = beside or {}
    first = next(iter(scores.values()), np.empty(0))
    shape = _checked(first, "scores").shape
    if beside and set(beside) != set(scores):
        raise ValueError(f"expected the same scores beside, got {list(scores)} and {list(beside)}")
    rows = 2 if beside else 1
    columns = min(_IN_A_ROW, len(scores))
    banks = -(-len(scores) // columns)
    high = float(np.clip(0.21 * shape[0], 0.9, 1.5))
    picture, grid = figure(
        title, 0.75 + banks * (rows * (high + 0.08) + 0.75), rows=rows * banks, columns=columns,
        squeeze=False,
    )  # fmt: skip
    room = 5.9 / columns / shape[1]
    for place in range(banks * columns):
        bank, column = divmod(place, columns)
        pair = grid[rows * bank : rows * (bank + 1), column]
        if place >= len(scores):
            for axes in pair:
                axes.set_visible(False)
            continue
        name = list(scores)[place]
        drawn = [_checked(each[name], f"{name!r}", shape) for each in (scores, beside) if each]
        colours = scale(np.concatenate(drawn))
        number = "{:.2f}" if max(-colours[1], colours[2]) <= 1 else "{:.1f}"
        for axes, values, model in zip(pair, drawn, names, strict=False):
            image, fits = _cells(axes, values, colours, number, (room, high))
            axes.set_xticks(named(shape[1], room * shape[1], 10) if axes is pair[-1] else [])
            if column == 0:
                label_axes(axes, y=f"{model}\nblock" if beside else "block")
                axes.yaxis.label.set_size(10)
            else:
                axes.set_yticks([])
        pair[0].set_title(name, fontsize=11, loc="left")
        pair[-1].set_xlabel("head", fontsize=10)
        if not fits:
            bar = picture.colorbar(
                image, ax=list(pair), orientation="horizontal", aspect=16, pad=0.02, shrink=0.9
            )
            bar.ax.tick_params(labelsize=9)
            bar.outline.set_visible(False)
    return finish(picture, alt, note)


def ablation_grid(
    changes: Any,
    beside: Mapping[str, Any] | None = None,
    *,
    title: str = "",
    alt: str = "",
    label: str = "rise of the loss (nats per token)",
    x_label: str = "removed",
    number: str = "{:.3f}",
    note: str | None = None,
) -> Picture:
    """What each head changes, (layers, heads), as when it is removed; purple above zero.

    Orange is below zero. `beside` maps names to further columns, (layers,) each, on the same
    colours: "feed-forward", "whole block". `label` names the colours, with the unit; `number`
    formats what stands in a cell. Raises ValueError where shapes do not fit, and without title, alt
    text or labels.
    """
    beside = beside or {}
    changes = _checked(changes, "changes")
    layers, heads = changes.shape
    if any(np.shape(each) != (layers,) for each in beside.values()):
        raise ValueError(
            f"expected columns of {layers} values, one a block, got shapes "
            f"{ ({name: np.shape(each) for name, each in beside.items()}) }"
        )
    cells = np.column_stack([changes, *beside.values()])
    reach, columns = float(np.abs(cells).max()) or 1.0, cells.shape[1]
    high, wide = float(np.clip(0.34 * layers, 1.2, 4.2)), 5.4 / columns
    picture, axes = figure(title, 1.7 + high)
    image, _ = _cells(axes, cells, ("PuOr", -reach, reach), number, (wide, high))
    names = [*column_names(heads, wide), *(textwrap.fill(name, 10) for name in beside)]
    axes.set_xticks(range(columns), names)
    if beside:
        axes.axvline(heads - 0.5, color="white", lw=5)
    label_axes(axes, x=x_label, y="block")
    bar = picture.colorbar(image, ax=axes, pad=0.02, aspect=30)
    label_axes(bar.ax, y=label)
    bar.ax.yaxis.label.set_size(10)
    bar.outline.set_visible(False)
    return finish(picture, alt, note)
