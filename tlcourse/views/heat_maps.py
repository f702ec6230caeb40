"""Matrices as coloured cells: attention over tokens, masks, heads, layers and tasks.

Blocks and heads are counted from 0: "head 3.1" is block 3, head 1.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Unpack

import matplotlib
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import PowerNorm
from matplotlib.patches import Rectangle

from tlcourse.views.lines import plain
from tlcourse.views.style import (
    COLOURS,
    MIDDLE,
    SHADES,
    Picture,
    Texts,
    figure,
    finish,
    ink_on,
    label_axes,
    shaped,
    text_width,
)
from tlcourse.views.tokens import brief, fitting, named

NUMBERS_UP_TO = 10  # tokens; a larger map has no numbers in its cells
_LONGEST = 1.0  # inches of a name
LINES_UP_TO = 40  # tokens; a larger map has no lines between its cells
_PALE = "#EDEDED"
_HEADS_WIDE = 5.6  # inches of all maps or grids side by side
_GAP = 0.06  # of a map, between two
Head = tuple[int, int]
_IN_A_ROW = 4  # scores side by side
SMALLEST = 7  # points; numbers that would be smaller are left out


def scale(values: np.ndarray) -> tuple[str, float, float]:
    """Colours and their ends: around zero if anything is below it."""
    reach = float(np.abs(values).max()) or 1.0
    return ("PuOr", -reach, reach) if values.min() < 0 else (SHADES, 0.0, reach)


def bare(axes: Any, **ticks: Any) -> None:
    """Takes away what a grid of cells does not need: tick marks, grid, frame."""
    axes.tick_params(length=0, **ticks)
    axes.grid(False)
    axes.spines[:].set_visible(False)


def colour_bar(
    picture: Picture, image: Any, axes: Any, label: str, *, size: float = 10, **place: Any
) -> Any:
    """A colour bar without a frame at `axes`; `label` names the colours, with their unit."""
    bar = picture.colorbar(image, ax=axes, **{"pad": 0.02, "aspect": 30, **place})
    bar.set_label(label, fontsize=size)
    bar.outline.set_visible(False)
    return bar


def numbers(values: np.ndarray, form: str) -> np.ndarray:
    """The values as texts, with a minus sign that is as wide as a plus."""
    return np.vectorize(lambda value: form.format(value).replace("-", "−"))(values)


def write_cells(
    axes: Any, image: Any, texts: Any, size: float, *, bold: Any = None, **font: Any
) -> None:
    """Writes a text into each cell of `image`, in black or white, whichever is easier to read.

    `texts` and `bold` are (rows, columns), like the image.
    """
    font = {**MIDDLE, "fontsize": size, **font}
    for (row, column), value in np.ndenumerate(image.get_array()):
        if text := texts[row][column]:
            weight = "bold" if bold is not None and bold[row][column] else "normal"
            ink = ink_on(image.cmap(image.norm(value)))
            axes.text(column, row, text, color=ink, fontweight=weight, **font)


def _cells(axes: Any, matrix: np.ndarray, colours: Any, low: float, high: float) -> Any:
    """Draws one square per cell, white lines between them; the scale runs from `low` to `high`."""
    image = axes.imshow(matrix, cmap=colours, vmin=low, vmax=high, aspect="equal")
    if max(matrix.shape) <= LINES_UP_TO:
        _part(axes, *matrix.shape)
    axes.grid(False)
    axes.tick_params(length=0)
    axes.spines[:].set(visible=True, color="#8C8C8C", linewidth=0.8)
    return image


def _part(axes: Any, rows: int, columns: int) -> None:
    """Draws white lines between so many cells."""
    axes.hlines(np.arange(1, rows) - 0.5, -0.5, columns - 0.5, color="white", lw=1)
    axes.vlines(np.arange(1, columns) - 0.5, -0.5, rows - 0.5, color="white", lw=1)


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
    turned = {"rotation": 55, "ha": "left"} if slanted else {"rotation": 0, "ha": "center"}
    font = {"fontsize": size, "rotation_mode": "anchor", "parse_math": False}
    axes.set_xticks(across, above, **turned, **font)
    left = [fitting(queries[i], 1.3 * _LONGEST, size) for i in down]
    axes.set_yticks(down, left, fontsize=size, parse_math=False)
    return size


def mask_maps(
    masks: Mapping[str, Any],
    tokens: Sequence[str],
    *,
    x_label: str = "key: at this token",
    y_label: str = "query: this token looks",
    note: str = "●  True = keep      ×  False = drop     ",
    **texts: Unpack[Texts],
) -> Picture:
    """One to three boolean masks (queries, keys) side by side, each under its name; True = keep.

    Kept cells are blue with a dot, dropped ones pale with a cross. A mask of one row is that of all
    queries. The labels and the note name other relations of pairs of tokens. Raises ValueError when
    a mask is not boolean or its shape does not fit the tokens.
    """
    count, length = len(masks), len(tokens)
    if not 1 <= count <= 3:
        raise ValueError(f"expected one to three masks side by side, got {count}")
    side = min(3.4, 5.6 / count, 0.65 * length)  # inches, of one mask
    height = side + (2.1 if count < 3 else 1.8)
    picture, grid = figure(height=height, columns=count, squeeze=False, sharey=True, **texts)
    picture.set_layout_engine("compressed")
    colours = matplotlib.colors.ListedColormap([_PALE, COLOURS["blue"]])
    for axes, (name, mask) in zip(grid[0], masks.items(), strict=True):
        mask = np.repeat(np.asarray(mask), length if len(mask) == 1 else 1, axis=0)
        mask = shaped(mask, (length, length), f"the mask {name!r}")
        if mask.dtype != bool:
            raise ValueError(f"expected a boolean mask {name!r} (True = keep), got {mask.dtype}")
        _cells(axes, mask, colours, 0, 1)
        size = _names(axes, tokens, tokens, side)
        for (row, column), keep in np.ndenumerate(mask):
            mark, ink = ("●", "white") if keep else ("×", "#767676")
            axes.text(column, row, mark, color=ink, fontsize=0.8 * size, **MIDDLE)
        below = {"transform": axes.transAxes, "ha": "center", "va": "top"}
        axes.text(0.5, -0.03, name, fontweight="bold", **below)
    label_axes(grid[0, 0], x=x_label, y=y_label)
    return finish(picture, note=note)


def heat_map(
    weights: Any,
    queries: Sequence[str],
    *,
    keys: Sequence[str] | None = None,
    label: str = "attention weight",
    y_label: str = "query",
    breaks: Sequence[int] = (),
    **texts: Unpack[Texts],
) -> Picture:
    """Attention weights (queries, keys) of one head over tokens; rows are queries.

    Up to 10 tokens the numbers stand in the cells; of very many tokens every nth is named. `label`
    names the colour bar, `y_label` what the rows are (one query in several heads, for example).
    `breaks` are the positions where another sentence begins: a line is drawn before each. Raises
    ValueError when the shape does not fit the tokens, or for a break outside.
    """
    across = queries if keys is None else keys
    weights = shaped(weights, (len(queries), len(across)), "weights").astype(float)
    colours = SHADES, 0.0, weights.max()
    labels = {"label": label, "y_label": y_label}
    picture, axes = _map(weights, queries, across, colours, **labels, **texts)
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
    names: tuple[str, str] = ("first", "second"),
    **texts: Unpack[Texts],
) -> Picture:
    """Attention of one head less that of another over the same tokens, both (n, n).

    `first` minus `second`: after minus before, causal minus masked. Purple is more in the first,
    orange more in the second. Up to 10 tokens the numbers stand in the cells. Raises ValueError
    when a shape does not fit the tokens.
    """
    first, second = (
        shaped(each, (len(tokens), len(tokens)), f"weights of {name!r}").astype(float)
        for each, name in zip((first, second), names, strict=True)
    )
    difference = first - second
    reach = float(np.abs(difference).max()) or 1.0
    labels = {"label": f"attention weight: {names[0]} minus {names[1]}", "y_label": "query"}
    colours = "PuOr", -reach, reach
    return _map(difference, tokens, tokens, colours, **labels, **texts)[0]


def _map(
    matrix: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    colours: tuple[str, float, float],
    *,
    label: str,
    y_label: str,
    **texts: Unpack[Texts],
) -> tuple[Picture, Any]:
    """One matrix with its names; `colours` are (name, lowest, highest)."""
    side = min(4.4, 0.8 * max(len(keys), len(queries)))  # inches
    tall = min(side, side * len(queries) / len(keys))
    picture, axes = figure(height=tall + 1.6 + (0.3 if texts.get("note") else 0), **texts)
    picture.set_layout_engine("compressed")
    image = _cells(axes, matrix, *colours)
    _names(axes, queries, keys, side)
    if max(matrix.shape) <= NUMBERS_UP_TO:
        write_cells(axes, image, _written(matrix, colours), 10 if len(keys) > 5 else 13)
    label_axes(axes, x="key", y=y_label)
    colour_bar(picture, image, axes, label, size=12, shrink=0.7, pad=0.04, aspect=20)
    return finish(picture), axes


def importance(
    effects: Any,
    rows: Sequence[str],
    columns: Sequence[Any],
    *,
    x_label: str = "",
    label: str = "",
    **texts: Unpack[Texts],
) -> Picture:
    """What a judgement depends on: (rows, columns), such as words × layers or words × units.

    Purple is above zero, orange below; blue where nothing is below. Numbers stand in the cells of
    up to 10 columns; of many columns some are named. `label` names the colours, with the unit.
    Raises ValueError when the shape does not fit the names.
    """
    effects = shaped(effects, (len(rows), len(columns)), "effects").astype(float)
    colours, low, high = scale(effects)
    picture, axes = figure(height=1.8 + 0.27 * len(rows), **texts)
    image = axes.imshow(effects, aspect="auto", cmap=colours, vmin=low, vmax=high)
    if len(columns) <= 10:
        write_cells(axes, image, numbers(np.round(effects, 2) + 0.0, "{:.2f}"), 10)
    long = max(len(str(each)) for each in columns) >= 4
    slanted = long and 8 < len(columns) <= 16
    step = -(-len(columns) // (16 if slanted or not long else 8))
    turned = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
    axes.set_xticks(range(0, len(columns), step), [str(each) for each in columns[::step]], **turned)
    axes.set_yticks(range(len(rows)), rows)
    bare(axes)
    label_axes(axes, x=x_label)
    label_axes(colour_bar(picture, image, axes, label).ax, size=10, y=label)
    return finish(picture)


def task_by_layer(
    scores: Mapping[str, Sequence[float]],
    baseline: Mapping[str, float | Sequence[float]] | None = None,
    *,
    label: str = "accuracy above the baseline",
    number: str = "{:+.2f}",
    framed: str = "the best layer of each row",
    **texts: Unpack[Texts],
) -> Picture:
    """A heat map of tasks (rows) × layers (embeddings first), with the largest of each row framed.

    `framed` says what the largest is. Cells show the score less its task's `baseline` (one number,
    or one a layer), purple above and orange below; without one the score, in blue. `label` names
    the colours, with the unit. Raises ValueError where tasks differ in layers or lack a baseline.
    """
    tasks = list(scores)
    counts = {len(values) for values in scores.values()}
    if len(counts) != 1 or (baseline is not None and set(tasks) - set(baseline)):
        raise ValueError(
            f"expected as many layers for every task, and its baseline if any has one; got "
            f"{sorted(counts)} layers for {tasks}, baselines {list(baseline or {})}"
        )
    cells = np.array(
        [np.subtract(scores[t], 0 if baseline is None else baseline[t]) for t in tasks]
    )
    reach = np.abs(cells).max() or 1.0
    low, colours = (min(0.0, cells.min()), SHADES) if baseline is None else (-reach, "PuOr")
    shades = matplotlib.colormaps[colours].resampled(25)
    picture, axes = figure(height=1.9 + 0.36 * len(tasks), **texts)
    image = axes.imshow(cells, aspect="auto", cmap=shades, vmin=1.25 * low, vmax=1.25 * reach)
    best = np.arange(cells.shape[1]) == cells.argmax(axis=1, keepdims=True)
    size = min(11, 72 * 4.2 / cells.shape[1] / 3.3)
    write_cells(axes, image, numbers(cells, number), size, bold=best)
    for row, column in np.argwhere(best):
        corner = column - 0.46, row - 0.44
        axes.add_patch(Rectangle(corner, 0.92, 0.88, fill=False, ec="black", lw=2))
    axes.set_xticks(range(cells.shape[1]), ["emb", *range(1, cells.shape[1])])
    axes.set_yticks(range(len(tasks)), tasks)
    bare(axes)
    label_axes(axes, x="layer")
    bar = colour_bar(picture, image, axes, label)
    bar.ax.set_ylim(low, reach)  # the darkest shades are left out: black is seen on all others
    return finish(picture, note=f"Framed: {framed}.")


def movement(factors: Mapping[str, tuple[Sequence[str], Any]], **texts: Unpack[Texts]) -> Picture:
    """Which groups of parameters move when: a panel a scheme, a row a group, the output on top.

    `factors` maps a scheme's name to its groups' names, from input to output, and (groups, steps)
    learning rates as shares of the recipe's; white does not move. Darker is faster,
    logarithmically.
    """
    columns = min(2, len(factors))
    rows = -(-len(factors) // columns)
    most = max(len(names) for names, _ in factors.values())
    height = 0.9 + rows * (0.75 + 0.19 * most)
    picture, axes = figure(height=height, rows=rows, columns=columns, squeeze=False, **texts)
    top = max(np.max(values) for _, values in factors.values())
    low, high = np.log10(top / 1000), np.log10(top)
    for panel, (name, (groups, values)) in zip(axes.flat, factors.items(), strict=False):
        values = np.asarray(values, float)
        shade = np.log10(np.maximum(values, top / 1000))
        shade = np.ma.masked_where(values == 0, shade)
        place = {"extent": (0, 100, -0.5, len(groups) - 0.5), "origin": "lower", "aspect": "auto"}
        drawn = panel.imshow(shade, SHADES, vmin=low, vmax=high, interpolation="nearest", **place)
        panel.set_title(name, loc="left", fontsize=12)
        panel.set_yticks(range(len(groups)), groups, fontsize=9)
        panel.set_xticks([0, 50, 100], ["0 %", "50 %", "100 %"])
        panel.grid(False)
    for panel in list(axes.flat)[len(factors) :]:
        panel.set_visible(False)
    for panel in axes[-1]:
        panel.set_xlabel("of the steps")
    bar = picture.colorbar(drawn, ax=axes, fraction=0.035, pad=0.02)
    bar.set_ticks(high - np.arange(4), labels=[plain(top / 10**n) for n in range(4)])
    bar.set_label("learning rate\n(share of the recipe's)")
    return finish(picture)


def head_grid(
    weights: Any, tokens: Sequence[str], *, mark: Collection[Head] = (), **texts: Unpack[Texts]
) -> Picture:
    """The attention of every head, (layers, heads, queries, keys), as one map a head.

    In each map rows are queries and columns keys. One scale for all, stretched near zero (the shade
    is the square root of the weight), so that small weights are seen. `mark` holds heads as (layer,
    head), framed. Raises ValueError when the shape does not fit the tokens, or for a marked head
    that is not there.
    """
    shape = ("layers", "heads", len(tokens), len(tokens))
    weights = shaped(weights, shape, "weights").astype(np.float32)
    layers, heads = weights.shape[:2]
    if not all(0 <= layer < layers and 0 <= head < heads for layer, head in mark):
        raise ValueError(
            f"expected marks (layer, head) below ({layers}, {heads}), got {sorted(mark)}"
        )
    wide = min(_HEADS_WIDE / heads, 2.4)  # inches of a map
    high = min(wide, max(0.62 * wide, 5.2 / layers))
    picture, axes = figure(height=high * layers + 1.35 + (0.2 if texts.get("note") else 0), **texts)
    norm = PowerNorm(0.5, 0, float(weights.max()) or 1.0)
    for layer, head in np.ndindex(layers, heads):
        corners = (head + _GAP, head + 1 - _GAP, layer + 1 - _GAP, layer + _GAP)
        image = axes.imshow(weights[layer, head], cmap=SHADES, norm=norm, extent=corners)
    axes.set_aspect("auto")
    axes.set(xlim=(0, max(heads, _HEADS_WIDE / wide)), ylim=(layers, 0))
    _frames(axes, np.ndindex(layers, heads), ("#8C8C8C", 0.6))
    _frames(axes, mark, (COLOURS["vermillion"], 2.4))
    axes.set_xticks(np.arange(heads) + 0.5, column_names(heads, wide))
    axes.set_yticks(np.arange(layers) + 0.5, [f"block {layer}" for layer in range(layers)])
    bare(axes, labelsize=10)
    axes.xaxis.tick_top()
    bar = colour_bar(picture, image, axes, "attention weight", size=11, aspect=40, shrink=0.8)
    bar.set_ticks([t for t in (0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1) if t <= norm.vmax])
    bar.ax.tick_params(labelsize=10)
    text = " ".join(brief(token, 20) for token in tokens)
    text = text if len(text) <= 76 else text[:75] + "…"
    legend = f"{len(tokens)} tokens: “{text}”"
    return finish(picture, note=f"{legend}." if texts.get("note") else legend)


def _frames(axes: Any, heads: Iterable[Head], line: tuple[str, float]) -> None:
    """A frame of this colour and width (points) around the map of each head."""
    low, high = _GAP, 1 - _GAP
    square = np.array([(low, low), (high, low), (high, high), (low, high), (low, low)])
    frames = [square + (head, layer) for layer, head in heads]
    axes.add_collection(LineCollection(frames, colors=line[0], linewidths=line[1]), autolim=False)


def column_names(heads: int, pitch: float) -> list[str]:
    """The names of the columns, short where a column has less than 0.7 inches."""
    return [f"head {head}" if pitch >= 0.7 else str(head) for head in range(heads)]


def _written(
    values: np.ndarray, colours: tuple[str, float, float], number: str = "{:.2f}"
) -> np.ndarray:
    """The numbers of the cells: a sign where the scale goes below zero, no 0 before the point."""

    def text(value: float) -> str:
        digits = number.format(abs(value)).removeprefix("0")
        unsigned = colours[1] >= 0 or not digits.strip("0.")
        return digits if unsigned else ("−" if value < 0 else "+") + digits

    return np.vectorize(text)(values)


def _score_cells(
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
    texts = _written(values, colours, number)
    widest = max(text_width(text, 10) for text in np.unique(texts))
    size = min(11.0, 10 * 0.8 * room[0] / widest)
    if size >= SMALLEST:
        write_cells(axes, image, texts, size)
    _part(axes, *values.shape)
    axes.set_yticks(named(len(values), room[1], 10))
    bare(axes, labelsize=10)
    return image, size >= SMALLEST


def score_grid(
    scores: Mapping[str, Any],
    random: Mapping[str, Any],
    *,
    top: float | None = None,
    **texts: Unpack[Texts],
) -> Picture:
    """Scores a head over a corpus, (layers, heads) each, as small grids; four in a row.

    `random` holds the same scores of a model with random weights, drawn below on the same colours:
    they show what a score is worth. With `top`, all colours run from 0 to it. Numbers stand in the
    cells where they fit, else a colour bar below. Raises ValueError for no scores, shapes that
    differ, or other scores at random.
    """
    first = next(iter(scores.values()), np.empty(0))
    shape = shaped(first, ("layers", "heads"), "scores").shape
    if set(random) != set(scores):
        raise ValueError(f"expected the same scores at random, got {[*scores]} and {[*random]}")
    columns = min(_IN_A_ROW, len(scores))
    banks = -(-len(scores) // columns)
    high = float(np.clip(0.21 * shape[0], 0.9, 1.5))
    height = 0.75 + banks * (2 * high + 0.91)
    picture, grid = figure(height=height, rows=2 * banks, columns=columns, squeeze=False, **texts)
    pairs = grid.reshape(banks, 2, columns).swapaxes(1, 2).reshape(-1, 2)
    for axes in pairs[len(scores) :].flat:
        axes.set_visible(False)
    room = 5.9 / columns / shape[1]
    for place, (pair, name) in enumerate(zip(pairs, scores, strict=False)):
        drawn = [shaped(each[name], shape, f"{name!r}").astype(float) for each in (scores, random)]
        colours = scale(np.concatenate(drawn)) if top is None else (SHADES, 0.0, top)
        number = "{:.2f}" if max(-colours[1], colours[2]) <= 1 else "{:.1f}"
        for axes, values, model in zip(pair, drawn, ("trained", "random weights"), strict=True):
            image, fits = _score_cells(axes, values, colours, number, (room, high))
            if place % columns:
                axes.set_yticks([])
            else:
                label_axes(axes, size=10, y=f"{model}\nblock")
        upper, lower = pair
        upper.set_title(name, fontsize=11, loc="left")
        upper.set_xticks([])
        lower.set_xticks(named(shape[1], room * shape[1], 10))
        label_axes(lower, size=10, x="head")
        if not fits:
            across = {"orientation": "horizontal", "aspect": 16, "shrink": 0.9}
            colour_bar(picture, image, list(pair), "", **across).ax.tick_params(labelsize=9)
    return finish(picture)


def ablation_grid(changes: Any, *, label: str = "", **texts: Unpack[Texts]) -> Picture:
    """What each head changes when it is removed, (layers, heads); purple above zero, orange below.

    `label` names the colours, with the unit. Raises ValueError for another shape.
    """
    changes = shaped(changes, ("layers", "heads"), "changes").astype(float)
    layers, heads = changes.shape
    reach = float(np.abs(changes).max()) or 1.0
    high, wide = float(np.clip(0.34 * layers, 1.2, 4.2)), 5.4 / heads
    picture, axes = figure(height=1.7 + high, **texts)
    image, _ = _score_cells(axes, changes, ("PuOr", -reach, reach), "{:.3f}", (wide, high))
    axes.set_xticks(range(heads), column_names(heads, wide))
    label_axes(axes, x="removed", y="block")
    label_axes(colour_bar(picture, image, axes, label).ax, size=10, y=label)
    return finish(picture)
