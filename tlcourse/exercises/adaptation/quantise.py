"""Lesson 05b: weights in four bits, each the number of a level, a largest value for each block.

The true codes are found weight by weight and level by level.
"""

import torch
from torch import Tensor

from tlcourse.exercises.adaptation._layers import draw
from tlcourse.exercises.expect import Wrong, expect_shape, expect_unchanged, short
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


def pair(candidate, *given) -> tuple:
    """What the candidate gives, two things."""
    got = expect_unchanged(candidate, *given)
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise Wrong(f"it gave {short(got)}; expected two things: `return codes, largest`.")
    return got


def asked(candidate, weight: Tensor, levels: Tensor, *block: int) -> tuple[Tensor, Tensor]:
    """Codes and largest values; raises Wrong unless they are tensors of the right shapes."""
    got = pair(candidate, weight, levels, *block)
    size = block[0] if block else 64
    blocks = weight.numel() // size
    what = f"weights {tuple(weight.shape)} in blocks of {size}: the {{}}"
    expect_shape(got[0], (blocks, size), what.format("codes"), "A row for each block.")
    expect_shape(got[1], (blocks, 1), what.format("largest values"), "Keep the axis: one column.")
    if got[0].is_floating_point() or got[0].dtype == torch.bool:
        raise Wrong(
            f"the codes are {str(got[0].dtype).removeprefix('torch.')}; expected whole numbers: "
            "not the level itself, but which one it is, counted from 0."
        )
    return got[0], got[1]


def codes_of(candidate, *given) -> list[list[int]]:
    """The codes, block by block."""
    return asked(candidate, *given)[0].tolist()


def largest_of(candidate, *given) -> Tensor:
    """The largest values."""
    return asked(candidate, *given)[1]


def rows_of(candidate, *given) -> list[int]:
    """How many rows both have."""
    return [len(each) for each in pair(candidate, *given)]


def nearest(value: float, levels: list[float]) -> int:
    """The number of the level that is nearest."""
    return min(range(len(levels)), key=lambda code: abs(levels[code] - value))


def truth(weight: Tensor, levels: Tensor, block: int) -> list[list[int]]:
    """The true codes."""
    values, known = weight.double().flatten().tolist(), levels.double().tolist()
    blocks = [values[start : start + block] for start in range(0, len(values), block)]
    return [[nearest(value / max(map(abs, row)), known) for value in row] for row in blocks]


@task.stage("codes and largest values")
def shapes(candidate):
    for given in ((draw(8, 16), FOUR, 16), (draw(2, 64), FOUR)):
        count = given[0].numel() // (given[2] if len(given) > 2 else 64)
        task.observe(
            candidate, rows_of, *given, gives=[count, count],
            what="the rows of codes and of largest values", likely="One for each block.",
        )  # fmt: skip
        asked(candidate, *given)


@task.stage("the largest of each block")
def largest(candidate):
    weight = torch.tensor([[0.2, -0.8, 0.4, 0.1], [0.3, 0.1, -0.2, 0.25]])
    likely = "The largest *absolute* value: a block divided by it lies between -1 and 1."
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
    weight = torch.tensor([[0.28, -0.6, 0.48, 0.05]])
    likely = "0.48 / 0.6 is 0.8, nearest to 1, which is level 3. Levels are counted from 0."
    task.observe(
        candidate, codes_of, weight, FOUR, 4, gives=[[2, 0, 3, 1]],
        what="0.28, -0.6, 0.48, 0.05 and the levels -1, 0, 0.5, 1: the codes", likely=likely,
    )  # fmt: skip


@task.stage("random weights")
def many(candidate):
    for shape, block, levels in (((3, 4), 6, FOUR), ((8, 16), 64, SIXTEEN), ((2, 96), 32, SIXTEEN)):
        weight = draw(*shape, seed=block)
        task.observe(
            candidate, codes_of, weight, levels, block, gives=truth(weight, levels, block),
            what=f"random weights {shape} in blocks of {block}, {len(levels)} levels: the codes",
            likely="Each weight is divided by the largest of its own block.",
        )  # fmt: skip


@task.mistake("codes and largest values", "The size of a block is an argument, not always 64.")
def always_64(weight, levels, block=64):
    return quantise(weight, levels, 64)


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


@task.mistake("the largest of each block", "Keep the largest value itself; divide in between.")
def inverse(weight, levels, block=64):
    codes, top = quantise(weight, levels, block)
    return codes, 1 / top


@task.mistake("the nearest level", "The weights were not divided by the largest of their block.")
def not_divided(weight, levels, block=64):
    blocks = weight.reshape(-1, block)
    return blocks[..., None].sub(levels).abs().argmin(dim=-1), quantise(weight, levels, block)[1]


def _divided(weight, block):
    blocks = weight.reshape(-1, block)
    return blocks / blocks.abs().amax(dim=1, keepdim=True)


@task.mistake("the nearest level", "That is the level below; the *nearest* one may lie above.")
def below(weight, levels, block=64):
    codes = torch.searchsorted(levels, _divided(weight, block).contiguous(), right=True) - 1
    return codes, quantise(weight, levels, block)[1]


@task.mistake("the nearest level", "Distances have no sign: `.abs()` before `argmin`.")
def without_abs(weight, levels, block=64):
    codes = _divided(weight, block)[..., None].sub(levels).argmin(dim=-1)
    return codes, quantise(weight, levels, block)[1]


@task.mistake("the nearest level", "That is the farthest level: `argmin` of the distances.")
def farthest(weight, levels, block=64):
    codes = _divided(weight, block)[..., None].sub(levels).abs().argmax(dim=-1)
    return codes, quantise(weight, levels, block)[1]


@task.mistake("the nearest level", "Levels are counted from 0.")
def from_one(weight, levels, block=64):
    codes, top = quantise(weight, levels, block)
    return codes + 1, top


@task.mistake("the nearest level", "The levels are an argument, and need not lie evenly.")
def as_if_even(weight, levels, block=64):
    codes = ((_divided(weight, block) + 1) / 2 * (len(levels) - 1)).round().long()
    return codes, quantise(weight, levels, block)[1]
