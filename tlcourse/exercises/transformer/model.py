"""Lesson 02: the whole model, from tokens to logits."""

import math
import re
from dataclasses import replace

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed, expect_type
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import (
    IMPORTS,
    all_gradients,
    built,
    device,
    differing,
    moved,
    new,
    otherwise,
    small,
    under,
    with_bias,
)
from tlcourse.exercises.transformer.block import SHAPES as OF_A_BLOCK
from tlcourse.exercises.transformer.block import Block
from tlcourse.exercises.transformer.combined_mask import combined_mask
from tlcourse.transformer import as_transformer, rotary_table

task = Exercise(
    __name__,
    number="2.7",
    title="The model",
    difficulty=3,
    importance=5,
    minutes=25,
    hints=(
        "Three parts have weights: `nn.Embedding(config.vocabulary_size, config.width)`, "
        "`nn.ModuleList(Block(config) for _ in range(config.layers))` and "
        "`nn.LayerNorm(config.width)`.",
        "`hidden` makes mask and table once, takes the embeddings of the tokens, hands them "
        "through one block after the other, and norms what comes out.",
        "Where `padding_mask` is None, every token counts: `torch.ones_like(tokens, "
        "dtype=torch.bool)`. `combined_mask(is_token, self.config.causal)` is the mask, and "
        "`rotary_table(length, head_dim, tokens.device)` the table (None without rotary).",
        "Logits are products with every row of the embedding: `hidden @ self.embedding.weight.T`. "
        "`nn.init.normal_(self.embedding.weight, std=0.02)` makes them small at the start.",
    ),
    imports=IMPORTS,
    builds_on=("transformer.block", "transformer.combined_mask"),
)


@task.reference
class Model(nn.Module):
    """(batch, length) tokens to (batch, length, vocabulary) logits."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary_size, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        nn.init.normal_(self.embedding.weight, std=0.02)

    def hidden(self, tokens, padding_mask=None):
        if padding_mask is None:
            padding_mask = torch.ones_like(tokens, dtype=torch.bool)
        mask, table = combined_mask(padding_mask, self.config.causal), None
        if self.config.rotary:
            head_dim = self.config.width // self.config.heads
            table = rotary_table(tokens.shape[1], head_dim, tokens.device)
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, mask, table)
        return self.norm(x)

    def logits(self, hidden):
        return hidden @ self.embedding.weight.T

    def forward(self, tokens, padding_mask=None):
        return self.logits(self.hidden(tokens, padding_mask))


def at_tokens(model, method, ids, is_token=None):
    """What a method of a model gives, without the pads where there are some."""
    with torch.no_grad():
        got = getattr(model, method)(ids, is_token)
    return got if is_token is None else got[is_token]


def result(candidate, config, *given):
    """What a method of a candidate with drawn weights gives."""
    return at_tokens(built(candidate, config), *given)


@task.truth
def by_the_package(config, *given):
    return at_tokens(as_transformer(built(Model, config).eval()), *given)


def shape(candidate, method, given):
    """The shape of what a method gives; likely errors of the mask are explained."""
    try:
        with torch.no_grad():
            got = getattr(built(candidate, small()), method)(given)
    except (AttributeError, RuntimeError, TypeError) as error:
        if "None" in str(error):
            error.add_note("Is `padding_mask` None here? Then every token counts.")
        if re.search("bitwise|boolean mask|operator.invert|dtype to be bool", str(error)):
            raise CheckFailed(
                check=f"`{method}` without a padding mask",
                yours=f"raised {type(error).__name__}: {error}",
                expected="a tensor",
                why="One of your masks is not boolean. Where `padding_mask` is None, make it by "
                "`torch.ones_like(tokens, dtype=torch.bool)`.",
            ) from error
        raise
    expect_type(got, torch.Tensor, f"`{method}`")
    return tuple(got.shape)


def first_loss(candidate):
    """The mean loss of a new model on random tokens, in nats."""
    ids = torch.randint(500, (4, 16), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        logits = new(candidate, small(vocabulary_size=500, width=96))(ids[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).item()


def at_a_pad(candidate, config, ids, is_token):
    """By how much logits of tokens move at most when other tokens stand at the pads."""
    model, other = built(candidate, config), ids.masked_fill(~is_token, 7)
    logits, moved = (at_tokens(model, "forward", each, is_token) for each in (ids, other))
    return round((logits - moved).abs().max().item(), 4)


def on_meta(candidate, ids, is_token):
    """The device of the logits of a model that is on `meta`."""
    model = built(candidate, small()).to("meta")
    return device(lambda: model(ids.to("meta"), is_token.to("meta")))


def tokens(*shape, seed=0):
    return torch.randint(40, shape, generator=torch.Generator().manual_seed(seed))


SHAPES = {"embedding.weight": (40, 12)} | with_bias("norm", 12)
SHAPES |= under("blocks.0", OF_A_BLOCK) | under("blocks.1", OF_A_BLOCK)
is_token = torch.arange(6) < torch.tensor([4, 6])[:, None]
ids = tokens(2, 6, seed=2)  # there is a 0 among them
both_sides, bare = small(causal=False), small(causal=False, rotary=False)
LOGITS = "Logits are the products of the hidden states with the embedding's rows."

task.stage(
    "the parts",
    case(
        "differences from the parameters expected for 2 layers, width 12, 40 tokens",
        *(small(), SHAPES),
        measure=differing,
        expected=[],
        hint="The parts are called embedding, blocks and norm: an `nn.Embedding`, an "
        "`nn.ModuleList` of as many blocks as `config.layers` says, an `nn.LayerNorm`.",
    ),
    case(
        "the configuration that the model keeps",
        measure=lambda candidate: getattr(new(candidate, small()), "config", None),
        expected=small(),
        hint="`__init__` keeps it: `self.config = config`.",
    ),
)
task.stage(
    "shapes",
    case(
        "the shape of `hidden` of 2 texts of 5 tokens",
        *("hidden", tokens(2, 5)),
        expected=(2, 5, 12),
        hint="`hidden` returns what the last norm returns: a vector of `config.width` per token.",
    ),
    case(
        "the shape of `logits` of hidden states (2, 5, 12)",
        *("logits", torch.ones(2, 5, 12)),
        expected=(2, 5, 40),
        hint="`logits` multiplies hidden states with the embedding's matrix, transposed.",
    ),
    case(
        "the shape of `forward` of 2 texts of 5 tokens",
        *("forward", tokens(2, 5)),
        expected=(2, 5, 40),
        hint="`forward` returns logits: `self.logits(self.hidden(tokens, padding_mask))`.",
    ),
    measure=shape,
)
task.stage(
    "a new model knows nothing",
    case("the mean loss of a new model of 500 tokens, in nats", expected=math.log(500)),
    measure=first_loss,
    tolerance=0.06,
    hint="Guessing has a loss of ln 500. If yours is higher, the logits are too large: embeddings "
    "start small, with a standard deviation of 0.02.",
)
task.stage(
    "who sees whom",
    case(
        "the positions whose logits move with token 3 of 6, `config.causal` being True",
        *(small(), tokens(1, 6), 3),
        expected=[3, 4, 5],
        hint="Position 3 and those after it see token 3, those before it do not. Is the mask "
        "handed to the blocks?",
    ),
    case(
        "the positions whose logits move with token 3 of 6, `config.causal` being False",
        *(both_sides, tokens(1, 6), 3),
        expected=[*range(6)],
        hint="Every position sees every token. Hand `config.causal` on to your mask.",
    ),
    measure=moved,
)
task.stage(
    "padding",
    case(
        "the largest change of a token's logits when the pads are other tokens",
        *(both_sides, tokens(2, 6, seed=1), is_token),
        expected=0.0,
    ),
    measure=at_a_pad,
    hint="No token looks at a pad: `padding_mask` goes into the mask.",
)
task.stage(
    "the package's numbers",
    case("`hidden`, causal, with padding", small(), "hidden", ids, is_token),
    case("`forward`, causal, with padding", small(), "forward", ids, is_token, hint=LOGITS),
    case(
        "`hidden`, not causal, without a padding mask",
        *(both_sides, "hidden", ids),
        hint="Where `padding_mask` is None, every position is a token, even one whose id is 0.",
    ),
    case(
        "`hidden` where `config.rotary` is False",
        *(bare, "hidden", ids),
        expected=result(Model, bare, "hidden", ids),
        hint="The blocks get None in place of the table.",
    ),
    all_gradients(both_sides, ids),
    measure=result,
    tolerance=1e-3,
    hint="The stream goes through all blocks in their order, and once through the last norm.",
)
task.stage(
    "on the device of the tokens",
    case("the device of the logits, all else being on `meta`", ids, is_token, expected="meta"),
    measure=on_meta,
    hint="Mask or table are made on the CPU wherever the tokens are, which would stop on a GPU. "
    "`rotary_table` takes a device: `tokens.device`.",
)


def begun(change):
    """A wrong answer: what `change(model, config)` makes of a new reference."""

    def init(self, config):
        Model.__init__(self, config)
        change(self, config)

    return otherwise(Model, __init__=init)


def as_if(**changes):
    """A wrong answer whose `hidden` takes the configuration to have these changes."""

    def hidden(self, tokens, padding_mask=None):
        config, self.config = self.config, replace(self.config, **changes)
        states = Model.hidden(self, tokens, padding_mask)
        self.config = config
        return states

    return otherwise(Model, hidden=hidden)


def in_a_list(model, config):
    blocks = list(model.blocks)
    del model.blocks
    model.blocks = blocks


def one_block_many_times(model, config):
    model.blocks = nn.ModuleList([model.blocks[0]] * config.layers)


task.mistakes(
    (
        "There is one block only, perhaps because `[Block(config)] * layers` repeats one and the "
        "same. Build each: `nn.ModuleList(Block(config) for _ in range(config.layers))`.",
        begun(one_block_many_times),
    ),
    ("A plain list hides its modules from PyTorch; `nn.ModuleList` does not.", begun(in_a_list)),
    (
        "The head has a matrix of its own. Here it is tied: it is the embedding's, used again.",
        begun(lambda model, config: setattr(model, "head", nn.Linear(12, 40, bias=False))),
    ),
    ("Positions are missing: no table was handed to the blocks.", as_if(rotary=False)),
)
