"""Lesson 08: how much a head looks where induction looks, with an off-by-one to be found."""

import torch

from tlcourse.exercises.looking._common import shape_of, tensor
from tlcourse.exercises.looking.head_score import looking_at, weights
from tlcourse.exercises.task import Exercise, case


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
    importance=4,
    minutes=10,
    hints=(
        "Write it out for 3 tokens: A B C A B C, at the places 0 to 5. The model is at place 3, "
        "the second A. What comes next, and at which place can a head read it?",
        "A head can read it *after* the first A, at place 1. The code as given looks at place 0, "
        "the first A itself, where a head looks that searches for the same token.",
        "From place i of the second half it is `i - length + 1`. For the last place that is the "
        "first token of the second half.",
    ),
    imports="import numpy as np\nimport torch\nfrom torch.nn import functional as F",
    given=as_given,
    measure=tensor,
    tolerance=1e-5,
)


@task.reference
def induction_score(attention, length):
    """(layers, heads, 2 * length, 2 * length) to (layers, heads): the mean weight by induction."""
    queries = torch.arange(length, 2 * length)
    keys = queries - length + 1
    return attention[:, :, queries, keys].mean(dim=-1)


@task.truth
def cell_by_cell(attention, length):
    return sum(attention[:, :, length + i, i + 1].double() for i in range(length)) / length


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


ABCD = "the score on A B C D A B C D if each token of the second half looks"
AFTER = "at the token after its first occurrence"
EVERY = "the scores [layer, head] of 2 layers with 3 heads"

task.stage(
    "shape",
    case(
        "the shape of your scores for attention (3, 2, 8, 8) and length 4",
        weights(3, 2, 8),
        4,
        expected=(3, 2),
    ),
    measure=shape_of(tensor),
    hint="Each layer and head has one score: take the mean over queries, and over nothing else.",
)
task.stage(
    "drawn heads",
    case(f"{ABCD} {AFTER} with weight 0.5", undecided(), 4),
    case(f"{ABCD} {AFTER}", half([1, 2, 3, 4]), 4),
    case(f"{ABCD} at its first occurrence, which is the same token", half([0, 1, 2, 3]), 4),
    case(f"{ABCD} two tokens after its first occurrence", half([2, 3, 4, 5]), 4),
    case(f"{ABCD} {AFTER} half of the time", half([1, 0, 3, 0]), 4),
    hint="Take the mean weight on the token *after* the first occurrence: from place 4, the second "
    "A, this is place 1, the first B.",
)
task.stage(
    "the second half alone",
    case(
        "the score if each token of the second half looks at itself, those of the first anywhere",
        looking_at([0, 0, 1, 0, 4, 5, 6, 7]),
        4,
    ),
    hint="In the first half no token has occurred before: only the queries from `length` to "
    "`2 * length - 1` count.",
)
task.stage(
    "random heads",
    *(
        case(f"{EVERY}, {length} tokens twice", weights(2, 3, 2 * length, seed=seed), length)
        for seed, length in enumerate((1, 2, 5, 8))
    ),
    hint="Take the mean over all queries of the second half, including the last one.",
)


def stripe(attention, offset, first=0):
    """The mean weight on the keys at this offset, of the diagonal's queries from `first` on."""
    return attention.diagonal(offset, -2, -1)[..., first:].mean(-1)


def looks(keys_of=lambda keys, length: keys, queries_of=lambda queries: queries):
    """The reference with other keys, or for fewer queries."""

    def induction_score(attention, length):
        queries = queries_of(torch.arange(length, 2 * length))
        return attention[:, :, queries, keys_of(queries - length + 1, length)].mean(-1)

    return induction_score


task.mistakes(
    (
        "This is the diagonal over layers and heads. Name the dimensions of queries and keys: "
        "`diagonal(offset, dim1=-2, dim2=-1)`.",
        lambda attention, length: attention.diagonal(1 - length).mean(-1),
    ),
    (
        "This is the weight on the same token, one column too far to the left. The token that "
        "comes next stands after it.",
        lambda attention, length: stripe(attention, -length),
    ),
    (
        "This is one column too far to the right: two tokens after the first occurrence.",
        looks(lambda keys, length: (keys + 1) % (2 * length)),
    ),
    (
        "This is the token *before* the first occurrence: add one instead of subtracting it.",
        looks(lambda keys, length: keys - 2),
    ),
    (
        "The last query is left out. It counts, too: it looks at place `length`.",
        looks(queries_of=lambda queries: queries[:-1]),
    ),
    (
        "The last query has a wrong key. What comes after its token is the first one of the "
        "second half, at place `length`.",
        looks(lambda keys, length: keys % length),
    ),
    (
        "Query `length - 1` is in the mean, too, though it is the last one of the first half.",
        lambda attention, length: stripe(attention, 1 - length),
    ),
)
