"""Lesson 02: scaled dot-product attention with a mask."""

import math

import torch
from torch.nn import functional as F

from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.transformer._common import NO_GRADIENT, draw, shape, unreached
from tlcourse.transformer import padding_mask

task = Exercise(
    __name__,
    number="2.1",
    title="Scaled dot-product attention with a mask",
    difficulty=2,
    importance=5,
    minutes=10,
    hints=(
        "Write down the shape of each step before you write the step.",
        "Three lines are enough: scores, softmax, mixture. The scores are `query @ "
        "key.transpose(-2, -1)`, divided by the root of `query.shape[-1]`. If there is a mask, "
        "`masked_fill(~mask, float('-inf'))` excludes keys.",
        "Take the softmax over the keys, `dim=-1`, and return `weights @ value`.",
    ),
    imports="import functools\nimport math\nimport random\nimport torch\nfrom torch import nn\n"
    "from torch.nn import functional as F",
    tolerance=1e-5,
)


@task.reference
def attention(query, key, value, mask=None):
    """Maps (..., queries, d), (..., keys, d) and (..., keys, width) to (..., queries, width)."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(dim=-1) @ value


@task.truth
def by_the_library(query, key, value, mask=None):
    parts = query.double(), key.double(), value.double()
    return F.scaled_dot_product_attention(*parts, attn_mask=mask)


def at(candidate, place, *parts):
    """Returns one part of the result."""
    return expect_unchanged(candidate, *parts)[place]


query, key, value = (draw(2, 3, 5, 8, seed=seed) for seed in range(3))
padding = padding_mask(torch.tensor([5, 2]), 5)[:, None, None, :]
causal = torch.ones(5, 5, dtype=torch.bool).tril()
even = torch.full((1, 5, 4), math.log(3) / 2)
two_keys = torch.stack([torch.ones(4), torch.zeros(4)])[None]  # scores 2 ln 3 and 0
two_values = torch.tensor([[1.0] * 3, [0.0] * 3])[None]
LARGE = 30 * query, 30 * key, value

task.stage(
    "shape",
    case(
        "the shape from 3 queries and 5 keys of width 4, values of width 6, 7 heads, a batch of 2",
        *(draw(2, 7, 3, 4), draw(2, 7, 5, 4), draw(2, 7, 5, 6)),
        expected=(2, 7, 3, 6),
    ),
    hint="Scores are (..., queries, keys): swap the last two dimensions of the key and no others, "
    "`key.transpose(-2, -1)`. `.T` reverses all of them.",
    measure=shape,
)
task.stage(
    "the weights sum to one",
    case("values that are all 1", draw(2, 3, 4), draw(2, 5, 4, seed=1), torch.ones(2, 5, 6)),
    hint="The weights of a query sum to 1 over the keys. Is the softmax over the last dimension, "
    "and do you divide the scores before it, instead of the weights after it?",
)
task.stage(
    "the scale",
    case(
        "the first weight for scores of 2·ln 3 and 0 at width 4",
        *((0, 0, 0), even, two_keys, two_values),
        expected=0.75,
    ),
    hint="`head_dim` is the last dimension of the query, 4. Divided by sqrt(4), the scores are ln "
    "3 and 0, and their softmax is 3/4 and 1/4.",
    measure=at,
)
task.stage(
    "the mask, seen by query 0",
    case(
        "query 0 under a causal mask",
        *((..., 0, slice(None)), query, key, value, causal),
        expected=value[..., 0, :],
    ),
    hint="Query 0 may look at key 0 only (rows of the mask are queries, columns are keys), so its "
    "result is value 0: the scores of all other keys are -infinity.",
    measure=at,
)
task.stage(
    "the library's numbers",
    case("two padded sentences, 3 heads", query, key, value, padding),
    case(
        "scores in the hundreds, two padded sentences",
        *(*LARGE, padding),
        hint="Does `exp` overflow? `softmax` first subtracts the largest score of each row. Or do "
        "masked keys still get weight? Set their scores to -infinity.",
        tolerance=1e-4,
    ),
    case(
        "the inputs that no gradient reaches",
        *(["query", "key", "value"], query, key, value, padding),
        expected=[],
        measure=unreached,
        hint=NO_GRADIENT,
    ),
    hint="The expected numbers are those of `F.scaled_dot_product_attention`.",
)
task.mistakes(
    (
        "These are the weights, but the values are not mixed yet: return `weights @ value`.",
        lambda query, key, value, mask=None: (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1),
    ),
    (
        "`mask` is None here, but this code uses it anyway: use it only `if mask is not None`.",
        lambda query, key, value, mask=None: attention(query, key, value, ~mask),
    ),
    (
        "The scores are not scaled: divide them by `math.sqrt(query.shape[-1])`.",
        lambda query, *rest: attention(query * query.shape[-1] ** 0.5, *rest),
    ),
    (
        "`mask` is True where attention is allowed, but this code drops exactly those positions: "
        "use `~mask` in `masked_fill`.",
        lambda query, key, value, mask=None: attention(
            query, key, value, None if mask is None else ~mask
        ),
    ),
    (
        "This code removes weights after the softmax, so the others no longer sum to 1: set the "
        "scores to -infinity before the softmax.",
        lambda query, key, value, mask=None: (
            attention(query, key, torch.eye(key.shape[-2])) * (1 if mask is None else mask) @ value
        ),
    ),
)
