"""A figure of lesson 01b: a word and all its cuts."""

import math
from collections.abc import Mapping, Sequence
from typing import Unpack

from tlcourse.views.diagrams import ACROSS, Drawing
from tlcourse.views.style import Picture, Texts
from tlcourse.views.tokens import visible


def cuts_of_word(
    word: str, scores: Mapping[str, float], best: Sequence[str], **texts: Unpack[Texts]
) -> Picture:
    """A word with every token that it could be cut into, and the best cut in colour.

    `scores` are the tokens' log-probabilities, `best` the tokens of the best cut. Tokens lie above
    the letters that they take, with their probability, short ones below long ones. Raises
    ValueError for a cut that does not spell the word, a token of it without a score, or a word of
    more than 12 letters.
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
        for end in range(1, len(word) + 1)
        for start in range(end)
        if word[start:end] in scores
    ]
    lanes: list[list[tuple[int, str]]] = []  # tokens in one lane do not overlap
    for start, token in sorted(found, key=lambda each: (len(each[1]), each[0])):
        free = (lane for lane in lanes if all(_apart((start, token), other) for other in lane))
        lane = next(free, None)
        if lane is None:
            lanes.append(lane := [])
        lane.append((start, token))
    cell = min(0.9, ACROSS / len(word))
    left = (ACROSS - cell * len(word)) / 2
    draw = Drawing(0.36 * len(lanes) + 0.45, **texts)
    for place, letter in enumerate(word):
        middle, text = (left + cell * (place + 0.5), 0.15), visible(letter)
        draw.box(middle, text, width=cell - 0.08, height=0.26, colour="grey", bold=True)
    for row, lane in enumerate(lanes):
        for start, token in lane:
            is_best = (start, token) in chosen
            hue = "vermillion" if is_best else "faint"
            middle = left + cell * (start + len(token) / 2)
            percentage = f"{100 * math.exp(scores[token]):.2g} %"
            text = f"{visible(token)}  {percentage}" if len(token) > 1 else percentage
            size = {"width": cell * len(token) - 0.08, "height": 0.27}
            draw.box((middle, 0.55 + 0.36 * row), text, colour=hue, bold=is_best, **size)
    return draw.finish()


def _apart(one: tuple[int, str], other: tuple[int, str]) -> bool:
    """Whether two tokens of a word, each with its start, do not overlap."""
    return one[0] + len(one[1]) <= other[0] or other[0] + len(other[1]) <= one[0]
