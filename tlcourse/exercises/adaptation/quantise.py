"""Lesson 05b: weights in four bits, as indices of levels, with a largest value for each block."""

import torch
from torch import Tensor

from tlcourse.exercises.adaptation._common import came, draw, failed
from tlcourse.exercises.expect import expect_type, expect_unchanged
from tlcourse.exercises.task import Exercise, case

FOUR = torch.tensor([-1.0, 0.0, 0.5, 1.0])


def pair(candidate, *given) -> tuple[Tensor, Tensor]:
    """The candidate's two tensors; raises CheckFailed for anything else."""
    got = expect_unchanged(candidate, *given)
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise failed("what `quantise` returns", came(got), "two tensors: `return codes, largest`")
    for name, each in zip(("codes", "largest"), got, strict=True):
        expect_type(each, Tensor, f"`{name}`", "Use PyTorch throughout.")
    return got


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
        "`blocks / largest` lies between -1 and 1. Its distances from all levels form a tensor "
        "(blocks, block, levels): add an axis at the end, `[..., None]`, and subtract `levels`.",
        "The nearest level is the one with the smallest absolute distance: "
        "`.abs().argmin(dim=-1)`.",
    ),
    imports="import math\n\nimport numpy as np\nimport torch",
    measure=lambda *given: pair(*given)[0],
    tolerance=1e-6,
)


@task.reference
def quantise(weight, levels, block=64):
    """(out, in) weights to the index of the level nearest to each, and each block's largest."""
    blocks = weight.reshape(-1, block)
    largest = blocks.abs().amax(dim=1, keepdim=True)
    codes = (blocks / largest)[..., None].sub(levels).abs().argmin(dim=-1)
    return codes, largest


@task.truth
def by_borders(weight, levels, block):
    """The true codes, from the borders between neighbouring levels, in double precision."""
    blocks = weight.double().reshape(-1, block)
    borders = (levels[1:] + levels[:-1]).double() / 2
    codes = torch.bucketize(blocks / blocks.abs().max(dim=1, keepdim=True).values, borders)
    return codes.double()  # so that the message names the first wrong position


task.stage(
    "codes and largest values",
    case(
        "the two shapes for weights (3, 4) in blocks of 6",
        *(draw(3, 4), FOUR, 6),
        expected=[(2, 6), (2, 1)],
    ),
    measure=lambda *given: [tuple(each.shape) for each in pair(*given)],
    hint="`codes` has one number for each weight, (blocks, block), and `largest` one for each "
    "block, (blocks, 1), as `keepdim=True` gives it. A block may continue in the next row.",
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
    "row by row: `weight.reshape(-1, block)`.",
)
task.stage(
    "the nearest level",
    case(
        "the codes of 0.38, -0.8, 0.44, 0, -0.46, 0.7, for the levels -1, 0, 0.5, 1",
        *(torch.tensor([[0.38, -0.8, 0.44, 0.0, -0.46, 0.7]]), FOUR, 6),
    ),
    case(
        "whether the codes of random weights are integers",
        *(draw(3, 4), FOUR, 6),
        measure=lambda *given: not pair(*given)[0].is_floating_point(),
        expected=True,
        hint="An index has a dtype of integers, such as `torch.long`, which `argmin` returns.",
    ),
    hint="Each weight is divided by 0.8, the largest of its block: 0.7 / 0.8 is 0.875, which is "
    "nearest to the level 1, whose index is 3. Levels need not be evenly spaced.",
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
    """An answer with `codes(apart, levels)`, where `apart` is levels minus divided weights."""

    def candidate(weight, levels, block=64):
        largest = quantise(weight, levels, block)[1]
        return codes(levels - (weight.reshape(-1, block) / largest)[..., None], levels), largest

    return candidate


def not_divided(weight, levels, block=64):
    codes = (levels - weight.reshape(-1, block, 1)).abs().argmin(dim=-1)
    return codes, quantise(weight, levels, block)[1]


task.mistakes(
    (
        "All codes are 0. Is the sign of the distances still there? Call `.abs()` before `argmin`.",
        lambda *given: (torch.zeros_like(quantise(*given)[0]), quantise(*given)[1]),
    ),
    (
        "The weights are compared with the levels as they are: divide them first, by the largest "
        "of their block.",
        not_divided,
    ),
    (
        "This is the level below each weight, but the *nearest* level may lie above: take the "
        "smallest absolute distance.",
        coded(lambda apart, levels: (apart <= 0).sum(-1) - 1),
    ),
    (
        "These are the levels themselves: return the index of each in `levels`.",
        coded(lambda apart, levels: levels[apart.abs().argmin(-1)]),
    ),
)
