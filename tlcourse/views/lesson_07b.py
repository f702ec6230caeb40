"""Figures of lesson 07b: words in contexts, layers, trees, neurons, attractors, training.

A title states a finding only if the data show it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import matplotlib
import numpy as np
from matplotlib.ticker import MaxNLocator, NullFormatter

from tlcourse.views.dots import grouped_dots, write_beside
from tlcourse.views.heat_maps import importance, scale, task_by_layer
from tlcourse.views.lines import label_ends, plain
from tlcourse.views.links import arcs
from tlcourse.views.panels import (
    DASHES,
    MOST,
    Values,
    by_layer,
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


def _first(value: Any) -> float:
    """A number, or the value of (value, low, high)."""
    return float(np.ravel(value)[0])


def _low(value: Any) -> float:
    """A number, or the low end of (value, low, high)."""
    return float(np.ravel(value)[:2][-1])


def attractors(
    sense: Mapping[str, Values],
    nonsense: Mapping[str, Values] | None = None,
    **texts: Unpack[Texts],
) -> Picture:
    """Agreement by number of attractors (from 0), a colour a model; nonsense sentences dashed.

    Both map a model to values, each a number or (value, low, high): take Wilson intervals. Models
    stand a little beside each other. Raises ValueError where numbers of attractors differ, or for
    nonsense of a model that has no sense. The title says that one attractor is enough if the first
    model is clearly right without, and no model clearly right with one.
    """
    nonsense = nonsense or {}
    if not sense or set(nonsense) - set(sense):
        raise ValueError(
            f"expected models, and nonsense of these only, got {list(sense)} and {list(nonsense)}"
        )
    title = "Agreement by the number of attractors"
    rows = [*sense.values(), *nonsense.values()]
    clear = _low(rows[0][0]) > 0.5
    if clear and len(rows[0]) > 1 and not any(_low(row[1]) > 0.5 for row in rows):
        title = "With one noun of the other number in between, no model beats a coin"
    told = [
        f"{name}{kind} {', '.join(f'{_first(value):.0%}' for value in row)}"
        for kind, each in (("", sense), (" in nonsense", nonsense))
        for name, row in each.items()
    ]
    alt = f"Agreement with 0, 1 … attractors: {'; '.join(told)}."
    picture, axes = figure(height=4.3, **{"title": title, "alt": alt} | texts)
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
    differ in number, or for levels of no score. The title says that the causal model learns sooner
    if it is never behind the masked one in the first two panels.
    """
    levels = levels or {}
    if set(levels) - set(scores):
        raise ValueError(f"expected levels of {list(scores)}, got some of {list(levels)}")
    read = [t for each in scores.values() for tokens, _ in each.values() for t in tokens]
    if not any(t > 0 for t in read):
        raise ValueError(f"expected at least one score with tokens above 0, got {dict(scores)}")
    first, last = min(t for t in read if t > 0), max(read)
    title = "Scores of the saved models"
    pairs = [(each.get("causal"), each.get("masked")) for each in [*scores.values()][:2]]
    both = [(ours[1], other[1]) for ours, other in pairs if ours and other]
    if both and all(
        _first(one) >= _first(two)
        for left, right in both
        for one, two in zip(left, right, strict=False)
    ):
        title = "The causal model learns sooner than the masked one"
    told = [
        f"{label}, {name} from {_first(values[0]):.2f} to {_first(values[-1]):.2f}"
        for label, each in scores.items()
        for name, (_, values) in each.items()
    ]
    texts = {"title": title, "alt": f"Scores by tokens read: {'; '.join(told)}."} | texts
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
    texts = {
        "title": "The occurrences of one word, coloured by meaning",
        "alt": f"{len(senses)} points in each of: {', '.join(points)}. "
        f"Meanings: {', '.join(dict.fromkeys(senses))}.",
    } | texts
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
    The title names the first signal if the activation correlates with it by more than 0.5 here.
    """
    below = {"activation": activations, **(signals or {})}
    for name, values in below.items():
        shaped(values, (len(tokens),), f"{name} a token")
    title = "The activation of one neuron"
    for name, values in [*(signals or {}).items()][:1]:
        if np.ptp(values) and np.ptp(activations):
            likeness = np.corrcoef(activations, values)[0, 1]
            title = f"A neuron that follows one signal: {name}" if abs(likeness) > 0.5 else title
    alt = f"A passage of {len(tokens)} tokens, coloured by the activation of a neuron; below it, "
    texts = {"title": title, "alt": alt + ", ".join(below) + "."} | texts
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


def gains_by_task(accuracies: Mapping[str, Sequence[float]], **texts: Unpack[Texts]) -> Picture:
    """A heat map of the points that each layer adds to the embeddings, a row a task.

    `accuracies` maps a task to percents, the embeddings first. The title counts the tasks to which
    the best layer adds more than ten points, and less than one.
    """
    gains = {task: max(row) - row[0] for task, row in accuracies.items()}
    many, few = (sum(g > 10 for g in gains.values()), sum(g < 1 for g in gains.values()))
    told = ", ".join(f"{task} {gain:+.1f}" for task, gain in gains.items())
    texts = {
        "title": f"Layers add over ten points to {many} tasks, and under one to {few}",
        "alt": f"Points of the best layer above the embeddings: {told}.",
    } | texts
    named = {f"{task} ({row[0]:.0f})": row for task, row in accuracies.items()}
    base = {name: row[0] for name, row in named.items()}
    label = {"label": "points above the embeddings", "number": "{:+.1f}"}
    return task_by_layer(named, base, **label, **texts)


def mixes(weights: Mapping[str, Sequence[float]], **texts: Unpack[Texts]) -> Picture:
    """A heat map of a mix's weight for each layer, a row a task; the title names the largest."""
    most = {task: int(np.argmax(row)) for task, row in weights.items()}
    layers = [str(layer) for layer in sorted(set(most.values()))]
    named = f"layer{'s' * (len(layers) > 1)} {' and '.join(layers)}"
    texts = {
        "title": f"The largest weights are those of {named}"
        if len(layers) < 3
        else "The weights of the layers in each mix",
        "alt": "Largest weight: " + ", ".join(f"{task} layer {k}" for task, k in most.items()),
    } | texts
    look = {"number": "{:.2f}", "framed": "the largest weight of each row"}
    rows = {task: list(row) for task, row in weights.items()}
    return task_by_layer(rows, label="weight of the layer", **look, **texts)


def trees_by_layer(
    curve: Values, neighbours: float, random: float, **texts: Unpack[Texts]
) -> Picture:
    """The share of arcs (UUAS) that a tree probe finds in each layer, and its two rivals."""
    values = [_first(value) for value in curve]
    best = int(np.argmax(values))
    title = "The share of arcs found, by layer"
    if values[best] > neighbours:
        title = f"Layer {best} finds {values[best]:.0%} of the arcs, neighbours {neighbours:.0%}"
    alt = f"Share of arcs by layer: {', '.join(f'{value:.1%}' for value in values)}; "
    alt += f"joining neighbours {neighbours:.1%}, random encoder {random:.1%}."
    levels = {"joining neighbours": neighbours, "random encoder": random}
    task = "trees (UUAS)"
    lines, greys = {task: {"causal-small": curve}}, {task: levels}
    texts = {"title": title, "alt": alt} | texts
    return by_layer(lines, greys, y_label="share of arcs found", limits=(0, 1), **texts)


def tree_read(
    forms: Sequence[str],
    heads: Sequence[int | None],
    edges: Any,
    *,
    layer: int = 0,
    **texts: Unpack[Texts],
) -> Picture:
    """A sentence with its tree above, and below it the arcs that a probe of a layer found."""
    texts = {
        "title": f"A tree read from layer {layer}",
        "alt": f"The sentence '{' '.join(forms)}' with its tree above and the found arcs below.",
    } | texts
    return arcs(forms, heads, edges, **texts)


def three_models(
    asked: Mapping[str, Mapping[str, Values]],
    levels: Mapping[str, Mapping[str, Any]],
    released: str,
    **texts: Unpack[Texts],
) -> Picture:
    """Scores by layer of several models, a panel a task; the title is about the `released` one.

    It says that the middle layers are best if in every task the best layer is neither the first nor
    the last, and the last is below the best of the others.
    """
    title, mine = "The same probes on three models", []
    for each in asked.values():
        values = [_first(value) for value in each[released]]
        rivals = [max(map(_first, row)) for name, row in each.items() if name != released]
        inner = 0 < np.argmax(values) < len(values) - 1
        mine.append(inner and max(values) > max(rivals) > values[-1])
    if all(mine):
        title = "The released model leads in the middle, and trails in its last layer"
    told = [
        f"{task}, {name} from {_first(row[0]):.1%} to {_first(row[-1]):.1%}, at best "
        f"{max(map(_first, row)):.1%}"
        for task, each in asked.items()
        for name, row in each.items()
    ]
    texts = {"title": title, "alt": f"From the first to the last layer: {'; '.join(told)}."} | texts
    return by_layer(asked, levels, y_label="share that is right", **texts)


def erased_words(effects: Any, tokens: Sequence[str], **texts: Unpack[Texts]) -> Picture:
    """How much harder each of `tokens` is to predict without an earlier one (rows).

    `effects` is (tokens - 1, tokens): a row for each token but the last, a column for each. The
    title says that the token just before matters most if it does for most tokens, but not all.
    """
    table = np.triu(np.asarray(effects, float), k=1)[:, 1:]
    nearest = [int(np.argmax(column)) == place for place, column in enumerate(table.T)]
    title = "What the prediction of each token depends on"
    if len(nearest) / 2 < sum(nearest) < len(nearest):
        title = "The token just before often matters most, but not always"
    alt = f"For {sum(nearest)} of {len(nearest)} tokens the one just before matters most."
    labels = {"x_label": "token that is predicted", "label": "nats harder without it"}
    texts = {"title": title, "alt": alt, "note": "Rows: the token that is erased."} | texts
    return importance(table, tokens[:-1], tokens[1:], **labels, **texts)


def grammar_of_models(judged: Mapping[str, Mapping[str, Any]], **texts: Unpack[Texts]) -> Picture:
    """Percent of sentence pairs right, a row a set; the title is about the last row, if below 50.

    `judged` maps a set to models, a model to (value, low, high).
    """
    last = list(judged)[-1]
    title = "Pairs of sentences, and who finds the grammatical one"
    if all(value[0] < 50 for value in judged[last].values()):
        title = f"All {len(judged[last])} models fall below a coin {last}"
    told = [
        f"{name}, " + ", ".join(f"{model} {value[0]:.0f}" for model, value in each.items())
        for name, each in judged.items()
    ]
    texts = {"title": title, "alt": f"Percent of pairs right: {'; '.join(told)}."} | texts
    return grouped_dots(judged, x_label="pairs right (%)", levels={"guessing": 50}, **texts)


def fine_tuned_layers(tasks: Mapping[str, Mapping[str, Values]], **texts: Unpack[Texts]) -> Picture:
    """Scores by layer before and after fine-tuning, a panel a task, the one trained on last.

    Each task has two series, the first before. The title says that the last layers of the last task
    gained if the last layer did by more than four points.
    """
    *_, trained = tasks
    before, after = tasks[trained].values()
    title = "Before and after fine-tuning, by layer"
    if _first(after[-1]) - _first(before[-1]) > 0.04:
        title = f"After fine-tuning, the last layer shows the {trained} better"
    told = [
        f"{task} {name}: " + ", ".join(f"{_first(value):.0%}" for value in row)
        for task, each in tasks.items()
        for name, row in each.items()
    ]
    texts = {"title": title, "alt": f"Accuracy by layer. {'; '.join(told)}."} | texts
    return by_layer(tasks, limits=(0, 1), **texts)
