"""Lesson 05: an adapter, a bottleneck with a residual behind a linear layer."""

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.adaptation._common import (
    IMPORTS,
    draw,
    gradient_cases,
    out,
    shapes,
    start_difference,
    trained,
    zero_at_start,
)
from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="5.2",
    title="An adapter",
    difficulty=2,
    importance=3,
    minutes=10,
    hints=(
        "There are two linear layers: `down` from `base.out_features` to `bottleneck`, and `up` "
        "back again.",
        "`nn.init.zeros_(self.up.weight)`, and the same for `self.up.bias`, let the layer start as "
        "the identity.",
        "`forward` is `h = self.base(x)`, then `h + self.up(F.gelu(self.down(h)))`.",
    ),
    imports=IMPORTS,
    tolerance=5e-3,  # GELU by its approximation is right, too
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


def parts(bottleneck=32):
    """The shape of each parameter, for a base of 5 inputs and 3 outputs."""
    down = {"down.weight": (bottleneck, 3), "down.bias": (bottleneck,)}
    up = {"up.weight": (3, bottleneck), "up.bias": (3,)}
    return down | up | {"base.weight": (3, 5), "base.bias": (3,)}


def of_drawn(candidate, x, outputs):
    """What comes out of a layer with drawn weights and bottleneck 2."""
    return out(trained(candidate, 5, outputs, 2), x, outputs)


@task.truth
def by_formula(x, outputs):
    """The same in double precision, with GELU written out."""
    layer = trained(AdapterLayer, 5, outputs, 2).double().requires_grad_(False)
    h = layer.base(x.double())
    narrow = layer.down(h)
    return h + layer.up(0.5 * narrow * (1 + torch.erf(narrow / 2**0.5)))


task.stage(
    "the parts",
    case(
        "the shapes of the parameters, for a base of 5 inputs and 3 outputs and bottleneck 2",
        2,
        hint="They are `self.base`, the layer that is handed in, `self.down`, an `nn.Linear` from "
        "the base's outputs to the bottleneck, and `self.up`, one back.",
    ),
    case(
        "the shapes of the parameters without a bottleneck, which is then 32",
        hint="`__init__` begins with `def __init__(self, base, bottleneck=32):`.",
    ),
    measure=shapes,
    expected=parts,
)
task.stage(
    "it starts as the identity",
    case(
        "the added matrices that are all zero at the start",
        2,
        expected=["up.weight"],
        measure=zero_at_start,
        hint="Set weight and bias of `up` to zero, and leave `down` as `nn.Linear` draws it: where "
        "both are zero, no gradient flows.",
    ),
    case(
        "the difference between the outputs of a new layer and of its base",
        2,
        expected=torch.zeros(4, 3),
        measure=start_difference,
        tolerance=1e-5,
        hint="The output is `h`, once, plus what `up` gives: zero, because its bias is zero, too.",
    ),
)
task.stage(
    "random layers",
    *(
        case(
            f"a layer of {outputs} outputs with random weights, x {(*leading, 5)}",
            draw(*leading, 5, seed=seed),
            outputs,
            hint="`h` is what the base gives, and the answer is `h + up(gelu(down(h)))`.",
        )
        for seed, (outputs, leading) in enumerate(((5, (4,)), (7, (1, 2, 3))))
    ),
    *gradient_cases(lambda x: by_formula(x, 3), 2),
    measure=of_drawn,
)


def forward(of):
    """The reference with another way from h: `of(self, h, x)`."""
    return type("Faulty", (AdapterLayer,), {"forward": lambda self, x: of(self, self.base(x), x)})


task.mistakes(
    (
        "The bottleneck reads `x`. It has to read `h`, what the base gives.",
        forward(lambda s, h, x: h + s.up(F.gelu(s.down(x)))),
    ),
    (
        "There is nothing between `down` and `up`, so they are only one layer.",
        forward(lambda s, h, x: h + s.up(s.down(h))),
    ),
    ("This is ReLU. Use `F.gelu`.", forward(lambda s, h, x: h + s.up(F.relu(s.down(h))))),
    (
        "GELU stands between `down` and `up`, not behind them.",
        forward(lambda s, h, x: h + F.gelu(s.up(s.down(h)))),
    ),
)
