"""Links between tokens: attention as lines, dependency trees as arcs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Unpack

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from tlcourse.views.style import (
    COLOURS,
    GREY,
    MIDDLE,
    Picture,
    Texts,
    figure,
    finish,
    shaped,
    text_width,
)
from tlcourse.views.tokens import fitting, named

_PITCH = 0.19  # inches from a token to the one below
_TALLEST = 5.6  # inches of all tokens
_APART = 2.8  # inches between the columns
_SIZE = 10  # points, of a token or word
WORDS_A_LINE = 25
LINES = 5
_WIDE = 6.75  # inches, of a line
_MARGIN = 0.65  # inches at both sides where a sentence has more than one line
_ROOM = 0.4  # inches above and below the arcs of a line, together
_SPACE = 0.16  # inches between words, at least
_LEVEL = 0.2  # inches between arcs one above the other
_FIRST = 0.26  # inches from the words to the lowest arc
_STEP = 0.07  # inches between arcs that end at the same word
Edge = tuple[int, int]


def token_lines(
    weights: Any,
    tokens: Sequence[str],
    *,
    keys: Sequence[str] | None = None,
    chosen: int | None = None,
    threshold: float = 0.05,
    **texts: Unpack[Texts],
) -> Picture:
    """Attention of one head, (queries, keys), as lines: the darker a line, the larger its weight.

    Queries stand at the left, `keys` at the right; None: the same tokens. Weights below `threshold`
    are left out. With `chosen`, the position of a query, only its lines are drawn and their weights
    written. Of many tokens every nth is named, those of the chosen one's lines first. Raises
    ValueError when the shape does not fit the tokens, or for a chosen one that is not there.
    """
    keys = tokens if keys is None else keys
    weights = shaped(weights, (len(tokens), len(keys)), "weights").astype(float)
    if chosen is not None and not 0 <= chosen < len(tokens):
        raise ValueError(f"expected a chosen query from 0 to {len(tokens) - 1}, got {chosen}")
    rows = max(len(tokens), len(keys))
    tall = min(_TALLEST, _PITCH * rows)
    picture, axes = figure(height=tall + 1.15 + (0.25 if texts.get("note") else 0), **texts)
    axes.set_axis_off()
    pitch = tall / rows
    axes.set(xlim=(-2, _APART + 2), ylim=(rows - 0.2, -0.5 - 0.3 / pitch))
    drawn = weights >= threshold
    if chosen is not None:
        drawn &= (np.arange(len(tokens)) == chosen)[:, None]
    places = np.argwhere(drawn)[np.argsort(weights[drawn], kind="stable")]  # dark ones on top
    shown = weights[tuple(places.T)]
    ink = np.tile(to_rgba(COLOURS["blue"]), (len(places), 1))
    ink[:, 3] = np.clip(shown, 0.1, 1)
    lines = [[(0.06, query), (_APART - 0.06, key)] for query, key in places]
    axes.add_collection(LineCollection(lines, colors=ink, linewidths=2), autolim=False)
    looks = {} if chosen is None else {chosen: ""}
    weights_of_keys = zip(places[::-1], shown[::-1], strict=True)
    seen = {} if chosen is None else {int(k): f"  {w:.2f}" for (_, k), w in weights_of_keys}
    _column(axes, tokens, pitch, looks, align="right")
    _column(axes, keys, pitch, seen, align="left")
    legend = f"Weights below {threshold:g} are not drawn." if threshold > 0 else ""
    return finish(picture, note=legend)


def _column(
    axes: Any, tokens: Sequence[str], pitch: float, strong: Mapping[int, str], align: str
) -> None:
    """Writes tokens one below the other, as many as fit, the `strong` ones first and bold.

    `pitch` is in inches a token; `strong` maps positions to what follows their token; `align` is
    the side on which the texts end.
    """
    x = 0.0 if align == "right" else _APART
    head = "query: this token looks" if align == "right" else "key: at this token"
    axes.text(x, -0.5 - 0.18 / pitch, head, ha=align, va="center", fontsize=_SIZE, color=GREY)
    step = named(len(tokens), pitch * len(tokens), _SIZE).step
    taken: list[int] = []
    for position in (*strong, *range(0, len(tokens), step)):
        if any(abs(position - other) < step for other in taken):
            continue
        taken.append(position)
        bold = position in strong
        text = fitting(tokens[position], 1.5, _SIZE) + strong.get(position, "")
        ink = "black" if bold or not strong else GREY
        font = {"fontsize": _SIZE, "fontweight": "bold" if bold else "normal", "parse_math": False}
        axes.text(x, position, text, ha=align, va="center", color=ink, **font)


def arcs(
    words: Sequence[str],
    heads: Sequence[int | None],
    predicted: Collection[Edge],
    **texts: Unpack[Texts],
) -> Picture:
    """A sentence with its gold tree above and predicted edges below, those in both in blue.

    `heads` (words,) counts from 1, the root's is 0, as in CoNLL-U; None is a word that is not
    judged, such as punctuation. `predicted` are edges (word, word) from 0, without direction. Gold
    arrows point from head to dependent; predicted edges that are not in the gold tree are dashed. A
    sentence that is too long for the width, or has over 25 words, goes on in the next line, with
    the other end of an arc named at the edge. Raises ValueError for heads or edges that are not of
    these words, or a sentence over five lines.
    """
    gold = _gold(words, heads, predicted)
    found = {frozenset(edge) for edge in gold} & {frozenset(edge) for edge in predicted}
    spans = list(_lines(words))
    if len(spans) > LINES:
        got = f"{len(words)} words in {len(spans)}"
        raise ValueError(f"expected a sentence of at most {LINES} lines, got {got}")
    below = sorted({(min(edge), max(edge)) for edge in predicted})
    levels = [_levels(gold), _levels(below)]
    reaches = [[_reach(level, span) for level in levels] for span in spans]  # (above, below)
    height = sum(up + down + _ROOM for up, down in reaches)
    picture, axes = figure(height=0.95 + height, **texts)
    axes.set_axis_off()
    axes.set(xlim=(0, _WIDE), ylim=(-height, 0))
    top = 0.0
    for span, (up, down) in zip(spans, reaches, strict=True):
        middle = top - up - _ROOM / 2
        places = _word_places(words, span, 0 if len(spans) == 1 else _MARGIN)
        if top == 0:
            for y, text in ((middle + up + 0.09, "gold"), (middle - down - 0.09, "predicted")):
                axes.text(0, y, text, color=GREY, fontsize=_SIZE, fontweight="bold", va="center")
        for word, (left, right) in places.items():
            weight = "bold" if heads[word] == 0 else "normal"
            at = (left + right) / 2, middle
            axes.text(*at, words[word], fontsize=_SIZE, fontweight=weight, **MIDDLE)
        for edges, level, side in ((gold, levels[0], 1), (below, levels[1], -1)):
            at = _attachments(edges, places)
            for edge in edges:
                right = frozenset(edge) in found
                style = {"color": COLOURS["blue"] if right else GREY, "lw": 1.6 if right else 1.2}
                style["ls"] = "-" if right or side == 1 else (0, (4, 2))
                peak = side * (_FIRST + _LEVEL * level[edge])
                _arc(axes, edge, at, (middle, peak), style, (words, span))
        top -= up + down + _ROOM
    legend = f"Bold: the root. Blue: in both trees, {len(found)} of {len(gold)} gold arcs."
    return finish(picture, note=legend)


def _gold(words: Sequence[str], heads: Sequence[int | None], predicted: Collection) -> list[Edge]:
    """The arcs (head, dependent), from 0, after checking that all are of these words."""
    count = len(words)
    inside = all(head is None or 0 <= head <= count for head in heads)
    if len(heads) != count or not count or not inside:
        wanted = f"a head from 0 to {count} or None for each of {count} words"
        raise ValueError(f"expected {wanted}, got {list(heads)}")
    if not all(0 <= a < count and 0 <= b < count and a != b for a, b in predicted):
        wanted = f"edges between different words from 0 to {count - 1}"
        raise ValueError(f"expected {wanted}, got {sorted(predicted)}")
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


def _word_places(
    words: Sequence[str], span: range, margin: float
) -> dict[int, tuple[float, float]]:
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
        text, to_right = (f"{partner} →", "right") if away else (f"← {partner}", "left")
        where = {"ha": to_right, "va": "bottom" if side == 1 else "top"}
        axes.text(away, peak + side * 0.02, text, fontsize=8, color=style["color"], **where)
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
