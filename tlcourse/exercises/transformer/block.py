"""Lesson 02: one block, attention and feed-forward around a residual stream."""

import torch
from torch import nn

from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer import feed_forward, self_attention
from tlcourse.exercises.transformer._common import (
    IMPORTS,
    Stub,
    built,
    differing,
    draw,
    new,
    otherwise,
    out,
    read_by,
    same_gradients,
    small,
    the_stream,
    under,
    with_bias,
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
    importance=5,
    minutes=10,
    hints=(
        "`forward` is the formula in two lines. Each adds the output of a layer to `x`, and the "
        "layer reads the norm of `x`.",
        "Write `x = x + self.attention(self.attention_norm(x), mask, table)`, and the same with "
        "the feed-forward layer, which needs neither mask nor table.",
        "In `__init__`, call `nn.init.zeros_` on `self.attention.output.weight` and `.bias`, and "
        "on `self.feed_forward.down.weight` and `.bias`.",
    ),
    imports=IMPORTS,
    builds_on=("transformer.self_attention", "transformer.feed_forward"),
    measure=out,
    tolerance=1e-3,
)


@task.reference
class Block(nn.Module):
    """Maps (batch, length, width) to the same shape: x plus the outputs of two layers."""

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


@task.truth
def by_the_package(config, x, mask=None, table=None):
    theirs, weights = BlockOfThePackage(config), built(Block, config).state_dict()
    theirs.load_state_dict({n.replace("feed_forward.", ""): each for n, each in weights.items()})
    with torch.no_grad():
        return theirs.eval()(x, mask, table)


def seen(candidate):
    """Returns the inputs of the layers and the output, as in `the_stream`."""
    block = built(candidate, small())
    return read_by(block, lambda x: block(x, None, None))


def handed_on(candidate):
    """Returns the arguments of attention after x."""
    block = built(candidate, small())
    block.attention = Stub()
    block(draw(1, 3, 12), "the mask", "the table")
    return block.attention.rest


def at_first(candidate, x):
    """Returns the output of a new block, before any training."""
    with torch.no_grad():
        return new(candidate, small())(x, None, None)


def starts_at_zero(candidate):
    """Returns the names of the parameters that are zero in a new block."""
    found = new(candidate, small()).named_parameters()
    return sorted(name for name, each in found if not each.any() and "norm" not in name)


SHAPES = with_bias("attention_norm", 12) | with_bias("feed_forward_norm", 12)
SHAPES |= under("attention", self_attention.SHAPES) | under("feed_forward", feed_forward.SHAPES)
LAST = ("attention.output", "feed_forward.down")
given = small(), draw(2, 5, 12, seed=1), causal_mask(5), rotary_table(5, 4)
x = draw(2, 5, 12)

task.stage(
    "the four parts",
    case("differences from the parts of a block of width 12", small(), SHAPES, expected=[]),
    measure=differing,
    hint="The parts are called attention_norm, attention, feed_forward_norm and feed_forward: two "
    "`nn.LayerNorm(config.width)`, your `Attention(config)` and your `FeedForward(config)`.",
)
task.stage("the residual stream", the_stream, measure=seen)
task.stage(
    "mask and table",
    case("the arguments of attention after `x`", expected=["the mask", "the table"]),
    measure=handed_on,
    hint="Pass both on: `self.attention(…, mask, table)`.",
)
task.stage(
    "a new block does nothing",
    case("a new block, before any training", x, expected=x, tolerance=1e-6),
    measure=at_first,
    hint="Its output is its input, because the last layer of each part, `attention.output` and "
    "`feed_forward.down`, starts with a weight and a bias of 0, although `nn.Linear` draws both.",
)
task.stage(
    "the package's numbers",
    case(
        "the parameters that start at zero",
        measure=starts_at_zero,
        expected=[f"{layer}.{part}" for layer in LAST for part in ("bias", "weight")],
        hint="Only the two last layers start at zero: if all weights are 0, no gradient flows.",
    ),
    case("a block with random weights, a causal mask and a table", *given),
    same_gradients(Block, *given),
    case(
        "a block without a mask and a table",
        *(small(), x),
        hint="If `mask` and `table` are not given, they are None.",
    ),
    hint="The expected numbers are those of the package's block. Each part works alone: does "
    "`forward` give each layer its own norm, and do nothing else?",
)


def post_norm(self, x, *rest):
    x = self.attention_norm(x + self.attention(x, *rest))
    return self.feed_forward_norm(x + self.feed_forward(x))


def normed_stream(self, x, *rest):
    x = self.attention_norm(x)
    x = self.feed_forward_norm(x + self.attention(x, *rest))
    return x + self.feed_forward(x)


def without_a_stream(self, x, *rest):
    x = self.attention(self.attention_norm(x), *rest)
    return self.feed_forward(self.feed_forward_norm(x))


task.mistakes(
    (
        "This is post-norm: the norms come after the layers. Write `x + layer(norm(x))`, so that "
        "each layer reads the norm of the stream.",
        otherwise(Block, forward=post_norm),
    ),
    (
        "This code replaces the stream with its norm: pass the norm's result to the layer only, "
        "`x + layer(norm(x))`.",
        otherwise(Block, forward=normed_stream),
    ),
    (
        "This code replaces the stream with the output of each layer: add the output to `x`.",
        otherwise(Block, forward=without_a_stream),
    ),
)
