"""Figures of lesson 01: merges as they happen, trainers, from text to ids, the pattern."""

import codecs
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from tlcourse.views.diagrams import ACROSS, PALE, PALE_VERMILLION, Drawing, word_width
from tlcourse.views.lines import log_scale
from tlcourse.views.style import COLOURS, GREY, Picture, Texts, figure, finish, label_axes
from tlcourse.views.tokens import CHARACTER, GAP, ROW, draw_boxes, place, visible

Row = tuple[Sequence[str | bytes | None], str | bytes | None]
_BETWEEN = 2.5  # characters between two words
_THIN, _THICK = ("#8C8C8C", 0.6), (COLOURS["vermillion"], 2.0)
_LEFT = 1.62  # inches: here the text begins, behind the names of the rows
_STEP = 0.52  # inches between two rows


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
    headings = {k: _heading(k, len(texts[k]), newest) for k, (_, newest) in rows.items()}
    lines = sum(each[-1][1] + 1.75 for each in places.values())
    picture, axes = figure(title, 0.55 + ROW * lines + (0.25 if note else 0))
    axes.set_axis_off()
    axes.set_xlim(-0.2, (picture.get_figwidth() - 0.2) / CHARACTER)
    axes.set_ylim(lines - 0.1, -0.1)
    top = 0.0
    for k, (_, newest) in rows.items():
        font = {"fontsize": 10.5, "va": "center", "color": GREY, "parse_math": False}
        axes.text(0, top + 0.4, headings[k], **font)
        moved = [(left, row + top + 0.65, width) for left, row, width in places[k]]
        looks = [_look(token, newest) for token in texts[k]]
        draw_boxes(axes, drawn[k], moved, *zip(*looks, strict=True))
        top += places[k][-1][1] + 1.75
    alt = "; ".join(f"{headings[k]}: {' | '.join(drawn[k])}" for k in rows)
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
    highlight: str | None = None,
    **texts: Unpack[Texts],
) -> Picture:
    """Trainers in rows: how many words each visits per merge, and how long each takes.

    Both axes are logarithmic. `seconds` holds the repeats of each: a dot at the middle one, a line
    from the fastest to the slowest. A trainer that `visited` lacks has no dot there. The row of
    `highlight` is coloured, all others are grey. Raises ValueError for no trainer, an unknown
    highlight, or one without a positive time.
    """
    known = highlight is None or highlight in seconds
    if not seconds or not known or not all(len(s) and min(s) > 0 for s in seconds.values()):
        raise ValueError(
            f"expected trainers with positive seconds, {highlight!r} among them, got {seconds}"
        )
    middle = {name: sorted(times)[len(times) // 2] for name, times in seconds.items()}
    order = sorted(visited, key=lambda name: visited[name])
    faster = order == sorted(visited, key=lambda name: middle[name])
    told = ", ".join(
        f"{name} {f'{visited[name]:,.0f}' if name in visited else 'not counted'} and {each:.2g}"
        for name, each in middle.items()
    )
    texts = {
        "title": "The fewer words a trainer visits, the faster it is"
        if faster
        else "Words visited and seconds of four trainers",
        "alt": f"Words visited per merge, and median seconds: {told}",
    } | texts
    picture, (left, right) = figure(
        height=1.5 + 0.4 * len(seconds), columns=2, sharey=True, **texts
    )
    for row, (name, times) in enumerate(seconds.items()):
        colour = COLOURS["vermillion"] if name == highlight else GREY
        if name in visited:
            _dots(left, row, [visited[name]], f"{visited[name]:,.0f}", colour)
        _dots(right, row, times, _seconds(sorted(times)[len(times) // 2]), colour)
    for axes, unit in ((left, "words visited per merge"), (right, "seconds")):
        log_scale(axes.xaxis)
        low, high = axes.get_xlim()
        axes.set_xlim(low / 1.3, high * (high / low) ** 0.28)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:,g}")
        axes.grid(False, axis="y")
        axes.tick_params(axis="y", length=0)
        label_axes(axes, x=unit)
    left.set_yticks(range(len(seconds)), list(seconds))
    left.set_ylim(len(seconds) - 0.5, -0.5)
    return finish(picture)


def _seconds(value: float) -> str:
    """With two digits that count."""
    return f"{float(f'{value:.2g}'):,g} s"


def _dots(axes: Any, row: int, values: Sequence[float], text: str, colour: str) -> None:
    """A dot at the middle value, a line from the lowest to the highest, and a text behind it."""
    axes.hlines(row, min(values), max(values), color=colour, lw=1.6)
    axes.plot(sorted(values)[len(values) // 2], row, "o", color=colour, ms=8)
    near = {"textcoords": "offset points", "va": "center", "fontsize": 10.5}
    axes.annotate(text, (max(values), row), (8, 0), color=colour, **near)


def text_to_ids(
    words: Sequence[tuple[str, Sequence[str], Sequence[str], Sequence[int]]],
    makers: Sequence[str] = ("pre_tokenise", "byte_symbols", "encode_pre_token", "vocabulary"),
    **texts: Unpack[Texts],
) -> Picture:
    """The way of a text through a tokenizer: pre-tokens, byte symbols, tokens, ids.

    `words` holds for each pre-token its text, its byte symbols, the tokens after all merges, and
    their ids. `makers` names the function that makes each of the four rows. Raises ValueError for
    no words, words that do not fit, or a number of makers that is not four.
    """
    if not words or len(makers) != 4:
        raise ValueError(f"expected words and the makers of 4 rows, got {len(words)} and {makers}")
    texts = {
        "title": "From text to ids",
        "alt": "Five rows: the text, its pre-tokens, the symbols of their bytes, the tokens after "
        "all merges, and their ids.",
    } | texts
    cell = _wide(s for w in words for s in w[1])
    lanes = []  # the width of each word's column
    for _, symbols, tokens, ids in words:
        inner = sum(_wide([each]) for each in tokens)
        numbers = sum(_wide([str(each)]) for each in ids)
        lanes.append(max(len(symbols) * cell, inner, numbers) + 0.12)
    if sum(lanes) > ACROSS - _LEFT:
        raise ValueError(f"expected words that fit into {ACROSS - _LEFT:.1f} inches; take fewer")
    draw = Drawing(4 * _STEP + 0.45, **texts)
    heights = [4 * _STEP + 0.2 - _STEP * row for row in range(5)]
    whole = "".join(word for word, *_ in words)
    middle = _LEFT + sum(lanes) / 2, heights[0]
    draw.box(middle, visible(whole), width=sum(lanes) - 0.06, height=0.26)
    names = ("text", *makers)
    for name, y in zip(names, heights, strict=True):
        draw.label((_LEFT - 0.12, y), name, align="right", colour="grey", bold=name != "text")
    left = _LEFT
    for (word, symbols, tokens, ids), lane in zip(words, lanes, strict=True):
        middle = left + lane / 2
        draw.box((middle, heights[1]), visible(word), width=lane - 0.06, height=0.26, colour="grey")
        _cells(draw, (middle, heights[2]), symbols, lane, "white")
        _cells(draw, (middle, heights[3]), [visible(t) for t in tokens], lane, "blue")
        _cells(draw, (middle, heights[4]), [str(each) for each in ids], lane, "blue")
        for above in heights[:4]:
            draw.arrow((middle, above - 0.13), (middle, above - _STEP + 0.14))
        left += lane
    return draw.finish()


def _wide(texts: Any) -> float:
    """How wide a box must be for the widest of some texts, in inches."""
    return max(word_width(text) for text in texts) + 0.12


def _cells(
    draw: Drawing, middle: tuple[float, float], texts: Sequence[str], lane: float, colour: str
) -> None:
    """Boxes side by side that fill a lane, each as wide as its text asks for."""
    wide = [_wide([text]) for text in texts]
    spare = (lane - 0.06 - sum(wide)) / len(texts)
    left = middle[0] - (lane - 0.06) / 2
    for text, width in zip(texts, wide, strict=True):
        at = (left + (width + spare) / 2, middle[1])
        draw.box(at, text, width=width + spare, height=0.26, colour=colour)
        left += width + spare


def pattern_parts(
    pieces: Sequence[tuple[str, str]], parts: Mapping[str, str], **texts: Unpack[Texts]
) -> Picture:
    """Which part of a pattern took which piece of a text: a row for each part, the text above.

    `pieces` are (text, name of the part) in the order of the text, `parts` maps the names to what
    they match, in words. Raises ValueError for no pieces, a piece of an unknown part, or a text
    that does not fit.
    """
    lost = {name for _, name in pieces} - set(parts)
    if not pieces or lost:
        raise ValueError(f"expected pieces, each of a part of {list(parts)}, got {pieces}")
    texts = {
        "title": "Which part of the pattern matches which piece",
        "alt": ", ".join(f"{name} {piece!r}" for piece, name in pieces),
    } | texts
    names = [f"{name}: {caption}" for name, caption in parts.items()]
    start = max(word_width(name) for name in names) * 1.05 + 0.25
    wide = [_wide([visible(text)]) for text, _ in pieces]
    if sum(wide) > ACROSS - start:
        raise ValueError(f"expected a text that fits into {ACROSS - start:.1f} inches; cut it")
    top = 0.32 * len(parts) + 0.2
    draw = Drawing(top + 0.25, **texts)
    rows = {name: top - 0.32 * (number + 1) for number, name in enumerate(parts)}
    draw.label((start - 0.15, top), "the text", align="right", colour="grey")
    for y, caption in zip(rows.values(), names, strict=True):
        draw.label((start - 0.15, y), caption, align="right", colour="grey")
        draw.axes.plot([start, start + sum(wide)], [y, y], color="#D9D9D9", lw=0.6, zorder=0)
    left = start
    for (text, name), width in zip(pieces, wide, strict=True):
        x = left + width / 2
        draw.box((x, top), visible(text), width=width, height=0.26, fill="white")
        draw.box((x, rows[name]), visible(text), width=width, height=0.26, colour="blue")
        left += width
    return draw.finish()
