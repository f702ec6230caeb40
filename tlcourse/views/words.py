"""Words in a text: one word in many contexts, and what each word does to a judgement."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.text import Text

from tlcourse.views.panels import MOST
from tlcourse.views.style import (
    COLOURS,
    GREY,
    SHADES,
    Picture,
    colours_of,
    figure,
    finish,
    ink_on,
    label_axes,
)
from tlcourse.views.tokens import CHARACTER, ROW, draw_boxes, place, visible

LABELS = 12  # contexts that are written
COVERED = 1  # points that one of them may cover
_MARKS = "os^Dv*P"


def words_in_context(
    points: Mapping[str, Any],
    senses: Sequence[str],
    contexts: Mapping[int, str] | None = None,
    *,
    title: str = "",
    alt: str = "",
    x_label: str = "first coordinate",
    y_label: str = "second coordinate",
    note: str | None = None,
) -> Picture:
    """Occurrences of one word as points, coloured by sense; one to six panels, such as layers.

    `points` maps a panel to (occurrences, 2) coordinates, of a PCA or t-SNE; `senses` names that
    of each occurrence. `contexts` maps up to 12 occurrences, by number, to a few words of theirs,
    written beside the point where they fit without covering another label, else left out. Raises
    ValueError for shapes or numbers that do not fit, and without title, alt text or labels.
    """
    contexts = contexts or {}
    arrays = {name: np.asarray(each, float) for name, each in points.items()}
    if not 1 <= len(arrays) <= MOST or any(a.shape != (len(senses), 2) for a in arrays.values()):
        raise ValueError(
            f"expected 1 to {MOST} panels of shape {(len(senses), 2)}, one point for each sense, "
            f"got { ({name: a.shape for name, a in arrays.items()}) }"
        )
    if len(contexts) > LABELS or not set(contexts) <= set(range(len(senses))):
        raise ValueError(
            f"expected at most {LABELS} contexts of occurrences 0 to {len(senses) - 1}, got those "
            f"of {sorted(contexts)}"
        )
    columns = min(2, len(arrays))
    rows = -(-len(arrays) // columns)
    tall = 1.25 + rows * (3.6 if columns == 1 else 2.7)
    picture, grid = figure(title, tall, rows=rows, columns=columns, squeeze=False)
    colours = colours_of(dict.fromkeys(senses))
    for axes in list(grid.flat)[len(arrays) :]:
        axes.set_visible(False)
    for axes, (name, array) in zip(grid.flat, arrays.items(), strict=False):
        for (sense, colour), mark in zip(colours.items(), _MARKS, strict=False):
            mine = array[np.array(senses) == sense]
            axes.plot(*mine.T, mark, color=colour, ms=6, alpha=0.85, mew=0, label=sense)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.margins(x=0.12, y=0.2)  # the name of the panel stands above all points
        axes.spines[:].set(visible=True, color="#8C8C8C", linewidth=0.8)
        label_axes(axes, x=x_label, y=y_label)
        axes.xaxis.label.set_size(10)
        axes.yaxis.label.set_size(10)
        if len(arrays) > 1:
            axes.text(
                0.02, 0.98, name, transform=axes.transAxes, va="top", fontweight="bold", zorder=5,
                bbox={"fc": "white", "ec": "none", "alpha": 0.8, "pad": 1},
            )  # fmt: skip
    grid[0, 0].legend(
        loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2, ncols=len(colours),
        frameon=False, labelcolor="linecolor", prop={"weight": "bold"}, handletextpad=0.2,
    ).set_in_layout(False)  # fmt: skip
    grid[0, 0].set_title(" ")  # room for it
    finish(picture, alt, note)
    picture.draw_without_rendering()  # now the axes have their places
    picture.set_layout_engine("none")
    for axes, array in zip(grid.flat, arrays.values(), strict=False):
        inks = {number: colours[senses[number]] for number in contexts}
        write_beside(axes, array, contexts, inks)
    return picture


def write_beside(
    axes: Any, points: np.ndarray, texts: Mapping[int, str], inks: Mapping[int, str]
) -> None:
    """Writes each text near its point, where it covers no other text and the fewest points."""
    to_pixels = axes.get_figure().dpi / 72
    at = axes.transData.transform(points) / to_pixels  # in points of 1/72 inch
    room = np.array(axes.get_window_extent().extents) / to_pixels
    taken = [_box(text, to_pixels) for text in axes.texts]
    angles = np.pi * np.arange(0, 2, 0.125)
    for number, text in texts.items():
        written = axes.annotate(
            text, points[number], (0, 0), textcoords="offset points", ha="center", va="center",
            fontsize=8.5, color=inks[number], zorder=4, parse_math=False,
            arrowprops={"arrowstyle": "-", "color": inks[number], "lw": 0.7, "shrinkA": 0,
                        "shrinkB": 3},
            bbox={"fc": "white", "ec": "none", "alpha": 0.7, "pad": 0},
        )  # fmt: skip
        extent = _box(written, to_pixels)
        size = np.array([extent[2] - extent[0], extent[3] - extent[1]]) + 2
        best, least = None, np.inf
        for reach in (5, 10, 16, 24, 34):
            for angle in angles:
                way = np.array([np.cos(angle), np.sin(angle)])
                middle = at[number] + way * (reach + size / 2)
                box = np.concatenate([middle - size / 2, middle + size / 2])
                inside = (box[:2] >= room[:2] + 2).all() and (box[2:] <= room[2:] - 2).all()
                if not inside or any(_overlap(box, other) for other in taken):
                    continue
                covered = ((at > box[:2] - 3) & (at < box[2:] + 3)).all(axis=1).sum()
                if covered <= COVERED and reach + 20 * covered < least:
                    best, least = (middle, box), reach + 20 * covered
        if best is None:
            written.remove()
            continue
        written.set_position(best[0] - at[number])
        taken.append(best[1])


def _box(text: Any, to_pixels: float) -> np.ndarray:
    """Left, bottom, right, top of a text without its line, in points of 1/72 inch."""
    return np.array(Text.get_window_extent(text).extents) / to_pixels


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    return bool((a[:2] < b[2:]).all() and (b[:2] < a[2:]).all())


def importance(
    effects: Any,
    rows: Sequence[str],
    columns: Sequence[Any],
    *,
    title: str = "",
    alt: str = "",
    x_label: str = "",
    label: str = "",
    note: str | None = None,
) -> Picture:
    """What a judgement depends on: (rows, columns), such as words × layers or words × units.

    Purple is above zero, orange below; blue where nothing is below. Numbers stand in the cells of
    up to 10 columns; of many columns some are named. `label` names the colours, with the unit.
    Raises ValueError when the shape does not fit the names, and without title, alt text or labels.
    """
    effects = np.asarray(effects, float)
    if effects.shape != (len(rows), len(columns)) or not effects.size or not label.strip():
        raise ValueError(
            f"expected effects of shape {(len(rows), len(columns))}, a row a name, and a label "
            f"with their unit; got shape {effects.shape} and label {label!r}"
        )
    colours, low, high = scale(effects)
    picture, axes = figure(title, 1.8 + 0.27 * len(rows))
    image = axes.imshow(effects, aspect="auto", cmap=colours, vmin=low, vmax=high)
    if len(columns) <= 10:
        for (row, column), value in np.ndenumerate(effects):
            ink = ink_on(image.cmap(image.norm(value)))
            text = f"{round(value, 2) + 0.0:.2f}".replace("-", "−")
            axes.text(column, row, text, ha="center", va="center", fontsize=10, color=ink)
    long = max(len(str(each)) for each in columns) >= 4
    slanted = long and 8 < len(columns) <= 16
    step = -(-len(columns) // (16 if slanted or not long else 8))
    axes.set_xticks(
        range(0, len(columns), step), [str(each) for each in columns[::step]],
        **({"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if slanted else {}),
    )  # fmt: skip
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    label_axes(axes, x=x_label)
    bar = picture.colorbar(image, ax=axes, pad=0.02, aspect=30)
    bar.set_label(label, fontsize=10)
    bar.outline.set_visible(False)
    return finish(picture, alt, note)


def scale(values: np.ndarray) -> tuple[str, float, float]:
    """Colours and their ends: around zero if anything is below it."""
    reach = float(np.abs(values).max()) or 1.0
    return ("PuOr", -reach, reach) if values.min() < 0 else (SHADES, 0.0, reach)


def neuron(
    tokens: Sequence[str],
    activations: Sequence[float],
    signals: Mapping[str, Sequence[float]] | None = None,
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """A neuron's activation over a text: the tokens coloured by it, then as a curve.

    Below stand `signals`, what the neuron may track, each on axes of its own (the depth of
    brackets, the place in the text). Raises ValueError where numbers and tokens differ in number,
    and without title or alt text.
    """
    signals = dict(signals or {})
    if not tokens or any(len(each) != len(tokens) for each in (activations, *signals.values())):
        raise ValueError(
            f"expected a number for each of {len(tokens)} tokens, got {len(activations)} "
            f"activations and signals of {[len(each) for each in signals.values()]}"
        )
    drawn = [visible(token.strip() or token) for token in tokens]
    places = place(drawn)
    text, curve = ROW * (places[-1][1] + 1), 0.85  # inches
    below = {"activation": activations, **signals}
    heights = [text, *[curve] * len(below)]
    picture, (axes, *others) = figure(
        title, 1.1 + sum(heights), rows=len(heights), height_ratios=heights
    )
    colours, low, high = scale(np.asarray(activations, float))
    shade = matplotlib.colormaps[colours]
    axes.set_axis_off()
    axes.set(xlim=(-0.2, 6.8 / CHARACTER), ylim=(places[-1][1] + 0.95, 0))
    fills = [shade((value - low) / (high - low)) for value in activations]
    draw_boxes(axes, drawn, places, fills, [("#BFBFBF", 0.5)] * len(drawn))
    for panel, (name, values) in zip(others, below.items(), strict=True):
        colour = COLOURS["blue"] if name == "activation" else GREY
        panel.step(range(len(tokens)), values, where="mid", color=colour, lw=1.8)
        panel.set_title(name, loc="left", fontsize=11, color=colour, fontweight="bold", pad=3)
        panel.tick_params(labelsize=10, labelbottom=panel is others[-1])
        panel.set_xlim(-0.5, len(tokens) - 0.5)
    label_axes(others[-1], x="token of the text")
    return finish(picture, alt, note)
