"""The checks of lesson 05's low-rank update and of its rates, a function for each stage."""

import math
import random

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse.exercises.expect import Wrong, expect_close, expect_number, expect_shape
from tlcourse.exercises.expect import expect_unchanged as call


def _layer(inputs: int, outputs: int, rank: int, seed: int = 0) -> tuple[Tensor, ...]:
    """Weight, bias, a and b, drawn."""
    draw = torch.Generator().manual_seed(seed)
    shapes = ((outputs, inputs), (outputs,), (rank, inputs), (outputs, rank))
    return tuple(torch.randn(shape, generator=draw) for shape in shapes)


def lora_shape(candidate) -> None:
    likely = "`weight` is (out, in), as in nn.Linear: `F.linear(x, weight, bias)`."
    got = call(candidate, torch.ones(2, 7, 5), *_layer(5, 3, 2), 4.0)
    if math.prod(getattr(got, "shape", ())) == 2 * 7 * 3:
        likely = "All dimensions of x but the last come back as they were."
    expect_shape(got, (2, 7, 3), "x (2, 7, 5), weight (3, 5), rank 2", likely)


def lora_start(candidate) -> None:
    weight, bias, a, b = _layer(5, 3, 2)
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(1))
    got = call(candidate, x, weight, bias, a, torch.zeros_like(b), 8.0)
    old, bias = F.linear(x, weight, bias).double(), bias.double()
    likely = "The layer has to give what it gave before: W x + bias, once and unscaled."
    known = (
        (torch.zeros_like(old), "That is the update alone; add it to the old layer."),
        (4 * old, "alpha / rank scales the update, not the old layer."),
        (old - bias, "The bias of the old layer is missing."),
        (old + bias, "The bias was added twice: the update has none."),
        (old + 4 * bias, "The bias was added twice: the update has none."),
    )
    if isinstance(got, Tensor) and got.shape == old.shape:
        value = got.detach().double()
        likely = next((said for each, said in known if torch.allclose(value, each)), likely)
    expect_close(got, old, "with b = 0, as LoRA starts, the layer", likely)


def lora_scale(candidate) -> None:
    inputs, outputs = 7, 3
    x = torch.eye(1, inputs)
    for rank, alpha in ((5, 12.0), (1, 6.0)):
        a, b = torch.ones(rank, inputs), torch.ones(outputs, rank)
        old = torch.zeros(outputs, inputs), torch.zeros(outputs)
        got = call(candidate, x, *old, a, b, alpha)
        size = "It was divided by the number of {}, not by the rank, the number of rows of `a`."
        known = (
            (0.0, "That is the old layer alone: where is the update?"),
            (alpha * rank, "Nothing was divided by the rank, the number of rows of `a`."),
            (alpha * rank / inputs, size.format("inputs")),
            (alpha * rank / outputs, size.format("outputs")),
            (alpha * math.sqrt(rank), "It was divided by the root of the rank, not by the rank."),
            (alpha * rank**2, "It was multiplied by the rank: divide."),
            (alpha // rank * rank, "alpha / rank need not be whole: `/`, not `//`."),
            (rank / alpha, "It is alpha / rank, not one over alpha."),
            (rank, "Where is alpha?"),
            (1.0, "Where is alpha?"),
        )
        likely = "The update is multiplied by alpha and divided by the rank."
        what = f"weight 0, a single 1 in x, ones in a and b, rank {rank}, alpha {alpha:g}"
        expect_shape(got, (1, outputs), what, "A dimension of size 1 stays, too.")
        expect_number(got[0, 0], alpha, what, known, likely)


def lora_whole(candidate) -> None:
    likely = "B A is `b @ a`: first `a` takes x to the rank, then `b` takes it to the outputs."
    for seed, leading in enumerate(((), (3,), (2, 5), (1, 2, 3), (4, 1))):
        weight, bias, a, b = _layer(6, 4, 3, seed)
        x = torch.randn(*leading, 6, generator=torch.Generator().manual_seed(seed))
        product = sum(torch.outer(b[:, r].double(), a[r].double()) for r in range(3))
        merged = weight.double() + 2.0 / 3 * product
        right = (merged @ x.double()[..., None])[..., 0] + bias
        what = f"a random layer of rank 3, x {tuple(x.shape)}"
        got = call(candidate, x, weight, bias, a, b, 2.0)
        expect_shape(got, right.shape, what, "All dimensions of x but the last come back.")
        expect_close(got, right, what, likely, 1e-4)
    layer = [each.double() for each in (x, weight, bias, a, b)]
    got = call(candidate, *layer, 2.0)
    likely = "Something was rounded to single precision: leave the numbers in what they come in."
    expect_close(got, right, "the last layer again, in double precision,", likely, 1e-10)


def lora_gradients(candidate) -> None:
    weight, bias, a, b = _layer(6, 4, 3)
    x = torch.randn(5, 6, generator=torch.Generator().manual_seed(1))
    a.requires_grad_(), b.requires_grad_()
    got = candidate(x, weight, bias, a, b, 6.0)
    if getattr(got, "requires_grad", False):
        got.sum().backward()
    right = {  # of the sum of all outputs; alpha / rank is 2
        "a": 2.0 * torch.outer(b.detach().sum(0), x.sum(0)),
        "b": 2.0 * (x @ a.detach().T).sum(0).expand(4, 3),
    }
    for (name, wanted), given in zip(right.items(), (a, b), strict=True):
        if given.grad is None:
            raise Wrong(
                f"no gradient reaches `{name}`: LoRA could not be trained. Use the tensors that "
                "are handed in, undetached."
            )
        expect_close(given.grad, wanted, f"the gradient of `{name}`", "", 1e-4)


def _rates_after(
    candidate, first: list[float], factors: list[float], *decays: float
) -> list[float]:
    """The rates of groups, from the input to the output, after a step at each of `factors`.

    One of `decays` for each step, the last one for all that follow.
    """
    groups = [
        {"name": f"layer {place}", "params": [], "lr": rate, "initial_lr": rate}
        for place, rate in enumerate(first)
    ]
    handed = list(groups)
    for step, factor in enumerate(factors):
        candidate(groups, decays[min(step, len(decays) - 1)], factor)
        if [id(group) for group in groups] != [id(group) for group in handed]:
            raise Wrong("the list of groups was changed: set `lr` in each, and leave their order.")
        if [group.get("initial_lr") for group in groups] != first:
            raise Wrong(
                "`initial_lr` was changed. It is what the next step starts from, and must stay."
            )
    return [float(group["lr"]) for group in groups]


def _are(got: list[float], right: list[float]) -> bool:
    """Whether these are the same rates, but for the rounding of single precision."""
    return np.allclose(got, right, rtol=1e-5, atol=1e-12)


def _expect_rates(got: list[float], right: list[float], what: str, likely: str) -> None:
    if not _are(got, right):
        now, wanted = ([float(f"{rate:.6g}") for rate in rates] for rates in (got, right))
        raise Wrong(f"{what} gave {now}; expected {wanted}. {likely}")


EQUAL, RIGHT = [0.09] * 3, [0.01, 0.03, 0.09]  # first rates; at decay 3 and factor 1


def rates_once(candidate) -> None:
    known = (
        (
            EQUAL,
            "All are equal. Nothing was divided by `decay`, nothing was set (each group is changed "
            "in place), or one rate for all is written over what was divided.",
        ),
        (
            RIGHT[::-1],
            "That is upside down: groups go from the input to the output, the top is the last.",
        ),
        ([0.01 / 3, 0.01, 0.03], "The top layer is not divided at all: its depth is 0."),
        ([0.015, 0.03, 0.09], "One layer further down is divided once more: `decay**depth`."),
        ([0.03, 0.03, 0.09], "One layer further down is divided once more: `decay**depth`."),
        ([0.81, 0.27, 0.09], "Lower layers are slower: divide by `decay**depth`."),
    )
    got = _rates_after(candidate, EQUAL, [1.0], 3.0)
    likely = "The last group, the top layer, moves at its own rate, the one below at a third of it."
    likely = next((said for wrong, said in known if _are(got, wrong)), likely)
    what = "three layers, all with initial_lr 0.09, decay {}, one step at factor 1:"
    _expect_rates(got, RIGHT, what.format(3), likely)
    got = _rates_after(candidate, EQUAL, [1.0], 2.0)
    likely = "Each rate is that of the layer above over `decay`."
    if _are(got, RIGHT):
        likely = "`decay` is an argument: this is still divided by 3."
    _expect_rates(got, [0.0225, 0.045, 0.09], what.format(2), likely)


def rates_again(candidate) -> None:
    got = _rates_after(candidate, EQUAL, [1.0] * 3, 3.0)
    likely = "Each step starts from `initial_lr`, not from what the step before has left in `lr`."
    if _are(got[2:], RIGHT[2:]) and got[1] < 0.03:
        likely = "The lower layers were divided again at each step. " + likely
    _expect_rates(got, RIGHT, "the same three layers, decay 3, after three such steps:", likely)
    got = _rates_after(candidate, EQUAL, [1.0] * 2, 2.0, 3.0)
    likely = "What an earlier step worked out is kept somewhere: begin anew from `initial_lr`."
    _expect_rates(got, RIGHT, "a step with decay 2, then one with decay 3:", likely)


def rates_schedule(candidate) -> None:
    half, top = [rate / 2 for rate in RIGHT], [*RIGHT[:2], RIGHT[2] / 2]
    known = (
        (RIGHT, "The factor of the schedule was not used."),
        ([rate / 4 for rate in RIGHT], "The factor was multiplied in twice."),
        (top, "Only the top layer got the factor."),
        ([half[2]] * 3, "The schedule wrote one rate over all: it has to multiply each one's own."),
    )
    once = _rates_after(candidate, EQUAL, [0.5], 3.0)
    likely = "At factor 0.5 each rate is half of what it is at factor 1, and the ratios stay."
    likely = next((said for wrong, said in known if _are(once, wrong)), likely)
    _expect_rates(once, half, "one step at factor 0.5:", likely)
    got = _rates_after(candidate, EQUAL, [2.0], 3.0)
    likely = "A factor above 1 is one like others: each rate is twice what it is at factor 1."
    _expect_rates(got, [2 * rate for rate in RIGHT], "one step at factor 2:", likely)
    got = _rates_after(candidate, EQUAL, [0.5, 0.0], 3.0)
    likely = "0 is a factor like others: every rate is 0 in this step, not what it was before."
    _expect_rates(got, [0.0] * 3, "after steps at factors 0.5 and 0:", likely)
    got = _rates_after(candidate, EQUAL, [0.1, 0.0, 0.5], 3.0)
    likely = "A factor belongs to one step: what it was before, 0 included, is forgotten."
    _expect_rates(got, half, "after steps at factors 0.1, 0 and 0.5:", likely)


def rates_own(candidate) -> None:
    got = _rates_after(candidate, [0.09, 0.09, 0.27], [0.5, 1.0], 3.0)
    likely = "Each group starts from its own `initial_lr`."
    if _are(got, [0.03, 0.09, 0.27]) or _are(got, RIGHT):
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
        _expect_rates(got, right, what, "The ratio of two neighbours is `decay`, at any depth.")
