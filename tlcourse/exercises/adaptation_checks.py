"""The checks of lesson 05's low-rank update and of its rates, a function for each stage."""

import math
import random

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse.exercises.expect import Wrong, expect_close, expect_equal, expect_number, expect_shape
from tlcourse.exercises.expect import expect_unchanged as call


def _layer(inputs: int, outputs: int, rank: int, seed: int = 0) -> tuple[Tensor, ...]:
    """Weight, bias, a and b, drawn."""
    draw = torch.Generator().manual_seed(seed)
    shapes = ((outputs, inputs), (outputs,), (rank, inputs), (outputs, rank))
    return tuple(torch.randn(shape, generator=draw) for shape in shapes)


def lora_shape(candidate) -> None:
    likely = "`weight` is (out, in), as in nn.Linear: `F.linear(x, weight, bias)`."
    got = call(candidate, torch.ones(2, 7, 5), *_layer(5, 3, 2), 4.0)
    expect_shape(got, (2, 7, 3), "x (2, 7, 5), weight (3, 5), rank 2", likely)


def lora_start(candidate) -> None:
    weight, bias, a, b = _layer(5, 3, 2)
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(1))
    got = call(candidate, x, weight, bias, a, torch.zeros_like(b), 8.0)
    old = F.linear(x, weight, bias)
    likely = "The layer has to give what it gave before: W x + bias, once and unscaled."
    known = (
        (torch.zeros_like(old), "That is the update alone; add it to the old layer."),
        (4 * old, "alpha / rank scales the update, not the old layer."),
        (old - bias, "The bias of the old layer is missing."),
        (old + bias, "The bias was added twice: the update has none."),
        (old + 4 * bias, "The bias was added twice: the update has none."),
    )
    if isinstance(got, Tensor) and got.shape == old.shape:
        likely = next((text for wrong, text in known if torch.allclose(got, wrong)), likely)
    expect_close(got, old, "with b = 0, as LoRA starts, the layer", likely)


def lora_scale(candidate) -> None:
    nothing = torch.zeros(1, 1), torch.zeros(1)
    for rank, alpha in ((1, 1.0), (1, 6.0), (4, 6.0)):
        a, b = torch.ones(rank, 1), torch.ones(1, rank)
        got = call(candidate, torch.eye(1), *nothing, a, b, alpha)
        known = (
            (alpha * rank, "Nothing was divided by the rank, the number of rows of `a`."),
            (alpha * math.sqrt(rank), "It was divided by the root of the rank, not by the rank."),
            (rank / alpha, "It is alpha / rank, not one over alpha."),
            (rank, "Where is alpha?"),
            (1.0, "Where is alpha?"),
        )
        likely = "The update is multiplied by alpha and divided by the rank."
        what = f"weight 0, x = 1, ones in a and b, rank {rank}, alpha {alpha:g}"
        expect_shape(got, (1, 1), what)
        expect_number(got[0, 0], alpha, what, known, likely)


def lora_whole(candidate) -> None:
    likely = "B A is `b @ a`: first `a` takes x to the rank, then `b` takes it to the outputs."
    for seed, leading in enumerate(((), (3,), (2, 5), (1, 2, 3), (4, 1))):
        weight, bias, a, b = _layer(6, 4, 3, seed)
        x = torch.randn(*leading, 6, generator=torch.Generator().manual_seed(seed))
        merged = weight.double() + 2.0 / 3 * sum(torch.outer(b[:, r], a[r]) for r in range(3))
        right = (merged @ x.double()[..., None])[..., 0] + bias
        what = f"a random layer of rank 3, x {tuple(x.shape)}"
        expect_close(call(candidate, x, weight, bias, a, b, 2.0), right, what, likely, 1e-4)


def _rates_after(candidate, first: list[float], factors: list[float], decay: float) -> list[float]:
    """The rates of groups, from the input to the output, after a step at each of `factors`."""
    groups = [
        {"name": f"layer {place}", "params": [], "lr": rate, "initial_lr": rate}
        for place, rate in enumerate(first)
    ]
    handed = list(groups)
    for factor in factors:
        candidate(groups, decay, factor)
        if [id(group) for group in groups] != [id(group) for group in handed]:
            raise Wrong("the list of groups was changed: set `lr` in each, and leave their order.")
        if [group.get("initial_lr") for group in groups] != first:
            raise Wrong(
                "`initial_lr` was changed. It is what the next step starts from, and must stay."
            )
    return [round(float(group["lr"]), 9) for group in groups]


def _expect_rates(got: list[float], right: list[float], what: str, likely: str) -> None:
    expect_equal(got, [round(rate, 9) for rate in right], what, likely)


EQUAL, RIGHT = [0.09] * 3, [0.01, 0.03, 0.09]  # first rates; at decay 3 and factor 1


def rates_once(candidate) -> None:
    known = (
        (
            EQUAL,
            "All are equal. Either nothing was set (each group is changed in place), or whatever "
            "divides the rates is overwritten afterwards by one rate for all.",
        ),
        (
            RIGHT[::-1],
            "That is upside down: groups go from the input to the output, the top is the last.",
        ),
        ([0.01 / 3, 0.01, 0.03], "The top layer is not divided at all: its depth is 0."),
        ([0.015, 0.03, 0.09], "One layer further down is divided once more: `decay**depth`."),
        ([0.03, 0.03, 0.09], "One layer further down is divided once more: `decay**depth`."),
    )
    got = _rates_after(candidate, EQUAL, [1.0], 3.0)
    likely = "The last group, the top layer, moves at its own rate, the one below at a third of it."
    likely = next((text for wrong, text in known if np.allclose(got, wrong)), likely)
    what = "three layers, all with initial_lr 0.09, decay 3, one step at factor 1:"
    _expect_rates(got, RIGHT, what, likely)


def rates_again(candidate) -> None:
    got = _rates_after(candidate, EQUAL, [1.0] * 3, 3.0)
    likely = "Each step starts from `initial_lr`, not from what the step before has left in `lr`."
    if got[2] == 0.09 and got[1] < 0.03:
        likely = "The lower layers were divided again at each step. " + likely
    _expect_rates(got, RIGHT, "the same three layers after three such steps:", likely)


def rates_schedule(candidate) -> None:
    half = [rate / 2 for rate in RIGHT]
    once = _rates_after(candidate, EQUAL, [0.5], 3.0)
    likely = "At factor 0.5 each rate is half of what it is at factor 1, and the ratios stay."
    if once == RIGHT:
        likely = "The factor of the schedule was not used."
    elif once[0] == once[1] == once[2]:
        likely = "The schedule wrote one rate over all of them: it has to multiply each one's own."
    _expect_rates(once, half, "one step at factor 0.5:", likely)
    got = _rates_after(candidate, EQUAL, [0.1, 0.0, 0.5], 3.0)
    likely = "A factor belongs to one step: what it was before, 0 included, is forgotten."
    _expect_rates(got, half, "after steps at factors 0.1, 0 and 0.5:", likely)


def rates_own(candidate) -> None:
    got = _rates_after(candidate, [0.09, 0.09, 0.27], [0.5, 1.0], 3.0)
    likely = "Each group starts from its own `initial_lr`."
    if got in ([0.03, 0.09, 0.27], RIGHT):
        likely = "One group's `initial_lr` was used for all. " + likely
    what = "initial_lr 0.09, 0.09 and 0.27 (a head that is faster), decay 3, factor 1:"
    _expect_rates(got, [0.01, 0.03, 0.27], what, likely)


def rates_whole(candidate) -> None:
    draw = random.Random(3)
    for _ in range(20):
        first = [draw.choice([0.5, 1.0, 3.0]) for _ in range(draw.randrange(1, 9))]
        factors = [draw.random() for _ in range(draw.randrange(1, 5))]
        decay, right = draw.uniform(1.0, 3.0), []
        slower = 1.0
        for rate in reversed(first):
            right.insert(0, rate / slower * factors[-1])
            slower *= decay
        got = _rates_after(candidate, first, factors, decay)
        what = f"{len(first)} groups, decay {decay:.3f}, {len(factors)} steps:"
        expect_close(got, right, what, "The ratio of two neighbours is `decay`, at any depth.")
