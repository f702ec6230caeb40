"""Lesson 02: the feed-forward layer, which works on each position alone."""

from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import (
    IMPORTS,
    built,
    differing,
    draw,
    moved,
    otherwise,
    out,
    same_gradients,
    small,
    with_bias,
)
from tlcourse.transformer import ACTIVATIONS

task = Exercise(
    __name__,
    number="2.5",
    title="The feed-forward layer",
    difficulty=1,
    importance=4,
    minutes=5,
    hints=(
        "The layer consists of two linear layers with a function between them.",
        "`self.up = nn.Linear(config.width, config.feed_forward)`, and `self.down` maps back.",
        "Set `self.activation = ACTIVATIONS[config.activation]` in `__init__`. Then `forward` "
        "returns `self.down(self.activation(self.up(x)))`.",
    ),
    imports=IMPORTS,
    measure=out,
    tolerance=1e-4,
)


@task.reference
class FeedForward(nn.Module):
    """Maps (batch, length, width) to the same shape, each position alone."""

    def __init__(self, config):
        super().__init__()
        self.up = nn.Linear(config.width, config.feed_forward)
        self.down = nn.Linear(config.feed_forward, config.width)
        self.activation = ACTIVATIONS[config.activation]

    def forward(self, x):
        return self.down(self.activation(self.up(x)))


@task.truth
def in_double_precision(config, x):
    layer = built(FeedForward, config).double()
    wide = x.double() @ layer.up.weight.T + layer.up.bias
    wide = F.gelu(wide) if config.activation == "gelu" else wide.clamp(min=0) * wide
    return (wide @ layer.down.weight.T + layer.down.bias).detach()


gelu, x = small(activation="gelu"), draw(2, 6, 12)
SHAPES = with_bias("up", 20, 12) | with_bias("down", 12, 20)
task.stage(
    "the two layers",
    case("differences from the layers of width 12, feed_forward 20", small(), SHAPES, expected=[]),
    measure=differing,
    hint="The layers are called up, an `nn.Linear(config.width, config.feed_forward)`, and down, "
    "which maps back.",
)
task.stage(
    "one position at a time",
    case("the positions whose output changes with position 3 of 6", small(), x, 3, expected=[3]),
    measure=moved,
    hint="Something mixes the length dimension. `nn.Linear` works only on the last dimension.",
)
task.stage(
    "the square of ReLU",
    case("`config.activation` is 'relu2'", small(), x),
    hint="Apply the activation between the two layers: relu2 is 0 below 0, and the square above.",
)
task.stage(
    "another activation",
    case("`config.activation` is 'gelu'", gelu, x),
    same_gradients(FeedForward, gelu, x),
    hint="Use the function that the configuration names: `ACTIVATIONS[config.activation]`.",
)
task.mistakes(
    (
        "You add `x` here, but the block does that, not this layer.",
        otherwise(FeedForward, forward=lambda s, x: x + FeedForward.forward(s, x)),
    ),
    (
        "There is no function between the two layers, so together they are only one linear layer: "
        "apply `self.activation` between them.",
        otherwise(FeedForward, forward=lambda s, x: s.down(s.up(x))),
    ),
    (
        "This is ReLU, but `config.activation` names its square: use "
        "`ACTIVATIONS[config.activation]`.",
        otherwise(FeedForward, forward=lambda s, x: s.down(s.up(x).relu())),
    ),
)
