"""Lesson 05: an adapter, a bottleneck with a residual behind a linear layer."""

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.adaptation._common import (
    IMPORTS,
    different_rows,
    draw,
    gradient_case,
    out,
    shapes,
    start_case,
    trained,
)
from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="5.3",
    title="An adapter",
    difficulty=2,
    importance=3,
    minutes=10,
    hints=(
        "There are two linear layers: `down` from `base.out_features` to `bottleneck`, and `up` "
        "back again.",
        "With `nn.init.zeros_(self.up.weight)`, and the same for `self.up.bias`, the layer starts "
        "as the identity.",
        "`forward` is `h = self.base(x)`, then `h + self.up(F.gelu(self.down(h)))`.",
    ),
    imports=IMPORTS,
    tolerance=5e-3,  # the approximation of GELU is right, too
)


@task.reference
class AdapterLayer(nn.Module):
    """A linear layer, and a bottleneck with a residual behind it: h + up(gelu(down(h)))."""

    def __init__(self, base, bottleneck=32):
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.out_features, bottleneck)
        self.up = nn.Linear(bottleneck, base.out_features)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, x):
        h = self.base(x)
        return h + self.up(F.gelu(self.down(h)))


def of_drawn(candidate, x):
    """The output of a layer with drawn weights and bottleneck 2."""
    return out(trained(candidate, 5, 3, 2), x)


@task.truth
def by_formula(x):
    """The same in double precision, with GELU written out."""
    layer = trained(AdapterLayer, 5, 3, 2).double().requires_grad_(False)
    h = layer.base(x.double())
    narrow = layer.down(h)
    return h + layer.up(0.5 * narrow * (1 + torch.erf(narrow / 2**0.5)))


DOWN = {"down.weight": (2, 3), "down.bias": (2,)}
UP = {"up.weight": (3, 2), "up.bias": (3,)}

task.stage(
    "the parts",
    case(
        "the shapes of the parameters, for a base of 5 inputs and 3 outputs and bottleneck 2",
        2,
        expected=DOWN | UP | {"base.weight": (3, 5), "base.bias": (3,)},
    ),
    measure=shapes,
    hint="They are those of `self.base`, the layer that you are given, of `self.down`, an "
    "`nn.Linear` from the base's outputs to the bottleneck, and of `self.up`, which leads back.",
)
task.stage(
    "it starts as the identity",
    start_case(
        2,
        hint="The output is `h`, once, plus the output of `up`, which starts at zero: set both its "
        "weight and its bias to zero.",
    ),
    case(
        "the number of different rows in the weight of a new `down`",
        *("down.weight", 4),
        expected=4,
        measure=different_rows,
        hint="Leave `down` as `nn.Linear` draws it: if both `down` and `up` are zero, neither of "
        "them gets a gradient.",
    ),
)
task.stage(
    "random layers",
    case(
        "a layer with random weights, x (1, 2, 3, 5)",
        draw(1, 2, 3, 5, seed=1),
        hint="`h` is the output of the base, and the answer is `h + up(gelu(down(h)))`.",
    ),
    gradient_case(by_formula, 2),
    measure=of_drawn,
)


def forward(of):
    """The reference with another path from h: `of(self, h, x)`."""
    return type("Faulty", (AdapterLayer,), {"forward": lambda self, x: of(self, self.base(x), x)})


task.mistakes(
    (
        "The bottleneck reads `x`, the input of the base, but it has to read `h`: use "
        "`self.down(h)`.",
        forward(lambda s, h, x: h + s.up(F.gelu(s.down(x)))),
    ),
    (
        "There is no non-linearity between `down` and `up`, so together they are only one linear "
        "layer: apply `F.gelu` to the output of `down`.",
        forward(lambda s, h, x: h + s.up(s.down(h))),
    ),
    (
        "The non-linearity is ReLU, but this adapter has GELU: use `F.gelu`.",
        forward(lambda s, h, x: h + s.up(F.relu(s.down(h)))),
    ),
    (
        "GELU comes after `up` here: apply it to the output of `down`, before `up`.",
        forward(lambda s, h, x: h + F.gelu(s.up(s.down(h)))),
    ),
)
