"""Tokens as boxes, and merges as they happen."""

from collections.abc import Callable, Sequence

from tlcourse.views.style import COLOURS, Picture, figure, finish
from tlcourse.views.tokens import CHARACTER, ROW, draw_boxes, place, visible

_TINTS = ("#CFE4F1", "#F9E0B2", "#CDEBE1", "#F3DFE9", "#FBF7C9", "#E4E4E4", "#DCEFFA", "#F6D5BF")


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
    places = place(drawn)
    count = max(places[-1][1] + 1, rows or 0)
    picture, axes = figure(title, 0.95 + ROW * count + (0.25 if note else 0))
    axes.set_axis_off()
    axes.set_xlim(-0.2, (picture.get_figwidth() - 0.2) / CHARACTER)
    axes.set_ylim(count - 0.1, -0.1)
    colour = {token: _TINTS[i % len(_TINTS)] for i, token in enumerate(dict.fromkeys(tokens))}
    fills = [colour[token] for token in tokens]
    edges = [(COLOURS["vermillion"], 2.4) if t in fresh else ("#8C8C8C", 0.6) for t in tokens]
    draw_boxes(axes, drawn, places, fills, edges)
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
    rows = place([visible(token) for token in steps(0)])[-1][1] + 1
    made = f"; the last made “{visible(merge)}”" if merge else ""
    title = f"After {k:,} merge{'' if k == 1 else 's'} the text is {len(tokens):,} tokens{made}"
    alt = f"{title}. The tokens: {' | '.join(visible(token) for token in tokens[:60])}"
    fresh = [merge] if merge else ()
    return token_boxes(tokens, title=title, alt=alt, fresh=fresh, rows=rows, note=note)
