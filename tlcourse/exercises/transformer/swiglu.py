"""Lesson 02b: a feed-forward layer with a gate, SwiGLU (Shazeer, 2020)."""

from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import (
    IMPORTS,
    all_gradients,
    built,
    differing,
    draw,
    otherwise,
    out,
    same_gradient,
)

task = Exercise(
    __name__,
    number="2b.4",
    title="A gated feed-forward layer",
    difficulty=2,
    importance=2,
    minutes=8,
    hints=(
        "There are three linear layers now: two lead up, one leads down. None has a bias.",
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
    """(batch, length, width) to the same, each position alone: features and a gate for each."""

    def __init__(self, width, inner):
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


@task.truth
def in_double_precision(sizes, x):
    """The sigmoid is written out."""
    layer = built(GatedFeedForward, sizes).double()
    gate, up = (x.double() @ each.weight.T for each in (layer.gate, layer.up))
    return ((gate / (1 + (-gate).exp()) * up) @ layer.down.weight.T).detach()


SIZES, x = (12, 20), draw(2, 5, 12)
SHAPES = {"gate.weight": (20, 12), "up.weight": (20, 12), "down.weight": (12, 20)}
task.stage(
    "the three layers",
    case("differences from the layers of width 12, inner 20", SIZES, SHAPES, expected=[]),
    measure=differing,
    hint="Both gate and up lead from width to inner, down leads back, all with `bias=False`.",
)
task.stage(
    "the gate",
    case("2 texts of 5 tokens", SIZES, x),
    all_gradients(SIZES, x),
    same_gradient(GatedFeedForward, SIZES, x),
    hint="`down` reads SiLU of the gate times what `up` gives, feature by feature.",
)


task.mistakes(
    (
        "SiLU acts on what `up` gives here. It belongs on the gate.",
        otherwise(GatedFeedForward, forward=lambda s, x: s.down(F.silu(s.up(x)) * s.gate(x))),
    ),
    (
        "This is the original gate of 2017, a plain sigmoid. SwiGLU uses SiLU instead.",
        otherwise(GatedFeedForward, forward=lambda s, x: s.down(s.gate(x).sigmoid() * s.up(x))),
    ),
    (
        "This is a gate with GELU, the activation of GPT-2. Take SiLU.",
        otherwise(GatedFeedForward, forward=lambda s, x: s.down(F.gelu(s.gate(x)) * s.up(x))),
    ),
)
