"""Lesson 08: how much a head looks at the token before.

The true scores are those of heads that are drawn by hand, and sums over cells, one by one.
"""

import torch

from tlcourse.exercises.expect import expect_shape, expect_unchanged
from tlcourse.exercises.looking._models import drawn
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="8.2",
    title="A head detector",
    difficulty=2,
    minutes=10,
    hints=(
        "draw a matrix of 4 × 4: rows are queries, columns are keys. Which cells hold the weight "
        "of a query on the token just before it? How many are there?",
        "they lie just below the main diagonal: query 1 and key 0, query 2 and key 1, query 3 and "
        "key 2. Query 0 has no token before it.",
        "`attention.diagonal(offset=-1, dim1=-2, dim2=-1)` has these cells, (layers, heads, "
        "n - 1). Without `dim1` and `dim2` it goes by the first two dimensions.",
    ),
    imports="import numpy as np\nimport torch\nfrom torch.nn import functional as F",
)


@task.reference
def previous_token_score(attention):
    """(layers, heads, queries, keys) to (layers, heads): the mean weight on the token before."""
    return attention.diagonal(offset=-1, dim1=-2, dim2=-1).mean(dim=-1)


@task.right
def by_numbers(attention):
    queries = torch.arange(1, attention.shape[-1])
    return attention[..., queries, queries - 1].mean(-1)


@task.right
def by_a_mask(attention):
    n = attention.shape[-1]
    before = torch.eye(n - 1, dtype=attention.dtype)
    return (attention[:, :, 1:, :-1] * before).sum((2, 3)) / (n - 1)


def score(candidate, attention):
    """What comes out, (layers, heads); raises CheckFailed for another shape."""
    got = expect_unchanged(candidate, attention)
    what = f"attention {tuple(attention.shape)}"
    expect_shape(got, tuple(attention.shape[:2]), what, "One score for each layer and head.")
    return got


def shape_of(candidate, attention):
    """The shape of what comes out."""
    got = expect_unchanged(candidate, attention)
    return tuple(got.shape) if hasattr(got, "detach") else tuple(score(candidate, attention).shape)


def weights(*shape, seed=0, causal=True):
    """Random weights, (layers, heads, n, n); each row sums to 1."""
    scores = 2 * drawn(*shape, shape[-1], seed=seed)
    if causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -1e9)
    return scores.softmax(dim=-1)


def looking_at(keys):
    """(1, 1, n, n): the weights of a head whose query i looks at token keys[i], and at no other."""
    return torch.eye(len(keys))[torch.tensor(keys)][None, None]


@task.stage("shape")
def shape(candidate):
    likely = "One score for each layer and head: the mean is over queries, and over nothing else."
    task.observe(
        candidate, shape_of, weights(3, 2, 5), gives=(3, 2),
        what="attention (3, 2, 5, 5): the shape", likely=likely,
    )  # fmt: skip


SPREAD = (
    (0.7, 0.2, 0.1, 0.0, 0.0),
    (0.6, 0.3, 0.1, 0.0, 0.0),
    (0.1, 0.5, 0.3, 0.1, 0.0),
    (0.1, 0.2, 0.3, 0.35, 0.05),
    (0.1, 0.1, 0.1, 0.5, 0.2),
)


@task.stage("heads drawn by hand")
def clear(candidate):
    likely = "Of the queries 1 to 4, each adds its weight on the token just before it."
    task.observe(
        candidate, score, torch.tensor(SPREAD)[None, None], gives=[[0.475]], likely=likely,
        what="5 tokens; queries 1 to 4 have .6, .5, .3 and .5 on the token before: the score",
        tolerance=1e-5,
    )  # fmt: skip
    for keys, right, what in (
        ([0, 0, 1, 2, 3], 1.0, "a head in which each token looks at the one before"),
        ([0, 1, 2, 3, 4], 0.0, "a head in which each token looks at itself"),
        ([1, 2, 3, 4, 4], 0.0, "a head in which each token looks at the next one"),
        ([0, 0, 0, 0, 0], 0.25, "5 tokens that all look at the first one"),
        ([0, 0, 0, 1, 2], 0.25, "5 tokens: each from the third on looks two back"),
    ):
        task.observe(
            candidate, score, looking_at(keys), gives=[[right]], what=f"{what}: the score",
            likely=likely, tolerance=1e-5,
        )  # fmt: skip


def counted(attention):
    """The true scores, cell by cell."""
    n = attention.shape[-1]
    return sum(attention[:, :, i, i - 1] for i in range(1, n)) / (n - 1)


@task.stage("random heads")
def whole(candidate):
    for seed, (n, causal) in enumerate(((2, True), (7, True), (6, False))):
        attention = weights(3, 4, n, seed=seed, causal=causal)
        kind = "a causal model" if causal else "a model that sees both sides"
        task.observe(
            candidate, score, attention, gives=counted(attention),
            what=f"3 layers, 4 heads, {n} tokens, {kind}: the scores [layer, head]",
            likely="The mean over queries 1 to n - 1 of the weight on the token before.",
            tolerance=1e-5,
        )  # fmt: skip


DIMS = (
    "The diagonal goes by layers and heads. Say which dimensions are queries and keys: "
    "`attention.diagonal(-1, dim1=-2, dim2=-1)`."
)
NO_MEAN = "These are the weights of every query: take their mean."
ONE_FOR_ALL = "The mean goes over layers or heads, too. Each head has its own score."
NEXT = "This is the weight on the token *after*: keys are columns, and the one before is offset -1."
SELF = "This is the weight on the token itself. The one before is one column to the left."
ANY = "All earlier tokens count here; wanted is the one just before."
CELLS = "The sum is divided by the number of all cells; there are n - 1 queries that count."
FIRST = "Query 0 has no token before it. The mean is over the other n - 1 queries."
WRAPS = "For query 0 this looks at column -1, which is the *last* token. Leave query 0 out."
SUM = "This is the sum over queries; their mean is wanted."
LARGEST = "This is the largest weight on the token before; the mean is wanted."
VOTE = "This is how often the token before has the largest weight; take the mean of the weights."


def before(attention, offset=-1):
    return attention.diagonal(offset, -2, -1)


def rolled(attention):
    """(layers, heads, n): of each query the weight on the token before, of query 0 on the last."""
    places = torch.arange(attention.shape[-1])
    return attention[:, :, places, places - 1]


def vote(attention):
    hits = attention.argmax(-1)[..., 1:] == torch.arange(attention.shape[-1] - 1)
    return hits.float().mean(-1)


for stage, says, wrong in (
    ("shape", DIMS, lambda a: a.diagonal(-1).mean(-1)),
    ("shape", DIMS, lambda a: a.diagonal(-1)),
    ("shape", NO_MEAN, before),
    ("shape", ONE_FOR_ALL, lambda a: before(a).mean()),
    ("shape", ONE_FOR_ALL, lambda a: before(a).mean((0, 2))),
    ("shape", ONE_FOR_ALL, lambda a: before(a).mean((1, 2))),
    ("shape", ONE_FOR_ALL, lambda a: before(a).mean((0, 1))),
    ("heads drawn by hand", NEXT, lambda a: before(a, 1).mean(-1)),
    ("heads drawn by hand", SELF, lambda a: before(a, 0).mean(-1)),
    ("heads drawn by hand", SELF, lambda a: before(a, 0)[..., 1:].mean(-1)),
    ("heads drawn by hand", LARGEST, lambda a: before(a).amax(-1)),
    ("heads drawn by hand", CELLS, lambda a: before(a).sum(-1) / a.shape[-1] ** 2),
    ("heads drawn by hand", FIRST, lambda a: before(a).sum(-1) / a.shape[-1]),
    ("heads drawn by hand", SUM, lambda a: before(a).sum(-1)),
    ("heads drawn by hand", ANY, lambda a: a.tril(-1).sum((-1, -2)) / (a.shape[-1] - 1)),
    ("heads drawn by hand", VOTE, vote),
    ("random heads", WRAPS, lambda a: rolled(a).sum(-1) / (a.shape[-1] - 1)),
    ("heads drawn by hand", FIRST, lambda a: rolled(a).mean(-1)),
):  # fmt: skip
    task.mistake(stage, says)(wrong)
