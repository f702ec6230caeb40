"""Drawings of the lessons: a probe on a frozen body, a control task.

What they are made of stands in `drawing`. Numbers come from the live configuration.
"""

from collections.abc import Sequence
from typing import Any

from tlcourse.views.drawing import (
    ACROSS,
    PALE,
    PALE_BLUE,
    PALE_VERMILLION,
    SIZE,
    Point,
    arrow,
    box,
    canvas,
    label,
)
from tlcourse.views.style import COLOURS, GREY, Picture, finish, text_width


def probe_on_frozen_body(
    words: Sequence[Sequence[str]],
    probed: tuple[int, int] = (0, 0),
    answer: str = "",
    *,
    width: int = 0,
    layers: int = 0,
    classes: int = 0,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """Words, tokens, frozen blocks with a state a layer, and a small probe that reads one of them.

    `words` holds the tokens of each word; `probed` is (word, layer), 0 being the embeddings, and
    `answer` the label that the probe gives. `width`, `layers` and `classes` are the model's and the
    task's. Raises ValueError for a word or layer that is not there, a sentence that is too wide,
    and without title or alt text.
    """
    word, layer = probed
    if not (0 <= word < len(words) and 0 <= layer <= layers and min(width, layers, classes) > 0):
        raise ValueError(
            f"expected a word of {len(words)}, a layer from 0 to {layers} and positive sizes, got "
            f"{probed}, width {width}, layers {layers}, classes {classes}"
        )
    tokens = [(number, token) for number, each in enumerate(words) for token in each]
    column = max(0.5, *(text_width(token, SIZE) + 0.28 for _, token in tokens))
    wide = column * len(tokens)
    if wide > 3.7:
        raise ValueError(f"expected words that fit into 3.7 inches, got {wide:.1f}; take fewer")
    rows = sorted({0, 1, layer, layers})  # states that are drawn
    step, first, left = 0.62, 0.98, 0.85
    picture, axes = canvas(title, first + step * (len(rows) - 1) + 0.3)
    x = [left + column * (i + 0.5) for i in range(len(tokens))]
    _words_and_tokens(axes, words, x, column)
    heights = {row: first + step * place for place, row in enumerate(rows)}
    for row, y in heights.items():
        if row:
            more = "" if row - 1 in heights else f"blocks {_before(rows, row) + 1} to "
            name = f"{more}{row}" if more else f"block {row}"
            box(axes, (left + wide / 2, y - step / 2), name, width=wide - 0.06, height=0.24,
                fill=PALE)  # fmt: skip
        label(axes, (left - 0.1, y), f"layer {row}" if row else "embeddings", align="right",
              colour=GREY)  # fmt: skip
        for at, (number, _) in zip(x, tokens, strict=True):
            _state(axes, (at, y), number == word and row == layer)
    _read(axes, [at for at, (n, _) in zip(x, tokens, strict=True) if n == word],
          left + wide, heights, layer)  # fmt: skip
    middle = (5.75, heights[layer])
    weights = (width + 1) * classes
    probe = box(axes, middle, f"linear probe: {width:,} → {classes}\n{weights:,} weights, trained",
                fill=PALE_BLUE, edge=COLOURS["blue"])  # fmt: skip
    up = heights[layer] + 0.62 < heights[rows[-1]] + 0.2
    said = box(axes, (5.75, middle[1] + (0.62 if up else -0.62)), answer, fill=PALE_BLUE,
               edge=COLOURS["blue"], bold=True)  # fmt: skip
    arrow(axes, probe.top if up else probe.bottom, said.bottom if up else said.top,
          colour=COLOURS["blue"])  # fmt: skip
    label(axes, (5.75, 0.3), f"grey: frozen, {layers} blocks\nof width {width:,}", colour=GREY,
          align="center")  # fmt: skip
    return finish(picture, alt, note)


def _before(rows: Sequence[int], row: int) -> int:
    return rows[rows.index(row) - 1]


def _words_and_tokens(axes: Any, words: Sequence[Sequence[str]], x: list, column: float) -> None:
    """Words at the bottom, their tokens above, each with an arrow up."""
    place = 0
    label(axes, (0.75, 0.15), "words", align="right", colour=GREY)
    label(axes, (0.75, 0.57), "tokens", align="right", colour=GREY)
    for tokens in words:
        here = x[place : place + len(tokens)]
        middle = (here[0] + here[-1]) / 2
        box(axes, (middle, 0.15), "".join(tokens), width=column * len(tokens) - 0.06, height=0.24)
        for at, token in zip(here, tokens, strict=True):
            drawn = box(axes, (at, 0.57), token, width=column - 0.06, height=0.24)
            arrow(axes, (at, 0.27), drawn.bottom)
            arrow(axes, drawn.top, (at, 0.9))
        place += len(tokens)


def _state(axes: Any, middle: Point, read: bool) -> None:
    """A state: a row of five small cells, blue where the probe reads it."""
    for cell in range(5):
        at = (middle[0] + 0.075 * (cell - 2), middle[1])
        box(axes, at, width=0.075, height=0.13, fill=PALE_BLUE if read else "white",
            edge=COLOURS["blue"] if read else "#9A9A9A")  # fmt: skip


def _read(axes: Any, x: Sequence[float], right: float, heights: dict, layer: int) -> None:
    """From the states of the word to the probe, past the other words; other layers in dashes."""
    y, blue = heights[layer], COLOURS["blue"]
    above = y + 0.13
    for at in x:
        axes.plot([at, at], [y + 0.07, above], color=blue, lw=1)
    axes.plot([x[0], right + 0.05, right + 0.05], [above, above, y], color=blue, lw=1)
    arrow(axes, (right + 0.05, y), (4.78, y), colour=blue)
    if len(x) > 1:
        label(axes, (right + 0.1, above + 0.05), "mean", colour=blue)


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
