"""Figures of lesson 07b: attractors, scores over training, words in contexts, neurons."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import matplotlib
import numpy as np
from matplotlib.ticker import MaxNLocator, NullFormatter

from tlcourse.views.dots import write_beside
from tlcourse.views.heat_maps import scale
from tlcourse.views.lines import label_ends, plain
from tlcourse.views.panels import (
    DASHES,
    MOST,
    Values,
    draw_line,
    label_below,
    name_lines,
    panels,
    with_ends,
)
from tlcourse.views.style import (
    ABOVE,
    COLOURS,
    GREY,
    Picture,
    Texts,
    colours_of,
    figure,
    finish,
    label_axes,
    shaped,
)
from tlcourse.views.tokens import CHARACTER, ROW, draw_boxes, place, visible

LABELS = 12  # contexts that are written
_MARKS = "os^Dv*P"


def attractors(
    sense: Mapping[str, Values],
    nonsense: Mapping[str, Values] | None = None,
    **texts: Unpack[Texts],
) -> Picture:
    """Agreement by number of attractors (from 0), a colour a model; nonsense sentences dashed.

    Both map a model to values, each a number or (value, low, high): take Wilson intervals. Models
    stand a little beside each other. Raises ValueError where numbers of attractors differ, or for
    nonsense of a model that has no sense.
    """
    nonsense = nonsense or {}
    if not sense or set(nonsense) - set(sense):
        raise ValueError(
            f"expected models, and nonsense of these only, got {list(sense)} and {list(nonsense)}"
        )
    picture, axes = figure(height=4.3, **texts)
    colours = colours_of(sense)
    count = len(next(iter(sense.values())))
    shifts = 0.07 * (np.arange(len(sense)) - (len(sense) - 1) / 2)
    axes.axhline(0.5, color=GREY, lw=1.6, ls=":", zorder=1)
    ends = [(count - 1 + shifts[-1], 0.5, "chance", GREY)]
    for shift, (name, colour) in zip(shifts, colours.items(), strict=True):
        for kind, dash in ((sense, "-"), (nonsense, (0, (4, 2)))):
            if name not in kind:
                continue
            values = with_ends(kind[name], count, name)
            x = np.arange(count) + shift + (0.025 if kind is nonsense else 0)
            line = {"ls": dash, "color": colour, "lw": 2 if dash == "-" else 1.4}
            fill = colour if kind is sense else "white"
            axes.plot(x, values[0], "o", ms=6, mfc=fill, **line)
            axes.vlines(x, *values[1:], color=colour, lw=1.4)
        ends.append((count - 1 + shift, with_ends(sense[name])[0, -1], name, colour))
    axes.set_xticks(range(count))
    axes.set_ylim(top=max(axes.get_ylim()[1], 1.0))
    label_axes(axes, x="attractors between subject and verb", y="accuracy")
    label_ends(axes, ends, 2.9)
    legend = "Full: sentences with sense. Dashed: nonsense, words of the right category."
    return finish(picture, note=legend if nonsense else None)


def growth(
    scores: Mapping[str, Mapping[str, tuple[Sequence[float], Values]]],
    levels: Mapping[str, Mapping[str, float]] | None = None,
    **texts: Unpack[Texts],
) -> Picture:
    """Scores against tokens read, a panel a score (one to six), causal and masked in their colours.

    `scores` maps a label with a unit to series, a series to (tokens, values), each value a number
    or (value, low, high). 0 tokens, before training, stand at the left edge. `levels` maps such a
    label to names of grey lines (chance, word types). Raises ValueError where tokens and values
    differ in number, or for levels of no score.
    """
    levels = levels or {}
    if set(levels) - set(scores):
        raise ValueError(f"expected levels of {list(scores)}, got some of {list(levels)}")
    read = [t for each in scores.values() for tokens, _ in each.values() for t in tokens]
    if not any(t > 0 for t in read):
        raise ValueError(f"expected at least one score with tokens above 0, got {dict(scores)}")
    first, last = min(t for t in read if t > 0), max(read)
    picture, shown = panels(list(scores), height=1.9, sharex=True, **texts)
    colours = colours_of(dict.fromkeys(name for each in scores.values() for name in each))
    every = dict.fromkeys(name for each in levels.values() for name in each)
    dashes = dict(zip(every, DASHES * len(every), strict=False))
    ends: list[dict[str, tuple]] = []
    for axes, (label, series) in zip(shown, scores.items(), strict=True):
        ends.append({})
        for name, height in levels.get(label, {}).items():
            level, across = with_ends([height] * 2), [min(read), last]
            ends[-1][name] = draw_line(axes, across, level, GREY, dashes[name])
        for name, (tokens, values) in series.items():
            drawn = with_ends(values, len(tokens), name)
            ends[-1][name] = draw_line(axes, tokens, drawn, colours[name])
        axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    if 0 in read:
        shown[0].set_xscale("symlog", linthresh=first, linscale=0.5)
    else:
        shown[0].set_xscale("log")
    ticks = 10.0 ** np.arange(np.ceil(np.log10(first)), np.floor(np.log10(last)) + 1)
    for axes in shown:
        axes.set_xticks([*([0] if 0 in read else []), *ticks])
        axes.xaxis.set_major_formatter(plain)
        axes.xaxis.set_minor_formatter(NullFormatter())
    label_below(shown, "tokens read (logarithmic)")
    if len(shown) == 1:
        label_axes(shown[0], y=next(iter(scores)))
    name_lines(shown, ends, 2.6 if len(shown) == 1 else 1.3)
    return finish(picture)


def words_in_context(
    points: Mapping[str, Any],
    senses: Sequence[str],
    contexts: Mapping[int, str] | None = None,
    **texts: Unpack[Texts],
) -> Picture:
    """Occurrences of one word as points, coloured by sense; one to six panels, such as layers.

    `points` maps a panel to (occurrences, 2) coordinates, of a PCA or t-SNE; `senses` names that of
    each occurrence. `contexts` maps up to 12 occurrences, by number, to a few words of theirs,
    written beside the point where they fit without covering another label, else left out. Raises
    ValueError for shapes or numbers that do not fit.
    """
    contexts = contexts or {}
    if not 1 <= len(points) <= MOST:
        raise ValueError(f"expected 1 to {MOST} panels, got {len(points)}")
    shape = (len(senses), 2)
    arrays = {name: shaped(each, shape, f"points of {name!r}") for name, each in points.items()}
    if len(contexts) > LABELS or not set(contexts) <= set(range(len(senses))):
        wanted = f"at most {LABELS} contexts of occurrences 0 to {len(senses) - 1}"
        raise ValueError(f"expected {wanted}, got those of {sorted(contexts)}")
    columns = min(2, len(arrays))
    rows = -(-len(arrays) // columns)
    tall = 1.25 + rows * (3.6 if columns == 1 else 2.7)
    picture, grid = figure(height=tall, rows=rows, columns=columns, squeeze=False, **texts)
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
        label_axes(axes, size=10, x="first coordinate", y="second coordinate")
        if len(arrays) > 1:
            where = {"transform": axes.transAxes, "va": "top", "zorder": 5}
            back = {"fc": "white", "ec": "none", "alpha": 0.8, "pad": 1}
            axes.text(0.02, 0.98, name, fontweight="bold", bbox=back, **where)
    look = {"labelcolor": "linecolor", "prop": {"weight": "bold"}, "handletextpad": 0.2}
    legend = grid[0, 0].legend(ncols=len(colours), borderaxespad=0.2, **ABOVE, **look)
    legend.set_in_layout(False)
    grid[0, 0].set_title(" ")  # room for it
    finish(picture)
    picture.draw_without_rendering()  # now the axes have their places
    picture.set_layout_engine("none")
    for axes, array in zip(grid.flat, arrays.values(), strict=False):
        inks = {number: colours[senses[number]] for number in contexts}
        write_beside(axes, array, contexts, inks)
    return picture


def neuron(
    tokens: Sequence[str],
    activations: Sequence[float],
    signals: Mapping[str, Sequence[float]] | None = None,
    **texts: Unpack[Texts],
) -> Picture:
    """A neuron's activation over a text: the tokens coloured by it, then as a curve.

    Below stand `signals`, what the neuron may track, each on axes of its own (the depth of
    brackets, the place in the text). Raises ValueError where numbers and tokens differ in number.
    """
    below = {"activation": activations, **(signals or {})}
    for name, values in below.items():
        shaped(values, (len(tokens),), f"{name} a token")
    drawn = [visible(token.strip() or token) for token in tokens]
    places = place(drawn)
    text, curve = ROW * (places[-1][1] + 1), 0.85  # inches
    heights = [text, *[curve] * len(below)]
    picture, (axes, *others) = figure(
        height=1.1 + sum(heights), rows=len(heights), height_ratios=heights, **texts
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
    return finish(picture)
