"""Merges as they happen, and how long a trainer of merges takes."""

import codecs
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.ticker

from tlcourse.views.drawing import PALE, PALE_VERMILLION
from tlcourse.views.style import COLOURS, GREY, Picture, figure, finish, label_axes
from tlcourse.views.tokens import CHARACTER, GAP, ROW, draw_boxes, place, visible

Row = tuple[Sequence[str | bytes | None], str | bytes | None]
_BETWEEN = 2.5  # characters between two words
_THIN, _THICK = ("#8C8C8C", 0.6), (COLOURS["vermillion"], 2.0)


def _as_hex(error: Any) -> tuple[str, int]:
    return "".join(f"⟨{b:02X}⟩" for b in error.object[error.start : error.end]), error.end


codecs.register_error("tlcourse.hex", _as_hex)


def written(token: str | bytes) -> str:
    """A token as it is drawn; of bytes, those that are only a part of a character as ⟨hex⟩."""
    return visible(token if isinstance(token, str) else token.decode("utf-8", "tlcourse.hex"))


def _is_part(token: str | bytes) -> bool:
    """Whether a token of bytes holds a part of a character only."""
    return isinstance(token, bytes) and "\ufffd" in token.decode("utf-8", "replace")


def merge_rows(rows: Mapping[int, Row], *, note: str | None = None) -> Picture:
    """A text after so many merges, one block of boxes below the other.

    `rows` maps a number of merges to (tokens, the newest token or None). Tokens are texts or bytes;
    a lone byte of a longer character is written in hex, in grey; None stands between two words,
    where no merge reaches across. The newest token, that which the latest merge made, is marked
    wherever it occurs. Title and alt text count the tokens. Raises ValueError for no rows, or one
    without tokens.
    """
    texts = {k: [t for t in tokens if t is not None] for k, (tokens, _) in rows.items()}
    if not rows or not all(texts.values()):
        raise ValueError(f"expected at least one row, each of at least one token, got {dict(rows)}")
    counts = [len(tokens) for tokens in texts.values()]
    title = f"The text after {max(rows):,} merge{'s' * (max(rows) != 1)}: {counts[-1]:,} tokens"
    if len(rows) > 1:
        title = f"Merge by merge, {counts[0]:,} tokens become {counts[-1]:,}"
    drawn = {k: [written(token) for token in tokens] for k, tokens in texts.items()}
    places = {k: place(drawn[k], _gaps(tokens)) for k, (tokens, _) in rows.items()}
    said = {k: _heading(k, len(texts[k]), newest) for k, (_, newest) in rows.items()}
    lines = sum(each[-1][1] + 1.75 for each in places.values())
    picture, axes = figure(title, 0.55 + ROW * lines + (0.25 if note else 0))
    axes.set_axis_off()
    axes.set_xlim(-0.2, (picture.get_figwidth() - 0.2) / CHARACTER)
    axes.set_ylim(lines - 0.1, -0.1)
    top = 0.0
    for k, (_, newest) in rows.items():
        axes.text(0, top + 0.4, said[k], fontsize=10.5, va="center", color=GREY, parse_math=False)
        moved = [(left, row + top + 0.65, width) for left, row, width in places[k]]
        looks = [_look(token, newest) for token in texts[k]]
        draw_boxes(axes, drawn[k], moved, *zip(*looks, strict=True))
        top += places[k][-1][1] + 1.75
    alt = "; ".join(f"{said[k]}: {' | '.join(drawn[k])}" for k in rows)
    return finish(picture, f"{title}. {alt}.", note)


def _gaps(tokens: Sequence[str | bytes | None]) -> list[float]:
    """What is left free before each token: more where a new word begins."""
    before = [GAP, *(_BETWEEN if token is None else GAP for token in tokens[:-1])]
    return [gap for gap, token in zip(before, tokens, strict=True) if token is not None]


def _look(token: str | bytes, newest: str | bytes | None) -> tuple[str, tuple[str, float]]:
    """The colour of a token's box, and its edge."""
    if newest is not None and token == newest:
        return PALE_VERMILLION, _THICK
    return PALE if _is_part(token) else "white", _THIN


def _heading(merges: int, tokens: int, newest: str | bytes | None) -> str:
    """What stands above a block."""
    if not merges:
        return f"before any merge: {tokens:,} tokens"
    made = f", the newest is “{written(newest)}”" if newest is not None else ""
    return f"after {merges:,} merge{'s' * (merges != 1)}: {tokens:,} tokens{made}"


def trainer_race(
    visited: Mapping[str, float],
    seconds: Mapping[str, Sequence[float]],
    *,
    title: str = "",
    alt: str = "",
    highlight: str | None = None,
    note: str | None = None,
) -> Picture:
    """Trainers in rows: how many words each visits per merge, and how long each takes.

    Both axes are logarithmic. `seconds` holds the repeats of each: a dot at the middle one, a line
    from the fastest to the slowest. A trainer that `visited` lacks has no dot there. The row of
    `highlight` is coloured, all others are grey. Raises ValueError for no trainer, an unknown
    highlight, one without a positive time, and without title or alt text.
    """
    known = highlight is None or highlight in seconds
    if not seconds or not known or not all(len(s) and min(s) > 0 for s in seconds.values()):
        raise ValueError(
            f"expected trainers with positive seconds, {highlight!r} among them, got {seconds}"
        )
    picture, (left, right) = figure(title, 1.5 + 0.4 * len(seconds), columns=2, sharey=True)
    for row, (name, times) in enumerate(seconds.items()):
        colour = COLOURS["vermillion"] if name == highlight else GREY
        if name in visited:
            _dots(left, row, [visited[name]], f"{visited[name]:,.0f}", colour)
        _dots(right, row, times, _seconds(sorted(times)[len(times) // 2]), colour)
    for axes, label in ((left, "words visited per merge"), (right, "seconds")):
        axes.set_xscale("log")
        low, high = axes.get_xlim()
        axes.set_xlim(low / 1.3, high * (high / low) ** 0.28)
        axes.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda x, _: f"{x:,g}"))
        axes.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
        label_axes(axes, x=label)
    left.set_yticks(range(len(seconds)), list(seconds))
    left.set_ylim(len(seconds) - 0.5, -0.5)
    return finish(picture, alt, note)


def _seconds(value: float) -> str:
    """With two digits that count."""
    return f"{float(f'{value:.2g}'):,g} s"


def _dots(axes: Any, row: int, values: Sequence[float], text: str, colour: str) -> None:
    """A dot at the middle value, a line from the lowest to the highest, and a text behind it."""
    axes.hlines(row, min(values), max(values), color=colour, lw=1.6)
    axes.plot(sorted(values)[len(values) // 2], row, "o", color=colour, ms=8)
    axes.annotate(
        text, (max(values), row), (8, 0), textcoords="offset points", va="center", fontsize=10.5,
        color=colour,
    )  # fmt: skip
