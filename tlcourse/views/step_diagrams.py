"""Drawings of lesson 03b: logits in chunks, and a run that is interrupted and goes on.

What they are made of stands in `drawing`. Numbers are handed in. Each picture has an alt text of
its own, for cells that write none.
"""

from matplotlib.patches import Rectangle

from tlcourse.views.drawing import (
    ACROSS,
    PALE,
    PALE_BLUE,
    PALE_VERMILLION,
    arrow,
    box,
    canvas,
    label,
)
from tlcourse.views.style import COLOURS, GREY, Picture, finish

_BLUE, _RED = COLOURS["blue"], COLOURS["vermillion"]


def logits_in_chunks(
    targets: int,
    vocabulary: int,
    width: int,
    *,
    chunk: int = 1024,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """The table of all logits, one chunk of its rows, and what the chunk leaves behind.

    Sizes of tables are those of float32. Raises ValueError for a chunk of more than half the
    targets, and without title.
    """
    if not 1 <= chunk <= targets // 2:
        raise ValueError(f"expected a chunk of 1 to {targets // 2} targets, got {chunk}")
    picture, axes = canvas(title, 2.75)
    bottom, tall, chunks = 0.55, 1.75, -(-targets // chunk)
    band = max(tall * chunk / targets, 0.22)
    top = bottom + tall
    for left, wide in ((0.6, 0.3), (1.75, 1.75)):
        axes.add_patch(Rectangle((left, bottom), wide, tall, fc="white", ec=GREY, ls="--", lw=1))
        axes.add_patch(
            Rectangle((left, top - band), wide, band, fc=PALE_BLUE, ec=_BLUE, lw=1, zorder=2)
        )
    label(axes, (0.75, top + 0.15), "hidden", align="center", bold=True)
    label(axes, (2.62, top + 0.15), "logits", align="center", bold=True)
    label(axes, (0.55, bottom + tall / 2), f"{targets:,}", align="right", colour=GREY)
    label(axes, (0.75, bottom - 0.14), f"{width:,}", align="center", colour=GREY)
    label(axes, (2.62, bottom - 0.14), f"{vocabulary:,}", align="center", colour=GREY)
    middle = top - band / 2
    arrow(axes, (0.9, middle), (1.75, middle), colour=_BLUE)
    label(axes, (1.33, middle + 0.14), "· weightᵀ", align="center", colour=_BLUE)
    label(axes, (2.62, middle), f"{chunk:,} rows: {_bytes(chunk * vocabulary)}", align="center")
    every = f"all rows: {_bytes(targets * vocabulary)}"
    label(axes, (2.62, bottom + (tall - band) / 2), every, align="center", colour=GREY)
    label(axes, (2.62, 0.12), f"{chunks:,} chunks, one after the other", align="center")
    rows = [
        ("nats", "a number, added up", PALE_BLUE, _BLUE),
        ("d_hidden", f"{chunk:,} rows of {width:,}, collected", PALE_BLUE, _BLUE),
        ("d_weight", f"{vocabulary:,} × {width:,}, added up", PALE_BLUE, _BLUE),
        ("logits, slope", "thrown away", PALE, GREY),
    ]
    for place, (name, said, fill, edge) in enumerate(rows):
        y = top - 0.2 - 0.45 * place
        each = box(axes, (4.3, y), name, width=0.95, fill=fill, edge=edge)
        arrow(axes, (3.5, middle), each.left, colour=edge, dashed=edge == GREY)
        label(axes, (4.85, y), said, colour="black" if edge == _BLUE else GREY)
    own = (
        f"Hidden states of {targets:,} targets times the weight give a table of {targets:,} by "
        f"{vocabulary:,} logits. A chunk is {chunk:,} of its rows. It leaves its nats, its rows of "
        "the gradient of hidden, its share of the gradient of weight; its logits are thrown away."
    )
    return finish(picture, alt or own, note)


def _bytes(numbers: int) -> str:
    """How much so many float32 take."""
    size = 4 * numbers / 2**20
    return f"{size:,.0f} MiB" if size >= 10 else f"{size:,.2g} MiB"


def interrupted_run(
    steps: int, cut: int, *, title: str = "", alt: str = "", note: str | None = None
) -> Picture:
    """A run that goes down in step `cut`, before it is saved, and a second one that goes on.

    Raises ValueError unless `cut` is one of the steps but the first, and without title.
    """
    if not 0 < cut < steps:
        raise ValueError(f"expected a step from 1 to {steps - 1} to be cut, got {cut}")
    picture, axes = canvas(title, 1.85)
    wide = 5.5 / steps
    places = [1.15 + wide * (step + 0.5) for step in range(steps)]
    for y, name, colour in ((1.55, "first run", _BLUE), (0.25, "second run", _RED)):
        label(axes, (1.0, y), name, align="right", colour=colour, bold=True)
    for step, x in enumerate(places):
        lost = step == cut
        if step <= cut:
            box(axes, (x, 1.55), f"{step}", width=0.8 * wide, height=0.26,
                fill="white" if lost else PALE_BLUE, edge=GREY if lost else _BLUE)  # fmt: skip
        if step >= cut:
            box(axes, (x, 0.25), f"{step}", width=0.8 * wide, height=0.26,
                fill=PALE_VERMILLION, edge=_RED)  # fmt: skip
    label(axes, (places[cut] + 0.5 * wide, 1.55), "power cut", colour=GREY)
    last = places[cut - 1]
    saved = box(axes, (min(last, ACROSS - 1.6), 0.9),
                f"saved: weights, optimizers, step {cut}", fill=PALE)  # fmt: skip
    arrow(axes, (last, 1.42), (last, saved.top[1]))
    arrow(axes, (places[cut], saved.bottom[1]), (places[cut], 0.38))
    if cut > 1:
        label(axes, (places[0] - 0.4 * wide, 0.25), "other random weights, then overwritten",
              colour=GREY)  # fmt: skip
    own = (
        f"The first run does the steps 0 to {cut - 1} and goes down in step {cut}. What it saved "
        f"after step {cut - 1} is loaded by a second run, which does the steps {cut} to "
        f"{steps - 1}."
    )
    return finish(picture, alt or own, note)
