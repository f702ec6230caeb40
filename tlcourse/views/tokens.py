"""How a token is drawn, whatever it holds: every figure that shows tokens takes it from here.

Spaces and line ends get a sign, what the font lacks is written as ⟨hex⟩, and nothing is read as a
formula: pass `parse_math=False` where a token is written by other means than these.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from typing import Any

import matplotlib
from matplotlib.font_manager import get_font
from matplotlib.patches import FancyBboxPatch

from tlcourse.views.style import MIDDLE, ink_on, text_width

CHARACTER = 0.0953  # inches: DejaVu Sans Mono at 11.4 points
ROW = 0.36  # inches
COLUMNS = 70  # characters in a row
PADDING = 0.9  # characters, left and right together
GAP = 0.35  # characters between boxes
FONTS = ["DejaVu Sans Mono", "DejaVu Sans"]  # the second has more letters
_SIGNS = {" ": "␣", "\n": "↵", "\t": "⇥"}
SHAPES = hasattr(matplotlib.ft2font, "__libraqm_version__")  # draws from right to left, since 3.11


@cache
def _glyphs() -> frozenset[int]:
    path = matplotlib.font_manager.findfont("DejaVu Sans")
    return frozenset(get_font(path).get_charmap())


def _is_drawn(character: str) -> bool:
    """Whether the font has it, it is no sign of control, and its direction can be drawn."""
    to_the_left = unicodedata.bidirectional(character) in ("R", "AL")
    known = ord(character) in _glyphs() and character.isprintable()
    return known and (SHAPES or not to_the_left)


def visible(token: str) -> str:
    """A token as it is drawn: space as ␣, line end as ↵, what the font lacks as ⟨hex⟩.

    A mark that would be put on the letter before (an accent alone) gets the circle ◌ to stand on.
    Where matplotlib cannot write from right to left (before 3.11), such letters are ⟨hex⟩, too.
    """
    alone = token and unicodedata.category(token[0]) in ("Mn", "Me", "Mc")
    drawn = (_SIGNS.get(c, c if _is_drawn(c) else f"⟨{ord(c):X}⟩") for c in token)
    return "◌" * bool(alone) + "".join(drawn)


def brief(token: str, most: int = 12) -> str:
    """A token as a short name beside a figure: visible, no space before it, at most `most` long."""
    name = visible(token.lstrip(" ") or token)
    return name if len(name) <= most else name[: most - 1] + "…"


@cache
def fitting(token: str, room: float, size: float) -> str:
    """The name as by `brief`, of any length that fits into `room` inches at `size` points."""
    name = brief(token, 40)
    if len(name) < 2 or text_width(name, size) <= room:
        return name
    short = range(1, len(name))
    kept = bisect_right(short, room, key=lambda count: text_width(name[:count] + "…", size))
    return name[:kept] + "…"


def named(count: int, side: float, size: float = 9) -> range:
    """Which of `count` tokens are named along `side` inches at `size` points: all, or every nth."""
    return range(0, count, max(1, -(-count // max(1, int(72 * side / (1.2 * size))))))


def place(drawn: Sequence[str], gaps: Sequence[float] | None = None) -> list[tuple]:
    """(left, row, width) of each token's box, in characters and rows.

    `gaps` are what is left free before each (None: the same before all).
    """
    places, right, row = [], 0.0, 0
    for number, token in enumerate(drawn):
        width = len(token) + PADDING
        left = right + (GAP if gaps is None else gaps[number]) if right else 0.0
        if left and left + width > COLUMNS:
            left, row = 0.0, row + 1
        places.append((left, row, width))
        right = left + width
    return places


def draw_boxes(
    axes: Any,
    drawn: Sequence[str],
    places: Sequence[tuple],
    fills: Sequence[Any],
    edges: Sequence[tuple[str, float]],
) -> None:
    """Draws visible tokens in rounded boxes of these colours; an edge is (colour, points)."""
    for text, (left, row, width), fill, (edge, line) in zip(
        drawn, places, fills, edges, strict=True
    ):
        look = {"fc": fill, "ec": edge, "lw": line, "mutation_aspect": CHARACTER / ROW}
        style = "round,pad=0,rounding_size=0.25"
        axes.add_patch(FancyBboxPatch((left, row + 0.06), width, 0.8, boxstyle=style, **look))
        font = {"family": FONTS, "fontsize": 11.4, "color": ink_on(fill), "parse_math": False}
        axes.text(left + width / 2, row + 0.46, text, **font, **MIDDLE)
