"""Lesson 02b: a feed-forward layer with a gate, SwiGLU (Shazeer, 2020)."""

from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import (
    IMPORTS,
    built,
    differing,
    draw,
    otherwise,
    out,
    same_gradients,
)

task = Exercise(
    __name__,
    number="2b.4",
    title="A gated feed-forward layer",
    difficulty=2,
    importance=2,
    minutes=8,
    hints=(
        "There are three linear layers now: two map up, one maps down. None has a bias.",
        "`self.gate` and `self.up` are both `nn.Linear(width, inner, bias=False)`.",
        "`F.silu(self.gate(x))` is the factor for each feature of `self.up(x)`: multiply the two, "
        "then call `self.down`.",
    ),
    imports=IMPORTS,
    measure=out,
    tolerance=1e-4,
)


@task.reference
class GatedFeedForward(nn.Module):
    """Maps (batch, length, width) to the same shape, each position alone, with a gate."""

    def __init__(self, width, inner):
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


@task.truth
def in_double_precision(sizes, x):
    """Writes the sigmoid out."""
    layer = built(GatedFeedForward, sizes).double()
    gate, up = (x.double() @ each.weight.T for each in (layer.gate, layer.up))
    return ((gate / (1 + (-gate).exp()) * up) @ layer.down.weight.T).detach()


SIZES, x = (12, 20), draw(2, 5, 12)
SHAPES = {"gate.weight": (20, 12), "up.weight": (20, 12), "down.weight": (12, 20)}
task.stage(
    "the three layers",
    case("differences from the layers of width 12, inner 20", SIZES, SHAPES, expected=[]),
    measure=differing,
    hint="Gate and up both map width to inner, and down maps back, all with `bias=False`.",
)
task.stage(
    "the gate",
    case("2 texts of 5 tokens", SIZES, x),
    same_gradients(GatedFeedForward, SIZES, x),
    hint="`down` reads the product of SiLU of the output of `gate`, and the output of `up`.",
)


def gates(forward):
    return otherwise(GatedFeedForward, forward=forward)


task.mistakes(
    (
        "This code applies SiLU to the output of `up`: apply it to the output of `gate`.",
        gates(lambda s, x: s.down(F.silu(s.up(x)) * s.gate(x))),
    ),
    (
        "This gate is a plain sigmoid, as in the original of 2017: use `F.silu`.",
        gates(lambda s, x: s.down(s.gate(x).sigmoid() * s.up(x))),
    ),
    (
        "This gate uses GELU, the activation of GPT-2: use `F.silu`.",
        gates(lambda s, x: s.down(F.gelu(s.gate(x)) * s.up(x))),
    ),
)
