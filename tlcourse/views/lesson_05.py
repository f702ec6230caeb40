"""Figures of lesson 05: a block with schemes, the four knobs."""

from collections.abc import Mapping
from typing import Unpack

from tlcourse.views.diagrams import ACROSS, Drawing
from tlcourse.views.dots import KNOB_COLOURS
from tlcourse.views.style import Picture, Texts


def block_with_schemes(width: int, feed_forward: int, **texts: Unpack[Texts]) -> Picture:
    """A block's layers with what schemes add to them (blue) and what they move (named in orange).

    LoRA beside query and value, a prefix before keys and values, adapters behind attention and
    feed-forward, the biases, the norms.
    """
    draw = Drawing(3.4, **texts)
    stream, row = 0.35, 1.55
    draw.stroke((0.05, stream), (6.5, stream), colour="black")
    draw.arrow((6.4, stream), (ACROSS, stream), colour="black")
    draw.label((0.05, 0.12), f"residual stream, width {width}", bold=True)
    norm = draw.box((0.45, row), "norm", colour="grey")
    draw.arrow((0.45, stream), norm.bottom)
    parts = {}
    for name, y in (("query", 2.35), ("key", row), ("value", 0.9)):
        parts[name] = draw.box((1.35, y), name, width=0.62, colour="grey")
        draw.arrow(norm.right, parts[name].left)
    mixed = draw.box((2.2, row), "attend", colour="grey")
    for name in ("query", "key", "value"):
        draw.arrow(parts[name].right, mixed.left)
    output = draw.box((3.0, row), "output", colour="grey", width=0.62)
    draw.chain(mixed, output)
    second = draw.box((4.4, row), "norm", colour="grey")
    up = draw.box((5.05, row), "up", colour="grey", width=0.42)
    down = draw.box((5.7, row), "down", colour="grey", width=0.56)
    draw.arrow((4.4, stream), second.bottom)
    draw.chain(second, up, down)
    added = {"colour": "blue"}
    for after, x in ((output, 3.72), (down, 6.4)):
        adapter = draw.box((x, row), "adapter", width=0.64, **added)
        draw.arrow(after.right, adapter.left, colour="blue")
        draw.arrow(adapter.bottom, (x, stream))
    for x in (3.72, 6.4):
        draw.label((x + 0.06, 0.75), f"{width}\n→ 32\n→ {width}", colour="blue")
    lora = draw.box((1.35, 3.05), f"LoRA: A 8 × {width}, B {width} × 8", **added)
    draw.arrow(lora.bottom, parts["query"].top, colour="blue")
    side = draw.box((2.35, 0.9), "LoRA", **added)
    draw.arrow(side.left, parts["value"].right, colour="blue")
    keys = draw.box((2.75, 2.45), "prefix: 10 learned\nkeys and values", **added)
    draw.arrow(keys.bottom, (mixed.middle[0] + 0.15, mixed.top[1]), colour="blue")
    _what_moves(draw, f"grey: frozen; up is {width} → {feed_forward}")
    return draw.finish(
        "A block: a norm, the layers query, key and value, the attention, the layer output; then a "
        "norm, up and down. LoRA stands beside query and value, a prefix before keys and values, "
        "an adapter behind output and behind down. Biases, norms or whole layers may move instead."
    )


def _what_moves(draw: Drawing, rest: str) -> None:
    """The names of both knobs that a block can show, and who moves old weights."""
    orange = KNOB_COLOURS["groups"]
    draw.label((4.3, 3.25), "edit: what is added", colour="blue", bold=True)
    draw.label((4.3, 2.95), "groups: what moves of the rest", colour=orange, bold=True)
    draw.label((4.3, 2.72), "BitFit: all biases", colour=orange)
    draw.label((4.3, 2.5), "norms only: gains and biases", colour=orange)
    draw.label((4.3, 2.28), "top layers: whole blocks, from the top", colour=orange)
    draw.label((4.3, 2.02), rest, colour="grey")


def four_knobs(choices: Mapping[str, str], **texts: Unpack[Texts]) -> Picture:
    """The training loop with its four knobs, in colours; `choices` says what each is set to.

    `choices` maps edit, groups, schedule and extra_loss to a few words. Raises ValueError for other
    knobs.
    """
    asks = {"edit": "what is added?", "groups": "what moves?"}
    asks |= {"schedule": "how fast, when?", "extra_loss": "what else counts?"}
    if set(choices) != set(asks):
        raise ValueError(f"expected the knobs {', '.join(asks)}, got {', '.join(choices)}")
    draw = Drawing(2.55, **texts)
    row, places = 0.75, {"edit": 0.9, "groups": 2.55, "schedule": 4.2, "extra_loss": 5.85}
    steps = "model", "optimizer", "learning rate\nof each step", "loss"
    drawn = []
    for (name, caption), text in zip(asks.items(), steps, strict=True):
        colour, x = KNOB_COLOURS[name], places[name]
        draw.caption((x, 2.35), name, colour, bold=True)
        draw.caption((x, 2.13), caption, colour)
        knob = draw.box((x, 1.67), choices[name], edge=colour, width=1.5, height=0.5)
        step = draw.box((x, row), text, colour="grey", width=1.2, height=0.44)
        draw.arrow(knob.bottom, step.top, colour=colour)
        drawn.append(step)
    draw.chain(*drawn)
    end, back = drawn[-1].bottom, drawn[2].bottom
    draw.stroke(end, (end[0], 0.27), (back[0], 0.27))
    draw.arrow((back[0], 0.27), back)
    middle = (end[0] + back[0]) / 2, 0.12
    draw.caption(middle, "gradient, step, next batch")
    description = "A training loop with four knobs: " + "; ".join(
        f"{name} ({asks[name]}) is set to {choice}" for name, choice in choices.items()
    ).replace("\n", " ")
    return draw.finish(description)
