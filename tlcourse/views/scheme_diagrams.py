"""Drawings of lesson 05: where each scheme sits in a block, and the four knobs of a training run.

What they are made of stands in `drawing`. Numbers come from the live configuration. Each picture
has an alt text of its own, for cells that write none.
"""

from collections.abc import Mapping
from typing import Any

from tlcourse.views.drawing import ACROSS, PALE, PALE_BLUE, arrow, box, canvas, label
from tlcourse.views.scheme_board import KNOB_COLOURS
from tlcourse.views.style import GREY, Picture, finish

_BLUE = KNOB_COLOURS["edit"]


def block_with_schemes(
    width: int,
    feed_forward: int,
    *,
    rank: int = 8,
    bottleneck: int = 32,
    prefix: int = 10,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """A block's layers with what schemes add to them (blue) and what they move (named in orange).

    LoRA beside query and value, a prefix before keys and values, adapters behind attention and
    feed-forward, the biases, the norms. Raises ValueError without title.
    """
    picture, axes = canvas(title, 3.4)
    stream, row = 0.35, 1.55
    axes.plot([0.05, 6.5], [stream] * 2, color="black", lw=1)
    arrow(axes, (6.4, stream), (ACROSS, stream), colour="black")
    label(axes, (0.05, 0.12), f"residual stream, width {width}", bold=True)
    norm = box(axes, (0.45, row), "norm", fill=PALE)
    arrow(axes, (0.45, stream), norm.bottom)
    parts = {}
    for name, y in (("query", 2.35), ("key", row), ("value", 0.9)):
        parts[name] = box(axes, (1.35, y), name, width=0.62, fill=PALE)
        arrow(axes, norm.right, parts[name].left)
    mixed = box(axes, (2.2, row), "attend", fill=PALE)
    for name in ("query", "key", "value"):
        arrow(axes, parts[name].right, mixed.left)
    output = box(axes, (3.0, row), "output", fill=PALE, width=0.62)
    arrow(axes, mixed.right, output.left)
    second = box(axes, (4.4, row), "norm", fill=PALE)
    up = box(axes, (5.05, row), "up", fill=PALE, width=0.42)
    down = box(axes, (5.7, row), "down", fill=PALE, width=0.56)
    arrow(axes, (4.4, stream), second.bottom)
    arrow(axes, second.right, up.left)
    arrow(axes, up.right, down.left)
    added = {"fill": PALE_BLUE, "edge": _BLUE}
    for after, x in ((output, 3.72), (down, 6.4)):
        adapter = box(axes, (x, row), "adapter", width=0.64, **added)
        arrow(axes, after.right, adapter.left, colour=_BLUE)
        arrow(axes, adapter.bottom, (x, stream))
    for x in (3.72, 6.4):
        label(axes, (x + 0.06, 0.75), f"{width}\n→ {bottleneck}\n→ {width}", colour=_BLUE)
    lora = box(axes, (1.35, 3.05), f"LoRA: A {rank} × {width}, B {width} × {rank}", **added)
    arrow(axes, lora.bottom, parts["query"].top, colour=_BLUE)
    side = box(axes, (2.35, 0.9), "LoRA", **added)
    arrow(axes, side.left, parts["value"].right, colour=_BLUE)
    keys = box(axes, (2.75, 2.45), f"prefix: {prefix} learned\nkeys and values", **added)
    arrow(axes, keys.bottom, (mixed.middle[0] + 0.15, mixed.top[1]), colour=_BLUE)
    _what_moves(axes, f"grey: frozen; up is {width} → {feed_forward}")
    own = (
        "A block: a norm, the layers query, key and value, the attention, the layer output; then a "
        "norm, up and down. LoRA stands beside query and value, a prefix before keys and values, "
        "an adapter behind output and behind down. Biases, norms or whole layers may move instead."
    )
    return finish(picture, alt or own, note)


def _what_moves(axes: Any, rest: str) -> None:
    """The names of both knobs that a block can show, and who moves old weights."""
    orange = KNOB_COLOURS["groups"]
    label(axes, (4.3, 3.25), "edit: what is added", colour=_BLUE, bold=True)
    label(axes, (4.3, 2.95), "groups: what moves of the rest", colour=orange, bold=True)
    for y, said in (
        (2.72, "BitFit: all biases"),
        (2.5, "norms only: gains and biases"),
        (2.28, "top layers: whole blocks, from the top"),
    ):
        label(axes, (4.3, y), said, colour=orange)
    label(axes, (4.3, 2.02), rest, colour=GREY)


def four_knobs(
    choices: Mapping[str, str],
    *,
    title: str = "",
    alt: str = "",
    note: str | None = None,
) -> Picture:
    """The training loop with its four knobs, in colours; `choices` says what each is set to.

    `choices` maps edit, groups, schedule and extra_loss to a few words. Raises ValueError for other
    knobs, and without title.
    """
    asks = {
        "edit": "what is added?",
        "groups": "what moves?",
        "schedule": "how fast, when?",
        "extra_loss": "what else counts?",
    }
    if set(choices) != set(asks):
        raise ValueError(f"expected the knobs {', '.join(asks)}, got {', '.join(choices)}")
    picture, axes = canvas(title, 2.55)
    row, places = 0.75, {"edit": 0.9, "groups": 2.55, "schedule": 4.2, "extra_loss": 5.85}
    steps = {
        "edit": "model",
        "groups": "optimizer",
        "schedule": "learning rate\nof each step",
        "extra_loss": "loss",
    }
    drawn = []
    for (name, said), text in zip(asks.items(), steps.values(), strict=True):
        colour, x = KNOB_COLOURS[name], places[name]
        label(axes, (x, 2.35), name, colour=colour, align="center", bold=True)
        label(axes, (x, 2.13), said, colour=colour, align="center")
        knob = box(axes, (x, 1.67), choices[name], edge=colour, width=1.5, height=0.5)
        step = box(axes, (x, row), text, fill=PALE, width=1.2, height=0.44)
        arrow(axes, knob.bottom, step.top, colour=colour)
        drawn.append(step)
    for one, other in zip(drawn, drawn[1:], strict=False):
        arrow(axes, one.right, other.left)
    end, back = drawn[-1].bottom, drawn[2].bottom
    axes.plot([end[0], end[0], back[0]], [end[1], 0.27, 0.27], color=GREY, lw=1)
    arrow(axes, (back[0], 0.27), back)
    label(axes, ((end[0] + back[0]) / 2, 0.12), "gradient, step, next batch", align="center",
          colour=GREY)  # fmt: skip
    own = "A training loop with four knobs: " + "; ".join(
        f"{name} ({asks[name]}) is set to {choice}" for name, choice in choices.items()
    ).replace("\n", " ")
    return finish(picture, alt or own, note)
