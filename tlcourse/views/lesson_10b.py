"""Figures of lesson 10b: segment edges, the two streams, DeBERTa's terms, experts, stored choices.

A title states a finding only if the data show it.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.ticker import MaxNLocator

from tlcourse.views.heat_maps import bare, colour_bar, mask_maps, numbers, write_cells
from tlcourse.views.lines import curves
from tlcourse.views.panels import draw_line, panels
from tlcourse.views.style import CYCLE, SHADES, Picture, Texts, figure, finish, label_axes

Interval = tuple[float, float, float]  # a value and the ends of its interval


def losses_in_segment(losses: Mapping[str, Sequence[float]], **texts: Unpack[Texts]) -> Picture:
    """The loss in nats at each position of a segment, without earlier context and with it.

    The title says by how much the last curve is lower, if it is so most at the first token.
    """
    arrays = [np.asarray(each, float) for each in losses.values()]
    saved = arrays[0] - arrays[-1]
    title = "The loss by position in the segment"
    if saved[0] == saved.max() > 0:
        title = f"{saved[0]:.2f} nats less at the first token, {saved[-1]:.2f} at the last"
    told = "; ".join(
        f"{name}: {each[0]:.2f} at the first token, {each[-1]:.2f} at the last"
        for name, each in zip(losses, arrays, strict=True)
    )
    series = {name: (range(1, len(each) + 1), each) for name, each in losses.items()}
    labels = {"x_label": "position in the segment", "y_label": "nats per token"}
    picture = curves(series, **labels, **{"title": title, "alt": f"Loss: {told}."} | texts)
    picture.axes[0].set_xlim(left=1)
    picture.axes[0].xaxis.set_major_locator(MaxNLocator(integer=True))
    return picture


def streams(
    maps: Mapping[str, Any],
    tokens: Sequence[str],
    order: Sequence[int],
    **texts: Unpack[Texts],
) -> Picture:
    """Boolean maps (position, position) under an order of prediction, one to three side by side.

    Raises ValueError, as `mask_maps` does, where a map does not fit the tokens.
    """
    steps = ", ".join(tokens[place].strip() for place in order)
    told = "; ".join(
        f"{name}: {np.asarray(each).sum()} of {np.asarray(each).size} True"
        for name, each in maps.items()
    )
    labels = {"x_label": "depends on", "y_label": "the output at"}
    texts = {"title": f"The order of prediction: {steps}", "alt": f"{told}."} | texts
    return mask_maps(maps, tokens, note="●  yes      ×  no", **labels, **texts)


def score_terms(terms: Mapping[str, Any], tokens: Sequence[str], **texts: Unpack[Texts]) -> Picture:
    """The terms of attention scores (queries, keys) as heat maps with the same colours.

    The alternative text has their standard deviations. Raises ValueError for a term of another
    shape.
    """
    arrays = {name: np.asarray(each, float) for name, each in terms.items()}
    if any(each.shape != (len(tokens),) * 2 for each in arrays.values()):
        shapes = [each.shape for each in arrays.values()]
        raise ValueError(f"expected terms of shape {(len(tokens),) * 2}, got {shapes}")
    spread = {name: float(each.std()) for name, each in arrays.items()}
    told = ", ".join(f"{name} {each:.2f}" for name, each in spread.items())
    texts = {
        "title": "The terms of the scores of one head",
        "alt": f"Standard deviations of the terms: {told}.",
    } | texts
    picture, grid = figure(height=3.3, columns=len(arrays), sharey=True, squeeze=False, **texts)
    picture.set_layout_engine("compressed")
    reach = max(float(np.abs(each).max()) for each in arrays.values()) or 1.0
    for axes, (name, each) in zip(grid[0], arrays.items(), strict=True):
        image = axes.imshow(each, cmap="PuOr", vmin=-reach, vmax=reach)
        axes.grid(False)
        axes.set_title(name, fontsize=10, loc="left")
        axes.set_xticks(range(len(tokens)), tokens, rotation=90, fontsize=8, parse_math=False)
        axes.set_yticks(range(len(tokens)), tokens, fontsize=8, parse_math=False)
        label_axes(axes, x="key")
    label_axes(grid[0, 0], y="query")
    colour_bar(picture, image, list(grid[0]), "score", shrink=0.7)
    return finish(picture)


def expert_loads(loads: Mapping[str, Any], **texts: Unpack[Texts]) -> Picture:
    """The share of tokens that each expert computes, a grid (layers, experts) for each training.

    The title says how much the busiest expert of each training computes.
    """
    arrays = {name: np.asarray(each, float) for name, each in loads.items()}
    *others, last = (f"{100 * each.max():.0f} %" for each in arrays.values())
    busiest = " and ".join([", ".join(others), last] if others else [last])
    texts = {
        "title": f"The busiest experts compute {busiest} of the tokens",
        "alt": "; ".join(f"{name}: {np.round(each, 2).tolist()}" for name, each in arrays.items()),
    } | texts
    picture, grid = figure(height=2.9, columns=len(arrays), sharey=True, squeeze=False, **texts)
    for axes, (name, each) in zip(grid[0], arrays.items(), strict=True):
        image = axes.imshow(each, aspect="auto", cmap=SHADES, vmin=0, vmax=1)
        write_cells(axes, image, numbers(100 * each, "{:.0f}"), 10)
        bare(axes, labelsize=10)
        axes.set_title(name, fontsize=11, loc="left")
        axes.set_xticks(range(each.shape[1]), range(1, each.shape[1] + 1))
        axes.set_yticks(range(len(each)), range(1, len(each) + 1))
        label_axes(axes, x="expert (% of tokens)")
    label_axes(grid[0, 0], y="layer")
    return finish(picture)


def choices_compared(
    tables: Mapping[str, Mapping[str, Interval]], *, y_label: str = "", **texts: Unpack[Texts]
) -> Picture:
    """A panel for each question: `tables` maps it to its choices, and a choice to what it gives.

    All panels share an axis, which begins at the whole number below the lowest interval.
    """
    told = "; ".join(
        f"{question}: " + ", ".join(f"{choice} {value[0]:.1f}" for choice, value in found.items())
        for question, found in tables.items()
    )
    texts = {"title": f"What else decides: {y_label}", "alt": f"{told}."} | texts
    picture, shown = panels(list(tables), sharey=True, **texts)
    for axes, found in zip(shown, tables.values(), strict=True):
        draw_line(axes, range(len(found)), np.array(list(found.values())).T, CYCLE[0])
        axes.set_xticks(range(len(found)), list(found))
        axes.set_xlim(-0.2, len(found) - 0.8)
    drawn = [value for found in tables.values() for value in found.values()]
    bottom, highest = math.floor(min(low for _, low, _ in drawn)), max(high for *_, high in drawn)
    shown[0].set_ylim(bottom, highest + 0.1 * (highest - bottom))  # of all panels
    columns = shown[0].get_subplotspec().get_gridspec().ncols
    for axes in shown[::columns]:
        label_axes(axes, size=10, y=y_label)
    return finish(picture)
