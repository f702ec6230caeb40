"""Lesson 10b: the masks of XLNet's two streams, from one order (Yang et al., 2019)."""

import torch

from tlcourse.exercises.expect import expect_shape, expect_unchanged
from tlcourse.exercises.objectives._common import kind
from tlcourse.exercises.pretraining._common import several
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

NAMES = CONTENT, QUERY = "content", "query"

task = Exercise(
    __name__,
    number="10b.2",
    title="Two masks from one order",
    difficulty=2,
    importance=4,
    minutes=10,
    hints=(
        "Position i may attend to position j if j is predicted at an earlier step. At which step "
        "is each position predicted?",
        "`order` lists a position for each step. You need the inverse, a step for each position: "
        "`step = order.argsort()`.",
        "Compare all pairs at once: `step[:, None]` has the step of the row's position, and "
        "`step[None, :]` that of the column's.",
    ),
    imports="import torch",
)


@task.reference
def order_masks(order):
    """The masks of the content and of the query stream, both (length, length), True = attend."""
    step = order.argsort()
    content = step[None, :] <= step[:, None]
    query = step[None, :] < step[:, None]
    return content, query


@task.truth
def pair_by_pair(which, order):
    """Each pair is looked up in the list of positions."""
    places = order.tolist()
    return [
        [
            int(places.index(j) < places.index(i) or (which == CONTENT and i == j))
            for j in range(len(places))
        ]
        for i in range(len(places))
    ]


def mask(candidate, which, order):
    """One of the two masks as rows of 0 and 1; raises CheckFailed if it has another shape."""
    found = several(expect_unchanged(candidate, order), *NAMES)[NAMES.index(which)]
    expect_shape(found, (len(order), len(order)), f"the {which} mask")
    return found.int().tolist()


def kinds(candidate, order):
    """What each of the two masks holds, and its shape."""
    return [kind(each) for each in several(expect_unchanged(candidate, order), *NAMES)]


task.measure = mask


def of(*order):
    """Two cases, query and content, for an order of positions."""
    what = f"mask for the order {[*order]} (1 = True)"
    return [case(f"the {which} {what}", which, torch.tensor(order)) for which in (QUERY, CONTENT)]


def drawn(seed):
    """A random order that is not its own inverse, from 3 to 8 positions."""
    generator, length = torch.Generator().manual_seed(varying(seed)), 3 + seed % 6
    while True:
        order = torch.randperm(length, generator=generator)
        if not torch.equal(order, order.argsort()):
            return order.tolist()


task.stage(
    "two masks of booleans",
    case(
        "the type and shape of both masks for an order of 4 positions",
        torch.tensor([1, 2, 3, 0]),
        expected=[("booleans", 4, 4), ("booleans", 4, 4)],
    ),
    measure=kinds,
    hint="End with `return content, query`, two tensors of shape (length, length). Comparing two "
    "tensors with `<` gives booleans.",
)
task.stage(
    "from left to right",
    *of(0, 1, 2),
    hint="Rows are the positions that attend, and columns those that they attend to. In the order "
    "0, 1, 2, position 2 may attend to 0 and 1: row 2 of the query mask is 1 1 0, and row 2 of the "
    "content mask 1 1 1.",
)
task.stage(
    "from right to left",
    *of(2, 1, 0),
    hint="What counts is when a position is predicted, not where it stands in the text. Position 2 "
    "comes first here, so its row of the query mask is empty, and its row of the content mask has "
    "only its own token.",
)
task.stage(
    "any order",
    *of(2, 0, 1),
    *of(1, 3, 0, 2),
    *(each for seed in range(20) for each in of(*drawn(seed))),
    hint="In the order 2, 0, 1, the first prediction is at position 2, and position 1 may attend "
    "to 2 and 0. Rows and columns are numbered by position: row 1 belongs to position 1.",
)
task.stage(
    "one position",
    *of(0),
    hint="A text of one token has two masks of shape (1, 1): the content stream sees the token, "
    "and the query stream sees nothing.",
)


def by_step(order):
    """A function for `compared`: the reference's steps."""
    return order.argsort()


def compared(content=torch.le, query=torch.lt, step=by_step):
    """The reference with other steps, and comparisons of a column's step with a row's."""

    def wrong(order):
        one, other = step(order)[None, :], step(order)[:, None]
        return content(one, other), query(one, other)

    return wrong


task.mistakes(
    (
        "`order` is read as the step of each position here, but `order[t]` is the position "
        "predicted at step t. `order.argsort()` gives the step of each position.",
        compared(step=lambda order: order),
    ),
    (
        "The order changes nothing here: these are the masks of a model that reads from left to "
        "right. Compare the steps of two positions, not the positions.",
        compared(step=lambda order: torch.arange(len(order))),
    ),
    (
        "Each position sees what is predicted after it. Either rows and columns have changed "
        "places (the row is the position that attends), or the order is read backwards.",
        compared(torch.ge, torch.gt),
    ),
    (
        "The rows are in the order of prediction here: row t belongs to position `order[t]`. Row "
        "i has to belong to position i, where the model has the state of token i.",
        lambda order: tuple(each[order] for each in order_masks(order)),
    ),
    (
        "Both masks are inverted: True means that position i may attend to position j.",
        compared(torch.gt, torch.ge),
    ),
    (
        "A position sees its own token in the query mask, the second of the two. The query stream "
        "has to predict this token, so it would only copy it.",
        compared(query=torch.le),
    ),
    (
        "A position does not see its own token in the content mask. Later predictions read the "
        "states of the content stream, so these have to contain the token.",
        compared(content=torch.lt),
    ),
)
