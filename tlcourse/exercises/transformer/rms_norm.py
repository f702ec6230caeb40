"""Lesson 02b: RMSNorm, a LayerNorm without mean and bias (Zhang & Sennrich, 2019)."""

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.task import Exercise
from tlcourse.exercises.transformer._parts import (
    IMPORTS,
    differing,
    draw,
    new,
    out,
    randomise,
    without_gradient,
)

task = Exercise(
    __name__,
    number="2b.3",
    title="RMSNorm",
    difficulty=1,
    minutes=8,
    hints=(
        "three steps: the mean of the squares over the last dimension, its root, the division.",
        "`self.weight = nn.Parameter(torch.ones(width))` is the gain; keep `epsilon`, too.",
        "`x.square().mean(-1, keepdim=True)` keeps the dimension, so that it broadcasts; add "
        "epsilon before you take the root.",
    ),
    imports=IMPORTS,
)


@task.reference
class RMSNorm(nn.Module):
    """(..., width) to the same: divided by the root of the mean square, times a learned gain."""

    def __init__(self, width, epsilon=1e-5):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(width)), epsilon

    def forward(self, x):
        return self.weight * x * (x.square().mean(-1, keepdim=True) + self.epsilon).rsqrt()


@task.right
class ByTheLibrary(RMSNorm):
    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], self.weight, self.epsilon)


@task.right
class ByTheLength(RMSNorm):
    def forward(self, x):
        width = x.shape[-1]
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return x / torch.sqrt(length**2 / width + self.epsilon) * self.weight


WIDTH = (12,)


@task.stage("the gain")
def gain(candidate):
    task.observe(
        candidate, differing, WIDTH, {"weight": (12,)}, gives=[],
        what="width 12: what is different about the parameters",
        likely="There is one, called weight, with a number for each feature; no bias.",
    )  # fmt: skip


def fresh(candidate, x):
    """What a new one, whose gain is still 1, makes of x."""
    with torch.no_grad():
        return new(candidate, (x.shape[-1],))(x)


def expected(x, weight=1.0, epsilon=1e-5):
    """The truth in double precision."""
    wide = x.double()
    return (weight * wide / (wide.pow(2).mean(-1, keepdim=True) + epsilon).sqrt()).float()


@task.stage("the root of the mean square")
def root(candidate):
    x = torch.tensor([[3.0, 4.0], [-6.0, 8.0]])
    task.observe(
        candidate, fresh, x, gives=expected(x), tolerance=1e-5,
        what="a new one of width 2, for the vectors (3, 4) and (-6, 8)",
        likely="The mean square of (3, 4) is 12.5, its root 3.54: about 0.85 and 1.13 come out.",
    )  # fmt: skip


@task.stage("small vectors")
def small(candidate):
    x = torch.tensor([[0.0, 0.0], [0.003, 0.001]])
    task.observe(
        candidate, fresh, x, gives=expected(x), tolerance=1e-4,
        what="a vector of zeros, and one nearly so",
        likely="`epsilon` is added to the mean square, before the root is taken.",
    )  # fmt: skip


@task.stage("the gain is used")
def scaled(candidate):
    x = draw(2, 5, 12)
    weight = randomise(RMSNorm(12)).weight.detach().double()
    task.observe(
        candidate, out, WIDTH, x, gives=expected(x, weight), tolerance=1e-4,
        what="a gain that has been learned, for 2 texts of 5 tokens",
        likely="Each feature is multiplied by its own number in `self.weight`.",
    )  # fmt: skip
    task.observe(
        candidate, without_gradient, WIDTH, x, gives=[],
        what="the parameters that no gradient reaches",
        likely="`weight` has to be an `nn.Parameter` that `forward` multiplies with.",
    )  # fmt: skip


def wrong(stage, says, forward):
    """A known mistake: another `forward(layer, x)`."""

    class Faulty(RMSNorm):
        def forward(self, x):
            return forward(self, x)

    task.mistake(stage, says)(Faulty)


wrong(
    "the root of the mean square", "This is LayerNorm: RMSNorm does not subtract the mean.",
    lambda s, x: s.weight * F.layer_norm(x, x.shape[-1:]),
)  # fmt: skip
wrong(
    "the root of the mean square", "It is the length of the vector; take the mean of the squares.",
    lambda s, x: s.weight * x / (x.square().sum(-1, keepdim=True) + s.epsilon).sqrt(),
)  # fmt: skip
wrong(
    "the root of the mean square", "The root is missing: it divides by the mean square itself.",
    lambda s, x: s.weight * x / (x.square().mean(-1, keepdim=True) + s.epsilon),
)  # fmt: skip
wrong(
    "the root of the mean square", "The mean is over all vectors together: `dim=-1`, one each.",
    lambda s, x: s.weight * x / (x.square().mean() + s.epsilon).sqrt(),
)  # fmt: skip
wrong(
    "small vectors", "`epsilon` belongs under the root.",
    lambda s, x: s.weight * x / (x.square().mean(-1, keepdim=True).sqrt() + s.epsilon),
)  # fmt: skip
wrong(
    "the gain is used", "The gain is made and never used.",
    lambda s, x: F.rms_norm(x, x.shape[-1:], eps=s.epsilon),
)  # fmt: skip
