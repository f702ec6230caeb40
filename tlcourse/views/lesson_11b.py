"""Figures of lesson 11b: ULMFiT's stages, the rates of its layers, errors and their spread.

A title states a finding only if the data show it.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import stdev
from typing import Unpack

import numpy as np

from tlcourse.views.diagrams import Box, Drawing
from tlcourse.views.dots import Interval, grouped_dots, strips
from tlcourse.views.lines import curves
from tlcourse.views.style import Picture, Texts


def ulmfit_stages(
    stages: Sequence[tuple[str, str, str]], layers: int = 2, **texts: Unpack[Texts]
) -> Picture:
    """Three stages side by side, each a model of `layers` layers over what it reads.

    A stage is its name, what it reads, and what it predicts; the last one has a new head, in blue.
    Raises ValueError for another number of stages.
    """
    if len(stages) != 3:
        raise ValueError(f"expected three stages, got {len(stages)}")
    texts = {
        "title": "ULMFiT: one body, three stages, more and more like the task",
        "alt": "; ".join(
            f"{name}: reads {reads.replace(chr(10), ' ')}, predicts {what.replace(chr(10), ' ')}"
            for name, reads, what in stages
        )
        + f". The embedding and {layers} LSTM layers pass from stage to stage; the head of the "
        "last stage is new.",
    } | texts
    height = 1.9 + 0.36 * layers
    draw = Drawing(height, **texts)
    bodies: list[Box] = []
    for place, (name, reads, what) in enumerate(stages):
        x, new = 1.15 + 2.25 * place, place == 2
        draw.caption((x, height - 0.1), f"{place + 1} · {name}", "black", bold=True)
        text = draw.box((x, 0.28), reads, width=1.75, height=0.44, colour="faint")
        bottom, top = 0.85, 0.85 + 0.36 * layers
        parts = ["embedding", *(f"LSTM layer {layer + 1}" for layer in range(layers))]
        boxes = [
            draw.box((x, bottom + 0.36 * row), part, width=1.35, height=0.26, colour="grey")
            for row, part in enumerate(parts)
        ]
        head = draw.box(
            (x, top + 0.5), what, width=1.75, height=0.44, colour="blue" if new else "white"
        )
        draw.arrow(text.top, boxes[0].bottom)
        draw.arrow(boxes[-1].top, head.bottom)
        middle = Box((x, (bottom + top) / 2), 1.35, 0.3)
        if bodies:
            draw.arrow(bodies[-1].right, middle.left)
        bodies.append(middle)
    return draw.finish()


def layer_rates(
    names: Sequence[str], rates: Sequence[Sequence[float]], **texts: Unpack[Texts]
) -> Picture:
    """The learning rate of each layer over the steps, a line each; frozen steps have no line.

    `names` go from the input to the output, `rates` (layers, steps) are factors of the recipe's.
    The title says so if the layers begin one after another, the last one first, and each is slower
    than the one above it. Raises ValueError for another number of names than of rates.
    """
    if len(names) != len(rates) or not len(names):
        raise ValueError(f"expected a name for each of {len(rates)} layers, got {list(names)}")
    values = np.where(np.asarray(rates, float) > 0, np.asarray(rates, float), np.nan)
    begins = [int(np.isfinite(row).argmax()) for row in values]
    tops = np.nanmax(values[:, max(begins) :], axis=1)
    title = "The learning rate of each layer"
    if all(above < below for below, above in pairwise(begins)) and (np.diff(tops) > 0).all():
        title = "Layers below the head start later and learn more slowly"
    told = "; ".join(f"{name} from step {begin}" for name, begin in zip(names, begins, strict=True))
    texts = {"title": title, "alt": f"Learning rates over steps. {told}."} | texts
    steps = np.arange(values.shape[1])
    series = {name: (steps, row) for name, row in reversed(list(zip(names, values, strict=True)))}
    labels = {"x_label": "step", "y_label": "times the recipe's learning rate", "log_y": True}
    return curves(series, **labels, **texts)


def errors_by_stage(
    rows: Mapping[str, Mapping[str, Interval]],
    levels: Mapping[str, float] | None = None,
    *,
    what: str = "",
    **texts: Unpack[Texts],
) -> Picture:
    """Test errors in percent with intervals: a row for each stage, a series for each body.

    `rows` maps a stage to bodies, a body to (mean, low, high); `what` names the test. The title
    says so if every stage has fewer errors than the one before, in every body.
    """
    means = {body: [each[body][0] for each in rows.values()] for body in next(iter(rows.values()))}
    title = "Test errors, stage by stage"
    if all(after < before for each in means.values() for before, after in pairwise(each)):
        title = "Each stage of ULMFiT lowers the error"
    elif all(each[0] == max(each) for each in means.values()):
        title = "Whatever is added, a body from scratch makes the most errors"
    told = "; ".join(
        f"{stage}: " + ", ".join(f"{body} {value[0]:.1f} %" for body, value in each.items())
        for stage, each in rows.items()
    )
    told += "".join(f"; {name}: {value:.1f} %" for name, value in (levels or {}).items())
    texts = {"title": f"{title} ({what})" if what else title, "alt": f"{told}."} | texts
    return grouped_dots(rows, x_label="test error (%)", levels=levels, **texts)


def seeds_of_models(
    errors: Mapping[str, Sequence[float]],
    levels: Mapping[str, float] | None = None,
    **texts: Unpack[Texts],
) -> Picture:
    """Test errors in percent, a dot for each seed, a row for each model and way of fine-tuning.

    The title names the row that varies least if every other one has more than 1.5 times its
    standard deviation. Raises ValueError for a row of fewer than two runs.
    """
    if any(len(each) < 2 for each in errors.values()):
        raise ValueError("expected at least two runs in each row, whose spread is shown")
    spreads = {name: stdev(each) for name, each in errors.items()}
    steadiest = min(spreads, key=lambda name: spreads[name])
    others = [value for name, value in spreads.items() if name != steadiest]
    title = "The same labels, other seeds"
    if others and min(others) > 1.5 * spreads[steadiest]:
        title = f"{steadiest} varies least from seed to seed"
    told = "; ".join(
        f"{name}: {min(each):.1f} to {max(each):.1f} %, standard deviation {spreads[name]:.1f}"
        for name, each in errors.items()
    )
    texts = {"title": title, "alt": f"Test errors of {told}."} | texts
    return strips(errors, x_label="test error (%), a dot for each seed", levels=levels, **texts)
