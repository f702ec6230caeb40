"""Figures of lesson 05: the four knobs, parts in a block, bytes, errors of schemes, their rates.

A title states a finding only if the data bear it out; otherwise it says what is drawn.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Unpack

from tlcourse.views.bars import horizontal_bars
from tlcourse.views.diagrams import ACROSS, Box, Drawing
from tlcourse.views.dots import KNOB_COLOURS, BoardValue, Panel, scheme_board
from tlcourse.views.heat_maps import movement
from tlcourse.views.lesson_05b import memory_bars
from tlcourse.views.lines import curves
from tlcourse.views.style import Picture, Texts

_STREAM, _ROW = 0.35, 1.55  # of a block: the heights of the residual stream and of its layers


def lora_in_block(width: int, **texts: Unpack[Texts]) -> Picture:
    """A block's layers in grey with LoRA, in blue, beside query and value."""
    draw = Drawing(3.4, **{"title": "LoRA runs beside the layers query and value"} | texts)
    parts = _block(draw, width)
    _lora(draw, parts, width)
    for name in ("output", "down"):
        draw.arrow(parts[name].bottom, (parts[name].middle[0], _STREAM))
    draw.label((4.3, 3.05), "blue: new, and trained", colour="blue", bold=True)
    draw.label((4.3, 2.8), "grey: pretrained, and frozen", colour="grey")
    return draw.finish(
        "A block: a norm, the layers query, key and value, the attention, the layer output; then a "
        f"norm, up and down. Beside query, and beside value, LoRA (A: 8 × {width}, B: {width} × 8) "
        "reads the same input, and its output is added."
    )


def adapters_in_block(width: int, **texts: Unpack[Texts]) -> Picture:
    """A block's layers in grey with an adapter, in blue, behind output and behind down."""
    draw = Drawing(
        2.75, **{"title": "An adapter follows each of the layers output and down"} | texts
    )
    _adapters(draw, _block(draw, width), width)
    draw.label((4.3, 2.55), "blue: new, and trained", colour="blue", bold=True)
    draw.label((4.3, 2.3), "grey: pretrained, and frozen", colour="grey")
    return draw.finish(
        "A block: a norm, the layers query, key and value, the attention, the layer output; then a "
        f"norm, up and down. Behind output and behind down stands an adapter, {width} to 32 to "
        f"{width}; its output is added to the residual stream."
    )


def _block(draw: Drawing, width: int) -> dict[str, Box]:
    """Draws the layers of a block in grey, above the residual stream; returns them by name."""
    draw.stroke((0.05, _STREAM), (6.5, _STREAM), colour="black")
    draw.arrow((6.4, _STREAM), (ACROSS, _STREAM), colour="black")
    draw.label((0.05, 0.12), f"residual stream, width {width}", bold=True)
    norm = draw.box((0.45, _ROW), "norm", colour="grey")
    draw.arrow((0.45, _STREAM), norm.bottom)
    parts = {"norm": norm}
    for name, y in (("query", 2.35), ("key", _ROW), ("value", 0.9)):
        parts[name] = draw.box((1.35, y), name, width=0.62, colour="grey")
        draw.arrow(norm.right, parts[name].left)
    parts["attend"] = draw.box((2.2, _ROW), "attend", colour="grey")
    for name in ("query", "key", "value"):
        draw.arrow(parts[name].right, parts["attend"].left)
    parts["output"] = draw.box((3.0, _ROW), "output", colour="grey", width=0.62)
    draw.chain(parts["attend"], parts["output"])
    second = draw.box((4.4, _ROW), "norm", colour="grey")
    up = draw.box((5.05, _ROW), "up", colour="grey", width=0.42)
    parts["down"] = draw.box((5.7, _ROW), "down", colour="grey", width=0.56)
    draw.arrow((4.4, _STREAM), second.bottom)
    draw.chain(second, up, parts["down"])
    return parts


def _adapters(draw: Drawing, parts: Mapping[str, Box], width: int) -> None:
    """An adapter behind output and behind down, on the way to the residual stream."""
    for name, x in (("output", 3.72), ("down", 6.4)):
        adapter = draw.box((x, _ROW), "adapter", width=0.64, colour="blue")
        draw.arrow(parts[name].right, adapter.left, colour="blue")
        draw.arrow(adapter.bottom, (x, _STREAM))
        draw.label((x + 0.06, 0.75), f"{width}\n→ 32\n→ {width}", colour="blue")


def _lora(draw: Drawing, parts: Mapping[str, Box], width: int) -> None:
    """LoRA beside query: it reads the same vectors, and what it returns is added."""
    lora = draw.box((1.35, 3.05), f"LoRA: A 8 × {width}, B {width} × 8", colour="blue")
    under, (query, attend) = lora.bottom[1], (parts["query"].right, parts["attend"].left)
    middle = (query[0] + attend[0]) / 2, (query[1] + attend[1]) / 2
    draw.arrow(parts["norm"].top, (parts["norm"].middle[0], under), colour="blue")
    draw.stroke((2.15, under), (2.15, middle[1]), colour="blue")
    draw.arrow((2.15, middle[1]), middle, colour="blue")
    draw.label((1.9, middle[1] + 0.16), "+", colour="blue", bold=True)
    draw.label((1.95, 0.72), "the same\nbeside value", colour="blue")


PLAINEST = {
    "edit": "nothing",
    "groups": "all not frozen, the\nhead 3 times as fast",
    "schedule": "one triangle for all:\nup, then down to 0",
    "extra_loss": "nothing",
}


def four_knobs(choices: Mapping[str, str] = PLAINEST, **texts: Unpack[Texts]) -> Picture:
    """The training loop with its four knobs, in colours; `choices` says what each is set to.

    `choices` maps edit, groups, schedule and extra_loss to a few words; they default to the setting
    of full fine-tuning. Raises ValueError for other knobs.
    """
    asks = {"edit": "what is added?", "groups": "what is trained?"}
    asks |= {"schedule": "how fast, and when?", "extra_loss": "what else is penalised?"}
    if set(choices) != set(asks):
        raise ValueError(f"expected the knobs {', '.join(asks)}, got {', '.join(choices)}")
    draw = Drawing(2.55, **{"title": "One training loop, four knobs"} | texts)
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


def step_memory(held: Mapping[str, Mapping[str, float]], **texts: Unpack[Texts]) -> Picture:
    """A bar for each scheme with the MiB of one training step, as `memory_bars` takes them.

    The title compares the last scheme with the first; if there is only one, with its weights, which
    are the first kind.
    """
    sums = {name: sum(kinds.values()) for name, kinds in held.items()}
    first, last = next(iter(held)), list(held)[-1]
    title = "The memory of one training step"
    if len(held) == 1:
        times = sums[first] / next(iter(held[first].values()))
        title = f"A training step needs {times:.1f} times the memory of the weights"
    elif sums[last] < sums[first]:
        title = f"{last} needs {sums[last] / sums[first]:.0%} of the memory of {first}"
    return memory_bars(held, **{"title": title} | texts)


def stored_bytes(sizes: Mapping[str, float], **texts: Unpack[Texts]) -> Picture:
    """A bar for each way to store some tasks, in MiB; the title compares the last and the first."""
    (_, most), *_, (last, least) = sizes.items()
    title = "MiB to store all tasks"
    if least < most:
        title = f"{last[:1].upper()}{last[1:]}: {least / most:.0%} of the bytes"
    told = ", ".join(f"{name} {size:.1f}" for name, size in sizes.items())
    texts = {"title": title, "alt": f"Bars, in MiB: {told}."} | texts
    return horizontal_bars(sizes, x_label="MiB", highlight=last, **texts)


def rate_curves(
    errors: Mapping[str, Mapping[float, float]], level: float, **texts: Unpack[Texts]
) -> Picture:
    """Dev errors (%) of two schemes over learning rates; the dotted line is counting words.

    The title says by what factor the second one's best learning rate exceeds the first one's, if
    neither is the lowest or highest that was tried.
    """
    best = {name: min(found, key=lambda rate: found[rate]) for name, found in errors.items()}
    (one, first), (two, second) = best.items()
    inside = all(min(errors[name]) < at < max(errors[name]) for name, at in best.items())
    title = "Dev errors of two schemes over learning rates"
    if inside and second > first:
        factor = f"{second / first:.0f} times"
        title = f"{two} is best at {factor} the learning rate of {one}"
    told = "; ".join(
        f"{name}: " + ", ".join(f"{rate:g}: {error:.1f} %" for rate, error in found.items())
        for name, found in errors.items()
    )
    texts = {"title": title, "alt": f"Dev error by learning rate. {told}."} | texts
    rates = sorted({rate for found in errors.values() for rate in found})
    series = {
        name: tuple(zip(*sorted(found.items()), strict=True)) for name, found in errors.items()
    }
    return curves(
        series,
        x_label="learning rate of what the scheme trains in the body",
        y_label="dev error (%)",
        log_x=True,
        x_ticks=rates,
        levels={"counting words": level},
        **texts,
    )


def unfreezing(
    rates: Mapping[str, tuple[Sequence[str], Sequence[Sequence[float]]]], **texts: Unpack[Texts]
) -> Picture:
    """The learning rate of each layer over the steps, a panel for each scheme, see `movement`.

    The title says so if in the last panel the layers begin one after another, the head first.
    """
    groups, values = list(rates.values())[-1]
    begins = [next((i for i, rate in enumerate(row) if rate > 0), len(row)) for row in values]
    title = "Learning rates of the layers over a run"
    if all(above < below for below, above in pairwise(begins)):
        title = "One layer after another, from the head down"
    told = ", ".join(f"{name} at step {step}" for name, step in zip(groups, begins, strict=True))
    texts = {"title": title, "alt": f"A heat map for each scheme; in the last, {told}."} | texts
    return movement(rates, **{"note": "White is frozen. 1 is the recipe's learning rate."} | texts)


def schemes_compared(
    rows: Mapping[str, tuple[str, Sequence[BoardValue]]], before: float, **texts: Unpack[Texts]
) -> Picture:
    """Dev error, difference from full fine-tuning and LM loss of each scheme, see `scheme_board`.

    `before` is the LM loss before any adaptation. The title says so if, of the schemes whose
    difference is not clear, one has forgotten at least twice as much as another.
    """
    alike = []
    for _, (_, difference, loss) in rows.values():
        unclear = not isinstance(difference, tuple) or difference[1] <= 0 <= difference[2]
        if unclear and isinstance(loss, float):
            alike.append(loss - before)
    title = "Errors and forgetting of the schemes"
    if alike and max(alike) > 2 * max(0.0, min(alike)) and max(alike) > 0:
        title = "Schemes with similar errors forget very differently"
    told = "; ".join(
        f"{name} {value[0] if isinstance(value, tuple) else value:.1f} %"
        + (f", {loss:.2f}" if isinstance(loss, float) else "")
        for name, (_, (value, _, loss)) in rows.items()
    )
    texts = {"title": title, "alt": f"Dev error, and LM loss after: {told}"} | texts
    panels = [
        Panel("dev error (%)"),
        Panel("points more than\nfull fine-tuning", level=0.0),
        Panel("LM loss after\n(nats per token)", level=before),
    ]
    return scheme_board(rows, panels, **texts)
