"""Figures of lesson 07: probes on a frozen body, control tasks, removed directions.

Labels are blue and random labels vermillion. A title states a finding only if the data show it.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Unpack

import numpy as np

from tlcourse.views.bars import horizontal_bars, name_rows
from tlcourse.views.diagrams import ACROSS, Box, Drawing, Point, word_width
from tlcourse.views.panels import (
    by_layer,
    draw_line,
    head,
    label_below,
    label_layers,
    name_lines,
    with_ends,
)
from tlcourse.views.style import COLOURS, GREY, Picture, Texts, colours_of, figure, finish

Effect = tuple[float, float]  # agreement, loss


def removal(
    found: Mapping[str, Sequence[Effect]],
    random: Sequence[Sequence[Effect]],
    intact: Effect,
    *,
    chance: float = 0.5,
    **texts: Unpack[Texts],
) -> Picture:
    """Agreement and loss without a direction, by the layer from which it is removed.

    An effect is (agreement, nats per token). `found` maps a direction to its effects, from the
    embeddings to the last layer; `random` holds several for each layer, of random directions, whose
    range is a band; `intact` is the effect with nothing removed. The title names the first of
    `found` if agreement falls to chance without it, and hardly changes without the others, and
    the loss hardly changes at all. Raises ValueError where `random` has another number of layers.
    """
    probed, *others = ([agreement for agreement, _ in each] for each in found.values())
    drawn = np.asarray(random, float)  # layers, draws, (agreement, loss)
    rivals = [*drawn[:, :, 0].flat, *(each for other in others for each in other)]
    losses = [*drawn[:, :, 1].flat, *(loss for each in found.values() for _, loss in each)]
    title = "Agreement and loss without one direction"
    falls = min(probed) < chance + 0.1 and min(rivals) > intact[0] - 0.1
    if falls and max(abs(loss - intact[1]) for loss in losses) < 0.03 * intact[1]:
        title = f"Without the {next(iter(found))} direction, agreement falls to chance"
    alt = f"Agreement is {intact[0]:.0%} with nothing removed. " + "; ".join(
        f"without {name} it is between {min(each)[0]:.0%} and {max(each)[0]:.0%}"
        for name, each in found.items()
    )
    alt += f". The loss is between {min(losses):.2f} and {max(losses):.2f} nats."
    picture, (left, right) = figure(height=4.0, columns=2, **{"title": title, "alt": alt} | texts)
    colours = colours_of(found)
    ends: list[dict[str, tuple]] = []
    for place, axes in enumerate((left, right)):
        values = drawn[:, :, place]
        band = [(row.mean(), row.min(), row.max()) for row in values]
        lines = {"random directions": with_ends(band, len(probed), "random directions")}
        lines |= {
            name: with_ends([effect[place] for effect in each]) for name, each in found.items()
        }
        ends.append({})
        for name, line in lines.items():
            ends[-1][name] = draw_line(axes, range(len(probed)), line, colours.get(name, GREY))
        axes.axhline(intact[place], color=GREY, lw=1.2, ls=":", zorder=1)
        axes.set_xticks(range(len(probed)), ["emb", *range(1, len(probed))])
        axes.set_ylim(0, 1 if place == 0 else 1.15 * max(losses))
        ends[-1]["nothing removed"] = (len(probed) - 1, intact[place], GREY)
    left.axhline(chance, color="black", lw=1.2, ls="--", zorder=1)
    end = {"ha": "right", "va": "top", "fontsize": 9}
    left.text(len(probed) - 1, chance - 0.02, f"chance, {chance:.0%}", **end)
    head(left, "agreement (share of pairs)", 2)
    head(right, "loss (nats per token)", 2)
    label_below([left, right], "layer from which it is removed")
    name_lines([left, right], ends, 2.6)
    return finish(picture)


def next_words(
    cut: str,
    shares: Mapping[str, Mapping[str, float]],
    plural: Collection[str],
    **texts: Unpack[Texts],
) -> Picture:
    """Bars of the probability of words after `cut`, side by side for each change of a model.

    `shares` maps a change to words and their probabilities. Words of `plural` are blue, the others
    orange. The title says that the model turns to the singular if that is so for the second change
    alone: then the first is the model as it is, and the others are the second's rivals.
    """
    more = {
        name: sum(share if word in plural else -share for word, share in each.items()) > 0
        for name, each in shares.items()
    }
    title = f"What the model expects after “{cut}”"
    if [*more.values()] == [place != 1 for place in range(len(more))]:
        title = f"With {list(more)[1]}, the model takes “{cut}” for a singular"
    told = "; ".join(
        f"{name}: " + ", ".join(f"{word} {share:.0%}" for word, share in each.items())
        for name, each in shares.items()
    )
    texts = {"title": title, "alt": f"Probability of the next word. {told}."} | texts
    first = next(iter(shares.values()))
    columns = {"columns": len(shares), "sharex": True, "sharey": True, "squeeze": False}
    picture, grid = figure(height=1.5 + 0.35 * len(first), **columns, **texts)
    most = max(share for each in shares.values() for share in each.values())
    for axes, (name, each) in zip(grid[0], shares.items(), strict=True):
        for row, (word, share) in enumerate(each.items()):
            hue = COLOURS["blue" if word in plural else "orange"]
            axes.barh(row, 100 * share, height=0.62, color=hue)
            axes.text(100 * share + 2 * most, row, f"{100 * share:.1f}", va="center", fontsize=9)
        head(axes, name, len(shares))
        axes.set_xlim(0, 130 * most)
    name_rows(grid[0][0], list(first))
    label_below(list(grid[0]), "probability (%)")
    return finish(picture)


def accuracy_by_layer(
    curves: Mapping[str, Sequence[float]],
    levels: Mapping[str, float],
    **texts: Unpack[Texts],
) -> Picture:
    """Accuracy by layer of a probe on the first model of `curves`, and its rivals in grey.

    The other curves and the `levels` are the rivals. The title says that most of the accuracy needs
    no context if "word types" has more than four fifths of the best layer's.
    """
    name, best = next(iter(curves)), max(next(iter(curves.values())))
    title = "Accuracy by layer, and the rivals of the probe"
    if levels.get("word types", 0) > 0.8 * best:
        title = "Most of the accuracy needs no context"
    rivals = {other: list(each) for other, each in curves.items() if other != name}
    told = [f"{other} {max(each):.1%}" for other, each in rivals.items()]
    told += [f"{other} {level:.1%}" for other, level in levels.items()]
    texts = {"title": title, "alt": f"At best {name} {best:.1%}, {', '.join(told)}."} | texts
    task = "part of speech"
    lines = {task: {name: list(curves[name])}}
    return by_layer(lines, {task: {**rivals, **levels}}, limits=(0, 1), **texts)


def bits_per_label(bits: Mapping[str, float], ours: str, **texts: Unpack[Texts]) -> Picture:
    """Bars of the bits that each label costs; the title says if `ours` is the cheapest."""
    title = "Bits per label of the online code"
    if bits[ours] == min(bits.values()):
        title = "With the trained states, the labels cost the fewest bits"
    told = ", ".join(f"{name} {value:.2f}" for name, value in bits.items())
    texts = {"title": title, "alt": f"Bits per label: {told}."} | texts
    labels = {"x_label": "bits per label", "number": "{:.2f}", "highlight": ours}
    return horizontal_bars(bits, **labels, **texts)


def probe_on_frozen_body(
    words: Sequence[Sequence[str]],
    probed: tuple[int, int],
    answer: str,
    *,
    width: int = 0,
    layers: int = 0,
    classes: int = 0,
    **texts: Unpack[Texts],
) -> Picture:
    """Words, tokens, frozen blocks with a state a layer, and a small probe that reads one of them.

    `words` holds the tokens of each word; `probed` is (word, layer), 0 being the embeddings, and
    `answer` the label that the probe gives. It reads the mean over the word's tokens. `width`,
    `layers` and `classes` are the model's and the task's. Raises ValueError for a word or layer
    that is not there, or a sentence that is too wide.
    """
    word, layer = probed
    texts = {
        "title": "A probe reads one layer of a frozen model",
        "alt": "Words become tokens, tokens pass frozen blocks; a small probe reads the mean of "
        f"one word's states in layer {layer} and answers {answer}.",
    } | texts
    if not (0 <= word < len(words) and 0 <= layer <= layers):
        wanted = f"a word of {len(words)}, a layer from 0 to {layers}"
        raise ValueError(f"expected {wanted}, got {probed}")
    column = max(0.5, *(word_width(token) + 0.28 for each in words for token in each))
    places, left = [], 0.85  # inches; of each word's tokens
    for tokens in words:
        places.append([left + column * (i + 0.5) for i in range(len(tokens))])
        left += column * len(tokens)
    if left > 4.5:
        raise ValueError("expected words that fit into 3.65 inches; take fewer")
    rows = sorted({0, 1, layer, layers})  # those that are drawn
    heights = {row: 0.98 + 0.62 * place for place, row in enumerate(rows)}
    draw = Drawing(heights[layers] + 0.3, **texts)
    _words_and_tokens(draw, words, places, column)
    _blocks_and_states(draw, heights, places, (layer, places[word]))
    probe = _probe(draw, heights, layer, answer, (width, classes))
    _read(draw, (places[word], heights[layer]), left, probe.left)
    legend = f"grey: frozen, no gradient;\n{layers} blocks of width {width:,}"
    draw.caption((probe.middle[0], 0.3), legend)
    return draw.finish()


def _words_and_tokens(draw: Drawing, words: Sequence, places: Sequence, column: float) -> None:
    """Words at the bottom, their tokens above, each with an arrow up."""
    draw.label((0.75, 0.15), "words", align="right", colour="grey")
    draw.label((0.75, 0.57), "tokens", align="right", colour="grey")
    for tokens, x in zip(words, places, strict=True):
        middle = (x[0] + x[-1]) / 2
        draw.box((middle, 0.15), "".join(tokens), width=column * len(tokens) - 0.06, height=0.24)
        for at, token in zip(x, tokens, strict=True):
            drawn = draw.box((at, 0.57), token, width=column - 0.06, height=0.24)
            draw.arrow((at, 0.27), drawn.bottom)
            draw.arrow(drawn.top, (at, 0.9))


def _blocks_and_states(
    draw: Drawing, heights: Mapping[int, float], places: Sequence, read: tuple[int, Sequence[float]]
) -> None:
    """A row of states for each layer, five small cells a token, above the blocks that made it."""
    x, below = [at for each in places for at in each], 0
    middle, wide = (x[0] + x[-1]) / 2, x[-1] - x[0] + 2 * (x[0] - 0.85) - 0.06
    for row, y in heights.items():
        if row:
            name = f"block {row}" if row == below + 1 else f"blocks {below + 1} to {row}"
            draw.box((middle, y - 0.31), name, width=wide, height=0.24, colour="grey")
        caption, below = f"layer {row}" if row else "embeddings", row
        draw.label((0.75, y), caption, align="right", colour="grey")
        for at in x:
            mine = row == read[0] and at in read[1]
            hue = "blue" if mine else "faint"
            for cell in range(-2, 3):
                draw.box((at + 0.075 * cell, y), width=0.075, height=0.13, colour=hue)


def _probe(
    draw: Drawing, heights: Mapping[int, float], layer: int, answer: str, sizes: tuple[int, int]
) -> Box:
    """The probe at the height of its layer, and its answer above, or below if there is no room."""
    width, classes = sizes
    text = f"linear probe: {width:,} → {classes}\n{(width + 1) * classes:,} weights, trained"
    at = (5.75, heights[layer])
    probe = draw.box(at, text, colour="blue")
    up = layer < max(heights)
    other = (at[0], at[1] + (0.62 if up else -0.62))
    answered = draw.box(other, answer, colour="blue", bold=True)
    ends = (probe.top, answered.bottom) if up else (probe.bottom, answered.top)
    draw.arrow(*ends, colour="blue")
    return probe


def _read(draw: Drawing, states: tuple[Sequence[float], float], right: float, end: Point) -> None:
    """A line from the states that are read, over the others, to the probe."""
    x, y = states
    for at in x:
        draw.stroke((at, y + 0.07), (at, y + 0.13), colour="blue")
    turn = right + 0.05
    draw.stroke((x[0], y + 0.13), (turn, y + 0.13), (turn, y), colour="blue")
    draw.arrow((turn, y), end, colour="blue")
    if len(x) > 1:
        draw.label((turn + 0.05, y + 0.12), "mean", colour="blue")


def control_task(
    sentences: Sequence[Sequence[str]],
    labels: Sequence[Sequence[str]],
    control: Sequence[Sequence[str]],
    **texts: Unpack[Texts],
) -> Picture:
    """The same words with their labels (blue) and with those of a control task (vermillion).

    All three hold an entry a word. In a control task (Hewitt & Liang, 2019) each word type draws
    its label once, at random. Words that occur more than once are bold. Raises ValueError where the
    three differ in length, a type has two control labels, or a line is too wide.
    """
    texts = {
        "title": "The control task: one random label per word type",
        "alt": "The words of a sentence with their parts of speech, and below them with random "
        "labels; where a word occurs twice, it has the same random label.",
    } | texts
    drawn: dict[str, str] = {}
    shapes = [[len(each) for each in three] for three in (sentences, labels, control)]
    if not sentences or shapes[0] != shapes[1] or shapes[0] != shapes[2]:
        raise ValueError(f"expected a label and a control label for each word, got {shapes}")
    words = [word for sentence in sentences for word in sentence]
    for word, other in zip(words, [each for row in control for each in row], strict=True):
        if drawn.setdefault(word, other) != other:
            pair = f"{drawn[word]!r} and {other!r} for {word!r}"
            raise ValueError(f"expected one control label for each word type, got {pair}")
    entries = [*words, *(label for sentence in labels for label in sentence)]
    each = max(word_width(entry, bold=True) for entry in entries) + 0.26
    if 0.8 + each * max(shapes[0]) > ACROSS:
        raise ValueError(f"expected sentences that fit, got up to {max(shapes[0])} words; cut them")
    draw = Drawing(1.15 * len(sentences), **texts)
    hues = {"words": "grey", "labels": "blue", "control": "vermillion"}
    for row, three in enumerate(zip(sentences, labels, control, strict=True)):
        top = 1.15 * (len(sentences) - row) - 0.2
        for line, (entries, (name, hue)) in enumerate(zip(three, hues.items(), strict=True)):
            y = top - 0.33 * line
            draw.label((0.7, y), name, align="right", colour=hue, bold=line > 0)
            for place, text in enumerate(entries):
                middle, often = (0.8 + each * (place + 0.5), y), not line and words.count(text) > 1
                draw.box(middle, text, width=each - 0.06, height=0.26, colour=hue, bold=often)
    return draw.finish()


def selectivity_by_layer(
    task: Sequence[float], control: Sequence[float], chance: float, **texts: Unpack[Texts]
) -> Picture:
    """Task and control task from the embeddings to the last layer, and the line between them.

    Its number is the selectivity (Hewitt & Liang, 2019); `chance` is the accuracy of always giving
    the most frequent label. The title says that the control task alone gets harder if it does so at
    every layer. Raises ValueError for different layers.
    """
    title = "The task and its control task, by layer"
    if all(np.diff(control) < 0) and task[-1] > task[0] - 0.02:
        title = "Random labels get harder to read with every layer, parts of speech do not"
    texts = {
        "title": title,
        "alt": f"Accuracy, first and last layer: task {task[0]:.1%}, {task[-1]:.1%}; random "
        f"labels {control[0]:.1%}, {control[-1]:.1%}; always the most frequent label {chance:.1%}.",
    } | texts
    picture, axes = figure(height=4.0, **texts)
    high = with_ends(task)[0]
    low = with_ends(control, len(high), "the control task")[0]
    layers = np.arange(len(high))
    blue, red = COLOURS["blue"], COLOURS["vermillion"]
    axes.vlines(layers, low, high, color=blue, lw=4, alpha=0.25)
    axes.plot(layers, low, "o", color=red, mfc="white", ms=6.5, mew=1.6)
    axes.plot(layers, high, "o", color=blue, ms=6.5)
    for layer, bottom, top in zip(layers, low, high, strict=True):
        text = "−" * bool(top < bottom) + f"{abs(top - bottom):.2f}".lstrip("0")
        beside = {"va": "center", "textcoords": "offset points", "fontsize": 9}
        axes.annotate(text, (layer, (bottom + top) / 2), (3, 0), **beside)
    axes.axhline(chance, color="black", lw=1.2, ls="--", zorder=1)
    axes.set(xlim=(-0.5, len(layers) - 0.8), ylim=(0, 1))
    label_layers([axes], len(layers), "layer", "accuracy")
    ends = {"task": (layers[-1], high[-1], blue), "control task": (layers[-1], low[-1], red)}
    ends["most frequent label"] = (layers[-1], chance, "black")
    name_lines([axes], [ends], 2.2)
    return finish(picture, note="Numbers: selectivity, the task less the control task.")
