"""Lesson 02b: attention in which groups of heads share keys and values (Ainslie et al., 2023)."""

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import (
    IMPORTS,
    all_gradients,
    built,
    differing,
    draw,
    otherwise,
    out,
    same_gradient,
)
from tlcourse.exercises.transformer.attention import attention
from tlcourse.exercises.transformer.rotate import rotate
from tlcourse.transformer import causal_mask, rotary_table

task = Exercise(
    __name__,
    number="2b.5",
    title="Grouped heads",
    difficulty=3,
    importance=2,
    minutes=20,
    hints=(
        "Begin with your `Attention` of lesson 02: without biases and QK-norm, and with fewer "
        "features for keys and values.",
        "A head is `size = width // heads` wide. `self.key` and `self.value` lead from width to "
        "`groups * size`, and are cut into `groups` heads, the query into `heads`.",
        "Before `attention`, every key and value head is needed once for each query head of its "
        "group: `key.repeat_interleave(heads // groups, dim=1)` gives 0 0 0 1 1 1.",
    ),
    imports=IMPORTS,
    builds_on=("transformer.attention", "transformer.rotate"),
    measure=out,
    tolerance=1e-4,
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


@task.truth
def by_the_library(sizes, x, mask=None, table=None):
    """In double precision."""
    (width, heads, groups), own = sizes, built(GroupedAttention, sizes).double()
    parts = (layer(x.double()) for layer in (own.query, own.key, own.value))
    query, key, value = (p.unflatten(-1, (-1, width // heads)).transpose(1, 2) for p in parts)
    if table is not None:
        wide = [part.double() for part in table]
        query, key = rotate(query, wide), rotate(key, wide)
    of = [head * groups // heads for head in range(heads)]  # the group of each head
    mixed = F.scaled_dot_product_attention(query, key[:, of], value[:, of], mask)
    return own.output(mixed.transpose(1, 2).flatten(2)).detach()


SIZES = (24, 6, 2)  # heads of width 4; 0, 1 and 2 share the first keys
SHAPES = {f"{name}.weight": (24, 24) for name in ("query", "output")}
SHAPES |= {f"{name}.weight": (8, 24) for name in ("key", "value")}
x, table = draw(2, 5, 24), rotary_table(5, 4)
PADDED = causal_mask(5) & (torch.arange(5) < torch.tensor([[5], [3], [1]]))[:, None, None]

task.stage(
    "the four layers",
    case("differences from the layers of width 24, 6 heads, 2 groups", SIZES, SHAPES, expected=[]),
    measure=differing,
    hint="A head is 24 / 6 = 4 features wide, so keys and values of 2 groups have 8. No layer has "
    "a bias.",
)
task.stage(
    "a group for every head",
    case("3 heads in 3 groups, no mask, no table", (12, 3, 3), draw(2, 5, 12)),
    hint="With as many groups as heads this is the attention of lesson 02, without biases and "
    "QK-norm. Bring the heads back side by side (transpose heads and length) before `output`.",
)
task.stage(
    "shared keys and values",
    case("6 heads in 2 groups", SIZES, x),
    hint="Query heads 0, 1 and 2 share key and value head 0; heads 3, 4 and 5 share head 1.",
)
task.stage(
    "the mask",
    case("a causal mask of shape (5, 5)", SIZES, x, causal_mask(5)),
    case("3 texts of different lengths, padded, read causally", SIZES, draw(3, 5, 24), PADDED),
    hint="True means that a query may look at a key: hand `mask` on to `attention` as it is.",
)
task.stage(
    "rotary positions",
    case(
        "a table of angles and a causal mask of shape (5, 5)",
        *(SIZES, x, causal_mask(5), table),
        tolerance=1e-3,
    ),
    all_gradients(SIZES, x, None, table),
    same_gradient(GroupedAttention, SIZES, x, None, table),
    hint="If there is a table, rotate queries and keys, and keep what `rotate` returns. Values "
    "stay as they are, and the mask is still used.",
)


def repeats(self, x, mask=None, table=None):
    parts = (layer(x) for layer in (self.query, self.key, self.value))
    query, key, value = (p.unflatten(-1, (-1, self.size)).transpose(1, 2) for p in parts)
    key, value = (p.repeat(1, query.shape[1] // p.shape[1], 1, 1) for p in (key, value))
    return self.output(attention(query, key, value, mask).transpose(1, 2).flatten(2))


task.mistakes(
    (
        "Heads 0, 2 and 4 share here: `repeat` gives 0 1 0 1 0 1, `repeat_interleave` 0 0 0 1 1 1.",
        otherwise(GroupedAttention, forward=repeats),
    ),
)
