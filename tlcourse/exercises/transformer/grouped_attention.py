"""Lesson 02b: attention in which groups of heads share keys and values (Ainslie et al., 2023)."""

import torch
from torch import nn
from torch.nn import functional as F

from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import (
    IMPORTS,
    built,
    differing,
    draw,
    otherwise,
    out,
    same_gradients,
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
        "Begin with your `Attention` of lesson 02, without biases and QK-norm, and with fewer "
        "features for keys and values.",
        "A head has the width `size = width // heads`. `self.key` and `self.value` map width to "
        "`groups * size`. Split their outputs into `groups` heads, and the query into `heads`.",
        "Before `attention`, repeat every key and value head once for each query head of its "
        "group: `key.repeat_interleave(heads // groups, dim=1)` gives 0 0 0 1 1 1.",
    ),
    imports=IMPORTS,
    builds_on=("transformer.attention", "transformer.rotate"),
    measure=out,
    tolerance=1e-4,
)


@task.reference
class GroupedAttention(nn.Module):
    """Maps (batch, length, width) to the same shape; query heads of a group share keys."""

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
    """Returns the library's attention in double precision."""
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
    hint="A head has 24 / 6 = 4 features, so keys and values of 2 groups have 8. No layer has a "
    "bias.",
)
task.stage(
    "a group for every head",
    case("3 heads in 3 groups, no mask, no table", (12, 3, 3), draw(2, 5, 12)),
    hint="With as many groups as heads, this is the attention of lesson 02 without biases and "
    "QK-norm. Before `output`, transpose heads and length, and put the heads side by side.",
)
task.stage(
    "shared keys and values",
    case("6 heads in 2 groups", SIZES, x),
    hint="Query heads 0, 1 and 2 share key and value head 0; heads 3, 4 and 5 share head 1.",
)
task.stage(
    "the mask",
    case("a causal mask of shape (5, 5)", SIZES, x, causal_mask(5)),
    case("a causal mask for 3 padded texts of different lengths", SIZES, draw(3, 5, 24), PADDED),
    hint="True means that a query may look at a key, as it does in `attention`.",
)
task.stage(
    "rotary positions",
    case(
        "a table of angles and a causal mask of shape (5, 5)",
        *(SIZES, x, causal_mask(5), table),
        tolerance=1e-3,
    ),
    same_gradients(GroupedAttention, SIZES, x, None, table),
    hint="If there is a table, rotate queries and keys, but not the values, and still use the "
    "mask.",
)


def repeats(self, x, mask=None, table=None):
    parts = (layer(x) for layer in (self.query, self.key, self.value))
    query, key, value = (p.unflatten(-1, (-1, self.size)).transpose(1, 2) for p in parts)
    key, value = (p.repeat(1, query.shape[1] // p.shape[1], 1, 1) for p in (key, value))
    return self.output(attention(query, key, value, mask).transpose(1, 2).flatten(2))


task.mistakes(
    (
        "Heads 0, 2 and 4 share keys here, because `repeat` gives 0 1 0 1 0 1: use "
        "`repeat_interleave`, which gives 0 0 0 1 1 1.",
        otherwise(GroupedAttention, forward=repeats),
    ),
    (
        "The mask changes nothing here: pass it to `attention`.",
        otherwise(
            GroupedAttention,
            forward=lambda s, x, mask=None, table=None: GroupedAttention.forward(s, x, None, table),
        ),
    ),
    (
        "The table changes nothing here: assign what `rotate` returns to `query` and `key`.",
        otherwise(
            GroupedAttention,
            forward=lambda s, x, mask=None, table=None: GroupedAttention.forward(s, x, mask),
        ),
    ),
)
