"""Figures of lesson 07: probes on a frozen body, control tasks, removed directions."""

from collections.abc import Mapping, Sequence
from typing import Unpack

import numpy as np

from tlcourse.views.diagrams import ACROSS, Box, Drawing, Point, word_width
from tlcourse.views.lines import plain
from tlcourse.views.panels import (
    Values,
    draw_line,
    head,
    label_below,
    label_layers,
    name_lines,
    panels,
    with_ends,
)
from tlcourse.views.style import COLOURS, GREY, Picture, Texts, colours_of, figure, finish


def removal(
    numbers: Sequence[float],
    effects: Mapping[str, tuple[Mapping[str, Values], Values, float]],
    *,
    x_label: str = "directions removed",
    **texts: Unpack[Texts],
) -> Picture:
    """What removing the probed directions does, against the band of as many random directions.

    `effects` maps a label with a unit, "LM loss (nats per token)", to a panel (up to three):
    (series, random, intact). A series maps a name to values at `numbers`, of directions or layers;
    `random` holds (value, low, high) there, over draws; `intact` is the height with nothing
    removed. Raises ValueError for other numbers of panels or values.
    """
    if not 1 <= len(effects) <= 3:
        raise ValueError(f"expected one to three effects side by side, got {len(effects)}")
    picture, grid = figure(height=4.0, columns=len(effects), squeeze=False, **texts)
    shown = list(grid[0])
    colours = colours_of(dict.fromkeys(n for series, _, _ in effects.values() for n in series))
    ends: list[dict[str, tuple]] = []
    for axes, (y_label, (series, random, intact)) in zip(shown, effects.items(), strict=True):
        lines = {"random directions": with_ends(random, len(numbers), "random directions")}
        lines |= {name: with_ends(values, len(numbers), name) for name, values in series.items()}
        ends.append({})
        for name, values in lines.items():
            ends[-1][name] = draw_line(axes, numbers, values, colours.get(name, GREY))
        axes.axhline(intact, color=GREY, lw=1.2, ls=":", zorder=1)
        ends[-1]["nothing removed"] = (numbers[-1], intact, GREY)
        axes.set_xticks(numbers, [plain(number) for number in numbers])
        axes.set_xticks([], minor=True)
        head(axes, y_label, len(effects))
    label_below(shown, x_label)
    name_lines(shown, ends, 2.6)
    return finish(picture)


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
    probes: Mapping[str, tuple[Values, Values]],
    **texts: Unpack[Texts],
) -> Picture:
    """Task and control task of one to three probes, layer by layer, and the line between them.

    `probes` maps a probe to (task, control): values from the embeddings to the last layer, each a
    number or (value, low, high). The line's number is the selectivity (Hewitt & Liang, 2019).
    Raises ValueError for another number of probes, or different layers.
    """
    if not 1 <= len(probes) <= 3:
        raise ValueError(f"expected one to three probes side by side, got {len(probes)}")
    picture, shown = panels(list(probes), height=2.6, sharex=True, sharey=True, **texts)
    count = len(next(iter(probes.values()))[0])
    layers = np.arange(count)
    ends: list[dict[str, tuple]] = []
    for axes, (name, pair) in zip(shown, probes.items(), strict=True):
        task, control = (with_ends(values, count, name) for values in pair)
        axes.vlines(layers, control[0], task[0], color=COLOURS["blue"], lw=4, alpha=0.25)
        for values, colour, fill in ((control, GREY, "white"), (task, COLOURS["blue"], None)):
            axes.vlines(layers, *values[1:], color=colour, lw=1.4)
            axes.plot(layers, values[0], "o", color=colour, mfc=fill or colour, ms=6.5, mew=1.6)
        tight = count * len(probes) > 21  # no room for a number between two lines
        for layer, low, high in zip(layers, control[0], task[0], strict=True):
            text = "−" * bool(high < low) + f"{abs(high - low):.2f}".lstrip("0")
            where = {"va": "center", "textcoords": "offset points", "rotation": 90 if tight else 0}
            size = 9 if len(probes) < 3 else 8
            axes.annotate(text, (layer, (low + high) / 2), (3, 0), fontsize=size, **where)
        axes.set_xlim(-0.5, count - 0.2)
        end = (layers[-1], task[0, -1], COLOURS["blue"])
        ends.append({"task": end, "control task": (layers[-1], control[0, -1], GREY)})
    label_layers(shown, count, "layer", "accuracy")
    name_lines(shown, ends, 2.2)
    legend = "Numbers: selectivity, the task less the control task."
    return finish(picture, note=legend)
