"""Figures of lesson 11b: sentence vectors, ELMo, ULMFiT, four encoders, and models over the years.

A title states a finding only if the data show it.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import stdev
from typing import Any, Unpack

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from tlcourse.views.bars import name_rows
from tlcourse.views.diagrams import ACROSS, Box, Drawing, word_width
from tlcourse.views.dots import Interval, grouped_dots, strips, write_beside
from tlcourse.views.lines import curves, log_scale, plain
from tlcourse.views.panels import head, name_lines, panels
from tlcourse.views.style import COLOURS, CYCLE, GREY, Picture, Texts, figure, finish, label_axes

WAYS = {  # how words interact, and what is between two of them
    "bag of words": "order is lost",
    "CNN": "within a window",
    "RNN": "step by step",
    "attention": "every pair at once",
}
PRETRAINED = {  # how much of a system was pretrained, in the order of time
    "none": COLOURS["black"],
    "vectors": COLOURS["orange"],
    "states": COLOURS["blue"],
    "fine-tuned": COLOURS["vermillion"],
}


def four_ways(words: Sequence[str], *, window: int = 2, **texts: Unpack[Texts]) -> Picture:
    """How a bag of words, a CNN, an RNN and attention let the same words interact.

    Raises ValueError for words that do not fit, or fewer than `window`.
    """
    across = ACROSS / len(WAYS)
    widths = [0.1 + word_width(word) for word in words]
    gap = (across - 0.1 - sum(widths)) / (len(words) + 1)
    if gap < 0 or not 1 <= window <= len(words):
        raise ValueError(f"expected a window of 1 to all of a few short words, got {list(words)}")
    texts = {
        "title": "Four ways to let words interact",
        "alt": f"The words {' '.join(words)} four times. Arrows lead from all of them to a mean; "
        f"from each {window} neighbours to a filter, and from the filters to a maximum; from each "
        "to a state, and from each state to the next; from each to the states of all.",
    } | texts
    draw = Drawing(1.95, **texts)
    for place, (way, between) in enumerate(WAYS.items()):
        left = place * across
        boxes, x = [], left + 0.05 + gap
        for word, width in zip(words, widths, strict=True):
            boxes.append(draw.box((x + width / 2, 0.5), word, width=width, height=0.26))
            x += width + gap
        middle = left + across / 2
        draw.caption((middle, 1.82), way, "black", bold=True)
        draw.caption((middle, 0.1), between)
        _draw_way(draw, way, boxes, (middle, window))
    return draw.finish()


def _draw_way(draw: Drawing, way: str, boxes: list, place: tuple[float, int]) -> None:
    middle, window = place
    if way == "bag of words":
        mean = draw.box((middle, 1.45), "mean", colour="blue")
        for box in boxes:
            draw.arrow(box.top, mean.bottom)
        return
    if way == "CNN":
        largest = draw.box((middle, 1.52), "maximum", colour="blue")
        for start in range(len(boxes) - window + 1):
            seen = boxes[start : start + window]
            at = sum(box.middle[0] for box in seen) / window
            fits = draw.box((at, 1.02), width=0.16, height=0.16, colour="vermillion")
            for box in seen:
                draw.arrow(box.top, fits.bottom)
            draw.arrow(fits.top, largest.bottom)
        return
    states = [draw.box((b.middle[0], 1.35), width=0.2, height=0.2, colour="blue") for b in boxes]
    for box, state in zip(boxes, states, strict=True):
        sources = [box] if way == "RNN" else boxes
        for source in sources:
            draw.arrow(source.top, state.bottom)
    if way == "RNN":
        draw.chain(*states)


def order_by_distance(
    accuracy: Mapping[str, Sequence[float]], gaps: Sequence[int], **texts: Unpack[Texts]
) -> Picture:
    """Percent right on the toy task, by the number of words between the two that count.

    `accuracy` maps encoders to shares. The title states the finding if the bag is never above 65 %,
    the CNN falls from above 90 to below 65 %, and the others remain above 90 %.
    """
    percent = {name: 100 * np.asarray(each, float) for name, each in accuracy.items()}
    rest = [each for name, each in percent.items() if name not in ("bag of words", "CNN")]
    bag, cnn = percent.get("bag of words"), percent.get("CNN")
    title = "Which of two words comes last?"
    if (
        (bag is not None and bag.max() < 65)
        and (cnn is not None and cnn[0] > 90 and cnn[-1] < 65)
        and all(each.min() > 90 for each in rest)
    ):
        title = "A CNN knows the order only of words that share a window"
    told = "; ".join(f"{n}: {', '.join(f'{v:.0f}' for v in each)}" for n, each in percent.items())
    where = ", ".join(map(str, gaps))
    return curves(
        {name: (gaps, each) for name, each in percent.items()},
        x_label="words in between",
        y_label="right (%)",
        levels={"chance": 50},
        dashed=[name for name in percent if name == "attention"],
        top=100,
        **{"title": title, "alt": f"Percent right with {where} words in between. {told}."} | texts,
    )


def encoder_errors(
    rows: Sequence[Mapping[str, Any]], names: Mapping[str, str], **texts: Unpack[Texts]
) -> Picture:
    """Errors of encoders with intervals, as the texts are and with their words shuffled.

    `rows` are those of the study `encoders`; `names` maps its tasks to headings of the panels. The
    title says that the pretrained model is best, if it is on every task.
    """
    best = {
        task: min((r for r in rows if r["task"] == task), key=lambda row: row["mean"])["encoder"]
        for task in names
    }
    title = "Errors from scratch and with pretraining"
    if all("pretrained" in each for each in best.values()):
        title = "The pretrained model makes the fewest errors on every task"
    told = "; ".join(
        f"{names[r['task']]}, {r['encoder']}: {r['mean']:.1f}"
        + (f", shuffled {r['shuffled']['mean']:.1f}" if r["shuffled"] else "")
        for r in rows
    )
    texts = {"title": title, "alt": f"Errors in percent. {told}."} | texts
    encoders = list(dict.fromkeys(row["encoder"] for row in rows))
    picture, shown = figure(height=3.95, columns=len(names), sharey=True, squeeze=False, **texts)
    for axes, (task, heading) in zip(shown[0], names.items(), strict=True):
        head(axes, heading, len(names))
        for row in (each for each in rows if each["task"] == task):
            at = encoders.index(row["encoder"])
            for shift, colour, score in ((-0.12, CYCLE[0], row), (0.14, CYCLE[1], row["shuffled"])):
                if score:
                    axes.hlines(at + shift, *score["interval"], color=colour, lw=1.6)
                    axes.plot(score["mean"], at + shift, "o", color=colour, ms=7)
        axes.set_xlim(left=0)
        axes.tick_params(labelsize=10)
        label_axes(axes, size=10, x="error (%)")
    labels = [_with_parameters(encoder, rows) for encoder in encoders]
    name_rows(shown[0][0], labels)
    shown[0][0].tick_params(axis="y", labelsize=10)
    keys = [Line2D([], [], color=colour, marker="o", ms=7, lw=1.6) for colour in CYCLE[:2]]
    look = {"labelcolor": "linecolor", "prop": {"weight": "bold", "size": 10}, "ncols": 2}
    picture.legend(
        keys, ["as it is", "words shuffled"], loc="outside lower center", frameon=False, **look
    )
    return finish(picture)


def _with_parameters(encoder: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """The name of an encoder and its parameters, if it has about as many on every task."""
    mine = [row["parameters"] for row in rows if row["encoder"] == encoder]
    counts = {plain(float(f"{count:.2g}")) for count in mine if count}
    return f"{encoder}\n({counts.pop()})" if len(counts) == 1 else encoder


def time_by_length(
    rows: Sequence[Mapping[str, Any]], modes: Mapping[str, str], **texts: Unpack[Texts]
) -> Picture:
    """Milliseconds against the length of the text, a panel for each mode, on logarithmic axes.

    `rows` are those of the benchmark `encoder_speeds`; `modes` maps its modes to headings. The
    title says that attention is slower than the BiLSTM at every length if it is in every mode.
    """
    series: dict[str, dict[str, list[tuple[int, float]]]] = {mode: {} for mode in modes}
    for row in rows:
        if row["mode"] in modes:
            of_mode = series[row["mode"]]
            of_mode.setdefault(row["encoder"], []).append((row["length"], row["ms"]))
    title = "Milliseconds by the length of a text"
    if all(
        pairs[1] > chain[1]
        for each in series.values()
        for pairs, chain in zip(each["attention"], each["BiLSTM"], strict=True)
    ):
        title = "Attention takes longer than the BiLSTM at every length"
    told = "; ".join(
        f"{modes[mode]}, {name} from {line[0][1]:.3g} to {line[-1][1]:.3g}"
        for mode, each in series.items()
        for name, line in each.items()
    )
    texts = {"title": title, "alt": f"Milliseconds by length. {told}."} | texts
    picture, shown = panels(list(modes.values()), height=2.6, **texts)
    ends = []
    for axes, of_mode in zip(shown, series.values(), strict=True):
        for axis in (axes.xaxis, axes.yaxis):
            log_scale(axis)
        ends.append({})
        for colour, (name, line) in zip(CYCLE, of_mode.items(), strict=False):
            axes.plot(*zip(*line, strict=True), "o-", ms=5, color=colour)
            ends[-1][name] = (*line[-1], colour)
        axes.set_xticks([length for length, _ in next(iter(of_mode.values()))][::2])
        axes.set_xticks([], minor=True)
        label_axes(axes, size=10, x="tokens of a text")
    label_axes(shown[0], size=10, y="milliseconds")
    name_lines(shown, ends, 2.6)
    return finish(picture)


def sizes_over_years(models: Sequence[Any], **texts: Unpack[Texts]) -> Picture:
    """Parameters of networks for text over the years, on a logarithmic axis; layers in brackets.

    `models` are those of `history.models()`. The title says how many times the last has the
    parameters of the first.
    """
    first, last = models[0], models[-1]
    times = float(f"{last.parameters / first.parameters:.2g}")
    told = "; ".join(f"{m.name} {m.when[:4]}: {m.parameters / 1e6:,.10g} million" for m in models)
    texts = {
        "title": f"From {first.name} to {last.name}: {times:,.0f} times the parameters",
        "alt": f"Parameters of networks for text. {told}.",
        "note": "In brackets: layers.",
    } | texts
    picture, axes = figure(height=4.8, **texts)
    log_scale(axes.yaxis)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value / 1e6:,.0f}")
    points = np.array([(model.year, model.parameters) for model in models])
    axes.plot(*points.T, "o", color=COLOURS["blue"], ms=7)
    axes.margins(x=0.12, y=0.1)
    label_axes(axes, x="year", y="millions of parameters")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    picture.draw_without_rendering()
    labels = {at: f"{model.name} ({model.layers})" for at, model in enumerate(models)}
    write_beside(axes, points, labels, dict.fromkeys(labels, "black"))
    return finish(picture)


def scores_over_years(
    scores: Mapping[str, Sequence[Any]],
    people: Mapping[str, float],
    **texts: Unpack[Texts],
) -> Picture:
    """A panel for each task: scores over the years, coloured by what was pretrained.

    `scores` and `people` are those of `history`.
    """
    told = "; ".join(
        f"{task}: " + ", ".join(f"{row.name} {row.when[:4]} {row.score:g}" for row in rows)
        for task, rows in scores.items()
    )
    texts = {"title": "Scores over the years, by what was pretrained", "alt": f"{told}."} | texts
    picture, shown = panels(list(scores), height=3.0, **texts)
    for axes, (task, rows) in zip(shown, scores.items(), strict=True):
        if task in people:
            axes.axhline(people[task], color=GREY, lw=1.2, ls=":", zorder=1)
        points = np.array([(row.year, row.score) for row in rows])
        inks = {at: PRETRAINED[row.pretrained] for at, row in enumerate(rows)}
        for at, point in enumerate(points):
            axes.plot(*point, "o", color=inks[at], ms=7)
        axes.margins(x=0.3, y=0.15)
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        picture.draw_without_rendering()
        if task in people:
            font = {"fontsize": 8.5, "color": GREY, "va": "bottom"}
            axes.text(axes.get_xlim()[0], people[task], " people", **font)
        write_beside(axes, points, {at: row.name for at, row in enumerate(rows)}, inks)
    keys = [Line2D([], [], color=c, marker="o", ms=7, lw=0) for c in PRETRAINED.values()]
    look = {"labelcolor": "linecolor", "prop": {"weight": "bold", "size": 9}, "ncols": 4}
    picture.legend(keys, PRETRAINED, loc="outside lower center", frameon=False, **look)
    return finish(picture)


def three_autoencoders(sentence: str, noisy: str, **texts: Unpack[Texts]) -> Picture:
    """The plain, the denoising and the variational autoencoder, side by side, read upwards.

    `sentence` is what all of them write, `noisy` what the denoising one reads.
    """
    told = (
        f"All three write “{sentence}” from one vector. The plain one reads the same sentence, the "
        f"denoising one reads “{noisy}”. The encoder of the variational one returns a mean and a "
        "variance, and the vector is drawn around the mean."
    )
    texts = {"title": "Three ways to make a vector hold a sentence", "alt": told} | texts
    draw, size = Drawing(3.0, **texts), {"width": 1.5, "height": 0.34}
    for x, name in zip((1.15, 3.4, 5.65), ("plain", "denoising", "variational"), strict=True):
        reads = noisy if name == "denoising" else sentence
        column = [
            draw.box((x, 0.5), reads, colour="vermillion" if reads != sentence else "white"),
            draw.box((x, 1.0), "encoder", **size),
            draw.box((x, 1.65), "vector", colour="blue", bold=True),
            draw.box((x, 2.2), "decoder", **size),
            draw.box((x, 2.75), sentence),
        ]
        for below, above in pairwise(column):
            draw.arrow(below.top, above.bottom)
        if name == "variational":
            draw.label((x + 0.1, 1.36), "mean + noise", colour="vermillion")
        draw.caption((x, 0.12), name, "black", bold=True)
    return draw.finish()


def sentence_scores(rows: Mapping[str, Mapping[str, Interval]], **texts: Unpack[Texts]) -> Picture:
    """A row for each method, a panel for each task; a row may lack a task.

    `rows` maps a method to tasks, a task to (value, low, high). Raises ValueError without rows.
    """
    tasks = list(dict.fromkeys(task for each in rows.values() for task in each))
    if not tasks:
        raise ValueError(f"expected at least one row with a score, got {dict(rows)}")
    told = "; ".join(
        f"{name}: " + ", ".join(f"{task} {value[0]:.3g}" for task, value in each.items())
        for name, each in rows.items()
    )
    picture, grid = figure(
        height=1.5 + 0.27 * len(rows),
        columns=len(tasks),
        sharey=True,
        squeeze=False,
        **{"title": "What vectors of sentences know, by task", "alt": f"{told}."} | texts,
    )
    for axes, task in zip(grid[0], tasks, strict=True):
        for row, scores in enumerate(rows.values()):
            if task in scores:
                value, low, high = scores[task]
                axes.hlines(row, low, high, color=COLOURS["blue"], lw=1.6)
                axes.plot(value, row, "o", color=COLOURS["blue"], ms=6)
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
        axes.tick_params(labelsize=10)
        label_axes(axes, size=10.5, x=task)
    name_rows(grid[0][0], list(rows))
    return finish(picture)


Interval = tuple[float, float, float]  # a value and the ends of its interval


def lstm_step(**texts: Unpack[Texts]) -> Picture:
    """One step of an LSTM: the cell state runs along the top, the gates stand below it."""
    texts = {
        "title": "The cell state passes a step through one product and one sum",
        "alt": "At the bottom, the inputs of a step, x and the hidden state before, lead to three "
        "gates with σ, f, i and o, and to the candidate g with tanh. Along the top, the cell state "
        "c is multiplied by f, then i times g is added. The new c goes on, and o times tanh of it "
        "is the new hidden state h.",
    } | texts
    draw = Drawing(2.6, **texts)
    top, gates, inputs = 2.3, 0.85, 0.25
    named = {}
    for name, x in (("f", 1.7), ("i", 2.7), ("g", 3.6), ("o", 4.6)):
        colour, by = ("vermillion", "tanh") if name == "g" else ("blue", "σ")
        named[name] = draw.box((x, gates), f"{name}   {by}", width=0.72, colour=colour)
        draw.arrow((x, inputs), named[name].bottom)
    draw.stroke((1.35, inputs), (4.6, inputs))
    draw.label((1.3, inputs), "x, and h before", align="right")
    forget, add = _sign(draw, (1.7, top), "×"), _sign(draw, (3.15, top), "+")
    write, out = _sign(draw, (3.15, 1.55), "×"), _sign(draw, (5.6, gates), "×")
    squash = draw.box((5.6, 1.55), "tanh", width=0.55, colour="vermillion")
    draw.label((0.75, top), "c before", align="right", bold=True)
    draw.arrow((0.8, top), forget.left)
    draw.arrow(forget.right, add.left)
    draw.arrow(add.right, (6.2, top))
    draw.label((6.25, top), "c", bold=True)
    draw.arrow(named["f"].top, forget.bottom)
    draw.arrow(named["i"].top, write.left)
    draw.arrow(named["g"].top, write.right)
    draw.arrow(write.top, add.bottom)
    draw.arrow((5.6, top), squash.top)
    draw.arrow(squash.bottom, out.top)
    draw.arrow(named["o"].right, out.left)
    draw.arrow(out.right, (6.2, gates))
    draw.label((6.25, gates), "h", bold=True)
    return draw.finish()


def _sign(draw: Drawing, middle: tuple[float, float], sign: str) -> Box:
    return draw.box(middle, sign, width=0.26, height=0.26, colour="grey", bold=True)


def two_directions(
    before: Sequence[str],
    word: str,
    after: Sequence[str],
    *,
    layers: int = 2,
    **texts: Unpack[Texts],
) -> Picture:
    """ELMo's vector of a word: a forward model read what is before, a backward one what is after.

    The shares s of the mix, one for each layer, stand between the two. Raises ValueError unless two
    words stand on each side.
    """
    if len(before) != 2 or len(after) != 2:
        raise ValueError(f"expected two words on each side, got {[*before]} and {[*after]}")
    names = ["characters", *(f"layer {layer + 1}" for layer in range(layers))]
    texts = {
        "title": f"“{word}”: the mix of what both directions know about it",
        "alt": f"At the left, a forward model reads {', '.join([*before, word])}; at the right, a "
        f"backward model reads {', '.join([*reversed(after), word])}. Both encode the words from "
        f"their characters and have {layers} LSTM layers. Between them, the vector of {word} is "
        f"the sum of {', '.join(names)}, each times its share s.",
    } | texts
    heights = [0.75 + 0.5 * row for row in range(layers + 1)]
    height = heights[-1] + 1.05
    draw = Drawing(height, **texts)
    sides = {
        "blue": ([*before, word], (0.5, 1.4, 2.3)),
        "vermillion": ([word, *after], (4.5, 5.4, 6.3)),
    }
    rows: dict[str, list[list[Box]]] = {}
    for colour, (words, places) in sides.items():
        rows[colour] = _direction(draw, words, places, heights, names, colour)
    draw.caption((1.4, height - 0.15), "forward: reads what is before →", "blue", bold=True)
    draw.caption((5.4, height - 0.15), "← backward: what is after", "vermillion", bold=True)
    mix = draw.box((3.4, heights[-1] + 0.55), "sum", width=0.6, colour="grey", bold=True)
    chain = []
    for row, y in enumerate(heights):
        share = draw.box((3.4, y), f"s{'₀₁₂₃₄₅₆₇₈₉'[row]}", width=0.36, height=0.26)
        draw.arrow(rows["blue"][row][-1].right, share.left)
        draw.arrow(rows["vermillion"][row][0].left, share.right)
        chain.append(share)
    for below, above in zip(chain, [*chain[1:], mix], strict=True):
        draw.arrow(below.top, above.bottom)
    return draw.finish()


def _direction(
    draw: Drawing,
    words: Sequence[str],
    places: Sequence[float],
    heights: Sequence[float],
    names: Sequence[str],
    colour: str,
) -> list[list[Box]]:
    """Draws the words of one direction and its layers above them; returns the boxes by layer."""
    found = []
    for row, (y, name) in enumerate(zip(heights, names, strict=True)):
        look = colour if row else "white"
        boxes = [draw.box((x, y), name, width=0.76, height=0.28, colour=look) for x in places]
        if row == 0:
            for x, word, box in zip(places, words, boxes, strict=True):
                draw.caption((x, 0.2), word, "black", bold=word_width(word) < 0.7)
                draw.arrow((x, 0.34), box.bottom)
        else:
            for below, box in zip(found[-1], boxes, strict=True):
                draw.arrow(below.top, box.bottom)
            onward = boxes if colour == "blue" else boxes[::-1]
            for one, other in pairwise(onward):
                ends = (one.right, other.left) if colour == "blue" else (one.left, other.right)
                draw.arrow(*ends, colour=colour)
        found.append(boxes)
    return found


def frozen_states(
    scores: Mapping[str, Interval],
    levels: Mapping[str, float] | None = None,
    *,
    control: str = "",
    **texts: Unpack[Texts],
) -> Picture:
    """Entity F1 of one tagger on several vectors of words, with intervals; the best first.

    `levels` are drawn as lines. The title says which vectors are ahead if their interval lies above
    all others, or else how many intervals lie above that of `control`.
    """
    ordered = dict(sorted(scores.items(), key=lambda item: -item[1][0]))
    first, *others = ordered
    title = "Entity F1 of one tagger on different vectors"
    above = [name for name, each in ordered.items() if control and each[1] > scores[control][2]]
    if others and ordered[first][1] > max(ordered[name][2] for name in others):
        title = f"One tagger, F1 {ordered[first][0]:.0f} on {first}: clearly ahead"
    elif above:
        title = f"{len(above)} of {len(others)} kinds of vectors are clearly better than {control}"
    named = levels or {}
    told = ", ".join(f"{name} {v:.1f} ({a:.1f} to {b:.1f})" for name, (v, a, b) in ordered.items())
    told += "".join(f"; {name} {level:.1f}" for name, level in named.items())
    rows = {name: {"mean of the seeds, 95 % interval": each} for name, each in ordered.items()}
    labels = {"x_label": "entity F1 (%)", "levels": levels}
    picture = grouped_dots(rows, **labels, **{"title": title, "alt": f"F1: {told}."} | texts)
    picture.axes[0].set_xlim(0, 1.25 * max(*(v[2] for v in scores.values()), *named.values(), 1))
    return picture


def ulmfit_stages(
    stages: Sequence[tuple[str, str, str]], layers: int = 2, **texts: Unpack[Texts]
) -> Picture:
    """Three stages side by side, each a model of `layers` layers over what it reads.

    A stage is its name, what it reads, and what it predicts; the last one has a new head, in blue.
    Raises ValueError for another number of stages.
    """
    if len(stages) != 3:
        raise ValueError(f"expected three stages, got {len(stages)}")
    texts = {
        "title": "ULMFiT: one body, three stages, more and more like the task",
        "alt": "; ".join(
            f"{name}: reads {reads.replace(chr(10), ' ')}, predicts {what.replace(chr(10), ' ')}"
            for name, reads, what in stages
        )
        + f". The embedding and {layers} LSTM layers pass from stage to stage; the head of the "
        "last stage is new.",
    } | texts
    height = 1.9 + 0.36 * layers
    draw = Drawing(height, **texts)
    bodies: list[Box] = []
    for place, (name, reads, what) in enumerate(stages):
        x, new = 1.15 + 2.25 * place, place == 2
        draw.caption((x, height - 0.1), f"{place + 1} · {name}", "black", bold=True)
        text = draw.box((x, 0.28), reads, width=1.75, height=0.44, colour="faint")
        bottom, top = 0.85, 0.85 + 0.36 * layers
        parts = ["embedding", *(f"LSTM layer {layer + 1}" for layer in range(layers))]
        boxes = [
            draw.box((x, bottom + 0.36 * row), part, width=1.35, height=0.26, colour="grey")
            for row, part in enumerate(parts)
        ]
        head = draw.box(
            (x, top + 0.5), what, width=1.75, height=0.44, colour="blue" if new else "white"
        )
        draw.arrow(text.top, boxes[0].bottom)
        draw.arrow(boxes[-1].top, head.bottom)
        middle = Box((x, (bottom + top) / 2), 1.35, 0.3)
        if bodies:
            draw.arrow(bodies[-1].right, middle.left)
        bodies.append(middle)
    return draw.finish()


def layer_rates(
    names: Sequence[str], rates: Sequence[Sequence[float]], **texts: Unpack[Texts]
) -> Picture:
    """The learning rate of each layer over the steps, a line each; frozen steps have no line.

    `names` go from the input to the output, `rates` (layers, steps) are factors of the recipe's.
    The title says so if the layers begin one after another, the last one first, and each is slower
    than the one above it. Raises ValueError for another number of names than of rates.
    """
    if len(names) != len(rates) or not len(names):
        raise ValueError(f"expected a name for each of {len(rates)} layers, got {list(names)}")
    values = np.where(np.asarray(rates, float) > 0, np.asarray(rates, float), np.nan)
    begins = [int(np.isfinite(row).argmax()) for row in values]
    tops = np.nanmax(values[:, max(begins) :], axis=1)
    title = "The learning rate of each layer"
    if all(above < below for below, above in pairwise(begins)) and (np.diff(tops) > 0).all():
        title = "Layers below the head start later and learn more slowly"
    told = "; ".join(f"{name} from step {begin}" for name, begin in zip(names, begins, strict=True))
    texts = {"title": title, "alt": f"Learning rates over steps. {told}."} | texts
    steps = np.arange(values.shape[1])
    series = {name: (steps, row) for name, row in reversed(list(zip(names, values, strict=True)))}
    labels = {"x_label": "step", "y_label": "times the recipe's learning rate", "log_y": True}
    return curves(series, **labels, **texts)


def errors_by_stage(
    rows: Mapping[str, Mapping[str, Interval]],
    levels: Mapping[str, float] | None = None,
    *,
    what: str = "",
    **texts: Unpack[Texts],
) -> Picture:
    """Test errors in percent with intervals: a row for each stage, a series for each body.

    `rows` maps a stage to bodies, a body to (mean, low, high); `what` names the test. The title
    says so if every stage has fewer errors than the one before, in every body.
    """
    means = {body: [each[body][0] for each in rows.values()] for body in next(iter(rows.values()))}
    title = "Test errors, stage by stage"
    if all(after < before for each in means.values() for before, after in pairwise(each)):
        title = "Each stage of ULMFiT lowers the error"
    elif all(each[0] == max(each) for each in means.values()):
        title = "From scratch, each body makes the most errors"
    told = "; ".join(
        f"{stage}: " + ", ".join(f"{body} {value[0]:.1f} %" for body, value in each.items())
        for stage, each in rows.items()
    )
    told += "".join(f"; {name}: {value:.1f} %" for name, value in (levels or {}).items())
    texts = {"title": f"{title} ({what})" if what else title, "alt": f"{told}."} | texts
    return grouped_dots(rows, x_label="test error (%)", levels=levels, **texts)


def seeds_of_models(
    errors: Mapping[str, Sequence[float]],
    levels: Mapping[str, float] | None = None,
    **texts: Unpack[Texts],
) -> Picture:
    """Test errors in percent, a dot for each seed, a row for each model and way of fine-tuning.

    The title names the row that varies least if every other one has more than 1.5 times its
    standard deviation. Raises ValueError for a row of fewer than two runs.
    """
    if any(len(each) < 2 for each in errors.values()):
        raise ValueError("expected at least two runs in each row, whose spread is shown")
    spreads = {name: stdev(each) for name, each in errors.items()}
    steadiest = min(spreads, key=lambda name: spreads[name])
    others = [value for name, value in spreads.items() if name != steadiest]
    title = "The same labels, other seeds"
    if others and min(others) > 1.5 * spreads[steadiest]:
        title = f"{steadiest} varies least from seed to seed"
    told = "; ".join(
        f"{name}: {min(each):.1f} to {max(each):.1f} %, standard deviation {spreads[name]:.1f}"
        for name, each in errors.items()
    )
    texts = {"title": title, "alt": f"Test errors of {told}."} | texts
    return strips(errors, x_label="test error (%), a dot for each seed", levels=levels, **texts)
