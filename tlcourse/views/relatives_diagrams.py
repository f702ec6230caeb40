"""A drawing of LoRA and three relatives: what each adds to one linear layer."""

from typing import Any

from tlcourse.views.drawing import (
    PALE,
    PALE_BLUE,
    Box,
    arrow,
    box,
    canvas,
    label,
)
from tlcourse.views.style import COLOURS, GREY, Picture, finish

_BLUE = COLOURS["blue"]
_STEP = 1.7  # inches from one layer to the next


def lora_relatives(
    width: int, rank: int, *, title: str = "", alt: str = "", note: str | None = None
) -> Picture:
    """Four times one linear layer of `width`: LoRA, QLoRA, DoRA and IA³ beside each other.

    Grey is frozen, blue is new and learned; below each stands how many numbers are learned. Raises
    ValueError for sizes below 1 and without title.
    """
    if min(width, rank) < 1:
        raise ValueError(f"expected a width and a rank of 1 or more, got {width} and {rank}")
    picture, axes = canvas(title, 3.05)
    thin = 2 * rank * width
    for place, (name, frozen, new, count) in enumerate(
        (
            ("LoRA", "W\n32 bits", "B A", thin),
            ("QLoRA", "W\n4 bits", "B A", thin),
            ("DoRA", "W\n32 bits", "B A", thin + width),
            ("IA³", "W\n32 bits", "", width),
        )
    ):
        middle = 0.85 + _STEP * place
        label(axes, (middle, 2.9), name, align="center", bold=True)
        last = _layer(axes, middle, frozen, f"{new}\nrank {rank}" if new else "")
        _output(axes, middle, last, name)
        label(axes, (middle, 0.08), f"{count:,} learned", align="center", colour=_BLUE)
    own = (
        f"Four linear layers of {width} inputs and outputs. LoRA: the frozen W and beside it the "
        f"learned B A of rank {rank}, added up. QLoRA: the same, W in 4 bits. DoRA: the sum is "
        "divided by its length and multiplied by a learned m. IA³: no B A, the output is "
        "multiplied by learned factors."
    )
    return finish(picture, alt or own, note)


def _layer(axes: Any, middle: float, frozen: str, new: str) -> tuple[float, float]:
    """x below, W and what stands beside it, a sum; returns the point from where it goes on."""
    label(axes, (middle, 0.36), "x", align="center")
    start = (middle, 0.45)
    if not new:
        weight = box(axes, (middle, 1.08), frozen, width=0.68, height=0.5, fill=PALE)
        arrow(axes, start, weight.bottom)
        return weight.top
    weight = box(axes, (middle - 0.38, 1.08), frozen, width=0.68, height=0.5, fill=PALE)
    update = box(
        axes, (middle + 0.38, 1.08), new, width=0.68, height=0.5, fill=PALE_BLUE, edge=_BLUE
    )
    arrow(axes, start, weight.bottom)
    arrow(axes, start, update.bottom, colour=_BLUE)
    plus = box(axes, (middle, 1.66), "+", width=0.26, height=0.24)
    arrow(axes, weight.top, plus.left)
    arrow(axes, update.top, plus.right, colour=_BLUE)
    return plus.top


def _output(axes: Any, middle: float, last: tuple[float, float], name: str) -> None:
    """What is done to the sum, and the output above."""
    above: Box | None = None
    if name in ("DoRA", "IA³"):
        text = "÷ length  × m" if name == "DoRA" else "× l"
        above = box(axes, (middle, 2.18), text, fill=PALE_BLUE, edge=_BLUE)
        arrow(axes, last, above.bottom)
    arrow(axes, above.top if above else last, (middle, 2.58))
    label(axes, (middle, 2.68), "output", align="center", colour=GREY)
