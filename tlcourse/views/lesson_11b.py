"""Figures of lesson 11b: an LSTM's cell, ELMo's two directions, a tagger on frozen states.

A title states a finding only if the data show it.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Unpack

from tlcourse.views.diagrams import Box, Drawing, word_width
from tlcourse.views.dots import grouped_dots
from tlcourse.views.style import Picture, Texts

Interval = tuple[float, float, float]  # a value and the ends of its interval


def lstm_step(**texts: Unpack[Texts]) -> Picture:
    """One step of an LSTM: the cell state runs along the top, the gates stand below it."""
    texts = {
        "title": "The cell state passes a step through one product and one sum",
        "alt": "At the bottom, the inputs of a step, x and the hidden state before, lead to four "
        "gates: f, i and o with σ, g with tanh. Along the top, the cell state c is multiplied by "
        "f, then i times g is added. The new c goes on, and o times tanh of it is the new hidden "
        "state h.",
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
        "title": f"“{word}”: the mix of what both directions know at it",
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
