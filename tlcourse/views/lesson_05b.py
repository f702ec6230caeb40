"""Figures of lesson 05b: the memory of a training step, and the relatives of LoRA."""

from collections.abc import Mapping
from typing import Unpack

from tlcourse.views.bars import name_rows
from tlcourse.views.diagrams import Box, Drawing
from tlcourse.views.style import (
    ABOVE,
    CYCLE,
    Picture,
    Texts,
    figure,
    finish,
    ink_on,
    label_axes,
    text_width,
)

_STEP = 1.7  # inches from one layer to the next


def memory_bars(held: Mapping[str, Mapping[str, float]], **texts: Unpack[Texts]) -> Picture:
    """A row for each scheme: the MiB of each kind side by side, and the sum at the end.

    `held` maps a name to kinds and their MiB; all names have the same kinds, which are named above
    the first row. Raises ValueError for no row, or for kinds that differ.
    """
    kinds = list(next(iter(held.values()), {}))
    if not kinds or any(list(each) != kinds for each in held.values()):
        raise ValueError(f"expected the same kinds of memory in every row, got {dict(held)}")
    picture, axes = figure(height=1.55 + 0.36 * len(held), **texts)
    colours = dict(zip(kinds, CYCLE, strict=False))
    most = max(sum(each.values()) for each in held.values())
    for row, each in enumerate(held.values()):
        left = 0.0
        for kind, size in each.items():
            axes.barh(row, size, left=left, height=0.66, color=colours[kind], ec="white", lw=0.8)
            text = f"{size:.0f}"
            if 4.2 * size / most > text_width(text, 9) + 0.08:  # about as wide as the axes
                ink = ink_on(colours[kind])
                font = {"ha": "center", "va": "center_baseline", "fontsize": 9, "color": ink}
                axes.text(left + size / 2, row, text, **font)
            left += size
        axes.text(left + 0.012 * most, row, f"{left:.0f}", va="center", fontweight="bold")
    name_rows(axes, list(held))
    axes.set_xlim(0, 1.12 * most)
    label_axes(axes, x="memory of one training step (MiB)")
    look = {"ncols": len(kinds), "borderaxespad": 0, "handlelength": 1.0, "columnspacing": 1.4}
    axes.legend(axes.patches[: len(kinds)], kinds, **ABOVE, **look)
    rows_in_words = "; ".join(
        f"{name}: " + ", ".join(f"{kind} {size:.0f}" for kind, size in each.items())
        for name, each in held.items()
    )
    return finish(picture, f"MiB of one training step. {rows_in_words}")


def lora_relatives(width: int, rank: int, **texts: Unpack[Texts]) -> Picture:
    """Four times one linear layer of `width`: LoRA, QLoRA, DoRA and IA³ beside each other.

    Grey is frozen, blue is new and learned; below each stands how many numbers are learned. Raises
    ValueError for sizes below 1.
    """
    if min(width, rank) < 1:
        raise ValueError(f"expected a width and a rank of 1 or more, got {width} and {rank}")
    draw = Drawing(3.05, **texts)
    thin = 2 * rank * width
    learned = {"LoRA": thin, "QLoRA": thin, "DoRA": thin + width, "IA³": width}
    for place, (name, count) in enumerate(learned.items()):
        frozen = "W\n4 bits" if name == "QLoRA" else "W\n32 bits"
        middle = 0.85 + _STEP * place
        draw.caption((middle, 2.9), name, "black", bold=True)
        last = _layer(draw, middle, frozen, "" if name == "IA³" else f"B A\nrank {rank}")
        _output(draw, middle, last, name)
        draw.caption((middle, 0.08), f"{count:,} learned", "blue")
    return draw.finish(
        f"Four linear layers of {width} inputs and outputs. LoRA: the frozen W and beside it the "
        f"learned B A of rank {rank}, added up. QLoRA: the same, W in 4 bits. DoRA: the sum is "
        "divided by its length and multiplied by a learned m. IA³: no B A, the output is "
        "multiplied by learned factors."
    )


def _layer(draw: Drawing, middle: float, frozen: str, new: str) -> tuple[float, float]:
    """x below, W and what stands beside it, a sum; returns the point from where it goes on."""
    draw.caption((middle, 0.36), "x", "black")
    start = (middle, 0.45)
    if not new:
        weight = draw.box((middle, 1.08), frozen, width=0.68, height=0.5, colour="grey")
        draw.arrow(start, weight.bottom)
        return weight.top
    weight = draw.box((middle - 0.38, 1.08), frozen, width=0.68, height=0.5, colour="grey")
    update = draw.box((middle + 0.38, 1.08), new, width=0.68, height=0.5, colour="blue")
    draw.arrow(start, weight.bottom)
    draw.arrow(start, update.bottom, colour="blue")
    plus = draw.box((middle, 1.66), "+", width=0.26, height=0.24)
    draw.arrow(weight.top, plus.left)
    draw.arrow(update.top, plus.right, colour="blue")
    return plus.top


def _output(draw: Drawing, middle: float, last: tuple[float, float], name: str) -> None:
    """What is done to the sum, and the output above."""
    above: Box | None = None
    if name in ("DoRA", "IA³"):
        text = "÷ length  × m" if name == "DoRA" else "× l"
        above = draw.box((middle, 2.18), text, colour="blue")
        draw.arrow(last, above.bottom)
    draw.arrow(above.top if above else last, (middle, 2.58))
    draw.caption((middle, 2.68), "output")
