"""Lesson 08: how much a head looks where induction looks, with an off-by-one to find."""

import torch

from tlcourse.exercises.looking._common import shape_of, tensor
from tlcourse.exercises.looking.head_score import looking_at, weights
from tlcourse.exercises.task import Exercise, case


def as_given(attention, length):
    """The code of the lesson: it looks one column too far to the left."""
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
        "Write it out for 3 tokens: A B C A B C, at the positions 0 to 5. The model is at position "
        "3, the second A. Which token is next, and at which position can a head read it?",
        "A head can read it *after* the first A, at position 1. The code as given looks at "
        "position 0, the first A itself, like a head that searches for the same token.",
        "From position i of the second half it is `i - length + 1`. For the last position that is "
        "the first token of the second half.",
    ),
    imports="import numpy as np\nimport torch\nfrom torch.nn import functional as F",
    given=as_given,
    measure=tensor,
    tolerance=1e-5,
)


@task.reference
def induction_score(attention, length):
    """(layers, heads, 2 * length, 2 * length) to (layers, heads): the mean weight of induction."""
    queries = torch.arange(length, 2 * length)
    keys = queries - length + 1
    return attention[:, :, queries, keys].mean(dim=-1)


@task.truth
def cell_by_cell(attention, length):
    return sum(attention[:, :, length + i, i + 1].double() for i in range(length)) / length


def half(keys):
    """The weights of a head for 4 tokens, twice: in the first half it looks at the first token."""
    return looking_at([0, 0, 0, 0, *keys])


# A head that looks at several positions around the right one, each with its own weight.
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
    case(f"{ABCD} {AFTER} half of the time", half([1, 0, 3, 0]), 4),
    hint="Take the mean weight on the token *after* the first occurrence: from position 4, the "
    "second A, this is position 1, the first B. The last query counts, too: it looks at `length`.",
)
task.stage(
    "random heads",
    case("the scores [layer, head] for 5 tokens twice", weights(2, 3, 10, seed=5), 5),
    hint="Take the mean over all queries of the second half, from `length` to `2 * length - 1`.",
)


def stripe(attention, offset, first=0):
    """The mean weight on the keys at this offset, of the diagonal's queries from `first` on."""
    return attention.diagonal(offset, -2, -1)[..., first:].mean(-1)


task.mistakes(
    (
        "This is the weight on the same token in the first half, one column too far to the left: "
        "the token that comes next is at `query - length + 1`.",
        lambda attention, length: stripe(attention, -length),
    ),
    (
        "This is the token *before* the first occurrence: add one instead of subtracting it.",
        lambda attention, length: induction_score(attention.roll(2, -1), length),
    ),
    (
        "The last query is left out, but it counts, too: it looks at position `length`.",
        lambda attention, length: stripe(attention[..., :-1, :], 1 - length, 1),
    ),
    (
        "The diagonal begins with query `length - 1`, which is the last one of the first half: "
        "leave it out of the mean.",
        lambda attention, length: stripe(attention, 1 - length),
    ),
)
