"""Lesson 02: rotary positions, which rotate pairs of features (Su et al., 2021)."""

import torch

from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import IMPORTS, NO_GRADIENT, draw, unreached
from tlcourse.transformer import rotary_table


def of(candidate, x):
    """Returns x, rotated at positions 0, 1, 2, …"""
    table = rotary_table(*x.shape[-2:])
    return expect_unchanged(lambda x: candidate(x, table), x)


task = Exercise(
    __name__,
    number="2.3",
    title="Rotary positions",
    difficulty=2,
    importance=4,
    minutes=10,
    hints=(
        "Write down the two lines of the formula for the first and for the second half of `x`. "
        "Which half is multiplied by the cosine, and which by the sine?",
        "`first, second = x.chunk(2, dim=-1)` cuts x into halves, and `torch.cat([second, first], "
        "dim=-1)` is x with its halves swapped.",
        "The table already contains both halves and the minus sign: add `x * cosine` and the "
        "swapped x times the signed sine.",
    ),
    imports=IMPORTS,
    measure=of,
    tolerance=1e-5,
)


@task.reference
def rotate(x, table):
    """Rotates each pair of features of x (..., length, d_k) by the angle of its position."""
    cosine, signed_sine = table
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat([second, first], dim=-1) * signed_sine


@task.truth
def by_complex_numbers(x):
    """Treats each pair as a complex number, and adds the angle in double precision."""
    length, half = x.shape[-2], x.shape[-1] // 2
    frequencies = 10_000.0 ** (-torch.arange(half).double() / half)
    angles = torch.arange(length).double()[:, None] * frequencies
    pairs = torch.complex(*x.double().split(half, dim=-1))
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([turned.real, turned.imag], dim=-1)


x = draw(2, 3, 7, 8, seed=1)
task.stage(
    "shape",
    case("the shape for x of shape (2, 3, 7, 8)", x, expected=(2, 3, 7, 8)),
    measure=lambda candidate, x: tuple(of(candidate, x).shape),
    hint="The shape stays the same: join both halves with `torch.cat([…, …], dim=-1)`.",
)
task.stage(
    "position 0 stays as it is",
    case("a vector at position 0", draw(1, 8)),
    hint="Its angle is 0, so the cosine is 1 and the sine 0. Is x multiplied by the cosine, and "
    "the swapped halves by the sine?",
)
task.stage(
    "one pair of features",
    case(
        "the pairs (1, 0) and (0, 1), each at positions 0, 1, 2, whose angles are 0, 1 and 2",
        torch.eye(2)[:, None].repeat(1, 3, 1),
    ),
    hint="They become (cos, sin) and (-sin, cos) of the angle: the sine is multiplied by the other "
    "half.",
)
task.stage(
    "which features are a pair",
    case("(1, 0, 0, 0) at positions 0 and 1", torch.tensor([[1.0, 0, 0, 0]] * 2)),
    hint="Features 0 and 2 are a pair, and so are 1 and 3: one of the first half and one of the "
    "second.",
)
task.stage(
    "heads of a batch",
    case("2 sentences of 7 tokens, 3 heads of width 8", x, tolerance=1e-4),
    case(
        "the inputs that no gradient reaches",
        *(["x"], x, rotary_table(7, 8)),
        measure=unreached,
        expected=[],
        hint=NO_GRADIENT,
    ),
    hint="Count dimensions from the end, because batch and heads come first.",
)


def swapped(x):
    return x.roll(x.shape[-1] // 2, -1)


task.mistakes(
    (
        "Cosine and sine are exchanged here: multiply x by the cosine, and the swapped halves by "
        "the sine.",
        lambda x, table: swapped(x) * table[0] + x * table[1],
    ),
    (
        "The sine is multiplied by x itself here: cut x in the middle, `x.chunk(2, dim=-1)`, and "
        "swap the halves, `torch.cat([second, first], dim=-1)`.",
        lambda x, table: x * table[0] + x * table[1],
    ),
    (
        "The minus sign is applied twice, because the table's sine already contains it: swap the "
        "halves without a minus.",
        lambda x, table: x * table[0] + swapped(x) * table[1].abs(),
    ),
    (
        "This code rotates the other way round, because it subtracts: add the two products, since "
        "the table's sine already contains the minus sign.",
        lambda x, table: x * table[0] - swapped(x) * table[1],
    ),
    (
        "This code reverses all of x: swap its halves, and keep the order in each of them.",
        lambda x, table: x * table[0] + x.flip(-1) * table[1],
    ),
)
