"""Lesson 08: how much a head looks at the previous token."""

import torch

from tlcourse.exercises.looking._common import drawn, shape_of, tensor
from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="8.2",
    title="A head detector",
    difficulty=2,
    importance=3,
    minutes=10,
    hints=(
        "Draw a matrix of 4 × 4: rows are queries, columns are keys. Which cells hold the weight "
        "of a query on the token just before it? How many are there?",
        "They lie just below the main diagonal: query 1 and key 0, query 2 and key 1, query 3 and "
        "key 2. Query 0 has no token before it.",
        "`attention.diagonal(offset=-1, dim1=-2, dim2=-1)` has these cells, (layers, heads, "
        "n - 1). Without `dim1` and `dim2` it takes the diagonal of the first two dimensions.",
    ),
    imports="import numpy as np\nimport torch\nfrom torch.nn import functional as F",
    measure=tensor,
    tolerance=1e-5,
)


@task.reference
def previous_token_score(attention):
    """(layers, heads, queries, keys) to (layers, heads): the mean weight on the token before."""
    return attention.diagonal(offset=-1, dim1=-2, dim2=-1).mean(dim=-1)


@task.truth
def cell_by_cell(attention):
    n = attention.shape[-1]
    return sum(attention[:, :, i, i - 1] for i in range(1, n)) / (n - 1)


def weights(*shape, seed=0, causal=True):
    """Random weights, (layers, heads, n, n); each row sums to 1."""
    scores = 2 * drawn(*shape, shape[-1], seed=seed)
    if causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -1e9)
    return scores.softmax(dim=-1)


def looking_at(keys):
    """(1, 1, n, n): the weights of a head whose query i looks at token keys[i] alone."""
    return torch.eye(len(keys))[torch.tensor(keys)][None, None]


SPREAD = torch.tensor(
    (
        (0.7, 0.2, 0.1, 0.0, 0.0),
        (0.6, 0.3, 0.1, 0.0, 0.0),
        (0.1, 0.5, 0.3, 0.1, 0.0),
        (0.1, 0.2, 0.3, 0.35, 0.05),
        (0.1, 0.1, 0.1, 0.5, 0.2),
    )
)[None, None]

task.stage(
    "shape",
    case("the shape of your scores for attention (3, 2, 5, 5)", weights(3, 2, 5), expected=(3, 2)),
    measure=shape_of(tensor),
    hint="Each layer and head has one score: take the mean over queries, and over nothing else.",
)
task.stage(
    "heads drawn by hand",
    case(
        "the score of a head whose queries 1 to 4 have .6, .5, .3, .5 on the token before", SPREAD
    ),
    hint="Take the mean over the queries 1 to 4 of the weight on the token before, one column to "
    "the left of the token itself. Query 0 has no token before it: divide by n - 1.",
)
task.stage(
    "random heads",
    case("the scores of a model without a mask", weights(3, 4, 6, seed=2, causal=False)),
    hint="Take the mean over the queries 1 to n - 1. For query 0, column -1 is the *last* token.",
)


def before(attention, offset=-1):
    """For each query, the weight on the token before, or at another offset."""
    return attention.diagonal(offset, -2, -1)


def rolled(attention):
    """The same for all queries; query 0 has the weight on the last token."""
    places = torch.arange(attention.shape[-1])
    return attention[..., places, places - 1]


task.mistakes(
    (
        "This is the diagonal over layers and heads. Name the dimensions of queries and keys: "
        "`attention.diagonal(-1, dim1=-2, dim2=-1)`.",
        lambda attention: attention.diagonal(-1).mean(-1),
    ),
    (
        "This is the weight on the token *after*: keys are columns, so the token before has the "
        "offset -1.",
        lambda attention: before(attention, 1).mean(-1),
    ),
    (
        "This is the weight on the token itself: the token before is one column to the left, at "
        "the offset -1.",
        lambda attention: before(attention, 0).mean(-1),
    ),
    (
        "You divide by all n queries, but query 0 has no token before it: divide by n - 1.",
        lambda attention: before(attention).sum(-1) / attention.shape[-1],
    ),
    (
        "For query 0 this takes column -1, which is the *last* token: leave query 0 out.",
        lambda attention: rolled(attention).sum(-1) / (attention.shape[-1] - 1),
    ),
)
