"""Lesson 05: an adapter, a bottleneck with a residual behind a linear layer."""

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.adaptation._layers import (
    GOES_ON,
    IMPORTS,
    differing,
    draw,
    input_gradient,
    out,
    start_difference,
    trained,
    without_gradient,
    zero_at_start,
)
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="5.2",
    title="An adapter",
    difficulty=2,
    minutes=10,
    hints=(
        "two linear layers: `down` from `base.out_features` to `bottleneck`, `up` back again.",
        "`nn.init.zeros_` of `self.up.weight` and of `self.up.bias` lets it start as the identity.",
        "`h = self.base(x)`, then `h + self.up(F.gelu(self.down(h)))`.",
    ),
    imports=IMPORTS,
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


@task.right
class ByHand(AdapterLayer):
    def forward(self, x):
        h = self.base(x)
        narrow = h @ self.down.weight.T + self.down.bias
        narrow = 0.5 * narrow * (1 + torch.erf(narrow / 2**0.5))
        return narrow @ self.up.weight.T + (self.up.bias + h)


@task.right
class InModules(nn.Module):
    def __init__(self, base, bottleneck=32):
        super().__init__()
        width = len(base.bias)
        self.base, self.gelu = base, nn.GELU(approximate="tanh")
        self.down, self.up = nn.Linear(width, bottleneck), nn.Linear(bottleneck, width)
        nn.init.normal_(self.down.weight, std=0.02)
        nn.init.zeros_(self.down.bias)
        for each in self.up.parameters():
            each.data.mul_(0)

    def forward(self, x):
        h = self.base(x)
        h = h + self.up(self.gelu(self.down(h)))
        return h


SHAPES = {
    "base.weight": (3, 5),
    "base.bias": (3,),
    "down.weight": (2, 3),
    "down.bias": (2,),
    "up.weight": (3, 2),
    "up.bias": (3,),
}


@task.stage("the parts")
def parts(candidate):
    task.observe(
        candidate, differing, 5, 3, (2,), SHAPES, gives=[],
        what="a base of 5 inputs and 3 outputs, bottleneck 2: what is different about the "
        "parameters",
        likely="They are `self.base`, the layer that is handed in, `self.down`, an nn.Linear from "
        "the base's outputs to the bottleneck, and `self.up`, one back.",
    )  # fmt: skip
    by_default = {"down.weight": (32, 3), "down.bias": (32,), "up.weight": (3, 32)}
    task.observe(
        candidate, differing, 5, 3, (), SHAPES | by_default, gives=[],
        what="the same without a bottleneck, which is 32 then: what is different",
        likely="`__init__` begins with `def __init__(self, base, bottleneck=32):`.",
    )  # fmt: skip


@task.stage("it starts as the identity")
def start(candidate):
    task.observe(
        candidate, zero_weights, gives=["up.bias", "up.weight"],
        what="what is zero in a new layer, the bias of `down` left out,",
        likely="Weight and bias of `up`, and nothing else: where all is zero, no gradient flows.",
    )  # fmt: skip
    task.observe(
        candidate, start_difference, 2, gives=torch.zeros(4, 3), tolerance=1e-5,
        what="by how much a new layer differs from its base",
        likely="Weight and bias of `up` start at zero, and what `up` gives is added to `h`.",
    )  # fmt: skip


def zero_weights(candidate):
    """The added parameters that are zero; whether the bias of `down` is does not matter."""
    return [name for name in zero_at_start(candidate, 2) if name != "down.bias"]


def of_drawn(candidate, x, outputs=5):
    """What comes out of a layer with drawn weights and bottleneck 2."""
    return out(trained(candidate, 5, outputs, 2), x, outputs)


def truth(x, outputs=5):
    """The same, in double precision."""
    layer = trained(AdapterLayer, 5, outputs, 2).double()
    h = layer.base(x.double())
    between = layer.down(h)
    between = 0.5 * between * (1 + torch.erf(between / 2**0.5))
    return (h + layer.up(between)).detach()


@task.stage("random layers")
def whole(candidate):
    for seed, (outputs, leading) in enumerate(((5, (4,)), (3, (2, 5)), (7, (1, 2, 3)))):
        x = draw(*leading, 5, seed=seed)
        task.observe(
            candidate, of_drawn, x, outputs, gives=truth(x, outputs), tolerance=5e-3,
            what=f"a layer of {outputs} outputs with random weights, x {tuple(x.shape)}",
            likely="`h` is what the base gives, and the answer is h + up(gelu(down(h))).",
        )  # fmt: skip
    task.observe(
        candidate, without_gradient, 2, gives=[],
        what="the added parameters that no gradient reaches",
        likely="Leave out `no_grad` and `.detach()`.",
    )  # fmt: skip
    task.observe(
        candidate, input_gradient, 2, gives=input_gradient(AdapterLayer, 2),
        what="the gradient that goes on to x", likely=GOES_ON, tolerance=5e-3,
    )  # fmt: skip


def starting(zeroed):
    """A reference in which those parameters start at zero whose name `zeroed` takes."""

    def init(self, base, bottleneck=32):
        AdapterLayer.__init__(self, base, bottleneck)
        self.up.reset_parameters()
        for name, each in self.named_parameters():
            if zeroed(name):
                nn.init.zeros_(each)

    return type("Faulty", (AdapterLayer,), {"__init__": init})


START, WHOLE = "it starts as the identity", "random layers"
task.mistake(START, "Nothing starts at zero here: `up` does, weight and bias.")(
    starting(lambda name: False)
)
task.mistake(START, "The bias of `up` is not zero: `nn.Linear` draws it, too.")(
    starting(lambda name: name == "up.weight")
)
task.mistake(START, "It is `up` that starts at zero, not `down`.")(
    starting(lambda name: "down" in name)
)
task.mistake(START, "Where all is zero, no gradient flows: leave `down` as it is drawn.")(
    starting(lambda name: "base" not in name)
)


def wrong(stage, says, forward):
    """A known mistake: another `forward(layer, x)`."""
    task.mistake(stage, says)(type("Faulty", (AdapterLayer,), {"forward": forward}))


wrong(
    START, "Nothing is added to `h` here: the residual is missing.",
    lambda s, x: s.up(F.gelu(s.down(s.base(x)))),
)  # fmt: skip
wrong(
    START, "`h` was added twice.",
    lambda s, x: s.base(x) * 2 + s.up(F.gelu(s.down(s.base(x)))),
)  # fmt: skip
wrong(WHOLE, "That is the base alone: where is the bottleneck?", lambda s, x: s.base(x))
wrong(
    WHOLE, "There is nothing between `down` and `up`, so they are only one layer.",
    lambda s, x: s.base(x) + s.up(s.down(s.base(x))),
)  # fmt: skip
wrong(
    WHOLE, "This is ReLU; GELU is wanted.",
    lambda s, x: s.base(x) + s.up(F.relu(s.down(s.base(x)))),
)  # fmt: skip
wrong(
    WHOLE, "GELU stands between `down` and `up`, not behind them.",
    lambda s, x: s.base(x) + F.gelu(s.up(s.down(s.base(x)))),
)  # fmt: skip
wrong(
    START, "The bottleneck reads `x`; it reads `h`, what the base gives.",
    lambda s, x: s.base(x) + s.up(F.gelu(s.down(x))),
)  # fmt: skip
for forward in (
    lambda s, x: (h := s.base(x).detach()) + s.up(F.gelu(s.down(h))),
    lambda s, x: (h := s.base(x)) + s.up(F.gelu(s.down(h.detach()))),
):
    wrong(WHOLE, "but a gradient goes on to `x`, through the base and through what you", forward)
wrong(
    WHOLE, "GELU comes behind `down`, not before it.",
    lambda s, x: s.base(x) + s.up(s.down(F.gelu(s.base(x)))),
)  # fmt: skip
