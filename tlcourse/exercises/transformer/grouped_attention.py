"""Lesson 02b: attention in which groups of heads share keys and values (Ainslie et al., 2023)."""

import torch
from torch import nn

from tlcourse.exercises.task import Exercise
from tlcourse.exercises.transformer._parts import (
    IMPORTS,
    differing,
    draw,
    out,
    randomise,
    without_gradient,
)
from tlcourse.exercises.transformer.attention import attention
from tlcourse.exercises.transformer.rotate import rotate
from tlcourse.transformer import causal_mask, rotary_table

task = Exercise(
    __name__,
    number="2b.5",
    title="Grouped heads",
    difficulty=3,
    minutes=20,
    hints=(
        "begin with your `Attention` of lesson 02: without biases and QK-norm, and with fewer "
        "features for keys and values.",
        "a head is `size = width // heads` wide. `self.key` and `self.value` lead from width to "
        "`groups * size`, and are cut into `groups` heads, the query into `heads`.",
        "before `attention`, every key and value head is needed once for each query head of its "
        "group: `key.repeat_interleave(heads // groups, dim=1)` gives 0 0 0 1 1 1.",
    ),
    imports=IMPORTS,
    builds_on=("transformer.attention", "transformer.rotate"),
)


@task.reference
class GroupedAttention(nn.Module):
    """(batch, length, width) to the same: query heads in groups, keys and values once a group."""

    def __init__(self, width, heads, groups):
        super().__init__()
        self.size = width // heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, groups * self.size, bias=False)
        self.value = nn.Linear(width, groups * self.size, bias=False)
        self.output = nn.Linear(width, width, bias=False)

    def forward(self, x, mask=None, table=None):
        parts = self.query(x), self.key(x), self.value(x)
        query, key, value = (p.unflatten(-1, (-1, self.size)).transpose(1, 2) for p in parts)
        if table is not None:
            query, key = rotate(query, table), rotate(key, table)
        times = query.shape[1] // key.shape[1]
        key, value = (part.repeat_interleave(times, dim=1) for part in (key, value))
        return self.output(attention(query, key, value, mask).transpose(1, 2).flatten(2))


@task.right
class WithADimensionForTheGroups(GroupedAttention):
    def forward(self, x, mask=None, table=None):
        parts = self.query(x), self.key(x), self.value(x)
        query, key, value = (p.unflatten(-1, (-1, self.size)).transpose(1, 2) for p in parts)
        if table is not None:
            query, key = rotate(query, table), rotate(key, table)
        query = query.unflatten(1, (key.shape[1], -1))  # (batch, groups, in a group, length, size)
        mask = mask[:, :, None] if mask is not None and mask.dim() == 4 else mask
        mixed = attention(query, key[:, :, None], value[:, :, None], mask)
        return self.output(mixed.flatten(1, 2).transpose(1, 2).flatten(2))


@task.right
class HeadByHead(GroupedAttention):
    def forward(self, x, mask=None, table=None):
        mask = mask[:, 0] if mask is not None and mask.dim() == 4 else mask
        queries, keys, values = (
            layer(x).split(self.size, dim=-1) for layer in (self.query, self.key, self.value)
        )
        found = []
        for head, query in enumerate(queries):
            group = head * len(keys) // len(queries)
            key = keys[group]
            if table is not None:
                query, key = rotate(query, table), rotate(key, table)
            found.append(attention(query, key, values[group], mask))
        return self.output(torch.cat(found, dim=-1))


SIZES = (24, 6, 2)  # heads of width 4; 0, 1 and 2 share the first keys
SHAPES = {
    "query.weight": (24, 24),
    "key.weight": (8, 24),
    "value.weight": (8, 24),
    "output.weight": (24, 24),
}


def expected(sizes, x, mask=None, table=None):
    """The truth in double precision: head by head, with the softmax written out."""
    width, heads, groups = sizes
    own, size, mixed = randomise(GroupedAttention(*sizes)).double(), width // heads, []
    query, key, value = (x.double() @ p.weight.T for p in (own.query, own.key, own.value))
    for head in range(heads):
        at = head // (heads // groups) * size
        one, two = query[..., head * size : (head + 1) * size], key[..., at : at + size]
        if table is not None:
            one, two = (rotate(each, [part.double() for part in table]) for each in (one, two))
        scores = one @ two.mT / size**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask[:, 0], -torch.inf)
        powers = (scores - scores.amax(-1, keepdim=True)).exp()
        weights = powers / powers.sum(-1, keepdim=True)
        mixed.append(weights @ value[..., at : at + size])
    return (torch.cat(mixed, dim=-1) @ own.output.weight.T).detach().float()


@task.stage("the four layers")
def layers(candidate):
    task.observe(
        candidate, differing, SIZES, SHAPES, gives=[],
        what="width 24, 6 heads, 2 groups: what is different about the layers",
        likely="A head is 24 / 6 = 4 features wide, so keys and values of 2 groups have 8. No "
        "layer has a bias.",
    )  # fmt: skip


@task.stage("a group for every head")
def plain(candidate):
    sizes, x = (12, 3, 3), draw(2, 5, 12)
    task.observe(
        candidate, out, sizes, x, gives=expected(sizes, x), tolerance=1e-4,
        what="3 heads in 3 groups, no mask, no table",
        likely="With as many groups as heads it is the attention of lesson 02, without biases and "
        "QK-norm.",
    )  # fmt: skip


@task.stage("shared keys and values")
def grouped(candidate):
    x = draw(2, 5, 24, seed=1)
    task.observe(
        candidate, out, SIZES, x, gives=expected(SIZES, x), tolerance=1e-4,
        what="6 heads in 2 groups",
        likely="Query heads 0, 1 and 2 share key and value head 0, heads 3, 4 and 5 share head 1.",
    )  # fmt: skip


@task.stage("the mask")
def masked(candidate):
    x, mask = draw(2, 5, 24, seed=2), causal_mask(5)[None, None].expand(2, 1, 5, 5)
    task.observe(
        candidate, out, SIZES, x, mask, gives=expected(SIZES, x, mask), tolerance=1e-4,
        what="a causal mask", likely="Hand `mask` on to your `attention`.",
    )  # fmt: skip


@task.stage("rotary positions")
def positions(candidate):
    x, table = draw(2, 5, 24, seed=3), rotary_table(5, 4)
    task.observe(
        candidate, out, SIZES, x, None, table, gives=expected(SIZES, x, None, table),
        what="a table of angles", tolerance=1e-3,
        likely="If there is a table, queries and keys are turned, values are not.",
    )  # fmt: skip
    task.observe(
        candidate, without_gradient, SIZES, x, None, table, gives=[],
        what="the parameters that no gradient reaches",
    )  # fmt: skip


def wrong(stage, says, *, share=None, turn=None, mask=True, join=None):
    """A known mistake: one step of the reference in another way."""

    class Faulty(GroupedAttention):
        def forward(self, x, keep=None, table=None):
            parts = self.query(x), self.key(x), self.value(x)
            parts = [p.unflatten(-1, (-1, self.size)).transpose(1, 2) for p in parts]
            if table is not None:
                parts = (turn or turned)(parts, table)
            query, key, value = parts
            times = query.shape[1] // key.shape[1]
            key, value = ((share or shared)(part, times) for part in (key, value))
            mixed = attention(query, key, value, keep if mask else None)
            return self.output((join or joined)(mixed))

    task.mistake(stage, says)(Faulty)


def shared(part, times):
    return part.repeat_interleave(times, dim=1)


def turned(parts, table):
    return rotate(parts[0], table), rotate(parts[1], table), parts[2]


def joined(mixed):
    return mixed.transpose(1, 2).flatten(2)


wrong(
    "a group for every head",
    "The heads are not brought back side by side: transpose heads and length first.",
    join=lambda mixed: mixed.reshape(mixed.shape[0], mixed.shape[2], -1),
)
wrong(
    "shared keys and values",
    "Heads 0, 2 and 4 share here: `repeat` gives 0 1 0 1 0 1, `repeat_interleave` 0 0 0 1 1 1.",
    share=lambda part, times: part.repeat(1, times, 1, 1),
)
wrong(
    "a group for every head",
    "All heads have the keys and values of group 0.",
    share=lambda part, times: part[:, :1].expand(-1, times * part.shape[1], -1, -1),
)
wrong("the mask", "Is the mask used?", mask=False)
wrong("rotary positions", "Is the table used?", turn=lambda parts, table: parts)
wrong(
    "rotary positions",
    "Values are turned, too: they have no position.",
    turn=lambda parts, table: [rotate(part, table) for part in parts],
)
wrong(
    "rotary positions",
    "Only the queries are turned: turn the keys as well.",
    turn=lambda parts, table: [rotate(parts[0], table), *parts[1:]],
)
