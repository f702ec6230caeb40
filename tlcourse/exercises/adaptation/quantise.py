"""Lesson 05b: weights in four bits, each the number of a level, a largest value for each block."""

import torch
from torch import Tensor

from tlcourse.exercises.adaptation._common import came, draw, failed
from tlcourse.exercises.expect import expect_type, expect_unchanged
from tlcourse.exercises.task import Exercise, case

FOUR = torch.tensor([-1.0, 0.0, 0.5, 1.0])


def pair(candidate, *given) -> tuple[Tensor, Tensor]:
    """What the candidate gives, two tensors."""
    got = expect_unchanged(candidate, *given)
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise failed("what `quantise` returns", came(got), "two tensors: `return codes, largest`")
    for name, each in zip(("codes", "largest"), got, strict=True):
        expect_type(each, Tensor, f"`{name}`", "Stay with PyTorch throughout.")
    return got


def shapes_of(candidate, *given) -> list[tuple]:
    """The shapes of both."""
    return [tuple(each.shape) for each in pair(candidate, *given)]


def codes_of(candidate, *given) -> Tensor:
    """The codes; raises CheckFailed unless they are whole numbers."""
    codes = pair(candidate, *given)[0]
    if codes.is_floating_point():
        why = "A code is the number of a level, counted from 0, and not the level itself."
        raise failed("the codes", f"numbers of type {codes.dtype}", "whole numbers", why)
    return codes.long()


task = Exercise(
    __name__,
    number="5b.3",
    title="Weights in four bits",
    difficulty=2,
    importance=2,
    minutes=15,
    hints=(
        "Begin with `blocks = weight.reshape(-1, block)`: each row is a block. The largest "
        "absolute value of each row is `blocks.abs().amax(dim=1, keepdim=True)`.",
        "`blocks / largest` lies between -1 and 1. The distance of each of these from every level "
        "is a tensor (blocks, block, levels): put a new axis at the end, `[..., None]`.",
        "The nearest level is where the absolute distance is smallest: `.abs().argmin(dim=-1)`.",
    ),
    imports="import math\n\nimport numpy as np\nimport torch",
    measure=codes_of,
    tolerance=1e-6,
)


@task.reference
def quantise(weight, levels, block=64):
    """(out, in) weights to the number of the nearest level of each, and each block's largest."""
    blocks = weight.reshape(-1, block)
    largest = blocks.abs().amax(dim=1, keepdim=True)
    codes = (blocks / largest)[..., None].sub(levels).abs().argmin(dim=-1)
    return codes, largest


@task.truth
def by_borders(weight, levels, block=64):
    """The true codes, from the borders between neighbouring levels, in double precision."""
    blocks = weight.double().reshape(-1, block)
    borders = (levels[1:] + levels[:-1]).double() / 2
    codes = torch.bucketize(blocks / blocks.abs().max(dim=1, keepdim=True).values, borders)
    return codes.double()  # so that the first wrong place is told


task.stage(
    "codes and largest values",
    case(
        "the two shapes for weights (3, 4) in blocks of 6",
        *(draw(3, 4), FOUR, 6),
        expected=[(2, 6), (2, 1)],
    ),
    case(
        "the two shapes for weights (2, 64) without a block size, which is then 64",
        *(draw(2, 64), FOUR),
        expected=[(2, 64), (2, 1)],
    ),
    measure=shapes_of,
    hint="Codes: one for each weight, (blocks, block). Largest: one for each block, (blocks, 1), "
    "as `keepdim=True` gives it. A block of size `block` may run on over the end of a row.",
)
task.stage(
    "the largest of each block",
    case(
        "the largest values of 0.2, -0.8, 0.4, 0.1 and 0.3, 0.1, -0.2, 0.25 in blocks of 2",
        *(torch.tensor([[0.2, -0.8, 0.4, 0.1], [0.3, 0.1, -0.2, 0.25]]), FOUR, 2),
        expected=torch.tensor([[0.8], [0.4], [0.3], [0.25]]),
    ),
    measure=lambda *given: pair(*given)[1],
    hint="Each block has its own largest *absolute* value, taken before you divide. Blocks are cut "
    "row after row: `weight.reshape(-1, block)`.",
)
task.stage(
    "the nearest level",
    case(
        "the codes of 0.38, -0.8, 0.44, 0, -0.46, 0.7, for the levels -1, 0, 0.5, 1",
        *(torch.tensor([[0.38, -0.8, 0.44, 0.0, -0.46, 0.7]]), FOUR, 6),
    ),
    hint="0.7 / 0.8 is 0.875, which is nearest to the level 1, number 3 (counted from 0). Levels "
    "need not be evenly spaced.",
)
task.stage(
    "random weights",
    case(
        "the codes of random weights (2, 96) of size 0.01 in blocks of 32, for 32 levels",
        *(0.01 * draw(2, 96), torch.linspace(-1, 1, 32), 32),
    ),
    hint="Each weight is divided by the largest of its own block, and nothing is added to that.",
)


def coded(codes):
    """An answer that gives `codes(apart)`, of the levels less the divided weights."""

    def candidate(weight, levels, block=64):
        largest = quantise(weight, levels, block)[1]
        return codes(levels - (weight.reshape(-1, block) / largest)[..., None]), largest

    return candidate


def not_divided(weight, levels, block=64):
    apart = levels - weight.reshape(-1, block, 1)
    return apart.abs().argmin(dim=-1), quantise(weight, levels, block)[1]


task.mistakes(
    ("The weights are not divided by the largest of their block.", not_divided),
    (
        "This is the level below. The *nearest* one may lie above.",
        coded(lambda apart: (apart <= 0).sum(-1) - 1),
    ),
    (
        "Distances have no sign: `.abs()` before `argmin`.",
        coded(lambda apart: apart.argmin(-1)),
    ),
)
