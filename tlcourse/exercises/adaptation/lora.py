"""Lesson 05: LoRA, a low-rank update beside a linear layer, which merges into it."""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.adaptation._common import (
    IMPORTS,
    came,
    draw,
    failed,
    gradient_cases,
    new,
    out,
    shapes,
    start_difference,
    trained,
    zero_at_start,
)
from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="5.1",
    title="LoRA",
    difficulty=3,
    importance=5,
    minutes=20,
    hints=(
        "`__init__` keeps three things: the base layer, `self.a = nn.Parameter(...)` of shape "
        "(rank, in), and `self.b = nn.Parameter(...)` of shape (out, rank). The sizes are "
        "`base.in_features` and `base.out_features`.",
        "`F.linear(x, self.a)` takes (..., in) to (..., rank), `F.linear(…, self.b)` takes that to "
        "(..., out). Multiply by alpha / rank and add it to `self.base(x)`.",
        "For `merged`, the update is the matrix (alpha / rank) B A, where B A is `self.b @ self.a` "
        "and has the shape of the base's weight. Add it to the weight of a *copy*: "
        "`copy.deepcopy(self.base)`.",
        "Change a parameter in place under `with torch.no_grad():`, as in "
        "`layer.weight += update`.",
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
ONES = "zeros in the base, ones in `a` and `b`, a single 1 in x"
SIGNATURE = "`__init__` begins with `def __init__(self, base, rank=8, alpha=16.0):`."


def parts(rank=8, alpha=16.0):
    """The shape of each parameter, for a base of 5 inputs and 3 outputs."""
    return {"a": (rank, 5), "b": (3, rank), "base.weight": (3, 5), "base.bias": (3,)}


def of_drawn(candidate, x):
    """What comes out of a layer with drawn weights."""
    return out(trained(candidate, 5, 3, *SIZES), x, 3)


@task.truth
def whole_matrix(x):
    """The same by one matrix, in double precision."""
    layer = trained(LoRALinear, 5, 3, *SIZES).double().requires_grad_(False)
    matrix = layer.base.weight + 1.5 * torch.einsum("or,ri->oi", layer.b, layer.a)
    return x.double() @ matrix.T + layer.base.bias


def of_ones(candidate, *sizes):
    """The update alone, of a 1 in x, with ones in a and b: alpha in every output."""
    layer = new(candidate, 7, 3, *sizes)
    for name, each in layer.named_parameters():
        each.data = torch.zeros_like(each) if "base" in name else torch.ones_like(each)
    return out(layer, torch.eye(1, 7), 3)


def different_rows(candidate):
    """How many rows of a new layer's `a`, which has four, are different."""
    return len(new(candidate, 5, 3, 4, 8.0).get_parameter("a").detach().unique(dim=0))


def of_merged(candidate, x):
    """What the merged layer makes of x; CheckFailed if it is no plain linear layer."""
    got = trained(candidate, 5, 3, *SIZES).merged()
    if type(got) is not nn.Linear:
        raise failed("what `merged` returns", came(got), "a plain `nn.Linear`")
    return out(got, x, 3)


def left_alone(candidate, x):
    """By how much base and layer changed when they were merged, and what came out was changed."""
    layer = trained(candidate, 5, 3, *SIZES)
    before = torch.cat([out(layer.base, x, 3), out(layer, x, 3)])
    for each in layer.merged().parameters():
        each.data.add_(1.0)
    return torch.cat([out(layer.base, x, 3), out(layer, x, 3)]) - before


task.stage(
    "the parts",
    case(
        "the shapes of the parameters, for a base of 5 inputs and 3 outputs and rank 2",
        *SIZES,
        hint="They are `self.base`, the layer that is handed in, and two `nn.Parameter`: `self.a` "
        "(rank, in) and `self.b` (out, rank).",
    ),
    case("the shapes of the parameters without a rank, which is then 8", hint=SIGNATURE),
    measure=shapes,
    expected=parts,
)
task.stage(
    "it starts as the old layer",
    case(
        "the difference between the outputs of a new layer and of its base",
        *SIZES,
        expected=torch.zeros(4, 3),
        measure=start_difference,
        hint="At the start `b` is 0, so the layer gives W x + b as before: once, and unscaled.",
    ),
    case(
        "the added matrices that are all zero at the start",
        *SIZES,
        expected=["b"],
        measure=zero_at_start,
        hint="`b` is zero and `a` random. If both are zero, each one's gradient is zero, too.",
    ),
    case(
        "the number of different rows in a new `a` of rank 4",
        expected=4,
        measure=different_rows,
        hint="Equal rows get equal gradients and stay equal, so draw `a` at random: "
        "`torch.randn(rank, base.in_features)`.",
    ),
)
task.stage(
    "alpha and rank",
    case(f"rank 5, alpha 18, {ONES}", 5, 18.0),
    case("the same without rank and alpha, which are then 8 and 16", hint=SIGNATURE),
    measure=of_ones,
    expected=lambda rank=8, alpha=16.0: torch.full((1, 3), alpha),
    hint="The update is multiplied by alpha and divided by the rank.",
)
task.stage(
    "random layers",
    *(
        case(
            f"a layer of rank 2 with random weights, x {(*leading, 5)}",
            draw(*leading, 5, seed=seed),
            hint="B A is `b @ a`: `a` takes x to the rank, then `b` takes that to the outputs. Any "
            "number of dimensions may stand before the last.",
        )
        for seed, leading in enumerate(((4,), (1, 2, 3)))
    ),
    *gradient_cases(whole_matrix, *SIZES),
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
        "the change of the old layer's outputs when it is merged and the new layer is changed",
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
    """The reference with `factor(scale, rank)` in the place of the scale."""
    return forward(lambda s, x: s.base(x) + factor(s.scale, len(s.a)) * x @ s.a.T @ s.b.T)


task.mistakes(
    (
        "There is a non-linearity between `a` and `b`: LoRA has none.",
        forward(lambda s, x: s.base(x) + s.scale * F.relu(x @ s.a.T) @ s.b.T),
    ),
    (
        "The scale is always 2, which is right for the default rank and alpha only.",
        scaled(lambda scale, rank: 2.0),
    ),
    ("The scale is alpha / rank, not rank / alpha.", scaled(lambda scale, rank: 1 / scale)),
    (
        "The scale need not be a whole number: `/`, not `//`.",
        scaled(lambda scale, rank: scale // 1),
    ),
)
