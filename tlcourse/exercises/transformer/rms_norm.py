"""Lesson 02b: RMSNorm, a LayerNorm without mean and bias (Zhang & Sennrich, 2019)."""

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import (
    IMPORTS,
    built,
    differing,
    draw,
    new,
    otherwise,
    out,
    same_gradients,
)

task = Exercise(
    __name__,
    number="2b.3",
    title="RMSNorm",
    difficulty=1,
    importance=2,
    minutes=8,
    hints=(
        "Take three steps: the mean of the squares over the last dimension, its root, and the "
        "division.",
        "`self.weight = nn.Parameter(torch.ones(width))` is the gain. Store `epsilon`, too.",
        "`x.square().mean(-1, keepdim=True)` keeps the dimension, so that it broadcasts. Add "
        "epsilon before you take the root.",
    ),
    imports=IMPORTS,
    tolerance=1e-4,
)


@task.reference
class RMSNorm(nn.Module):
    """Divides x (..., width) by the root of its mean square; multiplies by a learned gain."""

    def __init__(self, width, epsilon=1e-5):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(width)), epsilon

    def forward(self, x):
        return self.weight * x * (x.square().mean(-1, keepdim=True) + self.epsilon).rsqrt()


@task.truth
def by_the_library(x):
    return F.rms_norm(x.double(), x.shape[-1:], eps=1e-5)


def fresh(candidate, x, *epsilon):
    """Returns the output of a new module, whose gain is still 1."""
    with torch.no_grad():
        return new(candidate, (x.shape[-1], *epsilon))(x)


x, WIDTH = draw(2, 5, 12), (12,)
task.stage(
    "the gain",
    case("differences from the parameters of width 12", WIDTH, {"weight": WIDTH}, expected=[]),
    case(
        "the gain of a new module of width 3",
        3,
        expected=torch.ones(3),
        measure=lambda candidate, width: new(candidate, (width,)).weight.detach(),
        hint="The gain starts at 1 everywhere: `torch.ones(width)`.",
    ),
    measure=differing,
    hint="There is one parameter, called weight, with a number for each feature, and no bias.",
)
task.stage(
    "the root of the mean square",
    case(
        "a new module, for (3, 4), (-6, 8) and (1, 0)",
        torch.tensor([[3.0, 4.0], [-6.0, 8.0], [1.0, 0.0]]),
        hint="The mean square of (3, 4) is 12.5, and its root 3.54, so the result is about 0.85 "
        "and 1.13.",
    ),
    case("a new module, for 2 texts of 5 tokens", x),
    measure=fresh,
    tolerance=1e-5,
    hint="Each token's vector has its own mean, over the last dimension: `dim=-1`.",
)
task.stage(
    "small vectors",
    case("a vector of zeros and a very small one", torch.tensor([[0.0, 0.0], [0.003, 0.001]])),
    case(
        "the vector (3, 4) with an epsilon of 12.5",
        torch.tensor([[3.0, 4.0]]),
        12.5,
        expected=torch.tensor([[0.6, 0.8]]),
        hint="`epsilon` is the second argument of `__init__`: store it, and use it in `forward`.",
    ),
    measure=fresh,
    hint="Add `epsilon` (1e-5 by default) to the mean square before you take the root.",
)
task.stage(
    "the gain is used",
    case(
        "2 texts of 5 tokens and a learned gain",
        *(WIDTH, x),
        measure=out,
        expected=by_the_library(x) * built(RMSNorm, WIDTH).weight.detach(),
    ),
    same_gradients(RMSNorm, WIDTH, x),
    hint="Multiply each feature by its own number in `self.weight`, an `nn.Parameter`.",
)


def divides_by(root):
    """Returns a wrong answer that divides x by `root(x.square() + epsilon)`."""
    return otherwise(RMSNorm, forward=lambda s, x: s.weight * x / root(x.square() + s.epsilon))


task.mistakes(
    (
        "This is LayerNorm: RMSNorm does not subtract the mean.",
        otherwise(RMSNorm, forward=lambda s, x: s.weight * F.layer_norm(x, x.shape[-1:])),
    ),
    (
        "This code divides by the length of the vector: take the mean of the squares, not their "
        "sum.",
        divides_by(lambda squares: squares.sum(-1, keepdim=True).sqrt()),
    ),
    (
        "This code divides by the mean square itself: take its root first.",
        divides_by(lambda squares: squares.mean(-1, keepdim=True)),
    ),
)
