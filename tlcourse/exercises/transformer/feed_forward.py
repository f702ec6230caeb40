"""Lesson 02: the feed-forward layer, which works on each position alone."""

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.expect import expect_shape
from tlcourse.exercises.task import Exercise
from tlcourse.exercises.transformer._parts import (
    IMPORTS,
    built,
    differing,
    draw,
    linear,
    out,
    randomise,
    small,
    without_gradient,
)
from tlcourse.transformer import ACTIVATIONS

task = Exercise(
    __name__,
    number="2.5",
    title="The feed-forward layer",
    difficulty=1,
    minutes=5,
    hints=(
        "two linear layers, and one function between them.",
        "`self.up = nn.Linear(config.width, config.feed_forward)`; `self.down` goes back.",
        "keep `self.activation = ACTIVATIONS[config.activation]` in `__init__`; then "
        "`self.down(self.activation(self.up(x)))`.",
    ),
    imports=IMPORTS,
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


@task.right
class ByHand(FeedForward):
    def __init__(self, config):
        super().__init__(config)
        self.config = config

    def forward(self, x):
        wide = x @ self.up.weight.T + self.up.bias
        if self.config.activation == "relu2":
            wide = torch.where(wide > 0, wide**2, 0.0)
        else:
            wide = ACTIVATIONS[self.config.activation](wide)
        return wide @ self.down.weight.T + self.down.bias


@task.right
class InParts(FeedForward):
    def forward(self, x):
        rows = [self.down(self.activation(self.up(row))) for row in x.flatten(0, 1)]
        return torch.stack(rows).view(x.shape)


@task.stage("the two layers")
def layers(candidate):
    task.observe(
        candidate, differing, small(), linear("up", 20, 12) | linear("down", 12, 20), gives=[],
        what="width 12, feed_forward 20: what is different about the layers",
        likely="They are called up and down: `nn.Linear(config.width, config.feed_forward)` and "
        "back.",
    )  # fmt: skip


def moved(candidate, config, x, at):
    """The positions whose output moves when the input at position `at` does."""
    changed = x.clone()
    changed[:, at] += 1
    with torch.no_grad():
        module = built(candidate, config)
        apart = (module(changed) - module(x)).abs().amax(dim=(0, 2))
    expect_shape(apart, (x.shape[1],), "the positions that come out")
    return (apart > 1e-6).nonzero()[:, 0].tolist()


@task.stage("one position at a time")
def alone(candidate):
    what = "position 3 was changed: the positions whose output moved"
    likely = "Did something mix the length dimension? `nn.Linear` works on the last one."
    task.observe(candidate, moved, small(), draw(2, 6, 12), 3, gives=[3], what=what, likely=likely)


def expected(config, x, between):
    """The truth in double precision."""
    up = randomise(nn.ModuleDict({"up": nn.Linear(config.width, config.feed_forward)}))["up"]
    down = randomise(nn.ModuleDict({"down": nn.Linear(config.feed_forward, config.width)}))["down"]
    with torch.no_grad():
        wide = between(up.double()(x.double()))
        return down.double()(wide).float()


def squared(x):
    return torch.where(x > 0, x * x, torch.zeros_like(x))


@task.stage("the square of ReLU")
def relu_squared(candidate):
    config, x = small(), draw(2, 5, 12, seed=1)
    task.observe(
        candidate, out, config, x, gives=expected(config, x, squared), tolerance=1e-4,
        what="config.activation is 'relu2'",
        likely="Between the two layers: 0 below 0, the square above it.",
    )  # fmt: skip


@task.stage("another activation")
def gelu(candidate):
    config, x = small(activation="gelu"), draw(2, 5, 12, seed=2)
    task.observe(
        candidate, out, config, x, gives=expected(config, x, F.gelu), tolerance=1e-4,
        what="config.activation is 'gelu'",
        likely="Take the function that the configuration names: `ACTIVATIONS[config.activation]`.",
    )  # fmt: skip
    task.observe(
        candidate, without_gradient, config, x, gives=[],
        what="the parameters that no gradient reaches",
    )  # fmt: skip


def wrong(stage, says, forward):
    """A known mistake: another `forward(layer, x)`."""

    class Faulty(FeedForward):
        def forward(self, x):
            return forward(self, x)

    task.mistake(stage, says)(Faulty)


wrong(
    "one position at a time", "Something mixes the length dimension",
    lambda s, x: s.down(s.activation(s.up(x)).softmax(1)),
)  # fmt: skip
wrong(
    "the square of ReLU", "There is nothing between the two layers, so they are only one.",
    lambda s, x: s.down(s.up(x)),
)  # fmt: skip
wrong(
    "the square of ReLU", "This is ReLU; its square is wanted.",
    lambda s, x: s.down(s.up(x).relu()),
)  # fmt: skip
wrong(
    "the square of ReLU", "The square alone: what is below 0 must become 0 first.",
    lambda s, x: s.down(s.up(x).square()),
)  # fmt: skip
wrong(
    "the square of ReLU", "The activation stands between the two layers, not behind them.",
    lambda s, x: s.activation(s.down(s.up(x))),
)  # fmt: skip
wrong(
    "the square of ReLU", "`x` is added here; that is the block's work, not this layer's.",
    lambda s, x: x + s.down(s.activation(s.up(x))),
)  # fmt: skip
wrong(
    "another activation", "It is always the square of ReLU: use the one that `config` names.",
    lambda s, x: s.down(F.relu(s.up(x)).square()),
)  # fmt: skip
