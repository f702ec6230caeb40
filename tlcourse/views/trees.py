"""Dependency trees as arcs over a sentence: the gold one above, a predicted one below."""

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any

from matplotlib.patches import PathPatch
from matplotlib.path import Path

from tlcourse.views.style import COLOURS, GREY, Picture, figure, finish, text_width

WORDS_A_LINE = 25
LINES = 5
_WIDE = 6.75  # inches, of a line
_MARGIN = 0.65  # inches at both sides where a sentence has more than one line
_ROOM = 0.4  # inches above and below the arcs of a line, together
_SIZE = 10  # points, of a word
_SPACE = 0.16  # inches between words, at least
_LEVEL = 0.2  # inches between arcs one above the other
_FIRST = 0.26  # inches from the words to the lowest arc
_STEP = 0.07  # inches between arcs that end at the same word
Edge = tuple[int, int]


def arcs(
    words: Sequence[str],
    heads: Sequence[int | None],
    predicted: Collection[Edge],
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """A sentence with its gold tree above and predicted edges below, those in both in blue.

    `heads` (words,) counts from 1, the root's is 0, as in CoNLL-U; None is a word that is not
    judged, such as punctuation. `predicted` are edges (word, word) from 0, without direction. Gold
    arrows point from head to dependent; predicted edges that are not in the gold tree are dashed.
    A sentence that is too long for the width, or has over 25 words, goes on in the next line, with
    the other end of an arc named at the edge. Raises ValueError for heads or edges that are not of
    these words, a sentence over five lines, and without title or alt text.
    """
    gold = _gold(words, heads, predicted)
    found = {frozenset(edge) for edge in gold} & {frozenset(edge) for edge in predicted}
    spans = list(_lines(words))
    if len(spans) > LINES:
        raise ValueError(
            f"expected a sentence of at most {LINES} lines, got {len(words)} words in "
            f"{len(spans)}; draw a shorter one"
        )
    below = sorted({(min(edge), max(edge)) for edge in predicted})
    levels = [_levels(gold), _levels(below)]
    reaches = [[_reach(level, span) for level in levels] for span in spans]  # (above, below)
    height = sum(up + down + _ROOM for up, down in reaches)
    picture, axes = figure(title, 0.95 + height)
    axes.set_axis_off()
    axes.set(xlim=(0, _WIDE), ylim=(-height, 0))
    top = 0.0
    for span, (up, down) in zip(spans, reaches, strict=True):
        middle = top - up - _ROOM / 2
        places = _places(words, span, 0 if len(spans) == 1 else _MARGIN)
        if top == 0:
            for y, text in ((middle + up + 0.09, "gold"), (middle - down - 0.09, "predicted")):
                axes.text(0, y, text, color=GREY, fontsize=_SIZE, fontweight="bold", va="center")
        for word, (left, right) in places.items():
            axes.text(
                (left + right) / 2, middle, words[word], ha="center", va="center", fontsize=_SIZE,
                fontweight="bold" if heads[word] == 0 else "normal",
            )  # fmt: skip
        for edges, level, side in ((gold, levels[0], 1), (below, levels[1], -1)):
            at = _attachments(edges, places)
            for edge in edges:
                right = frozenset(edge) in found
                style = {"color": COLOURS["blue"] if right else GREY, "lw": 1.6 if right else 1.2}
                style["ls"] = "-" if right or side == 1 else (0, (4, 2))
                peak = side * (_FIRST + _LEVEL * level[edge])
                _arc(axes, edge, at, (middle, peak), style, (words, span))
        top -= up + down + _ROOM
    said = f"Bold: the root. Blue: in both trees, {len(found)} of {len(gold)} gold arcs."
    return finish(picture, alt, f"{said} {note}" if note else said)


def _gold(words: Sequence[str], heads: Sequence[int | None], predicted: Collection) -> list[Edge]:
    """The arcs (head, dependent), from 0, after checking that all are of these words."""
    count = len(words)
    inside = all(head is None or 0 <= head <= count for head in heads)
    if len(heads) != count or not count or not inside:
        raise ValueError(
            f"expected a head from 0 to {count} or None for each of {count} words, got "
            f"{list(heads)}"
        )
    if not all(0 <= a < count and 0 <= b < count and a != b for a, b in predicted):
        raise ValueError(
            f"expected edges between different words from 0 to {count - 1}, got {sorted(predicted)}"
        )
    return [(head - 1, word) for word, head in enumerate(heads) if head]


def _lines(words: Sequence[str]) -> Iterator[range]:
    """The words of each line, as many as fit: all in one, else with margins for their arcs."""
    widths = [text_width(word, _SIZE, "bold") + _SPACE for word in words]
    room = _WIDE if sum(widths) <= _WIDE else _WIDE - 2 * _MARGIN
    first, wide = 0, 0.0
    for number, needed in enumerate(widths):
        if number > first and (wide + needed > room or number - first == WORDS_A_LINE):
            yield range(first, number)
            first, wide = number, 0.0
        wide += needed
    yield range(first, len(words))


def _places(words: Sequence[str], span: range, margin: float) -> dict[int, tuple[float, float]]:
    """The left and right edge of each word of a line, in inches; the rest lies between them."""
    widths = {i: text_width(words[i], _SIZE, "bold") for i in span}
    gap = min(0.45, (_WIDE - 2 * margin - sum(widths.values())) / len(span))
    left, places = margin + gap / 2, {}
    for i in span:
        places[i] = (left, left + widths[i])
        left += widths[i] + gap
    return places


def _levels(edges: Sequence[Edge]) -> dict[Edge, int]:
    """How high each arc lies, from 0: above every shorter one that it spans a part of."""
    levels: dict[Edge, int] = {}
    for edge in sorted(edges, key=lambda edge: abs(edge[0] - edge[1])):
        low, high = sorted(edge)
        under = [level for other, level in levels.items() if min(other) < high and low < max(other)]
        levels[edge] = max(under, default=-1) + 1
    return levels


def _reach(levels: dict[Edge, int], span: range) -> float:
    """How far the arcs that end in a line reach from its words, in inches."""
    here = [level for edge, level in levels.items() if edge[0] in span or edge[1] in span]
    return _FIRST + _LEVEL * max(here, default=0) + 0.12


def _attachments(edges: Sequence[Edge], places: dict[int, tuple[float, float]]) -> dict:
    """(edge, word) → where on the line the arc meets the word, so that arcs do not cross there."""
    at = {}
    for word, (left, right) in places.items():
        mine = [edge for edge in edges if word in edge]
        other = {edge: edge[0] + edge[1] - word for edge in mine}
        before = sorted((e for e in mine if other[e] < word), key=lambda e: -other[e])
        after = sorted((e for e in mine if other[e] > word), key=lambda e: -other[e])
        for place, edge in enumerate([*before, *after]):
            at[edge, word] = (left + right) / 2 + _STEP * (place - (len(mine) - 1) / 2)
    return at


def _arc(axes: Any, edge: Edge, at: dict, heights: tuple, style: dict, text: tuple) -> None:
    """One arc, or as much of it as ends in this line; an arrow where a gold one ends."""
    (middle, height), (words, span) = heights, text
    side = 1 if height > 0 else -1
    base, peak = middle + side * 0.12, middle + height
    ends = sorted(edge)
    here = [end for end in ends if end in span]
    if not here:
        return
    points = [(at[edge, end], base) for end in here]
    low, high = points[0][0], points[-1][0]
    if len(here) == 2:
        corners = [(low, base), (low, peak), (high, peak), (high, base)]
    else:
        away = _WIDE if ends[0] in span else 0.0
        corners = [(low, base), (low, peak), (away, peak)]
        partner = words[ends[1] if away else ends[0]]
        partner = partner if len(partner) < 9 else f"{partner[:7]}…"
        axes.text(
            away, peak + side * 0.02, f"{partner} →" if away else f"← {partner}", fontsize=8,
            ha="right" if away else "left", va="bottom" if side == 1 else "top",
            color=style["color"],
        )  # fmt: skip
    axes.add_patch(PathPatch(_rounded(corners), fill=False, capstyle="butt", **style))
    if side == 1 and edge[1] in here:
        x = at[edge, edge[1]]
        axes.plot(x, base + 0.03, marker="v", ms=5, color=style["color"])


def _rounded(corners: Sequence[tuple[float, float]], radius: float = 0.09) -> Path:
    """A path through the corners, each one rounded (inches)."""

    def towards(a: tuple, b: tuple) -> tuple[float, float]:
        reach = sum(abs(b[i] - a[i]) for i in range(2)) or 1.0
        share = min(radius / reach, 0.5)
        return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])

    points, codes = [corners[0]], [Path.MOVETO]
    for (before, corner), (_, after) in pairwise(pairwise(corners)):
        points += [towards(corner, before), corner, towards(corner, after)]
        codes += [Path.LINETO, Path.CURVE3, Path.CURVE3]
    return Path([*points, corners[-1]], [*codes, Path.LINETO])
