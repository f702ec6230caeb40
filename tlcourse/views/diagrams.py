"""Drawings of the lessons: a probe on a frozen body, a control task.

What they are made of stands in `drawing`. Numbers come from the live configuration.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tlcourse.views.drawing import (
    ACROSS,
    PALE,
    PALE_BLUE,
    PALE_VERMILLION,
    SIZE,
    Box,
    Point,
    arrow,
    box,
    canvas,
    label,
)
from tlcourse.views.style import COLOURS, GREY, Picture, finish, text_width

POOLED = {"mean": slice(None), "first": slice(1), "last": slice(-1, None)}  # tokens of a word


def probe_on_frozen_body(
    words: Sequence[Sequence[str]],
    probed: tuple[int, int] = (0, 0),
    answer: str = "",
    *,
    width: int = 0,
    layers: int = 0,
    classes: int = 0,
    pooling: str = "mean",
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """Words, tokens, frozen blocks with a state a layer, and a small probe that reads one of them.

    `words` holds the tokens of each word; `probed` is (word, layer), 0 being the embeddings, and
    `answer` the label that the probe gives. `width`, `layers` and `classes` are the model's and the
    task's; `pooling` says which tokens of a word are read: "mean" (of all), "first" or "last".
    Raises ValueError for a word or layer that is not there, another pooling, a sentence that is too
    wide, and without title or alt text.
    """
    word, layer = probed
    inside = 0 <= word < len(words) and 0 <= layer <= layers and min(width, layers, classes) > 0
    if not inside or pooling not in POOLED:
        raise ValueError(
            f"expected a word of {len(words)}, a layer from 0 to {layers}, positive sizes and a "
            f"pooling of {list(POOLED)}, got {probed}, width {width}, layers {layers}, classes "
            f"{classes}, pooling {pooling!r}"
        )
    column = max(0.5, *(text_width(token, SIZE) + 0.28 for each in words for token in each))
    places, left = [], 0.85  # inches; of each word's tokens
    for tokens in words:
        places.append([left + column * (i + 0.5) for i in range(len(tokens))])
        left += column * len(tokens)
    if left > 4.5:
        raise ValueError(
            f"expected words that fit into 3.65 inches, got {left - 0.85:.1f}; take fewer"
        )
    rows = sorted({0, 1, layer, layers})  # those that are drawn
    heights = {row: 0.98 + 0.62 * place for place, row in enumerate(rows)}
    picture, axes = canvas(title, heights[layers] + 0.3)
    _words_and_tokens(axes, words, places, column)
    read = places[word][POOLED[pooling]]
    _blocks_and_states(axes, heights, places, (layer, read))
    probe = _probe(axes, heights, layer, answer, (width, classes))
    _read(axes, (read, heights[layer]), left, probe.left, pooling)
    said = f"grey: frozen, no gradient;\n{layers} blocks of width {width:,}"
    label(axes, (probe.middle[0], 0.3), said, colour=GREY, align="center")
    return finish(picture, alt, note)


def _words_and_tokens(axes: Any, words: Sequence, places: Sequence, column: float) -> None:
    """Words at the bottom, their tokens above, each with an arrow up."""
    label(axes, (0.75, 0.15), "words", align="right", colour=GREY)
    label(axes, (0.75, 0.57), "tokens", align="right", colour=GREY)
    for tokens, x in zip(words, places, strict=True):
        middle = (x[0] + x[-1]) / 2
        box(axes, (middle, 0.15), "".join(tokens), width=column * len(tokens) - 0.06, height=0.24)
        for at, token in zip(x, tokens, strict=True):
            drawn = box(axes, (at, 0.57), token, width=column - 0.06, height=0.24)
            arrow(axes, (at, 0.27), drawn.bottom)
            arrow(axes, drawn.top, (at, 0.9))


def _blocks_and_states(
    axes: Any, heights: Mapping[int, float], places: Sequence, read: tuple[int, Sequence[float]]
) -> None:
    """A row of states for each layer, five small cells a token, above the blocks that made it."""
    x, below = [at for each in places for at in each], 0
    middle, wide = (x[0] + x[-1]) / 2, x[-1] - x[0] + 2 * (x[0] - 0.85) - 0.06
    for row, y in heights.items():
        if row:
            name = f"block {row}" if row == below + 1 else f"blocks {below + 1} to {row}"
            box(axes, (middle, y - 0.31), name, width=wide, height=0.24, fill=PALE)
        said, below = f"layer {row}" if row else "embeddings", row
        label(axes, (0.75, y), said, align="right", colour=GREY)
        for at in x:
            mine = row == read[0] and at in read[1]
            fill, edge = (PALE_BLUE, COLOURS["blue"]) if mine else ("white", "#9A9A9A")
            for cell in range(-2, 3):
                box(axes, (at + 0.075 * cell, y), width=0.075, height=0.13, fill=fill, edge=edge)


def _probe(
    axes: Any, heights: Mapping[int, float], layer: int, answer: str, sizes: tuple[int, int]
) -> Box:
    """The probe at the height of its layer, and its answer above, or below if there is no room."""
    (width, classes), blue = sizes, COLOURS["blue"]
    text = f"linear probe: {width:,} → {classes}\n{(width + 1) * classes:,} weights, trained"
    at = (5.75, heights[layer])
    probe = box(axes, at, text, fill=PALE_BLUE, edge=blue)
    up = layer < max(heights)
    other = (at[0], at[1] + (0.62 if up else -0.62))
    said = box(axes, other, answer, fill=PALE_BLUE, edge=blue, bold=True)
    arrow(axes, probe.top if up else probe.bottom, said.bottom if up else said.top, colour=blue)
    return probe


def _read(
    axes: Any, states: tuple[Sequence[float], float], right: float, end: Point, pooling: str
) -> None:
    """A line from the states that are read, over the others, to the probe."""
    (x, y), blue = states, COLOURS["blue"]
    for at in x:
        axes.plot([at, at], [y + 0.07, y + 0.13], color=blue, lw=1)
    turn = right + 0.05
    axes.plot([x[0], turn, turn], [y + 0.13, y + 0.13, y], color=blue, lw=1)
    arrow(axes, (turn, y), end, colour=blue)
    if len(x) > 1:
        label(axes, (turn + 0.05, y + 0.12), pooling, colour=blue)


def control_task(
    sentences: Sequence[Sequence[str]],
    labels: Sequence[Sequence[str]],
    control: Sequence[Sequence[str]],
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """The same words with their labels (blue) and with those of a control task (vermillion).

    All three hold an entry a word. In a control task (Hewitt & Liang, 2019) each word type draws
    its label once, at random. Words that occur more than once are bold. Raises ValueError where
    the three differ in length, a type has two control labels, a line is too wide, and without
    title or alt text.
    """
    drawn: dict[str, str] = {}
    shapes = [[len(each) for each in three] for three in (sentences, labels, control)]
    if not sentences or shapes[0] != shapes[1] or shapes[0] != shapes[2]:
        raise ValueError(f"expected a label and a control label for each word, got {shapes}")
    words = [word for sentence in sentences for word in sentence]
    for word, other in zip(words, [each for row in control for each in row], strict=True):
        if drawn.setdefault(word, other) != other:
            raise ValueError(
                f"expected one control label for each word type, got {drawn[word]!r} and {other!r} "
                f"for {word!r}"
            )
    each = max(text_width(t, SIZE, "bold") for t in words + sum(map(list, labels), [])) + 0.26
    if 0.8 + each * max(shapes[0]) > ACROSS:
        raise ValueError(f"expected sentences that fit, got up to {max(shapes[0])} words; cut them")
    picture, axes = canvas(title, 1.15 * len(sentences))
    for row, three in enumerate(zip(sentences, labels, control, strict=True)):
        top = 1.15 * (len(sentences) - row) - 0.2
        for line, (texts, name, fill, edge) in enumerate(
            zip(three, ("words", "labels", "control"), (PALE, PALE_BLUE, PALE_VERMILLION),
                (GREY, COLOURS["blue"], COLOURS["vermillion"]), strict=True)
        ):  # fmt: skip
            y = top - 0.33 * line
            label(axes, (0.7, y), name, align="right", colour=edge, bold=line > 0)
            for place, text in enumerate(texts):
                often = line == 0 and words.count(text) > 1
                box(axes, (0.8 + each * (place + 0.5), y), text, width=each - 0.06, height=0.26,
                    fill=fill, edge=edge, bold=often)  # fmt: skip
    return finish(picture, alt, note)
