"""Figures of lesson 04b: a batch that goes through in parts, and a sweep of the learning rate.

Numbers come from the live configuration. The drawing has an alt text of its own, for a cell that
writes none.
"""

from collections.abc import Mapping, Sequence

from matplotlib.patches import Rectangle

from tlcourse.views.drawing import PALE, PALE_BLUE, arrow, box, canvas, label
from tlcourse.views.lines import curves
from tlcourse.views.style import COLOURS, GREY, Picture, finish

_BLUE = COLOURS["blue"]
SHOWN = 8  # parts that are drawn, at most


def batch_in_parts(
    rows: int, size: int, *, title: str = "", alt: str = "", note: str | None = None
) -> Picture:
    """A batch of `rows` texts, cut into parts of `size`, and what becomes of one part.

    Raises ValueError unless there are 2 to 8 parts, and without title.
    """
    sizes = [min(size, rows - start) for start in range(0, rows, size)]
    if not 2 <= len(sizes) <= SHOWN:
        raise ValueError(f"expected 2 to {SHOWN} parts, got {len(sizes)} of {rows} rows")
    picture, axes = canvas(title, 2.7)
    low, tall, top = 0.3, 1.95, 2.25
    label(axes, (0.75, top + 0.2), "batch", align="center", bold=True)
    for number, count in enumerate(sizes):
        high = tall * count / rows
        top -= high
        shown = number == (len(sizes) > 3)
        fill, edge = (PALE_BLUE, _BLUE) if shown else ("white", GREY)
        axes.add_patch(Rectangle((0.3, top), 0.9, high, fc=fill, ec=edge, lw=1))
        label(axes, (0.75, top + high / 2), f"{count}", align="center")
        if shown:
            place = top + high / 2
    model = box(axes, (2.3, place), "model", width=0.8, height=0.4, fill=PALE)
    loss = box(axes, (3.75, place), "nats,\ntargets", height=0.42, fill=PALE_BLUE, edge=_BLUE)
    arrow(axes, (1.2, place), model.left, colour=_BLUE)
    arrow(axes, model.right, loss.left, colour=_BLUE)
    label(axes, (2.3, place + 0.35), "keeps what backward needs", align="center", colour=GREY)
    total = box(axes, (3.75, 0.5), "gradient: the sum\nover all parts", fill=PALE_BLUE, edge=_BLUE)
    arrow(axes, loss.bottom, total.top, colour=_BLUE)
    label(axes, (3.65, (place + 0.5) / 2), "backward", align="right", colour=_BLUE)
    label(axes, (3.85, (place + 0.5) / 2), "frees what was kept", colour=GREY)
    step = box(axes, (5.9, 0.5), "divide by all targets,\nclip, one step", fill=PALE)
    arrow(axes, total.right, step.left, dashed=True)
    label(axes, (5.9, 0.12), "after the last part", align="center", colour=GREY)
    label(axes, (0.75, low - 0.18), f"{rows} rows", align="center", colour=GREY)
    own = (
        f"A batch of {rows} rows in parts of {', '.join(map(str, sizes))}. One part at a time goes "
        "through the model; its backward adds to the gradient and frees what was kept. After the "
        "last part the gradient is divided by the number of all targets, and one step is taken."
    )
    return finish(picture, alt or own, note)


def learning_rate_sweep(
    rates: Sequence[float],
    losses: Sequence[float],
    *,
    marks: Mapping[str, float] | None = None,
    title: str = "",
    alt: str = "",
    x_label: str = "learning rate (logarithmic)",
    note: str | None = None,
) -> Picture:
    """The loss over the learning rate of each step; `marks` maps names to learning rates.

    Losses above twice the first are cut off. Raises ValueError where rates and losses differ in
    number, and without title or alt text.
    """
    if len(rates) != len(losses) or not len(rates):
        raise ValueError(f"expected a loss for each rate, got {len(rates)} and {len(losses)}")
    picture = curves(
        {"loss": (rates, losses)}, title=title, alt=alt, x_label=x_label, log_x=True,
        y_label="training loss (nats)", note=note,
    )  # fmt: skip
    (axes,) = picture.axes
    axes.set_ylim(0, 2.1 * losses[0])
    for row, (name, rate) in enumerate(sorted((marks or {}).items(), key=lambda mark: mark[1])):
        axes.axvline(rate, color=GREY, lw=1.2, ls=":")
        axes.annotate(
            name, (rate, 0.98 - 0.09 * row), (-4, 0), xycoords=("data", "axes fraction"),
            textcoords="offset points", ha="right", va="top", fontweight="bold", color=GREY,
        )  # fmt: skip
    return picture
