"""Figures of lesson 00: the road through the lessons, errors, and the story on one text."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.patches import FancyArrowPatch

from tlcourse.views.bars import horizontal_bars
from tlcourse.views.diagrams import ACROSS, Drawing, word_width
from tlcourse.views.style import COLOURS, Picture, Texts, shaped
from tlcourse.views.tokens import visible

STATIONS = (
    ("01 Tokens", "a tokenizer that you trained", "build"),
    ("02 Transformer", "a model that you wrote", "build"),
    ("03 Pretraining", "a model trained on text", "build"),
    ("04 Fine-tuning", "a classifier, and how far to trust it", "adapt"),
    ("05 Schemes", "adapters, LoRA, schedules", "adapt"),
    ("06 More signal", "learning from texts without labels", "adapt"),
    ("07 Probing", "what the model knows", "look"),
    ("08 Looking inside", "what attention heads do", "look"),
)
_FILLS = {"build": "blue", "adapt": "vermillion", "look": "grey"}
_SAID = {"build": "build a language model", "adapt": "teach it a task", "look": "look inside"}


def road(stations: Sequence[tuple[str, str, str]] = STATIONS, **texts: Unpack[Texts]) -> Picture:
    """The lessons as stations of a road, each with what is carried on from it.

    A station is (name, what the learner has then, part), the part one of "build", "adapt" and
    "look". Four stand in a row; the road turns round at its end. Raises ValueError for another
    part, for words of more than three lines, or for no station.
    """
    if not stations or any(part not in _FILLS for *_, part in stations):
        wanted = f"stations (name, what one has then, part of {list(_FILLS)})"
        raise ValueError(f"expected {wanted}, got {stations!r}")
    texts = {
        "title": "From bytes to an answer: the road through the lessons",
        "alt": "Boxes joined by arrows, one for each lesson: "
        + ", ".join(f"{name} ({has})" for name, has, _ in stations),
    } | texts
    rows = -(-len(stations) // 4)
    draw = Drawing(1.15 * rows + 0.35, **texts)
    wide, before, last = 1.5, None, 0
    for place, (name, has, part) in enumerate(stations):
        row, column = divmod(place, 4)
        column = 3 - column if row % 2 else column
        middle = 0.8 + 1.733 * column, 1.15 * (rows - row) - 0.2
        here = draw.box(middle, width=wide, height=0.88, fill=_FILLS[part])
        draw.caption((middle[0], middle[1] + 0.24), name, "black", bold=True)
        for line, words in enumerate(_lines(has, wide - 0.16)):
            if line > 2:
                raise ValueError(f"expected words that fit into three lines, got {has!r}")
            draw.caption((middle[0], middle[1] - 0.02 - 0.17 * line), words, "black")
        if before is not None:
            if column == last:
                sides = before.bottom, here.top
            else:
                sides = (before.left, here.right) if row % 2 else (before.right, here.left)
            draw.arrow(*sides)
        before, last = here, column
    left = 0.05
    for part in dict.fromkeys(part for *_, part in stations):
        cell = draw.box((left + 0.1, 0.12), width=0.2, height=0.16, fill=_FILLS[part])
        draw.label((cell.right[0] + 0.08, 0.12), _SAID[part], colour="grey")
        left = cell.right[0] + 0.35 + word_width(_SAID[part]) * 1.05
    return draw.finish()


def _lines(text: str, room: float) -> list[str]:
    """A text in lines that fit into so many inches."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and word_width(longer) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def story(
    tokens: Sequence[str],
    weights: Any,
    likely: Mapping[str, float],
    *,
    labels: Mapping[str, float] | None = None,
    cut: str = "",
    at: int = -1,
    **texts: Unpack[Texts],
) -> Picture:
    """A text's tokens, what one of them looks at, what comes next, and what is asked for.

    `weights` (length,) is the attention of the token `at` to each. `likely` are the next tokens
    after it, where the text ends with `cut`: an arrow leads to them from that token. `labels` are
    those of a classifier that read the whole text (None: nobody asked): a bracket under all tokens
    leads to them. Both come with their probabilities. Raises ValueError where the weights are not
    one a token.
    """
    weights = shaped(weights, (len(tokens),), "one weight a token").astype(float)
    texts = {
        "title": "Pretrained: what comes next. Fine-tuned: what is asked for.",
        "alt": f"A text cut into tokens, with arcs from the token {tokens[at]} to those before "
        "it. An arrow leads from it to bars of the likeliest next tokens, and a bracket under the "
        "whole text leads to bars of the kinds of answer.",
    } | texts
    draw = Drawing(3.35, **texts)
    names = [visible(token) for token in tokens]
    widths = [word_width(name) * 1.05 + 0.16 for name in names]
    left, middles = max(0.05, (ACROSS - sum(widths) - 0.06 * (len(names) - 1)) / 2), []
    for name, wide, weight in zip(names, widths, weights, strict=True):
        fill = "blue" if weight >= np.sort(weights)[-min(3, len(weights))] else "grey"
        middles.append((left + wide / 2, 2.15))
        draw.box(middles[-1], name, width=wide, height=0.3, fill=fill)
        left += wide + 0.06
    looks = range(len(tokens))[at]
    others = [place for place in range(len(tokens)) if place != looks and weights[place] >= 0.04]
    most = max((weights[place] for place in others), default=1.0)
    start = middles[looks][0], middles[looks][1] + 0.17
    for place in others:
        x, y = middles[place]
        bend = f"arc3,rad={0.16 + 0.06 * (start[0] - x) / ACROSS}"
        ink = {"color": COLOURS["blue"], "lw": 3 * weights[place] / most, "alpha": 0.75}
        arc = FancyArrowPatch(start, (x, y + 0.17), arrowstyle="-", connectionstyle=bend, **ink)
        draw.axes.add_patch(arc)
    draw.label((0.05, 3.2), "1  text becomes tokens", bold=True)
    heading = "2  tokens look at each other"
    draw.label((ACROSS, 3.2), heading, bold=True, align="right", colour="blue")
    here, there = (3.6, 0.05) if middles[looks][0] > ACROSS / 2 else (0.05, 3.6)
    if labels:
        ends = middles[0][0] - widths[0] / 2, middles[-1][0] + widths[-1] / 2
        corners = zip(np.repeat(ends, 2), [1.97, 1.9, 1.9, 1.97], strict=True)
        draw.stroke(*corners, colour="vermillion")
        draw.arrow((there + 1.65, 1.9), (there + 1.65, 1.66), colour="vermillion")
        _bars(draw, there, "4  fine-tuned: what is asked for?", labels, "vermillion")
    draw.arrow((middles[looks][0], 1.99), (middles[looks][0], 1.66), colour="blue")
    _bars(draw, here, f"3  pretrained: what follows “{cut}”?", likely, "blue")
    return draw.finish()


def dev_errors(
    errors: Mapping[str, tuple[float, float, float]],
    ours: str,
    counting: str,
    **texts: Unpack[Texts],
) -> Picture:
    """Bars of error in %, each (share, low, high); the title says if `ours` beats `counting`."""
    fewer = errors[counting][0] - errors[ours][0]
    title = "Errors on the dev set"
    if fewer > 0:
        title = f"{100 * fewer:.0f} points fewer errors than by counting words"
    bars = {name: tuple(100 * share for share in shares) for name, shares in errors.items()}
    return horizontal_bars(
        bars,
        x_label="dev error (%)",
        highlight=ours,
        **{
            "title": title,
            "alt": "Bars of dev error: " + ", ".join(f"{k} {v[0]:.1f} %" for k, v in bars.items()),
        }
        | texts,
    )


def _bars(
    draw: Drawing, left: float, heading: str, shares: Mapping[str, float], colour: str
) -> None:
    """Names with their probabilities as bars, one below the other, under a heading."""
    draw.label((left, 1.52), heading, bold=True, colour=colour)
    room = max(word_width(visible(name)) for name in shares) * 1.05
    scale = (3.15 - room - 0.55) / max(shares.values())
    for row, (name, share) in enumerate(shares.items()):
        y = 1.24 - 0.2 * row
        draw.label((left + room, y), visible(name), align="right")
        draw.axes.barh(
            y, share * scale, left=left + room + 0.08, height=0.14, color=COLOURS[colour]
        )
        at = left + room + 0.14 + share * scale
        draw.label((at, y), f"{share:.0%}", colour="grey")
