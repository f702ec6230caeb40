"""Lesson 05b: weights in four bits, each the number of a level, a largest value for each block.

The true codes are found weight by weight and level by level.
"""

import torch
from torch import Tensor

from tlcourse.exercises.adaptation._layers import draw
from tlcourse.exercises.expect import CheckFailed, expect_type, expect_unchanged, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="5b.3",
    title="Weights in four bits",
    difficulty=2,
    minutes=15,
    hints=(
        "begin with `blocks = weight.reshape(-1, block)`: each row is a block. The largest "
        "absolute value of each row: `blocks.abs().amax(dim=1, keepdim=True)`.",
        "`blocks / largest` lies between -1 and 1. The distance of each of these from every level "
        "is a tensor (blocks, block, levels): put a new axis at the end, `[..., None]`.",
        "the nearest level is where the absolute distance is smallest: `.abs().argmin(dim=-1)`.",
    ),
    imports="import math\n\nimport numpy as np\nimport torch",
)


@task.reference
def quantise(weight, levels, block=64):
    """(out, in) weights to the number of the nearest level of each, and each block's largest."""
    blocks = weight.reshape(-1, block)
    largest = blocks.abs().amax(dim=1, keepdim=True)
    codes = (blocks / largest)[..., None].sub(levels).abs().argmin(dim=-1)
    return codes, largest


@task.right
def by_borders(weight, levels, block=64):
    blocks = weight.flatten().unflatten(0, (-1, block))
    largest = blocks.abs().max(1, keepdim=True).values
    borders = (levels[1:] + levels[:-1]) / 2
    return torch.bucketize((blocks / largest).contiguous(), borders), largest


@task.right
def by_distances(weight, levels, block=64):
    blocks = torch.stack(weight.flatten().split(block))
    largest = torch.linalg.vector_norm(blocks, ord=float("inf"), dim=1)[:, None]
    apart = torch.cdist((blocks / largest).reshape(-1, 1), levels[:, None])
    return apart.argmin(1).to(torch.uint8).view_as(blocks), largest


FOUR = torch.tensor([-1.0, 0.0, 0.5, 1.0])
SIXTEEN = torch.linspace(-1, 1, 16)


def pair(candidate, *given) -> tuple[Tensor, Tensor]:
    """What the candidate gives, two tensors."""
    got = expect_unchanged(candidate, *given)
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise CheckFailed(f"it gave {short(got)}; expected two things: `return codes, largest`.")
    for name, each in zip(("codes", "largest"), got, strict=True):
        expect_type(each, Tensor, f"`{name}`", "Stay with PyTorch throughout.")
    return got


def shapes_of(candidate, *given) -> list[tuple]:
    """The shapes of both."""
    return [tuple(each.shape) for each in pair(candidate, *given)]


def codes_of(candidate, *given) -> Tensor:
    """The codes; raises CheckFailed unless they are whole numbers."""
    codes = pair(candidate, *given)[0]
    if codes.is_floating_point() or codes.dtype == torch.bool:
        raise CheckFailed(
            f"the codes are {str(codes.dtype).removeprefix('torch.')}; expected whole numbers: not "
            "the level itself but which one it is, counted from 0. (`.long()` makes whole numbers "
            "of 2.0 and 3.0.)"
        )
    return codes


def largest_of(candidate, *given) -> Tensor:
    """The largest values."""
    return pair(candidate, *given)[1]


def nearest(value: float, levels: list[float]) -> int:
    """The number of the level that is nearest."""
    return min(range(len(levels)), key=lambda code: abs(levels[code] - value))


def truth(weight: Tensor, levels: Tensor, block: int) -> Tensor:
    """The true codes."""
    values, known = weight.double().flatten().tolist(), levels.double().tolist()
    blocks = [values[start : start + block] for start in range(0, len(values), block)]
    return torch.tensor(
        [[nearest(value / max(map(abs, row)), known) for value in row] for row in blocks]
    )


@task.stage("codes and largest values")
def shapes(candidate):
    likely = (
        "A row for each block; `block` is the size of a block. Codes: one for each weight, "
        "(blocks, block). Largest: `keepdim=True`, (blocks, 1)."
    )
    task.observe(
        candidate, shapes_of, draw(8, 16), FOUR, 16, gives=[(8, 16), (8, 1)],
        what="weights (8, 16) in blocks of 16: the shapes", likely=likely,
    )  # fmt: skip
    task.observe(
        candidate, shapes_of, draw(3, 4), FOUR, 6, gives=[(2, 6), (2, 1)],
        what="weights (3, 4) in blocks of 6: the shapes",
        likely="A block runs on over the end of a row.",
    )  # fmt: skip
    task.observe(
        candidate, shapes_of, draw(2, 64), FOUR, gives=[(2, 64), (2, 1)],
        what="weights (2, 64), no size of a block: the shapes", likely="Then it is 64.",
    )  # fmt: skip


@task.stage("the largest of each block")
def largest(candidate):
    weight = torch.tensor([[0.2, -0.8, 0.4, 0.1], [0.3, 0.1, -0.2, 0.25]])
    likely = "The largest *absolute* value of each block, taken before you divide."
    task.observe(
        candidate, largest_of, weight, FOUR, 4, gives=torch.tensor([[0.8], [0.3]]),
        tolerance=1e-6, what="0.2, -0.8, 0.4, 0.1 and 0.3, 0.1, -0.2, 0.25 in blocks of 4: the "
        "largest values", likely=likely,
    )  # fmt: skip
    task.observe(
        candidate, largest_of, weight, FOUR, 2, tolerance=1e-6,
        gives=torch.tensor([[0.8], [0.4], [0.3], [0.25]]),
        what="the same in blocks of 2: the largest values", likely=likely,
    )  # fmt: skip


@task.stage("the nearest level")
def level(candidate):
    weight = torch.tensor([[0.38, -0.8, 0.44, 0.0, -0.46, 0.7]])
    likely = "0.7 / 0.8 is 0.875, nearest to 1, which is number 3. Use the levels as they come."
    task.observe(
        candidate, codes_of, weight, FOUR, 6, gives=torch.tensor([[2, 0, 2, 1, 0, 3]]),
        tolerance=1e-6, likely=likely,
        what="0.38, -0.8, 0.44, 0, -0.46, 0.7 and the levels -1, 0, 0.5, 1: the codes",
    )  # fmt: skip


@task.stage("random weights")
def many(candidate):
    likely = "Each weight is divided by the largest of its own block, and nothing is added to that."
    for shape, block, levels, scale in (
        ((3, 4), 6, FOUR, 1.0),
        ((8, 16), 64, SIXTEEN, 1.0),
        ((2, 96), 32, torch.linspace(-1, 1, 32), 0.01),
    ):
        weight = scale * draw(*shape, seed=block)
        task.observe(
            candidate, codes_of, weight, levels, block, gives=truth(weight, levels, block),
            tolerance=1e-6, likely=likely,
            what=f"random weights {shape} of size {scale:g} in blocks of {block}, {len(levels)} "
            "levels: the codes",
        )  # fmt: skip


@task.mistake("codes and largest values", "The size of a block is an argument, not always 64.")
def always_64(weight, levels, block=64):
    return quantise(weight, levels, 64)


@task.mistake("codes and largest values", "The other way round: `return codes, largest`.")
def swapped(weight, levels, block=64):
    return quantise(weight, levels, block)[::-1]


ABSOLUTE = "-0.8 is larger than 0.4 here: take the largest *absolute* value."


@task.mistake("the largest of each block", ABSOLUTE)
def signed(weight, levels, block=64):
    blocks = weight.reshape(-1, block)
    top = blocks.amax(dim=1, keepdim=True)
    return (blocks / top)[..., None].sub(levels).abs().argmin(dim=-1), top


@task.mistake("the largest of each block", "That is the largest of all: each block has its own.")
def one_for_all(weight, levels, block=64):
    blocks = weight.reshape(-1, block)
    top = blocks.abs().amax().expand(len(blocks), 1)
    return (blocks / top)[..., None].sub(levels).abs().argmin(dim=-1), top


@task.mistake("the largest of each block", "Blocks are cut row after row: `reshape(-1, block)`.")
def down_the_columns(weight, levels, block=64):
    return quantise(weight.T, levels, block)


def _divided(weight, block):
    blocks = weight.reshape(-1, block)
    return blocks / blocks.abs().amax(dim=1, keepdim=True)


def mistaken(says):
    """Takes a function of divided blocks and levels that gives wrong codes; a decorator."""

    def take(codes):
        @task.mistake("the nearest level", says)
        def wrong(weight, levels, block=64):
            divided = _divided(weight, block).contiguous()
            return codes(divided, levels), quantise(weight, levels, block)[1]

        return wrong

    return take


@task.mistake("the nearest level", "The weights were not divided by the largest of their block.")
def not_divided(weight, levels, block=64):
    blocks = weight.reshape(-1, block)
    return blocks[..., None].sub(levels).abs().argmin(dim=-1), quantise(weight, levels, block)[1]


@mistaken("That is the level below; the *nearest* one may lie above.")
def below(divided, levels):
    return torch.searchsorted(levels, divided, right=True) - 1


@mistaken("That is the level above; the *nearest* one may lie below.")
def above(divided, levels):
    return torch.searchsorted(levels, divided)


@mistaken("Distances have no sign: `.abs()` before `argmin`.")
def without_abs(divided, levels):
    return divided[..., None].sub(levels).argmin(dim=-1)


@mistaken("Distances have no sign: `.abs()` before `argmin`.")
def without_abs_either(divided, levels):
    return (levels - divided[..., None]).argmin(dim=-1)


@mistaken("That is the farthest level: `argmin` of the distances.")
def farthest(divided, levels):
    return divided[..., None].sub(levels).abs().argmax(dim=-1)


@mistaken("Levels are counted from 0.")
def from_one(divided, levels):
    return divided[..., None].sub(levels).abs().argmin(dim=-1) + 1


@mistaken("The levels are an argument, and need not lie evenly.")
def as_if_even(divided, levels):
    return ((divided + 1) / 2 * (len(levels) - 1)).round().long()
