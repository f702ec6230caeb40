"""Lesson 02: the feed-forward layer, which works on each position alone."""

from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import (
    IMPORTS,
    all_gradients,
    built,
    differing,
    draw,
    moved,
    otherwise,
    out,
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
        "It takes two linear layers, and one function between them.",
        "`self.up = nn.Linear(config.width, config.feed_forward)`, and `self.down` goes back.",
        "Keep `self.activation = ACTIVATIONS[config.activation]` in `__init__`. Then `forward` "
        "returns `self.down(self.activation(self.up(x)))`.",
    ),
    imports=IMPORTS,
    measure=out,
    tolerance=1e-4,
)


@task.reference
class FeedForward(nn.Module):
    """(batch, length, width) to the same, each position alone."""

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
    hint="They are called up and down: `nn.Linear(config.width, config.feed_forward)` and back.",
)
task.stage(
    "one position at a time",
    case("the positions whose output moves with position 3 of 6", small(), x, 3, expected=[3]),
    measure=moved,
    hint="Something mixes the length dimension. `nn.Linear` works on the last dimension alone.",
)
task.stage(
    "the square of ReLU",
    case("`config.activation` is 'relu2'", small(), x),
    hint="Between the two layers stands a function that is 0 below 0, and the square above it.",
)
task.stage(
    "another activation",
    case("`config.activation` is 'gelu'", gelu, x),
    all_gradients(gelu, x),
    hint="Take the function that the configuration names: `ACTIVATIONS[config.activation]`.",
)


task.mistakes(
    (
        "There is nothing between the two layers, so that they are no more than one.",
        otherwise(FeedForward, forward=lambda s, x: s.down(s.up(x))),
    ),
    (
        "This is ReLU; its square is wanted.",
        otherwise(FeedForward, forward=lambda s, x: s.down(s.up(x).relu())),
    ),
    (
        "You add `x` here, but that is the block's work and not this layer's.",
        otherwise(FeedForward, forward=lambda s, x: x + FeedForward.forward(s, x)),
    ),
)
