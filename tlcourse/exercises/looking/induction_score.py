"""Lesson 08: how much a head looks where induction looks, with an off-by-one to be found.

The true scores are those of heads that are drawn by hand, and sums over cells, one by one.
"""

import torch

from tlcourse.exercises.expect import expect_shape, expect_unchanged
from tlcourse.exercises.looking.head_score import looking_at, weights
from tlcourse.exercises.task import Exercise


def as_given(attention, length):
    """What the lesson hands out: it looks one column too far to the left."""
    queries = torch.arange(length, 2 * length)
    keys = queries - length
    return attention[:, :, queries, keys].mean(dim=-1)


task = Exercise(
    __name__,
    number="8.3",
    title="Find the bug: where does an induction head look?",
    difficulty=3,
    minutes=10,
    hints=(
        "write it out for 3 tokens: A B C A B C, at the places 0 to 5. The model is at place 3, "
        "the second A. What comes next, and at which place can a head read it?",
        "it can be read *after* the first A, at place 1. The code as given looks at place 0, the "
        "first A itself: that is where a head looks which searches for the same token.",
        "from place i of the second half it is `i - length + 1`. For the last place that is the "
        "first token of the second half.",
    ),
    imports="import numpy as np\nimport torch\nfrom torch.nn import functional as F",
    given=as_given,
)


@task.reference
def induction_score(attention, length):
    """(layers, heads, 2 * length, 2 * length) to (layers, heads): the mean weight by induction."""
    queries = torch.arange(length, 2 * length)
    keys = queries - length + 1
    return attention[:, :, queries, keys].mean(dim=-1)


@task.right
def by_diagonal(attention, length):
    stripe = attention.diagonal(1 - length, -2, -1)  # of the queries from length - 1 on
    return stripe[..., 1:].mean(-1)


@task.right
def cell_by_cell(attention, length):
    scores = torch.zeros(attention.shape[:2])
    for i in range(length):
        scores += attention[:, :, length + i, i + 1]
    return scores / length


def score(candidate, attention, length):
    """What comes out, (layers, heads); raises CheckFailed for another shape."""
    got = expect_unchanged(candidate, attention, length)
    what = f"attention {tuple(attention.shape)}, length {length}"
    expect_shape(got, tuple(attention.shape[:2]), what, SHAPE)
    return got


def shape_of(candidate, *setting):
    """The shape of what comes out."""
    got = expect_unchanged(candidate, *setting)
    return tuple(got.shape) if hasattr(got, "detach") else tuple(score(candidate, *setting).shape)


def half(keys):
    """A head of 4 tokens that come twice: in the first half it looks at the first token."""
    return looking_at([0, 0, 0, 0, *keys])


def undecided():
    """A head that looks at several places around the right one, each with its own weight.

    In the first half it looks ahead, too: who takes keys for queries finds something there.
    """
    right, same, two_after = half([1, 2, 3, 4]), half([0, 1, 2, 3]), half([2, 3, 4, 5])
    last, before = half([3, 4, 5, 6]), half([0, 0, 1, 2])
    found = 0.5 * right + 0.2 * same + 0.15 * two_after + 0.1 * last + 0.05 * before
    ahead = torch.arange(1, 4)
    found[..., ahead, 0], found[..., ahead, ahead + 3] = 0.7, 0.3
    return found


@task.stage("shape")
def shape(candidate):
    task.observe(
        candidate, shape_of, weights(3, 2, 8), 4, gives=(3, 2),
        what="attention (3, 2, 8, 8), length 4: the shape", likely=SHAPE,
    )  # fmt: skip


@task.stage("drawn heads")
def clear(candidate):
    task.observe(
        candidate, score, undecided(), 4, gives=[[0.5]], tolerance=1e-5,
        what="A B C D A B C D; each of the second half looks with weight 0.5 at the token after "
        "its first occurrence, and less at its neighbours: the score", likely=WHERE,
    )  # fmt: skip
    for keys, right, what in (
        ([1, 2, 3, 4], 1.0, "at the token after its first occurrence"),
        ([0, 1, 2, 3], 0.0, "at its first occurrence, so at the same token"),
        ([2, 3, 4, 5], 0.0, "two tokens after its first occurrence"),
        ([1, 0, 3, 0], 0.5, "after its first occurrence half of the time"),
    ):
        task.observe(
            candidate, score, half(keys), 4, gives=[[right]],
            what=f"A B C D A B C D; each of the second half looks {what}: the score",
            likely=WHERE, tolerance=1e-5,
        )  # fmt: skip


@task.stage("the second half alone")
def second(candidate):
    keys = [0, 0, 1, 0, 4, 5, 6, 7]
    task.observe(
        candidate, score, looking_at(keys), 4, gives=[[0.0]], tolerance=1e-5,
        what="each of the second half looks at itself, those of the first half anywhere: the score",
        likely=SECOND,
    )  # fmt: skip


def counted(attention, length):
    """The true scores, cell by cell."""
    cells = [attention[:, :, length + i, i + 1].double() for i in range(length)]
    return sum(cells) / length


@task.stage("random heads")
def whole(candidate):
    for seed, length in enumerate((1, 2, 5, 8)):
        attention = weights(2, 3, 2 * length, seed=seed)
        task.observe(
            candidate, score, attention, length, gives=counted(attention, length), tolerance=1e-5,
            what=f"2 layers, 3 heads, {length} tokens that come twice: the scores [layer, head]",
            likely="The mean over all queries of the second half, the last one too.",
        )  # fmt: skip


SHAPE = "One score for each layer and head: the mean is over queries, and over nothing else."
WHERE = (
    "What comes next stands *after* the first occurrence: from place 4, the second A, a head has "
    "to look at place 1, the first B."
)
SAME = (
    "This is the weight on the same token, one column too far to the left. The token that comes "
    "next stands after it."
)
TOO_FAR = "This is one column too far to the right: two tokens after the first occurrence."
BEFORE = "This is the token *before* the first occurrence: plus one, not minus one."
ITSELF = "This is the weight on the token before: it looks in the second half, not in the first."
SECOND = (
    "In the first half nothing has come before: only the queries from `length` to `2 * length - 1` "
    "count."
)
ONE_MORE = "Query `length - 1` is in, too, which is the last one of the first half."
CELLS = "The sum is divided by the number of all cells; there are `length` queries that count."
SUM = "This is the sum over queries; their mean is wanted."
TURNED = "Rows are queries and columns are keys; here it is the other way round."
LAST = "The last query is left out. It counts, too: it looks at place `length`."
WRAPS = (
    "The last query has a wrong key. After its token comes the first one of the second half, at "
    "place `length`."
)


def by(shift=0, first=0, last=0, finish=lambda cells, n: cells.mean(-1)):
    """A solution that looks `shift` columns further, with more queries in front or fewer behind."""

    def candidate(attention, length):
        queries = torch.arange(length - first, 2 * length - last)
        cells = attention[:, :, queries, (queries - length + 1 + shift) % (2 * length)]
        return finish(cells, length)

    return candidate


def at_most(bound):
    """A solution that keeps all keys in the first half: `bound(keys, length)`."""

    def candidate(attention, length):
        queries = torch.arange(length, 2 * length)
        return attention[:, :, queries, bound(queries - length + 1, length)].mean(-1)

    return candidate


for stage, says, wrong in (
    ("shape", SHAPE, lambda attention, length: induction_score(attention, length).mean()),
    ("shape", SHAPE, lambda attention, length: induction_score(attention, length).mean(1)),
    ("shape", SHAPE, by(finish=lambda cells, n: cells)),
    ("shape", "Say which dimensions are queries and keys: `diagonal(offset, dim1=-2, dim2=-1)`.",
     lambda attention, length: attention.diagonal(1 - length).mean(-1)),
    ("drawn heads", SAME,
     lambda attention, length: as_given(attention, length)),
    ("drawn heads", SAME,
     lambda attention, length: attention.diagonal(-length, -2, -1).mean(-1)),
    ("drawn heads", BEFORE, by(shift=-2)),
    ("drawn heads", TOO_FAR, by(shift=1)),
    ("drawn heads", TURNED,
     lambda attention, length: induction_score(attention.mT, length)),
    ("drawn heads", ITSELF,
     lambda attention, length: attention.diagonal(-1, -2, -1)[..., length - 1 :].mean(-1)),
    ("drawn heads", CELLS,
     by(finish=lambda cells, n: cells.sum(-1) / (2 * n) ** 2)),
    ("drawn heads", CELLS, by(finish=lambda cells, n: cells.sum(-1) / (2 * n))),
    ("drawn heads", SUM, by(finish=lambda cells, n: cells.sum(-1))),
    ("drawn heads", ONE_MORE,
     lambda attention, length: attention.diagonal(1 - length, -2, -1).mean(-1)),
    ("drawn heads", LAST, by(last=1)),
    ("drawn heads", WRAPS, at_most(lambda keys, length: keys % length)),
    ("drawn heads", WRAPS, at_most(lambda keys, length: keys.clamp(max=length - 1))),
    ("drawn heads", SECOND,
     lambda attention, length: attention.roll(length, -1).diagonal(1, -2, -1).mean(-1)),
):  # fmt: skip
    task.mistake(stage, says)(wrong)
