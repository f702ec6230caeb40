"""Lesson 02: the whole model, from tokens to logits."""

import math
import re

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.expect import expect_type
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import (
    IMPORTS,
    built,
    device,
    differing,
    draw,
    moved,
    new,
    otherwise,
    same_gradients,
    small,
    under,
    with_bias,
)
from tlcourse.exercises.transformer.block import SHAPES as OF_A_BLOCK
from tlcourse.exercises.transformer.block import Block
from tlcourse.exercises.transformer.combined_mask import combined_mask
from tlcourse.exercises.variants import varying
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
        "`hidden` creates mask and table once, looks up the embeddings of the tokens, applies one "
        "block after the other, and norms the result.",
        "If `padding_mask` is None, every token counts: `torch.ones_like(tokens, "
        "dtype=torch.bool)`. `combined_mask(is_token, self.config.causal)` is the mask, and "
        "`rotary_table(length, head_dim, tokens.device)` the table (None without rotary).",
        "Logits are products with all rows of the embedding: `hidden @ self.embedding.weight.T`. "
        "`nn.init.normal_(self.embedding.weight, std=0.02)` makes them small at the start.",
    ),
    imports=IMPORTS,
    builds_on=("transformer.block", "transformer.combined_mask"),
)


@task.reference
class Model(nn.Module):
    """Maps tokens (batch, length) to logits (batch, length, vocabulary)."""

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
    """Returns the result of a model's method, without the pads if there are any."""
    with torch.no_grad():
        got = getattr(model, method)(ids, is_token)
    return got if is_token is None else got[is_token]


def result(candidate, config, *given):
    """Returns the result of a method of a candidate with drawn weights."""
    return at_tokens(built(candidate, config), *given)


@task.truth
def by_the_package(config, *given):
    return at_tokens(as_transformer(built(Model, config).eval()), *given)


def shape(candidate, method, given):
    """Returns the shape of a method's result; adds notes to likely errors of the mask."""
    try:
        with torch.no_grad():
            got = getattr(built(candidate, small()), method)(given)
    except (AttributeError, RuntimeError, TypeError) as error:
        if "None" in str(error):
            error.add_note("Is `padding_mask` None here? Then every token counts.")
        if re.search("bitwise|boolean mask|operator.invert|dtype to be bool", str(error)):
            error.add_note(
                "One of your masks is not boolean. If `padding_mask` is None, create it with "
                "`torch.ones_like(tokens, dtype=torch.bool)`."
            )
        raise
    expect_type(got, torch.Tensor, f"`{method}`")
    return tuple(got.shape)


def shaped(method, what, given, expected, hint):
    return case(f"the shape of `{method}` of {what}", method, given, expected=expected, hint=hint)


def through_the_blocks(candidate, x):
    """Returns the output of a new model's blocks, one after the other, of x."""
    with torch.no_grad():
        for block in new(candidate, small()).blocks:
            x = block(x, None, None)
    return x


def first_loss(candidate):
    """Returns the mean loss of a new model on random tokens, in nats."""
    ids = torch.randint(500, (4, 16), generator=torch.Generator().manual_seed(varying(1)))
    with torch.no_grad():
        logits = new(candidate, WIDE)(ids[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).item()


def at_a_pad(candidate, config, ids, is_token):
    """Returns the largest change in the tokens' logits if the pads are other tokens."""
    model, other = built(candidate, config), ids.masked_fill(~is_token, 7)
    logits, moved = (at_tokens(model, "forward", each, is_token) for each in (ids, other))
    return round((logits - moved).abs().max().item(), 4)


def on_meta(candidate, *given):
    """Returns the device of the logits of a model that is on `meta`."""
    model = built(candidate, small()).to("meta")
    return device(lambda: model(*(each.to("meta") for each in given)))


def tokens(*shape, seed=0):
    """Returns ids of the 40 tokens but the last, so that another token is one larger."""
    return torch.randint(39, shape, generator=torch.Generator().manual_seed(varying(seed)))


SHAPES = {"embedding.weight": (40, 12)} | with_bias("norm", 12)
SHAPES |= under("blocks.0", OF_A_BLOCK) | under("blocks.1", OF_A_BLOCK)
is_token = torch.arange(6) < torch.tensor([4, 6])[:, None]
ids = tokens(2, 6, seed=3)  # there is a 0 among them
x, WIDE = draw(2, 5, 12), small(vocabulary_size=500, width=96)
both_sides, bare = small(causal=False), small(causal=False, rotary=False)
EVERY_WEIGHT = "Every weight learns: leave out `no_grad`, `.detach()` and `padding_idx`."
MATRIX = "`logits` multiplies hidden states with the embedding's matrix, transposed."
LOGITS = "Logits are the products of the hidden states with the embedding's rows."

task.stage(
    "the parts",
    case(
        "differences from the parameters expected for 2 layers, width 12, 40 tokens",
        *(small(), SHAPES),
        measure=differing,
        expected=[],
        hint="The parts are called embedding (an `nn.Embedding`), blocks (an `nn.ModuleList` "
        "of `config.layers` blocks) and norm (an `nn.LayerNorm`). Nothing else has weights.",
    ),
    case(
        "the configuration that the model stores",
        measure=lambda candidate: getattr(new(candidate, small()), "config", None),
        expected=small(),
        hint="Store it in `__init__`: `self.config = config`.",
    ),
)
task.stage(
    "shapes",
    shaped(
        "hidden",
        *("2 texts of 5 tokens", tokens(2, 5), (2, 5, 12)),
        "`hidden` returns what the last norm returns: a vector of `config.width` per token.",
    ),
    shaped("logits", "hidden states (2, 5, 12)", torch.ones(2, 5, 12), (2, 5, 40), MATRIX),
    shaped("logits", "hidden states (5, 12)", torch.ones(5, 12), (5, 40), MATRIX),
    shaped(
        "forward",
        *("2 texts of 5 tokens", tokens(2, 5), (2, 5, 40)),
        "`forward` returns logits: `self.logits(self.hidden(tokens, padding_mask))`.",
    ),
    measure=shape,
)
task.stage(
    "a new model knows nothing",
    case(
        "the mean loss of a new model of 500 tokens, in nats",
        expected=math.log(500),
        measure=first_loss,
        tolerance=0.06,
        hint="The loss of guessing is ln 500. If yours is higher, the logits are too large: "
        "initialise the embedding with a standard deviation of 0.02.",
    ),
    case(
        "the standard deviation of a new embedding",
        expected=0.02,
        measure=lambda candidate: new(candidate, WIDE).embedding.weight.std().item(),
        tolerance=0.005,
        hint="Call `nn.init.normal_(self.embedding.weight, std=0.02)`.",
    ),
    case(
        "random numbers, after all blocks of a new model",
        x,
        expected=x,
        measure=through_the_blocks,
        tolerance=1e-6,
        hint="Each new block returns its input: initialise the embedding only, and leave the "
        "other parameters as their modules set them.",
    ),
)
task.stage(
    "who sees whom",
    case(
        "the positions whose logits change with token 3 of 6 if `config.causal` is True",
        *(small(), tokens(1, 6), 3),
        expected=[3, 4, 5],
        hint="Position 3 and those after it see token 3, but those before it do not. Do you pass "
        "the mask to the blocks?",
    ),
    case(
        "the positions whose logits change with token 3 of 6 if `config.causal` is False",
        *(both_sides, tokens(1, 6), 3),
        expected=[*range(6)],
        hint="Every position sees every token. Pass `config.causal` to your mask.",
    ),
    measure=moved,
)
task.stage(
    "padding",
    case(
        "the largest change in a token's logits if the pads are other tokens",
        *(both_sides, tokens(2, 6, seed=1), is_token),
        expected=0.0,
    ),
    measure=at_a_pad,
    hint="No token may look at a pad: use `padding_mask` in the mask.",
)
task.stage(
    "the package's numbers",
    case("`hidden`, causal, with padding", small(), "hidden", ids, is_token),
    case("`forward`, causal, with padding", small(), "forward", ids, is_token, hint=LOGITS),
    case(
        "`hidden`, not causal, without a padding mask",
        *(both_sides, "hidden", ids),
        hint="If `padding_mask` is None, every position is a token, even one whose id is 0.",
    ),
    case(
        "`hidden` if `config.rotary` is False",
        *(bare, "hidden", ids),
        expected=result(Model, bare, "hidden", ids),
        hint="Pass None instead of the table to the blocks.",
    ),
    same_gradients(Model, both_sides, ids, hint=EVERY_WEIGHT),
    measure=result,
    tolerance=1e-3,
    hint="Apply all blocks in their order, each with the mask and the table of positions, and "
    "apply the last norm once.",
)
task.stage(
    "on the device of the tokens",
    case("the device of the logits of a model on `meta`", ids, is_token, expected="meta"),
    case("the same without `padding_mask`", ids, expected="meta"),
    measure=on_meta,
    hint="The mask or the table is always created on the CPU, which would stop on a GPU. "
    "`rotary_table` takes a device: `tokens.device`.",
)


def begun(change):
    """Returns a wrong answer: `change(model, config)` is applied to a new reference."""

    def init(self, config):
        Model.__init__(self, config)
        change(self, config)

    return otherwise(Model, __init__=init)


def in_a_list(model, config):
    blocks = list(model.blocks)
    del model.blocks
    model.blocks = blocks


def passes_no_table(model, config):
    for block in model.blocks:
        block.register_forward_pre_hook(lambda block, given: (*given[:2], None))


task.mistakes(
    (
        "Only one block has weights, perhaps because `[Block(config)] * layers` repeats one "
        "object: create each with `nn.ModuleList(Block(config) for _ in range(config.layers))`.",
        begun(lambda model, config: model.blocks.__delitem__(slice(1, None))),
    ),
    (
        "A plain list hides its modules from PyTorch: put the blocks into an `nn.ModuleList`.",
        begun(in_a_list),
    ),
    (
        "The head has a matrix of its own here: compute the logits with the embedding's matrix.",
        begun(lambda model, config: setattr(model, "head", nn.Linear(12, 40, bias=False))),
    ),
    (
        "The blocks are given no positions: pass them the table that `rotary_table` returns.",
        begun(passes_no_table),
    ),
)
