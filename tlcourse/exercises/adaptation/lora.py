"""Lesson 05: LoRA, a low-rank update beside a linear layer, which merges into it."""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.adaptation._common import (
    IMPORTS,
    came,
    different_rows,
    draw,
    failed,
    gradient_case,
    linear,
    new,
    out,
    shapes,
    start_case,
    trained,
)
from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="5.2",
    title="LoRA",
    difficulty=3,
    importance=5,
    minutes=20,
    hints=(
        "`__init__` keeps three things: the base layer, `self.a = nn.Parameter(...)` of shape "
        "(rank, in), and `self.b = nn.Parameter(...)` of shape (out, rank). The sizes are "
        "`base.in_features` and `base.out_features`.",
        "`F.linear(x, self.a)` maps (..., in) to (..., rank), and `F.linear(…, self.b)` maps that "
        "to (..., out). Multiply by alpha / rank and add the result to `self.base(x)`.",
        "In `merged`, add (alpha / rank) B A, where B A is `self.b @ self.a`, to the weight of a "
        "*copy*, `layer = copy.deepcopy(self.base)`. Change a parameter in place under "
        "`with torch.no_grad():`, as in `layer.weight += update`.",
    ),
    imports=IMPORTS,
    tolerance=1e-4,
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


SIZES = 2, 3.0  # rank and alpha


def follows(candidate, x):
    """The change in a new layer's output when the weight and bias of its base grow by 1."""
    base = linear(5, 3)
    layer = new(lambda _, *sizes: candidate(base, *sizes), 5, 3, *SIZES)
    before = out(layer, x)
    for each in base.parameters():
        each.data = each.data + 1.0
    return out(layer, x) - before


def size_of_a(candidate):
    """The mean and standard deviation of a new `a` of 256 inputs, times the root of 256."""
    a = 16 * new(candidate, 256, 3, 8, 16.0).a.detach()
    return [a.mean().item(), a.std().item()]


def of_drawn(candidate, x):
    """The output of a layer with drawn weights."""
    return out(trained(candidate, 5, 3, *SIZES), x)


@task.truth
def whole_matrix(x):
    """The same by one matrix, in double precision."""
    layer = trained(LoRALinear, 5, 3, *SIZES).double().requires_grad_(False)
    matrix = layer.base.weight + 1.5 * torch.einsum("or,ri->oi", layer.b, layer.a)
    return x.double() @ matrix.T + layer.base.bias


def of_ones(candidate, *sizes):
    """The update of a single 1 in x, with ones in `a` and `b`: alpha in every output."""
    layer = new(candidate, 7, 3, *sizes)
    for name, each in layer.named_parameters():
        each.data = torch.zeros_like(each) if "base" in name else torch.ones_like(each)
    return out(layer, torch.eye(1, 7))


def of_merged(candidate, x):
    """The output of the merged layer; raises CheckFailed unless it is a plain linear layer."""
    got = trained(candidate, 5, 3, *SIZES).merged()
    if type(got) is not nn.Linear:
        raise failed("what `merged` returns", came(got), "a plain `nn.Linear`")
    return out(got, x)


def left_alone(candidate, x):
    """How much the outputs of base and layer change when the layer is merged and that changed."""
    layer = trained(candidate, 5, 3, *SIZES)
    before = torch.cat([out(layer.base, x), out(layer, x)])
    for each in layer.merged().parameters():
        each.data.add_(1.0)
    return torch.cat([out(layer.base, x), out(layer, x)]) - before


task.stage(
    "the parts",
    case(
        "the shapes of the parameters, for a base of 5 inputs and 3 outputs and rank 2",
        *SIZES,
        expected={"a": (2, 5), "b": (3, 2), "base.weight": (3, 5), "base.bias": (3,)},
    ),
    measure=shapes,
    hint="They are those of `self.base`, the layer that you are given, and two `nn.Parameter`: "
    "`self.a` (rank, in) and `self.b` (out, rank).",
)
task.stage(
    "it starts as the old layer",
    start_case(
        *SIZES,
        hint="At the start `b` is 0, so the layer returns W x + b as before: once, and unscaled.",
    ),
    case(
        "the change in the layer's output, for x of five ones, when the weight and the bias of the "
        "`base` that it was given grow by 1",
        torch.ones(1, 5),
        expected=torch.full((1, 3), 6.0),
        measure=follows,
        hint="Keep the layer that you are given, not a copy of it: `self.base = base`. A copy "
        "needs memory for a second matrix and does not follow when the base changes.",
    ),
    case(
        "the number of different rows in a new `a` of rank 4",
        *("a", 4, 8.0),
        expected=4,
        measure=different_rows,
        hint="`b` is zero and `a` random, because equal rows get equal gradients and remain equal, "
        "and if `a` and `b` are both zero, neither gets a gradient.",
    ),
    case(
        "the mean and the standard deviation of a new `a` for 256 inputs, both multiplied by √256 "
        "(-0.3 to 0.3 and 0.4 to 1.6 will do)",
        expected=[0.0, 1.0],
        measure=size_of_a,
        tolerance=0.3,  # and 0.3 times the expected value
        hint="The numbers of `a` are drawn around 0 and have about the size 1 / √in, as the "
        "weights of a new `nn.Linear(in, rank)` do: divide `torch.randn(rank, in)` by √in.",
    ),
)
task.stage(
    "alpha and rank",
    case(
        "rank 5, alpha 18, zeros in the base, ones in `a` and `b`, a single 1 in x",
        *(5, 18.0),
        expected=torch.full((1, 3), 18.0),
    ),
    measure=of_ones,
    hint="The update is multiplied by alpha and divided by the rank, without rounding: `/`.",
)
task.stage(
    "random layers",
    case(
        "a layer of rank 2 with random weights, x (1, 2, 3, 5)",
        draw(1, 2, 3, 5, seed=1),
        hint="B A is `b @ a`: `a` maps x to the rank, then `b` maps that to the outputs, with no "
        "non-linearity between them. x may have any number of dimensions before the last.",
    ),
    gradient_case(whole_matrix, *SIZES),
    measure=of_drawn,
)
task.stage(
    "merged",
    case(
        "the output of the merged layer, which should be that of the layer",
        draw(4, 5, seed=3),
        measure=of_merged,
        hint="Its weight is the base's plus (alpha / rank) B A, its bias the base's.",
    ),
    case(
        "the change in the old layer's outputs after merging it and changing the merged layer",
        draw(4, 5, seed=3),
        expected=torch.zeros(8, 3),
        measure=left_alone,
        hint="`merged` leaves the base as it is, and the new layer shares neither weight nor bias "
        "with it. Start from a copy, `copy.deepcopy(self.base)`.",
    ),
)


def forward(of):
    """The reference with another `forward(self, x)`."""
    return type("Faulty", (LoRALinear,), {"forward": of})


def scaled(factor):
    """The reference with `factor(scale)` in the place of the scale."""
    return forward(lambda s, x: s.base(x) + factor(s.scale) * x @ s.a.T @ s.b.T)


task.mistakes(
    (
        "There is a non-linearity between `a` and `b`, but LoRA has none: apply `b` directly to "
        "what `a` returns.",
        forward(lambda s, x: s.base(x) + s.scale * F.relu(x @ s.a.T) @ s.b.T),
    ),
    (
        "The scale is always 2, which is right for the default rank and alpha only: compute "
        "`alpha / rank` in `__init__`.",
        scaled(lambda scale: 2.0),
    ),
    (
        "The scale is rank / alpha, which is upside down: use `alpha / rank`.",
        scaled(lambda scale: 1 / scale),
    ),
    (
        "The update is not scaled at all: multiply it by `alpha / rank`.",
        scaled(lambda scale: 1.0),
    ),
)
