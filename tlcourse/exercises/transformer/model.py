"""Lesson 02: the whole model, from tokens to logits."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed
from tlcourse.exercises.task import Exercise
from tlcourse.exercises.transformer._model_looks import (
    IS_TOKEN,
    at_a_pad,
    first_loss,
    moved,
    on_meta,
    result,
    shape_of,
    tokens,
)
from tlcourse.exercises.transformer._model_mistakes import MISTAKES, NO_TABLE, Steps
from tlcourse.exercises.transformer._parts import (
    IMPORTS,
    built,
    differing,
    model_shapes,
    new,
    small,
)
from tlcourse.exercises.transformer.block import Block
from tlcourse.exercises.transformer.combined_mask import combined_mask
from tlcourse.transformer import as_transformer, rotary_table

task = Exercise(
    __name__,
    number="2.7",
    title="The model",
    difficulty=3,
    minutes=25,
    hints=(
        "three parts have weights: `nn.Embedding(config.vocabulary_size, config.width)`, "
        "`nn.ModuleList(Block(config) for _ in range(config.layers))`, "
        "`nn.LayerNorm(config.width)`.",
        "`hidden` makes mask and table once, takes the embeddings of the tokens, hands them "
        "through one block after the other, and norms what comes out.",
        "where `padding_mask` is None, every token counts: `torch.ones_like(tokens, "
        "dtype=torch.bool)`. `combined_mask(is_token, self.config.causal)` is the mask, "
        "`rotary_table(length, head_dim, tokens.device)` the table (no rotary: None).",
        "logits are products with every row of the embedding: `hidden @ self.embedding.weight.T`. "
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


@task.right
class WithATableOfItsOwn(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, size = config, config.width // config.heads
        self.embedding = nn.Embedding(config.vocabulary_size, config.width)
        self.embedding.weight.data.mul_(0.02)
        self.blocks = nn.ModuleList()
        for _ in range(config.layers):
            self.blocks.append(Block(config))
        self.norm = nn.LayerNorm(config.width)
        for name, each in zip(
            ("cosine", "sine"), rotary_table(config.max_length, size), strict=True
        ):
            self.register_buffer(name, each)

    def hidden(self, tokens, padding_mask=None):
        length = tokens.shape[1]
        keep = combined_mask(
            tokens == tokens if padding_mask is None else padding_mask, self.config.causal
        )
        table = (self.cosine[:length], self.sine[:length]) if self.config.rotary else None
        states = self.embedding(tokens)
        for block in self.blocks:
            states = block(states, keep, table)
        return self.norm(states)

    def logits(self, hidden):
        return F.linear(hidden, self.embedding.weight)

    def forward(self, tokens, padding_mask=None):
        return self.logits(self.hidden(tokens, padding_mask))


@task.right
class FromNumbers(Model):
    def __init__(self, config):
        super().__init__(config)
        nn.init.uniform_(self.embedding.weight, -0.03, 0.03)

    def hidden(self, tokens, padding_mask=None):
        batch, length = tokens.shape
        keep = torch.ones(batch, 1, length, length, dtype=torch.bool, device=tokens.device)
        keep = keep.tril() if self.config.causal else keep
        if padding_mask is not None:
            keep = keep & padding_mask[:, None, None]
        head_dim = self.config.width // self.config.heads
        table = rotary_table(length, head_dim, tokens.device) if self.config.rotary else None
        x = self.embedding(tokens)
        for number in range(self.config.layers):
            x = self.blocks[number](x, keep, table)
        return self.norm(x)


@task.stage("the parts")
def parts(candidate):
    task.observe(
        candidate, differing, small(), model_shapes(small()), gives=[],
        what="2 layers, width 12, 40 tokens: what is different about the parameters",
        likely="The parts are called embedding, blocks and norm: an `nn.Embedding`, an "
        "`nn.ModuleList` of as many blocks as `config.layers` says, an `nn.LayerNorm`.",
    )  # fmt: skip
    if getattr(new(candidate, small()), "config", None) != small():
        raise CheckFailed("the model does not keep its configuration: `self.config = config`.")


@task.stage("shapes")
def shape(candidate):
    for method, given, gives, what in (
        ("hidden", tokens(2, 5), (2, 5, 12), "`hidden` of 2 texts of 5 tokens"),
        ("logits", torch.ones(2, 5, 12), (2, 5, 40), "`logits` of hidden states (2, 5, 12)"),
        ("forward", tokens(2, 5), (2, 5, 40), "`forward` of 2 texts of 5 tokens"),
    ):
        task.observe(candidate, shape_of, method, given, gives=gives, what=f"{what}: the shape")


@task.stage("a new model knows nothing")
def start(candidate):
    loss = first_loss(candidate)
    task.observe(
        candidate, first_loss, gives=math.log(500), tolerance=0.06,
        what=f"a new model with 500 tokens: its mean loss ({loss}, where guessing has ln 500)",
        likely="Its logits are too large: it is sure of itself and wrong. Embeddings start small, "
        "with a standard deviation of 0.02.",
    )  # fmt: skip


@task.stage("who sees whom")
def seen(candidate):
    what = "token 3 of 6 was changed: the positions whose logits moved"
    likely = "It is causal: position 3 and those after it see token 3, those before it do not."
    told = {"what": f"config.causal is True; {what}", "likely": likely}
    task.observe(candidate, moved, small(), tokens(1, 6), 3, gives=[3, 4, 5], **told)
    likely = "It is not causal: every position sees every token."
    told = {"what": f"config.causal is False; {what}", "likely": likely}
    both_sides = small(causal=False)
    task.observe(candidate, moved, both_sides, tokens(1, 6), 3, gives=[*range(6)], **told)


@task.stage("padding")
def padding(candidate):
    task.observe(
        candidate, at_a_pad, small(causal=False), tokens(2, 6, seed=1), IS_TOKEN, gives=0.0,
        what="config.causal is False; other tokens at the pads: the largest change of a logit at "
        "the tokens", likely="No token looks at a pad: `padding_mask` goes into the mask.",
    )  # fmt: skip


@task.stage("the package's numbers")
def whole(candidate):
    likely = {
        "hidden": "The stream goes through all blocks in their order, and once through the last "
        "norm.",
        "forward": "Logits are the products of the hidden states with the embedding's rows.",
    }
    for causal in (True, False):
        config, ids = small(causal=causal), tokens(2, 6, seed=2)
        theirs = as_transformer(built(Model, config).eval())
        for method in ("hidden", "forward"):
            with torch.no_grad():
                right = getattr(theirs, method)(ids, IS_TOKEN)[IS_TOKEN]

            def at_tokens(candidate, *given):
                return result(candidate, *given)[IS_TOKEN]

            task.observe(
                candidate, at_tokens, method, config, ids, IS_TOKEN, gives=right, tolerance=1e-3,
                what=f"`{method}`, causal is {causal}, with padding", likely=likely[method],
            )  # fmt: skip
    bare = small(rotary=False)
    task.observe(
        candidate, result, "hidden", bare, ids, gives=result(Model, "hidden", bare, ids),
        what="`hidden`, config.rotary is False", tolerance=1e-3, likely=NO_TABLE,
    )  # fmt: skip
    found = built(candidate, config)(ids).square().sum()
    found.backward()


@task.stage("on the device of the tokens")
def device(candidate):
    if on_meta(candidate) != "meta":
        raise CheckFailed(
            "all numbers are right, but mask or table are made on the CPU wherever the tokens are, "
            "and would stop on a GPU. `rotary_table` takes a device: `tokens.device`."
        )


class Faulty(Model):
    """The reference with some step done otherwise, see `_model_mistakes`."""

    steps = Steps()

    def __init__(self, config):
        super().__init__(config)
        self.steps.init(self, config)

    def hidden(self, tokens, padding_mask=None):
        do = self.steps
        is_token = torch.ones_like(tokens).bool() if padding_mask is None else padding_mask
        keep = do.mask(is_token, self.config.causal)
        size = tokens.shape[1], self.config.width // self.config.heads
        angles = do.table(*size, tokens.device) if do.rotates(self.config) else None
        x = do.start(self.embedding(tokens))
        for block in do.order(self.blocks):
            x = block(x, keep, angles)
        return do.end(self, x)

    def logits(self, hidden):
        return self.steps.logits(self, hidden)


for stage, says, steps in MISTAKES:
    task.mistake(stage, says)(type("Faulty", (Faulty,), {"steps": steps}))
