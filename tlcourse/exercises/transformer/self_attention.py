"""Lesson 02: self-attention with heads, QK-norm and rotary positions (Vaswani et al., 2017)."""

from types import SimpleNamespace

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.looking._weights import counted
from tlcourse.exercises.task import Exercise
from tlcourse.exercises.transformer._attention_mistakes import MISTAKES, Steps
from tlcourse.exercises.transformer._parts import (
    IMPORTS,
    differing,
    draw,
    linear,
    out,
    randomise,
    small,
    without_gradient,
)
from tlcourse.exercises.transformer.attention import attention
from tlcourse.exercises.transformer.rotate import rotate
from tlcourse.transformer import causal_mask, padding_mask, rotary_table

task = Exercise(
    __name__,
    number="2.4",
    title="Self-attention with heads",
    difficulty=3,
    minutes=25,
    hints=(
        "write the shape behind every line. Which one has to be (batch, heads, length, head_dim)?",
        "`self.query(x).view(batch, length, heads, head_dim).transpose(1, 2)`, and the same for "
        "keys and values. At the end the way back: `.transpose(1, 2).reshape(batch, length, "
        "width)`, then the output layer.",
        "between the two: `if config.qk_norm`, `F.rms_norm(query, query.shape[-1:])` and the same "
        "for the key; `if table is not None`, `rotate` both; then your `attention` with the mask.",
    ),
    imports=IMPORTS,
    builds_on=("transformer.attention", "transformer.rotate"),
)


@task.reference
class Attention(nn.Module):
    """(batch, length, width) to the same: heads that look around, each in its own way."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.query = nn.Linear(config.width, config.width)
        self.key = nn.Linear(config.width, config.width)
        self.value = nn.Linear(config.width, config.width)
        self.output = nn.Linear(config.width, config.width)

    def forward(self, x, mask=None, table=None):
        batch, length, width = x.shape
        heads = batch, length, self.config.heads, width // self.config.heads
        query = self.query(x).view(heads).transpose(1, 2)
        key = self.key(x).view(heads).transpose(1, 2)
        value = self.value(x).view(heads).transpose(1, 2)
        if self.config.qk_norm:
            query, key = F.rms_norm(query, query.shape[-1:]), F.rms_norm(key, key.shape[-1:])
        if table is not None:
            query, key = rotate(query, table), rotate(key, table)
        mixed = attention(query, key, value, mask)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))


@task.right
class OneHeadAfterTheOther(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.norm = config.heads, config.qk_norm
        layers = [nn.Linear(config.width, config.width) for _ in range(4)]
        self.query, self.key, self.value, self.output = layers

    def forward(self, x, mask=None, table=None):
        mask = mask[:, 0] if mask is not None and mask.dim() == 4 else mask
        parts = (layer(x).chunk(self.heads, dim=-1) for layer in (self.query, self.key, self.value))
        found = []
        for query, key, value in zip(*parts, strict=True):
            if self.norm:
                query, key = (a * a.square().mean(-1, True).rsqrt() for a in (query, key))
            if table is not None:
                query, key = rotate(query, table), rotate(key, table)
            found.append(attention(query, key, value, mask))
        return self.output(torch.cat(found, dim=-1))


@task.right
class ByTheLibrary(Attention):
    def forward(self, x, mask=None, table=None):
        parts = self.query(x), self.key(x), self.value(x)
        query, key, value = (a.unflatten(-1, (self.config.heads, -1)).mT for a in parts)
        query, key, value = (a.permute(0, 3, 1, 2) for a in (query, key, value))
        if table is not None:
            query, key = rotate(query, table), rotate(key, table)
        if self.config.qk_norm:  # turning changes no length, so it may come first
            query, key = (F.rms_norm(a, a.shape[-1:]) for a in (query, key))
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.output(mixed.permute(0, 2, 1, 3).flatten(2))


LAYERS = ("query", "key", "value", "output")
PLAIN = {"qk_norm": False, "rotary": False}


def expected(config, x, mask=None, table=None):
    """The truth in double precision: head by head, query by query, one score for each key."""
    size, own = config.width // config.heads, {}
    for name in LAYERS:
        own[name] = nn.Linear(config.width, config.width)
    layers = randomise(nn.ModuleDict(own))
    keep = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool) if mask is None else mask
    parts = SimpleNamespace(config=config, query=layers["query"], key=layers["key"])
    weights = counted(parts, x, keep, table)
    with torch.no_grad():
        values = layers["value"](x).double().split(size, dim=-1)
        mixed = [weights[:, head] @ value for head, value in enumerate(values)]
        return layers["output"](torch.cat(mixed, dim=-1).float())


@task.stage("the four layers")
def layers(candidate):
    shapes = {part: size for each in LAYERS for part, size in linear(each, 12, 12).items()}
    task.observe(
        candidate, differing, small(), shapes, gives=[],
        what="width 12: what is different about the layers",
        likely="They are called query, key, value and output, each "
        "`nn.Linear(config.width, config.width)`, and nothing else has weights.",
    )  # fmt: skip


@task.stage("one head")
def one_head(candidate):
    config, x = small(heads=1, **PLAIN), draw(2, 5, 12)
    task.observe(
        candidate, out, config, x, gives=expected(config, x), tolerance=1e-4,
        what="one head, no mask, no table",
        likely="Query, key and value go through your `attention`, and what it gives through the "
        "output layer.",
    )  # fmt: skip


@task.stage("three heads")
def heads(candidate):
    config, x = small(**PLAIN), draw(2, 5, 12, seed=1)
    task.observe(
        candidate, out, config, x, gives=expected(config, x), tolerance=1e-4,
        what="three heads of width 4",
        likely="Head 0 has features 0 to 3 of every token, head 1 the next four: view as (batch, "
        "length, heads, head_dim), then transpose dimensions 1 and 2. At the end the same way "
        "back.",
    )  # fmt: skip


@task.stage("the mask")
def masked(candidate):
    config, x = small(**PLAIN), draw(2, 5, 12, seed=2)
    mask = causal_mask(5) & padding_mask(torch.tensor([5, 3]), 5)[:, None, None, :]
    task.observe(
        candidate, out, config, x, mask, gives=expected(config, x, mask), tolerance=1e-4,
        what="a causal mask with padding", likely="Hand `mask` on to your `attention`.",
    )  # fmt: skip


@task.stage("QK-norm")
def normed(candidate):
    config, x = small(rotary=False), draw(2, 5, 12, seed=3)
    task.observe(
        candidate, out, config, x, gives=expected(config, x), tolerance=1e-3,
        what="config.qk_norm is True: three heads, no table",
        likely="After the cut into heads each query and each key is divided by the root of its "
        "mean square: `F.rms_norm(query, query.shape[-1:])`. Values are not.",
    )  # fmt: skip


@task.stage("rotary positions")
def positions(candidate):
    config, x, table = small(qk_norm=False), draw(2, 5, 12, seed=4), rotary_table(5, 4)
    task.observe(
        candidate, out, config, x, None, table, gives=expected(config, x, None, table),
        what="a table of angles, no mask", tolerance=1e-3,
        likely="If there is a table, queries and keys are turned, values are not.",
    )  # fmt: skip


@task.stage("all together")
def whole(candidate):
    config, x = small(), draw(2, 6, 12, seed=5)
    mask, table = causal_mask(6), rotary_table(6, 4)
    task.observe(
        candidate, out, config, x, mask, table, gives=expected(config, x, mask, table),
        what="QK-norm, a table and a causal mask", tolerance=1e-3,
    )  # fmt: skip
    task.observe(
        candidate, without_gradient, config, x, mask, table, gives=[],
        what="the parameters that no gradient reaches",
    )  # fmt: skip


class Faulty(Attention):
    """The reference with some step done otherwise, see `_attention_mistakes`."""

    steps = Steps()

    def forward(self, x, mask=None, table=None):
        do, heads = self.steps, self.config.heads
        query, key, value = do.project(self, x)
        query, key = do.before(query, key, self.config.qk_norm)
        query, key, value = (do.cut(a, heads) for a in (query, key, value))
        query, key, value = do.norm(query, key, value, self.config.qk_norm)
        if table is not None:
            query, key, value = do.turn(query, key, value, table)
        return do.end(self.output, do.join(attention(query, key, value, do.mask_of(mask))))


for stage, says, steps in MISTAKES:
    task.mistake(stage, says)(type("Faulty", (Faulty,), {"steps": steps}))
