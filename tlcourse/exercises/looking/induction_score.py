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


# A head that looks at several places around the right one, each with its own weight.
UNDECIDED = (
    0.5 * half([1, 2, 3, 4])
    + 0.2 * half([0, 1, 2, 3])
    + 0.15 * half([2, 3, 4, 5])
    + 0.1 * half([3, 4, 5, 6])
    + 0.05 * half([0, 0, 1, 2])
)
ABCD = "the score on A B C D A B C D if each token of the second half looks"
AFTER = "at the token after its first occurrence"

task.stage(
    "shape",
    case(
        "the shape of your scores for attention (3, 2, 8, 8) and length 4",
        *(weights(3, 2, 8), 4),
        expected=(3, 2),
    ),
    measure=shape_of(tensor),
    hint="Each layer and head has one score: take the mean over queries, and over nothing else.",
)
task.stage(
    "drawn heads",
    case(f"{ABCD} {AFTER} with weight 0.5", UNDECIDED, 4),
    case(f"{ABCD} {AFTER}", half([1, 2, 3, 4]), 4),
    case(f"{ABCD} {AFTER} half of the time", half([1, 0, 3, 0]), 4),
    hint="Take the mean weight on the token *after* the first occurrence: from place 4, the second "
    "A, this is place 1, the first B.",
)
task.stage(
    "the second half alone",
    case(
        "the score if each token of the second half looks at itself, those of the first anywhere",
        *(looking_at([0, 0, 1, 0, 4, 5, 6, 7]), 4),
    ),
    hint="In the first half no token has occurred before: only the queries from `length` to "
    "`2 * length - 1` count.",
)
task.stage(
    "random heads",
    *(
        case(f"the scores [layer, head] for {n} tokens twice", weights(2, 3, 2 * n, seed=n), n)
        for n in (1, 5)
    ),
    hint="Take the mean over all queries of the second half, including the last one.",
)


def stripe(attention, offset, first=0):
    """The mean weight on the keys at this offset, of the diagonal's queries from `first` on."""
    return attention.diagonal(offset, -2, -1)[..., first:].mean(-1)


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
        "This is the token *before* the first occurrence: add one instead of subtracting it.",
        lambda attention, length: induction_score(attention.roll(2, -1), length),
    ),
    (
        "The last query is left out. It counts, too: it looks at place `length`.",
        lambda attention, length: stripe(attention[..., :-1, :], 1 - length, 1),
    ),
    (
        "Query `length - 1` is in the mean, too, though it is the last one of the first half.",
        lambda attention, length: stripe(attention, 1 - length),
    ),
)
