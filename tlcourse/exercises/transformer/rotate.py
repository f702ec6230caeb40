"""Lesson 02: rotary positions, which rotate pairs of features (Su et al., 2021)."""

import math

import torch

from tlcourse.exercises.expect import expect_gradients, expect_shape, expect_unchanged
from tlcourse.exercises.task import Exercise
from tlcourse.exercises.transformer._parts import IMPORTS, draw
from tlcourse.transformer import rotary_table
from tlcourse.transformer import rotate as rotate_of_the_package

task = Exercise(
    __name__,
    number="2.3",
    title="Rotary positions",
    difficulty=2,
    minutes=10,
    hints=(
        "write the two lines of the formula for the first half and for the second half of `x`. "
        "Which half is multiplied with the cosine, which with the sine?",
        "`first, second = x.chunk(2, dim=-1)` cuts x into halves, and `torch.cat([second, first], "
        "dim=-1)` is x with its halves swapped.",
        "the table has both halves and the minus already: `x * cosine` plus the swapped x times "
        "the signed sine.",
    ),
    imports=IMPORTS,
)


@task.reference
def rotate(x, table):
    """(..., length, d_k) to the same: each pair of features rotated by its position's angle."""
    cosine, signed_sine = table
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat([second, first], dim=-1) * signed_sine


@task.right
def by_complex_numbers(x, table):
    half = x.shape[-1] // 2
    turn = torch.complex(table[0][..., :half], table[1][..., half:])
    turned = torch.complex(x[..., :half].contiguous(), x[..., half:].contiguous()) * turn
    return torch.cat([turned.real, turned.imag], dim=-1)


@task.right
def half_by_half(x, table):
    half = x.shape[-1] // 2
    cosine, sine = table[0][:, :half], table[1][:, half:]
    one, two = x[..., :half], x[..., half:]
    return torch.cat([one * cosine - two * sine, two * cosine + one * sine], dim=-1)


task.right(rotate_of_the_package)


def turned(x):
    """The truth: every pair by its own angle, in double precision."""
    right, (length, width) = x.double().clone(), x.shape[-2:]
    for position in range(length):
        for pair in range(width // 2):
            angle = position * 10_000.0 ** (-2 * pair / width)
            one, two = (x[..., position, i].double() for i in (pair, pair + width // 2))
            right[..., position, pair] = one * math.cos(angle) - two * math.sin(angle)
            right[..., position, pair + width // 2] = two * math.cos(angle) + one * math.sin(angle)
    return right.float()


def of(candidate, x):
    """What comes out of x at positions 0, 1, 2, …"""
    table = rotary_table(*x.shape[-2:])
    return expect_unchanged(lambda x: candidate(x, table), x)


@task.stage("shape")
def shape(candidate):
    what = "x of shape (2, 3, 5, 8)"
    likely = "All features come back: both halves, joined by `torch.cat([…, …], dim=-1)`."
    expect_shape(of(candidate, draw(2, 3, 5, 8)), (2, 3, 5, 8), what, likely)


@task.stage("position 0 stays as it is")
def first_position(candidate):
    x = draw(1, 8)
    task.observe(
        candidate, of, x, gives=x, tolerance=1e-6, what="a vector at position 0",
        likely="Its angle is 0, so its cosine is 1 and its sine 0: x times the cosine is in the "
        "sum.",
    )  # fmt: skip


@task.stage("one pair of features")
def pair(candidate):
    east = torch.tensor([1.0, 0.0]).repeat(3, 1)
    right = [[math.cos(angle), math.sin(angle)] for angle in range(3)]
    task.observe(
        candidate, of, east, gives=right, tolerance=1e-5,
        what="the pair (1, 0) at positions 0, 1, 2, whose angles are 0, 1 and 2",
        likely="It becomes (cos, sin) of the angle: the sine's share comes from the other half.",
    )  # fmt: skip
    north = torch.tensor([0.0, 1.0]).repeat(3, 1)
    right = [[-math.sin(angle), math.cos(angle)] for angle in range(3)]
    task.observe(
        candidate, of, north, gives=right, tolerance=1e-5,
        what="the pair (0, 1) at positions 0, 1, 2",
        likely="It becomes (-sin, cos) of the angle.",
    )  # fmt: skip


@task.stage("which features are a pair")
def pairs(candidate):
    x = torch.tensor([[1.0, 0, 0, 0], [1.0, 0, 0, 0]])
    task.observe(
        candidate, of, x, gives=turned(x), tolerance=1e-5,
        what="(1, 0, 0, 0) at positions 0 and 1",
        likely="Feature 0 is a pair with feature 2, feature 1 with feature 3: one of the first "
        "half and one of the second.",
    )  # fmt: skip


@task.stage("heads of a batch")
def whole(candidate):
    x = draw(2, 3, 7, 8, seed=1)
    what = "2 sentences of 7 tokens, 3 heads of width 8"
    task.observe(candidate, of, x, gives=turned(x), tolerance=1e-4, what=what)
    asking = x.requires_grad_()
    expect_gradients(candidate(asking, rotary_table(7, 8)), {"x": asking})


def swapped(x):
    return x.roll(x.shape[-1] // 2, -1)


task.mistake("shape", "All features come back: both halves, joined by `torch.cat")(
    lambda x, table: half_by_half(x, table)[..., : x.shape[-1] // 2]
)
task.mistake("position 0 stays as it is", "x times the cosine is in the sum.")(
    lambda x, table: swapped(x) * table[0] + x * table[1]
)
task.mistake("position 0 stays as it is", "Only the sine's part came out")(
    lambda x, table: swapped(x) * table[1]
)
for says, wrong in (
    (
        "Each half is multiplied with its own sine: swap the halves first, "
        "`torch.cat([second, first], dim=-1)`.",
        lambda x, table: x * table[0] + x * table[1],
    ),
    (
        "It rotates the other way round. The sine's first half has its minus already: swap the "
        "halves and negate nothing.",
        lambda x, table: x * table[0] - swapped(x) * table[1],
    ),
    ("Only the cosine is used: the pair shrinks and does not rotate.", lambda x, t: x * t[0]),
    (
        "The minus came twice, or once too often: the table's sine has it already.",
        lambda x, table: x * table[0] + swapped(x) * table[1].abs(),
    ),
):
    task.mistake("one pair of features", says)(wrong)


@task.mistake("which features are a pair", "Neighbours are paired here (0 with 1)")
def neighbours(x, table):
    half = x.shape[-1] // 2
    one, two, cosine, sine = x[..., ::2], x[..., 1::2], table[0][:, :half], table[1][:, half:]
    mixed = torch.stack([one * cosine - two * sine, two * cosine + one * sine], dim=-1)
    return mixed.flatten(-2)


@task.mistake("which features are a pair", "The whole of x is reversed, not its halves swapped")
def reversed_features(x, table):
    return x * table[0] + x.flip(-1) * table[1]
