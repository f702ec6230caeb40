"""Tokens as boxes, and merges as they happen."""

from collections.abc import Callable, Sequence
from functools import cache

import matplotlib
from matplotlib.font_manager import get_font
from matplotlib.patches import FancyBboxPatch

from tlcourse.views.style import COLOURS, Picture, figure, finish

_CHARACTER = 0.0953  # inches: DejaVu Sans Mono at 11.4 points
_ROW = 0.36  # inches
_COLUMNS = 70  # characters in a row
_PADDING = 0.9  # characters, left and right together
_GAP = 0.35  # characters between boxes
_TINTS = ("#CFE4F1", "#F9E0B2", "#CDEBE1", "#F3DFE9", "#FBF7C9", "#E4E4E4", "#DCEFFA", "#F6D5BF")


@cache
def _glyphs() -> frozenset[int]:
    path = matplotlib.font_manager.findfont("DejaVu Sans Mono")
    return frozenset(get_font(path).get_charmap())


def visible(token: str) -> str:
    """A token as it is drawn: space as ␣, line end as ↵, what the font lacks as ⟨hex⟩."""
    shown = {" ": "␣", "\n": "↵", "\t": "⇥"}
    return "".join(
        shown.get(c, c if ord(c) in _glyphs() and c.isprintable() else f"⟨{ord(c):X}⟩")
        for c in token
    )


def _place(tokens: Sequence[str]) -> list[tuple[float, int, float]]:
    """(left, row, width) of each token's box, in characters and rows."""
    places, left, row = [], 0.0, 0
    for token in tokens:
        width = len(token) + _PADDING
        if left and left + width > _COLUMNS:
            left, row = 0.0, row + 1
        places.append((left, row, width))
        left += width + _GAP
    return places


def token_boxes(
    tokens: Sequence[str],
    *,
    title: str = "",
    alt: str = "",
    fresh: Sequence[str] = (),
    rows: int | None = None,
    note: str | None = None,
) -> Picture:
    """A text's tokens, each in its box; the same token has the same colour.

    Tokens in `fresh` (what the last merge made) have a strong border. `rows` keeps the height
    the same over several pictures (a slider); None takes what is needed. Raises ValueError for
    no tokens, and without title or alt text.
    """
    if not tokens:
        raise ValueError("expected at least one token to draw, got none")
    drawn = [visible(token) for token in tokens]
    places = _place(drawn)
    count = max(places[-1][1] + 1, rows or 0)
    picture, axes = figure(title, 0.95 + _ROW * count + (0.25 if note else 0))
    axes.set_axis_off()
    axes.set_xlim(-0.2, (picture.get_figwidth() - 0.2) / _CHARACTER)
    axes.set_ylim(count - 0.1, -0.1)
    colour = {token: _TINTS[i % len(_TINTS)] for i, token in enumerate(dict.fromkeys(tokens))}
    for token, text, (left, row, width) in zip(tokens, drawn, places, strict=True):
        new = token in fresh
        box = FancyBboxPatch(
            (left, row + 0.06),
            width,
            0.8,
            boxstyle="round,pad=0,rounding_size=0.25",
            facecolor=colour[token],
            edgecolor=COLOURS["vermillion"] if new else "#8C8C8C",
            linewidth=2.4 if new else 0.6,
            mutation_aspect=_CHARACTER / _ROW,
        )
        axes.add_patch(box)
        axes.text(
            left + width / 2,
            row + 0.46,
            text,
            family="DejaVu Sans Mono",
            fontsize=11.4,
            ha="center",
            va="center",
        )
    return finish(picture, alt, note)


def merge_boxes(
    steps: Callable[[int], Sequence[str]],
    k: int,
    *,
    merge: str | None = None,
    note: str | None = None,
) -> Picture:
    """The text after `k` merges: `steps(k)` are its tokens, `merge` the token that the last made.

    Title and alt text count the tokens. Drawn at the height of `steps(0)`, so that a slider over
    `k` does not jump.
    """
    tokens = steps(k)
    rows = _place([visible(token) for token in steps(0)])[-1][1] + 1
    made = f"; the last made “{visible(merge)}”" if merge else ""
    title = f"After {k:,} merge{'' if k == 1 else 's'} the text is {len(tokens):,} tokens{made}"
    alt = f"{title}. The tokens: {' | '.join(visible(token) for token in tokens[:60])}"
    fresh = [merge] if merge else ()
    return token_boxes(tokens, title=title, alt=alt, fresh=fresh, rows=rows, note=note)
