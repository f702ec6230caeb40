"""Figures of lesson 09b: texts that are written from other texts.

A title states a finding only if the data show it.
"""

from collections.abc import Sequence
from typing import Unpack

from tlcourse.views.diagrams import ACROSS, Drawing, word_width
from tlcourse.views.style import Picture, Texts


def dialogue_input(
    tokens: Sequence[str], types: Sequence[int], targets: Sequence[str], **texts: Unpack[Texts]
) -> Picture:
    """A dialogue as tokens, with the type and the target of each below; it takes several lines.

    A target is the token to be predicted, or "" where the loss ignores the position. Types are 0
    for the persona, 1 for the user and 2 for the bot. The title says that only the reply is
    predicted if each target is the next token and all of them stand in a row up to the last but
    one. Raises ValueError where the three differ in length, or for another type.
    """
    if not len(tokens) == len(types) == len(targets) or not set(types) <= {0, 1, 2}:
        raise ValueError(
            f"expected a type from 0 to 2 and a target for each token, got {len(tokens)} tokens, "
            f"{len(types)} types in {sorted(set(types))}, {len(targets)} targets"
        )
    words, wanted = ([text.strip() for text in each] for each in (tokens, targets))
    columns = list(zip(words, types, wanted, strict=True))
    lines: list[list] = [[]]
    used = 0.8
    for token, kind, target in columns:
        wide = 0.16 + max(word_width(text, bold=True) for text in (token, target or "–"))
        if used + wide > ACROSS and lines[-1]:
            lines, used = [*lines, []], 0.8
        lines[-1].append((used, wide, token, kind, target))
        used += wide
    places = [place for place, (_, _, target) in enumerate(columns) if target]
    shifted = bool(places) and all(
        place + 1 < len(columns) and columns[place + 1][0] == columns[place][2] for place in places
    )
    whole = shifted and places == [*range(places[0], len(columns) - 1)] and places[0] > 0
    title = "Only the reply is predicted" if whole else "A dialogue as tokens, types and targets"
    told = ", ".join(f"{token} {kind} {target or 'ignored'}" for token, kind, target in columns)
    alt = f"Tokens, each with its type and its target: {told}."
    height = 1.06
    draw = Drawing(height * len(lines), **{"title": title, "alt": alt} | texts)
    for number, line in enumerate(lines):
        top = height * (len(lines) - number) - 0.2
        for down, name in enumerate(("tokens", "types", "targets")):
            draw.label((0.7, top - 0.28 * down), name, align="right", colour="grey")
        for left, wide, token, kind, target in line:
            x, size = left + wide / 2, {"width": wide - 0.05, "height": 0.24}
            draw.box((x, top), token, fill=("grey", "white", "blue")[kind], **size)
            draw.caption((x, top - 0.28), str(kind), "black")
            if target:
                draw.box((x, top - 0.56), target, colour="blue", bold=True, **size)
            else:
                draw.caption((x, top - 0.56), "–")
    return draw.finish()
