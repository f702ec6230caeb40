"""Lesson 02b: a feed-forward layer with a gate, SwiGLU (Shazeer, 2020)."""

from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.task import Exercise
from tlcourse.exercises.transformer._parts import (
    IMPORTS,
    differing,
    draw,
    out,
    randomise,
    without_gradient,
)

task = Exercise(
    __name__,
    number="2b.4",
    title="A gated feed-forward layer",
    difficulty=2,
    minutes=8,
    hints=(
        "three linear layers now: two lead up, one leads down. None has a bias.",
        "`self.gate` and `self.up` are both `nn.Linear(width, inner, bias=False)`.",
        "`F.silu(self.gate(x))` says how far each feature of `self.up(x)` is let through: multiply "
        "the two, then `self.down`.",
    ),
    imports=IMPORTS,
)


@task.reference
class GatedFeedForward(nn.Module):
    """(batch, length, width) to the same, each position alone: features and a gate for each."""

    def __init__(self, width, inner):
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


@task.right
class BySigmoid(GatedFeedForward):
    def forward(self, x):
        opened = x @ self.gate.weight.T
        return (opened * opened.sigmoid() * (x @ self.up.weight.T)) @ self.down.weight.T


@task.right
class WithAnActivation(GatedFeedForward):
    def __init__(self, width, inner):
        super().__init__(width, inner)
        self.activation = nn.SiLU()

    def forward(self, x):
        return self.down(self.up(x).mul(self.activation(self.gate(x))))


SIZES = (12, 20)
SHAPES = {"gate.weight": (20, 12), "up.weight": (20, 12), "down.weight": (12, 20)}


@task.stage("the three layers")
def layers(candidate):
    task.observe(
        candidate, differing, SIZES, SHAPES, gives=[],
        what="width 12, inner 20: what is different about the layers",
        likely="gate and up lead from width to inner, down back again, all with `bias=False`.",
    )  # fmt: skip


def expected(x):
    """The truth in double precision, the sigmoid written out."""
    own = randomise(GatedFeedForward(*SIZES)).double()
    gate, up = (x.double() @ layer.weight.T for layer in (own.gate, own.up))
    return ((gate / (1 + (-gate).exp()) * up) @ own.down.weight.T).detach().float()


@task.stage("the gate")
def gated(candidate):
    x = draw(2, 5, 12)
    task.observe(
        candidate, out, SIZES, x, gives=expected(x), tolerance=1e-4,
        what="2 texts of 5 tokens",
        likely="SiLU of the gate, times what up gives, feature by feature; then down.",
    )  # fmt: skip
    task.observe(
        candidate, without_gradient, SIZES, x, gives=[],
        what="the parameters that no gradient reaches",
    )  # fmt: skip


def wrong(says, forward):
    """A known mistake: another `forward(layer, x)`."""

    class Faulty(GatedFeedForward):
        def forward(self, x):
            return forward(self, x)

    task.mistake("the gate", says)(Faulty)


wrong(
    "SiLU acts on the gate, not on what up gives.",
    lambda s, x: s.down(F.silu(s.up(x)) * s.gate(x)),
)
wrong(
    "This is the gate of 2017, a sigmoid; SwiGLU has SiLU in its place.",
    lambda s, x: s.down(s.gate(x).sigmoid() * s.up(x)),
)
wrong("The gate has no activation.", lambda s, x: s.down(s.gate(x) * s.up(x)))
wrong(
    "Gate and features are added; multiply them, feature by feature.",
    lambda s, x: s.down(F.silu(s.gate(x)) + s.up(x)),
)
wrong(
    "SiLU acts on the product; it belongs on the gate alone.",
    lambda s, x: s.down(F.silu(s.gate(x) * s.up(x))),
)
wrong("up is never used.", lambda s, x: s.down(F.silu(s.gate(x))))
wrong(
    "This is the gate of GPT-2's GELU: take SiLU.", lambda s, x: s.down(F.gelu(s.gate(x)) * s.up(x))
)
wrong(
    "`x` is added here; that is the block's work.",
    lambda s, x: x + s.down(F.silu(s.gate(x)) * s.up(x)),
)
