"""Figures of lesson 04b: confusion, a batch in parts, a sweep of the learning rate."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.patches import Rectangle

from tlcourse.views.diagrams import PALE_BLUE, Drawing
from tlcourse.views.heat_maps import bare, write_cells
from tlcourse.views.lines import curves
from tlcourse.views.style import (
    COLOURS,
    GREY,
    NEAR,
    SHADES,
    Picture,
    Texts,
    figure,
    finish,
    label_axes,
    shaped,
)

SHOWN = 8  # parts that are drawn, at most


def confusion(counts: Any, labels: Sequence[str], **texts: Unpack[Texts]) -> Picture:
    """A confusion matrix: `counts` (true, predicted), shaded by the share of each row.

    Cells show the count; zeros stay empty. At the right stands each row's share of correct answers.
    Raises ValueError when the shape does not fit the labels.
    """
    counts = shaped(counts, (len(labels), len(labels)), "counts")
    totals = counts.sum(axis=1)
    shares = counts / np.maximum(totals, 1)[:, None]
    picture, axes = figure(height=1.6 + 0.5 * len(labels), **texts)
    image = axes.imshow(shares, cmap=SHADES, vmin=0, vmax=1, aspect="auto")
    written = np.vectorize(lambda count: f"{count:,}" if count else "")(counts)
    write_cells(axes, image, written, 12, bold=np.eye(len(labels)))
    axes.set_xticks(range(len(labels)), labels)
    axes.set_yticks(range(len(labels)), labels)
    label_axes(axes, x="predicted", y="true")
    right = axes.secondary_yaxis("right")
    correct = [f"{100 * shares[i, i]:.0f} % of {totals[i]:,}" for i in range(len(labels))]
    right.set_yticks(range(len(labels)), correct)
    right.set_ylabel("correct")
    bare(axes)
    bare(right)
    return finish(picture)


def batch_in_parts(rows: int, size: int, **texts: Unpack[Texts]) -> Picture:
    """A batch of `rows` texts, cut into parts of `size`, and what becomes of one part.

    Raises ValueError unless there are 2 to 8 parts.
    """
    sizes = [min(size, rows - start) for start in range(0, rows, size)]
    if not 2 <= len(sizes) <= SHOWN:
        raise ValueError(f"expected 2 to {SHOWN} parts, got {len(sizes)} of {rows} rows")
    draw = Drawing(2.7, **texts)
    low, tall, top = 0.3, 1.95, 2.25
    draw.caption((0.75, top + 0.2), "batch", "black", bold=True)
    for number, count in enumerate(sizes):
        high = tall * count / rows
        top -= high
        shown = number == (len(sizes) > 3)
        fill, edge = (PALE_BLUE, COLOURS["blue"]) if shown else ("white", GREY)
        draw.axes.add_patch(Rectangle((0.3, top), 0.9, high, fc=fill, ec=edge, lw=1))
        draw.caption((0.75, top + high / 2), f"{count}", "black")
        if shown:
            place = top + high / 2
    model = draw.box((2.3, place), "model", width=0.8, height=0.4, colour="grey")
    loss = draw.box((3.75, place), "nats,\ntargets", height=0.42, colour="blue")
    draw.arrow((1.2, place), model.left, colour="blue")
    draw.arrow(model.right, loss.left, colour="blue")
    draw.caption((2.3, place + 0.35), "keeps what backward needs")
    total = draw.box((3.75, 0.5), "gradient: the sum\nover all parts", colour="blue")
    draw.arrow(loss.bottom, total.top, colour="blue")
    draw.label((3.65, (place + 0.5) / 2), "backward", align="right", colour="blue")
    draw.label((3.85, (place + 0.5) / 2), "frees what was kept", colour="grey")
    step = draw.box((5.9, 0.5), "divide by all targets,\nclip, one step", colour="grey")
    draw.arrow(total.right, step.left, dashed=True)
    draw.caption((5.9, 0.12), "after the last part")
    draw.caption((0.75, low - 0.18), f"{rows} rows")
    return draw.finish(
        f"A batch of {rows} rows in parts of {', '.join(map(str, sizes))}. One part at a time goes "
        "through the model; its backward adds to the gradient and frees what was kept. After the "
        "last part the gradient is divided by the number of all targets, and one step is taken."
    )


def learning_rate_sweep(
    rates: Sequence[float],
    losses: Sequence[float],
    marks: Mapping[str, float],
    *,
    x_label: str = "learning rate (logarithmic)",
    **texts: Unpack[Texts],
) -> Picture:
    """The loss over the learning rate of each step; `marks` maps names to learning rates.

    Losses above twice the first are cut off. Raises ValueError where rates and losses differ in
    number.
    """
    labels = {"x_label": x_label, "y_label": "training loss (nats)"}
    picture = curves({"loss": (rates, losses)}, log_x=True, **labels, **texts)
    (axes,) = picture.axes
    axes.set_ylim(0, 2.1 * losses[0])
    for row, (name, rate) in enumerate(sorted(marks.items(), key=lambda mark: mark[1])):
        axes.axvline(rate, color=GREY, lw=1.2, ls=":")
        where = {"xycoords": ("data", "axes fraction"), "ha": "right", "va": "top", "color": GREY}
        axes.annotate(name, (rate, 0.98 - 0.09 * row), (-4, 0), **where, **NEAR)
    return picture
