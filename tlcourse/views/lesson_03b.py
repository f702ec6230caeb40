"""Figures of lesson 03b: scaling laws, objectives, logits in chunks, an interrupted run."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.patches import Rectangle

from tlcourse.views.diagrams import ACROSS, PALE, PALE_BLUE, Drawing
from tlcourse.views.lines import label_ends, log_scale
from tlcourse.views.style import (
    COLOURS,
    CYCLE,
    GREY,
    MIDDLE,
    Picture,
    Texts,
    figure,
    finish,
    label_axes,
)

Points = tuple[Sequence[float], Sequence[float]]


def predicted_and_true(
    laws: Mapping[str, tuple[Points, Points, tuple[float, float]]],
    beyond: tuple[str, float, float],
    later: tuple[str, float, float],
    **texts: Unpack[Texts],
) -> Picture:
    """Losses over tokens (logarithmic): runs, the laws fitted to them, and a run far beyond.

    `laws` maps a name to (runs, line, interval): the runs it was fitted to and its line for the
    shape of the long run, both as (tokens, losses), and the interval of its prediction. The line is
    dashed where it has no runs. `beyond` is the long run, where the laws are asked: name, tokens,
    loss. `later` is the same run after it went on, a hollow star. Raises ValueError for more laws
    than colours (7).
    """
    if not 1 <= len(laws) <= len(CYCLE):
        raise ValueError(f"expected 1 to {len(CYCLE)} laws in one figure, got {len(laws)}")
    picture, axes = figure(height=4.2, **texts)
    log_scale(axes.xaxis)
    label_axes(axes, x="tokens read (logarithmic)", y="held-out loss (nats/token)")
    named, (name, far, loss) = [], beyond
    numbered = enumerate(zip(CYCLE, laws.items(), strict=False))
    for place, (colour, (each, (runs, line, (low, high)))) in numbered:
        aside = 1.09 ** (place - (len(laws) - 1) / 2)  # bars side by side
        axes.plot(np.asarray(runs[0]) * aside, runs[1], "o", color=colour, ms=5, alpha=0.45)
        tokens, predicted = (np.asarray(part, float) for part in line)
        seen = tokens <= max(runs[0])
        axes.plot(tokens[seen], predicted[seen], color=colour)
        axes.plot(tokens[~seen], predicted[~seen], color=colour, ls="--")
        axes.vlines(far * aside, low, high, color=colour, lw=2)
        there = np.interp(np.log(far), np.log(tokens), predicted)
        axes.plot(far * aside, there, "_", color=colour, ms=12, mew=2.5)
        named.append((max(far * aside, tokens[-1]), predicted[-1], each, colour))
    axes.plot(far, loss, "*", color="black", ms=13)
    axes.annotate(name, (far, loss), (12, 10), textcoords="offset points")
    name, tokens, after = later
    axes.plot([far, tokens], [loss, after], ":", color="black", lw=1)
    axes.plot(tokens, after, "*", color="black", mfc="white", ms=13)
    axes.margins(x=0.06)
    label_ends(axes, [*named, (tokens, after, name, "black")], 2.9)
    return finish(picture)


def seen_and_asked(
    rows: Mapping[str, tuple[Sequence[str], Sequence[str | None]]], **texts: Unpack[Texts]
) -> Picture:
    """For each named objective two lines of boxes: tokens that go in, targets that are asked.

    `rows` maps a name to (seen, asked), one entry a position each; None asks nothing. Raises
    ValueError when the two differ in length.
    """
    picture, axes = figure(height=0.9 + 1.15 * len(rows), **texts)
    longest = max(len(seen) for seen, _ in rows.values())
    for row, (name, (seen, asked)) in enumerate(rows.items()):
        top = 3.1 * row
        axes.text(0, top + 0.02, name, fontweight="bold", va="center")
        for place, (token, target) in enumerate(zip(seen, asked, strict=True)):
            _box(axes, place, top + 0.9, token, PALE, "black")
            if target is not None:
                _box(axes, place, top + 1.9, target, COLOURS["blue"], "white")
    axes.set_xlim(0, longest)
    axes.set_ylim(3.1 * len(rows) - 0.4, -0.5)
    axes.axis("off")
    return finish(picture)


def _box(axes: Any, left: int, middle: float, text: str, colour: str, ink: str) -> None:
    axes.barh(middle, 0.94, left=left + 0.03, height=0.84, color=colour)
    text = text.strip()
    size = 10.5 if len(text) <= 5 else 10.5 * 5 / len(text)
    axes.text(left + 0.5, middle, text, **MIDDLE, color=ink, fontsize=size)


def logits_in_chunks(
    targets: int, vocabulary: int, width: int, *, chunk: int = 1024, **texts: Unpack[Texts]
) -> Picture:
    """The table of all logits, one chunk of its rows, and what the chunk leaves behind.

    Sizes of tables are those of float32. Raises ValueError for a chunk of more than half the
    targets.
    """
    if not 1 <= chunk <= targets // 2:
        raise ValueError(f"expected a chunk of 1 to {targets // 2} targets, got {chunk}")
    draw = Drawing(2.75, **texts)
    bottom, tall, chunks = 0.55, 1.75, -(-targets // chunk)
    band = max(tall * chunk / targets, 0.22)
    top = bottom + tall
    for left, wide in ((0.6, 0.3), (1.75, 1.75)):
        draw.axes.add_patch(
            Rectangle((left, bottom), wide, tall, fc="white", ec=GREY, ls="--", lw=1)
        )
        look = {"fc": PALE_BLUE, "ec": COLOURS["blue"], "lw": 1, "zorder": 2}
        draw.axes.add_patch(Rectangle((left, top - band), wide, band, **look))
    draw.caption((0.75, top + 0.15), "hidden", "black", bold=True)
    draw.caption((2.62, top + 0.15), "logits", "black", bold=True)
    draw.label((0.55, bottom + tall / 2), f"{targets:,}", align="right", colour="grey")
    draw.caption((0.75, bottom - 0.14), f"{width:,}")
    draw.caption((2.62, bottom - 0.14), f"{vocabulary:,}")
    middle = top - band / 2
    draw.arrow((0.9, middle), (1.75, middle), colour="blue")
    draw.caption((1.33, middle + 0.14), "· weightᵀ", "blue")
    draw.caption((2.62, middle), f"{chunk:,} rows: {_bytes(chunk * vocabulary)}", "black")
    every = f"all rows: {_bytes(targets * vocabulary)}"
    draw.caption((2.62, bottom + (tall - band) / 2), every)
    draw.caption((2.62, 0.12), f"{chunks:,} chunks, one after the other", "black")
    rows = [
        ("nats", "a number, added up", "blue"),
        ("d_hidden", f"{chunk:,} rows of {width:,}, collected", "blue"),
        ("d_weight", f"{vocabulary:,} × {width:,}, added up", "blue"),
        ("logits, slope", "thrown away", "grey"),
    ]
    for place, (name, caption, hue) in enumerate(rows):
        y = top - 0.2 - 0.45 * place
        each = draw.box((4.3, y), name, width=0.95, colour=hue)
        draw.arrow((3.5, middle), each.left, colour=hue, dashed=hue == "grey")
        draw.label((4.85, y), caption, colour="black" if hue == "blue" else "grey")
    return draw.finish(
        f"Hidden states of {targets:,} targets times the weight give a table of {targets:,} by "
        f"{vocabulary:,} logits. A chunk is {chunk:,} of its rows. It leaves its nats, its rows of "
        "the gradient of hidden, its share of the gradient of weight; its logits are thrown away."
    )


def _bytes(numbers: int) -> str:
    """How much so many float32 take."""
    size = 4 * numbers / 2**20
    return f"{size:,.0f} MiB" if size >= 10 else f"{size:,.2g} MiB"


def interrupted_run(steps: int, cut: int, **texts: Unpack[Texts]) -> Picture:
    """A run that goes down in step `cut`, before it is saved, and a second one that goes on.

    Raises ValueError unless `cut` is one of the steps but the first.
    """
    if not 0 < cut < steps:
        raise ValueError(f"expected a step from 1 to {steps - 1} to be cut, got {cut}")
    draw = Drawing(1.85, **texts)
    wide = 5.5 / steps
    places = [1.15 + wide * (step + 0.5) for step in range(steps)]
    for y, name, colour in ((1.55, "first run", "blue"), (0.25, "second run", "vermillion")):
        draw.label((1.0, y), name, align="right", colour=colour, bold=True)
    for step, x in enumerate(places):
        lost = step == cut
        if step <= cut:
            hue = "white" if lost else "blue"
            draw.box((x, 1.55), f"{step}", width=0.8 * wide, height=0.26, colour=hue)
        if step >= cut:
            draw.box((x, 0.25), f"{step}", width=0.8 * wide, height=0.26, colour="vermillion")
    draw.label((places[cut] + 0.5 * wide, 1.55), "power cut", colour="grey")
    last = places[cut - 1]
    last_saved = f"saved: weights, optimizers, step {cut}"
    saved = draw.box((min(last, ACROSS - 1.6), 0.9), last_saved, colour="grey")
    draw.arrow((last, 1.42), (last, saved.top[1]))
    draw.arrow((places[cut], saved.bottom[1]), (places[cut], 0.38))
    if cut > 1:
        start = places[0] - 0.4 * wide, 0.25
        draw.label(start, "other random weights, then overwritten", colour="grey")
    return draw.finish(
        f"The first run does the steps 0 to {cut - 1} and goes down in step {cut}. What it saved "
        f"after step {cut - 1} is loaded by a second run, which does the steps {cut} to "
        f"{steps - 1}."
    )
