"""Drawings for BPE: the way from text to ids, GPT-2's pattern at work, a word and its cuts.

What they are made of stands in `drawing`. Tokens come from the live tokenizer.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tlcourse.views.drawing import (
    ACROSS,
    PALE,
    PALE_BLUE,
    PALE_VERMILLION,
    SIZE,
    arrow,
    box,
    canvas,
    label,
)
from tlcourse.views.style import COLOURS, GREY, Picture, finish, text_width
from tlcourse.views.tokens import visible

_LEFT = 1.62  # inches: here the text begins, behind the names of the rows
_STEP = 0.52  # inches between two rows
_BLUE, _RED = COLOURS["blue"], COLOURS["vermillion"]


def text_to_ids(
    words: Sequence[tuple[str, Sequence[str], Sequence[str], Sequence[int]]],
    makers: Sequence[str] = ("", "", "", ""),
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """The way of a text through a tokenizer: pre-tokens, byte symbols, tokens, ids.

    `words` holds for each pre-token its text, its byte symbols, the tokens after all merges, and
    their ids. `makers` names the function that makes each of the four rows. Raises ValueError for
    no words, words that do not fit, a number of makers that is not four, and without title or alt
    text.
    """
    if not words or len(makers) != 4:
        raise ValueError(f"expected words and the makers of 4 rows, got {len(words)} and {makers}")
    cell = _wide(s for w in words for s in w[1])
    lanes = []  # the width of each word's column
    for _, symbols, tokens, ids in words:
        inner = sum(_wide([each]) for each in tokens)
        numbers = sum(_wide([str(each)]) for each in ids)
        lanes.append(max(len(symbols) * cell, inner, numbers) + 0.12)
    if sum(lanes) > ACROSS - _LEFT:
        raise ValueError(
            f"expected words that fit into {ACROSS - _LEFT:.1f} inches, got {sum(lanes):.1f}; take "
            "fewer"
        )
    picture, axes = canvas(title, 4 * _STEP + 0.45)
    heights = [4 * _STEP + 0.2 - _STEP * row for row in range(5)]
    whole = "".join(word for word, *_ in words)
    box(axes, (_LEFT + sum(lanes) / 2, heights[0]), visible(whole), width=sum(lanes) - 0.06,
        height=0.26)  # fmt: skip
    names = ("text", *makers)
    for name, y in zip(names, heights, strict=True):
        label(axes, (_LEFT - 0.12, y), name, align="right", colour=GREY, bold=name != "text")
    left = _LEFT
    for (word, symbols, tokens, ids), lane in zip(words, lanes, strict=True):
        middle = left + lane / 2
        box(axes, (middle, heights[1]), visible(word), width=lane - 0.06, height=0.26, fill=PALE)
        _cells(axes, (middle, heights[2]), symbols, lane, "white", GREY)
        _cells(axes, (middle, heights[3]), [visible(t) for t in tokens], lane, PALE_BLUE, _BLUE)
        _cells(axes, (middle, heights[4]), [str(each) for each in ids], lane, PALE_BLUE, _BLUE)
        for above in heights[:4]:
            arrow(axes, (middle, above - 0.13), (middle, above - _STEP + 0.14))
        left += lane
    return finish(picture, alt, note)


def _wide(texts: Any) -> float:
    """How wide a box must be for the widest of some texts, in inches."""
    return max(text_width(text, SIZE) for text in texts) + 0.12


def _cells(
    axes: Any, middle: tuple[float, float], texts: Sequence[str], lane: float, fill: str, edge: str
) -> None:
    """Boxes side by side that fill a lane, each as wide as its text asks for."""
    wide = [_wide([text]) for text in texts]
    spare = (lane - 0.06 - sum(wide)) / len(texts)
    left = middle[0] - (lane - 0.06) / 2
    for text, width in zip(texts, wide, strict=True):
        at = (left + (width + spare) / 2, middle[1])
        box(axes, at, text, width=width + spare, height=0.26, fill=fill, edge=edge)
        left += width + spare


def pattern_parts(
    pieces: Sequence[tuple[str, str]],
    parts: Mapping[str, str],
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """Which part of a pattern took which piece of a text: a row for each part, the text above.

    `pieces` are (text, name of the part) in the order of the text, `parts` maps the names to what
    they match, in words. Raises ValueError for no pieces, a piece of an unknown part, a text that
    does not fit, and without title or alt text.
    """
    lost = {name for _, name in pieces} - set(parts)
    if not pieces or lost:
        raise ValueError(f"expected pieces, each of a part of {list(parts)}, got {pieces}")
    names = [f"{name}: {said}" for name, said in parts.items()]
    start = max(text_width(name, SIZE) for name in names) * 1.05 + 0.25
    wide = [_wide([visible(text)]) for text, _ in pieces]
    if sum(wide) > ACROSS - start:
        raise ValueError(
            f"expected a text that fits into {ACROSS - start:.1f} inches, got {sum(wide):.1f}; cut "
            "it"
        )
    top = 0.32 * len(parts) + 0.2
    picture, axes = canvas(title, top + 0.25)
    rows = {name: top - 0.32 * (number + 1) for number, name in enumerate(parts)}
    label(axes, (start - 0.15, top), "the text", align="right", colour=GREY)
    for y, said in zip(rows.values(), names, strict=True):
        label(axes, (start - 0.15, y), said, align="right", colour=GREY)
        axes.plot([start, start + sum(wide)], [y, y], color="#D9D9D9", lw=0.6, zorder=0)
    left = start
    for (text, name), width in zip(pieces, wide, strict=True):
        x = left + width / 2
        box(axes, (x, top), visible(text), width=width, height=0.26, fill="white")
        box(axes, (x, rows[name]), visible(text), width=width, height=0.26, fill=PALE_BLUE,
            edge=_BLUE)  # fmt: skip
        left += width
    return finish(picture, alt, note)


def cuts_of_word(
    word: str,
    scores: Mapping[str, float],
    best: Sequence[str],
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """A word with every token that it could be cut into, and the best cut in colour.

    `scores` are the tokens' log-probabilities, `best` the tokens of the best cut. Tokens lie above
    the letters that they take, with their probability, short ones below long ones. Raises
    ValueError for a cut that does not spell the word, a token of it without a score, a word of more
    than 12 letters, and without title or alt text.
    """
    if "".join(best) != word or not set(best) <= set(scores) or not 0 < len(word) <= 12:
        raise ValueError(
            f"expected a word of 1 to 12 letters and tokens with scores that spell it, got "
            f"{word!r} and {list(best)}"
        )
    starts = [sum(map(len, best[:number])) for number in range(len(best))]
    chosen = set(zip(starts, best, strict=True))
    found = [
        (start, word[start:end])
        for end in range(1, len(word) + 1) for start in range(end) if word[start:end] in scores
    ]  # fmt: skip
    lanes: list[list[tuple[int, str]]] = []  # tokens in one lane do not overlap
    for start, token in sorted(found, key=lambda each: (len(each[1]), each[0])):
        free = (lane for lane in lanes if all(_apart((start, token), other) for other in lane))
        lane = next(free, None)
        if lane is None:
            lanes.append(lane := [])
        lane.append((start, token))
    cell = min(0.9, ACROSS / len(word))
    left = (ACROSS - cell * len(word)) / 2
    picture, axes = canvas(title, 0.36 * len(lanes) + 0.45)
    for place, letter in enumerate(word):
        box(axes, (left + cell * (place + 0.5), 0.15), visible(letter), width=cell - 0.08,
            height=0.26, fill=PALE, bold=True)  # fmt: skip
    for row, lane in enumerate(lanes):
        for start, token in lane:
            is_best = (start, token) in chosen
            fill, edge = (PALE_VERMILLION, _RED) if is_best else ("white", "#9A9A9A")
            middle = left + cell * (start + len(token) / 2)
            said = f"{100 * math.exp(scores[token]):.2g} %"
            text = f"{visible(token)}  {said}" if len(token) > 1 else said
            box(axes, (middle, 0.55 + 0.36 * row), text, width=cell * len(token) - 0.08,
                height=0.27, fill=fill, edge=edge, bold=is_best)  # fmt: skip
    return finish(picture, alt, note)


def _apart(one: tuple[int, str], other: tuple[int, str]) -> bool:
    """Whether two tokens of a word, each with its start, do not overlap."""
    return one[0] + len(one[1]) <= other[0] or other[0] + len(other[1]) <= one[0]
