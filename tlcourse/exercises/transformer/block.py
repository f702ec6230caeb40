"""Lesson 02: one block, attention and feed-forward around a residual stream."""

import torch
from torch import nn

from tlcourse.exercises.task import Exercise
from tlcourse.exercises.transformer._block_mistakes import MISTAKES
from tlcourse.exercises.transformer._parts import (
    IMPORTS,
    built,
    differing,
    draw,
    linear,
    new,
    norm,
    out,
    small,
    without_gradient,
)
from tlcourse.exercises.transformer.feed_forward import FeedForward
from tlcourse.exercises.transformer.self_attention import Attention
from tlcourse.transformer import Block as BlockOfThePackage
from tlcourse.transformer import causal_mask, rotary_table

task = Exercise(
    __name__,
    number="2.6",
    title="The block",
    difficulty=2,
    minutes=10,
    hints=(
        "`forward` is the formula, two lines: `x` plus what a layer makes of the norm of `x`.",
        "`x = x + self.attention(self.attention_norm(x), mask, table)`, and the same with the "
        "feed-forward layer, which needs neither mask nor table.",
        "for the start: `nn.init.zeros_` of `self.attention.output.weight` and `.bias`, and of "
        "`self.feed_forward.down.weight` and `.bias`.",
    ),
    imports=IMPORTS,
    builds_on=("transformer.self_attention", "transformer.feed_forward"),
)


@task.reference
class Block(nn.Module):
    """(batch, length, width) to the same: what comes in, and what two layers add to it."""

    def __init__(self, config):
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.width)
        self.attention = Attention(config)
        self.feed_forward_norm = nn.LayerNorm(config.width)
        self.feed_forward = FeedForward(config)
        for layer in (self.attention.output, self.feed_forward.down):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x, mask=None, table=None):
        x = x + self.attention(self.attention_norm(x), mask, table)
        return x + self.feed_forward(self.feed_forward_norm(x))


@task.right
class StepByStep(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention, self.feed_forward = Attention(config), FeedForward(config)
        self.attention_norm, self.feed_forward_norm = (
            nn.LayerNorm(config.width, eps=config.norm_epsilon) for _ in range(2)
        )
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if "output" in name or "down" in name:
                    parameter.zero_()

    def forward(self, x, mask=None, table=None):
        written = self.attention(self.attention_norm(x), mask, table)
        stream = x + written
        return stream + self.feed_forward(self.feed_forward_norm(stream))


@task.right
class ByNames(Block):
    def forward(self, x, mask=None, table=None):
        stream = self.attention(x=self.attention_norm(x), mask=mask, table=table).add(x)
        return self.feed_forward(self.feed_forward_norm(stream)) + stream


SHAPES = {}
for part in ("query", "key", "value", "output"):
    SHAPES |= linear(f"attention.{part}", 12, 12)
SHAPES |= linear("feed_forward.up", 20, 12) | linear("feed_forward.down", 12, 20)
SHAPES |= norm("attention_norm", 12) | norm("feed_forward_norm", 12)


@task.stage("the four parts")
def parts(candidate):
    task.observe(
        candidate, differing, small(), SHAPES, gives=[],
        what="what is different about the parts of a new block",
        likely="They are called attention_norm, attention, feed_forward_norm and feed_forward: "
        "two `nn.LayerNorm(config.width)`, your `Attention(config)`, your `FeedForward(config)`.",
    )  # fmt: skip


class Stub(nn.Module):
    """A layer that keeps what it reads, and gives ones, or that times something."""

    def __init__(self, name, times=None):
        super().__init__()
        self.name, self.times, self.read, self.rest = name, times, None, ()

    def forward(self, x, mask=None, table=None):
        self.read, self.rest = x, (mask, table)
        return torch.ones_like(x) if self.times is None else self.times * x


def seen(candidate, of, x=2.0):
    """What a layer reads, or what comes out, in a block of norms that take everything times 10
    and of layers that write 1."""
    block = built(candidate, small())
    for name in ("attention_norm", "feed_forward_norm", "attention", "feed_forward"):
        setattr(block, name, Stub(name, 10 if "norm" in name else None))
    with torch.no_grad():
        given = torch.full((1, 3, 12), x)
        got = block(given, None, None)
    if of != "out":
        got = getattr(block, of).read
        if got is None:
            return "nothing: it is never called"
    same = bool((got == got.flatten()[0]).all())
    return got.flatten()[0].item() if same else "different numbers"


@task.stage("the residual stream")
def stream(candidate):
    ten = "norms take everything times 10, layers write 1"
    for of, gives, what, likely in (
        ("attention", 20.0, "what attention reads", "It reads the norm of the stream: 10 × 2."),
        (
            "feed_forward", 30.0, "what feed-forward reads",
            "It reads the norm of the stream after attention has written: 10 × (2 + 1).",
        ),
        (
            "out", 4.0, "what comes out",
            "The stream itself runs on, and each layer adds to it: 2 + 1 + 1.",
        ),
    ):  # fmt: skip
        task.observe(candidate, seen, of, gives=gives, likely=likely, tolerance=1e-5,
                     what=f"the stream is 2 everywhere, {ten}: {what}")  # fmt: skip


def handed_on(candidate):
    """What attention is given besides x."""
    block = built(candidate, small())
    block.attention = Stub("attention")
    block(draw(1, 3, 12), "the mask", "the table")
    return list(block.attention.rest)


@task.stage("mask and table")
def mask_and_table(candidate):
    task.observe(
        candidate, handed_on, gives=["the mask", "the table"],
        what="what attention was given besides `x`",
        likely="`self.attention(…, mask, table)`: both are handed on.",
    )  # fmt: skip


def at_first(candidate, x):
    """What a new block makes of x, before any training."""
    with torch.no_grad():
        return new(candidate, small())(x, None, None)


@task.stage("a new block does nothing")
def identity(candidate):
    x = draw(2, 5, 12)
    task.observe(
        candidate, at_first, x, gives=x, what="a new block, before any training", tolerance=1e-6,
        likely="Its output is its input: the last layer of each part, `attention.output` and "
        "`feed_forward.down`, starts with weight and bias 0.",
    )  # fmt: skip


def started(candidate):
    """The parameters that are zero in a new block."""
    found = new(candidate, small()).named_parameters()
    return sorted(name for name, each in found if not each.any() and "norm" not in name)


ZERO = ["attention.output.bias", "attention.output.weight"]
ZERO += ["feed_forward.down.bias", "feed_forward.down.weight"]


@task.stage("the package's numbers")
def whole(candidate):
    task.observe(
        candidate, started, gives=ZERO, what="the parameters that start at zero",
        likely="Those of the two last layers and no others: where all is zero, no gradient flows.",
    )  # fmt: skip
    config, x, mask, table = small(), draw(2, 5, 12, seed=1), causal_mask(5), rotary_table(5, 4)
    task.observe(
        candidate, out, config, x, mask, table, gives=of_the_package(config, x, mask, table),
        what="a block with random weights, against the package's", tolerance=1e-3,
    )  # fmt: skip
    task.observe(
        candidate, without_gradient, config, x, mask, table, gives=[],
        what="the parameters that no gradient reaches",
    )  # fmt: skip


def of_the_package(config, x, mask, table):
    """What the package's block makes of it with the same weights."""
    theirs, mine = BlockOfThePackage(config), built(Block, config).state_dict()
    names = {name: name.replace("feed_forward.", "") for name in mine}
    theirs.load_state_dict({names[name]: each for name, each in mine.items()})
    with torch.no_grad():
        return theirs.eval()(x, mask, table)


for stage, says, forward in MISTAKES:
    task.mistake(stage, says)(type("Faulty", (Block,), {"forward": forward}))


def starts(stage, says, zeroed):
    """A known mistake: other parameters start at zero, those whose name `zeroed` takes."""

    class Faulty(Block):
        def __init__(self, config):
            super().__init__(config)
            for layer in (self.attention.output, self.feed_forward.down):
                layer.reset_parameters()
            for name, parameter in self.named_parameters():
                if zeroed(name):
                    nn.init.zeros_(parameter)

    task.mistake(stage, says)(Faulty)


NEW = "a new block does nothing"
starts(NEW, "Nothing starts at zero here: set weight and bias of both last layers.", lambda n: 0)
starts(
    NEW, "The biases are not zero: `nn.Linear` draws them, too.",
    lambda n: n in ("attention.output.weight", "feed_forward.down.weight"),
)  # fmt: skip
starts(NEW, "Only attention's last layer is zero; the other is down.", lambda n: "output" in n)
starts(NEW, "Only the feed-forward layer's is zero; the other is output.", lambda n: "down" in n)
starts("the package's numbers", "where all is zero, no gradient flows", lambda n: "norm" not in n)
