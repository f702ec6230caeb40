"""Lesson 05: LoRA, a low-rank update beside a linear layer, which merges into it."""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.adaptation._layers import (
    GOES_ON,
    IMPORTS,
    differing,
    draw,
    input_gradient,
    new,
    out,
    start_difference,
    trained,
    without_gradient,
    zero_at_start,
)
from tlcourse.exercises.adaptation._lora_mistakes import mistakes
from tlcourse.exercises.expect import CheckFailed, expect_type
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="5.1",
    title="LoRA",
    difficulty=3,
    minutes=20,
    hints=(
        "three things to keep in `__init__`: the base layer, `self.a = nn.Parameter(...)` of "
        "shape (rank, in), `self.b = nn.Parameter(...)` of shape (out, rank). `base.in_features` "
        "and `base.out_features` are the sizes.",
        "`F.linear(x, self.a)` takes (..., in) to (..., rank), `F.linear(…, self.b)` takes that to "
        "(..., out). Multiply by alpha / rank and add it to `self.base(x)`.",
        "`merged`: the update is the matrix (alpha / rank) B A, `self.b @ self.a`, of the shape of "
        "the base's weight. Add it to the weight of a *copy*: `copy.deepcopy(self.base)`.",
        "a parameter is changed in place under `with torch.no_grad():`, as in "
        "`layer.weight += update`.",
    ),
    imports=IMPORTS,
)


@task.reference
class LoRALinear(nn.Module):
    """A linear layer and a low-rank update of it: W x + b + (alpha / rank) B A x."""

    def __init__(self, base, rank=8, alpha=16.0):
        super().__init__()
        self.base, self.scale = base, alpha / rank
        self.a = nn.Parameter(torch.randn(rank, base.in_features) / math.sqrt(base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + self.scale * F.linear(F.linear(x, self.a), self.b)

    def merged(self):
        layer = copy.deepcopy(self.base)
        with torch.no_grad():
            layer.weight += self.scale * self.b @ self.a
        return layer


@task.right
class ThroughTheWeight(nn.Module):
    def __init__(self, base, rank=8, alpha=16.0):
        super().__init__()
        self.base, self.alpha, self.rank = base, alpha, rank
        self.a = nn.Parameter(torch.empty(rank, base.weight.shape[1]).uniform_(-0.5, 0.5))
        self.register_parameter("b", nn.Parameter(torch.zeros(len(base.weight), rank)))

    def weight(self):
        return self.base.weight + self.b @ self.a * (self.alpha / self.rank)

    def forward(self, x):
        return x @ self.weight().T + self.base.bias

    def merged(self):
        layer = nn.Linear(self.base.in_features, self.base.out_features)
        layer.weight.data = self.weight().detach().clone()
        layer.bias.data = self.base.bias.detach().clone()
        return layer


@task.right
class ByEinsum(LoRALinear):
    def forward(self, x):
        update = torch.einsum("...i,ri,or->...o", x, self.a, self.b)
        return torch.add(self.base(x), update, alpha=self.scale)


SHAPES = {"a": (2, 5), "b": (3, 2), "base.weight": (3, 5), "base.bias": (3,)}


@task.stage("the parts")
def parts(candidate):
    task.observe(
        candidate, differing, 5, 3, (2, 4.0), SHAPES, gives=[],
        what="a base of 5 inputs and 3 outputs, rank 2: what is different about the parameters",
        likely="They are `self.base`, the layer that is handed in, and two `nn.Parameter`: "
        "`self.a` (rank, in) and `self.b` (out, rank).",
    )  # fmt: skip
    task.observe(
        candidate, differing, 5, 3, (), SHAPES | {"a": (8, 5), "b": (3, 8)}, gives=[],
        what="the same without a rank, which is 8 then: what is different about the parameters",
        likely="`__init__` begins with `def __init__(self, base, rank=8, alpha=16.0):`.",
    )  # fmt: skip


@task.stage("it starts as the old layer")
def start(candidate):
    task.observe(
        candidate, start_difference, 2, 8.0, gives=torch.zeros(4, 3), tolerance=1e-5,
        what="by how much a new layer differs from its base",
        likely="At the start `b` is 0, and the layer gives W x + b as before: once, and unscaled.",
    )  # fmt: skip
    task.observe(
        candidate, zero_at_start, 2, 8.0, gives=["b"],
        what="the added parameters that are zero at the start",
        likely="`b` is zero and `a` random: if both are zero, no gradient reaches either.",
    )  # fmt: skip
    task.observe(
        candidate, equal_rows, gives=False, what="whether all rows of a new `a` are equal",
        likely="Equal rows get equal gradients and stay equal: draw `a` at random, "
        "`torch.randn(rank, base.in_features)`.",
    )  # fmt: skip


def equal_rows(candidate):
    """Whether the rows of a new layer's `a` are all equal."""
    rows = new(candidate, 5, 3, 4, 8.0).get_parameter("a").detach()
    return bool((rows == rows[0]).all())


def of_ones(candidate, *sizes):
    """The update alone, of a 1 in x, with ones in a and b: alpha in every output."""
    layer = new(candidate, 7, 3, *sizes)
    with torch.no_grad():
        for each in layer.parameters():
            each.fill_(1.0)
        for each in layer.base.parameters():
            each.zero_()
    return out(layer, torch.eye(1, 7), 3)


@task.stage("alpha and rank")
def scale(candidate):
    for rank, alpha in ((5, 12.0), (1, 6.0)):
        task.observe(
            candidate, of_ones, rank, alpha, gives=torch.full((1, 3), alpha), tolerance=1e-4,
            what=f"base 0, a single 1 in x, ones in a and b, rank {rank}, alpha {alpha:g}",
            likely="The update is multiplied by alpha and divided by the rank.",
        )  # fmt: skip
    task.observe(
        candidate, of_ones, gives=torch.full((1, 3), 16.0), tolerance=1e-4,
        what="the same without rank and alpha, which are 8 and 16 then",
        likely="`__init__` begins with `def __init__(self, base, rank=8, alpha=16.0):`.",
    )  # fmt: skip


def of_drawn(candidate, x):
    """What comes out of a layer with drawn weights, rank 2 and alpha 3."""
    return out(trained(candidate, 5, 3, 2, 3.0), x, 3)


def drawn():
    """a, b, weight and bias of that layer, in double precision."""
    layer = trained(LoRALinear, 5, 3, 2, 3.0)
    return [layer.get_parameter(name).detach().double() for name in SHAPES]


def product():
    """The weight of that layer and its update in one, (3, 5)."""
    a, b, weight, _ = drawn()
    return weight + 1.5 * sum(torch.outer(b[:, r], a[r]) for r in range(2))


def truth(x):
    """What comes out of it."""
    return (product() @ x.double()[..., None])[..., 0] + drawn()[3]


@task.stage("random layers")
def whole(candidate):
    for seed, leading in enumerate(((4,), (2, 5), (1, 2, 3))):
        x = draw(*leading, 5, seed=seed)
        task.observe(
            candidate, of_drawn, x, gives=truth(x), tolerance=1e-4,
            what=f"a layer of rank 2 with random weights, x {tuple(x.shape)}",
            likely="B A is `b @ a`: `a` takes x to the rank, then `b` takes that to the outputs. "
            "Any number of dimensions may stand before the last.",
        )  # fmt: skip
    task.observe(
        candidate, without_gradient, 2, 3.0, gives=[],
        what="the added parameters that no gradient reaches",
        likely="Leave out `no_grad` and `.detach()` in `forward`.",
    )  # fmt: skip
    task.observe(
        candidate, input_gradient, 2, 3.0, gives=2 * truth(draw(4, 5)) @ product(),
        what="the gradient that goes on to x", likely=GOES_ON, tolerance=1e-4,
    )  # fmt: skip


def merged_out(candidate, x):
    """What the merged layer makes of x."""
    layer = trained(candidate, 5, 3, 2, 3.0)
    got = layer.merged()
    expect_type(got, nn.Module, "`merged()`", "That is the matrix; put it into an nn.Linear.")
    if type(got) is not nn.Linear:
        raise CheckFailed(f"`merged()` gave a {type(got).__name__}; expected a plain nn.Linear.")
    return out(got, x, 3)


def left_alone(candidate, x):
    """By how much base and layer changed when they were merged."""
    layer = trained(candidate, 5, 3, 2, 3.0)
    before = torch.cat([out(layer.base, x, 3), out(layer, x, 3)])
    merged = layer.merged()
    with torch.no_grad():
        merged.weight.add_(1.0)
        merged.bias.add_(1.0)
    return torch.cat([out(layer.base, x, 3), out(layer, x, 3)]) - before


@task.stage("merged")
def merges(candidate):
    x = draw(4, 5, seed=3)
    task.observe(
        candidate, merged_out, x, gives=truth(x), tolerance=1e-4,
        what="the merged layer, which should give what the layer gives,",
        likely="Its weight is the base's plus (alpha / rank) B A, its bias the base's.",
    )  # fmt: skip
    task.observe(
        candidate, left_alone, x, gives=torch.zeros(8, 3), tolerance=1e-5,
        what="merging, then changing what came out: by how much the old layer changed",
        likely="The new layer shares its weight or its bias with the base: start from a copy, "
        "`copy.deepcopy(self.base)`.",
    )  # fmt: skip


for stage, says, wrong in mistakes(LoRALinear):
    task.mistake(stage, says)(wrong)
