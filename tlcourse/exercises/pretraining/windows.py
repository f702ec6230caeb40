"""Lesson 03: the batch of a step, as a function of the seed and the step."""

import numpy as np
import torch

from tlcourse.batching import epoch_order
from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.pretraining._common import told
from tlcourse.exercises.task import Exercise, case


def batch(candidate, *given):
    """The rows of the batch; in words what came, if that is no tensor."""
    got = expect_unchanged(candidate, *given)
    return got.tolist() if isinstance(got, torch.Tensor) else told(got)


task = Exercise(
    __name__,
    number="3.2",
    title="The batch of a step",
    difficulty=2,
    importance=3,
    minutes=10,
    hints=(
        "Which rows does step 3 have if a batch has 4? Take 5 windows an epoch: in which epoch is "
        "row 12, and at which place?",
        "Rows are `range(step * batch_size, (step + 1) * batch_size)`; "
        "`divmod(row, count)` gives the epoch and the place in it.",
        "For each row: `offset, order = epoch_order(count, length, seed=seed, epoch=epoch)`, "
        "`start = offset + length * order[place]`, and the window is "
        "`ids[start : start + length]`.",
        "From NumPy to a tensor: `torch.from_numpy(np.stack(rows).astype(np.int64))`.",
    ),
    imports="import math\nimport numpy as np\nimport torch\n"
    "from tlcourse.batching import epoch_order",
    measure=batch,
)


@task.reference
def windows(ids, step, batch_size, length, seed=0):
    """(batch_size, length) ids of the windows of a step, by the arguments alone."""
    count = (len(ids) - length) // length  # windows an epoch
    rows = []
    for row in range(step * batch_size, (step + 1) * batch_size):
        epoch, place = divmod(row, count)
        offset, order = epoch_order(count, length, seed=seed, epoch=epoch)
        start = offset + length * order[place]
        rows.append(ids[start : start + length])
    return torch.from_numpy(np.stack(rows).astype(np.int64))


@task.truth
def by_whole_epochs(ids, step, batch_size, length, seed):
    count, found, epoch = len(ids) // length - 1, [], 0
    while len(found) < (step + 1) * batch_size:
        generator = np.random.default_rng((seed, epoch))
        cut = ids[int(generator.integers(length)) :].tolist()
        whole = [cut[k * length : (k + 1) * length] for k in range(count)]
        found += [whole[k] for k in generator.permutation(count)]
        epoch += 1
    return found[step * batch_size :][:batch_size]


def kind(candidate, *given):
    """The type and shape of what came, in words."""
    got = expect_unchanged(candidate, *given)
    shape, entries = getattr(got, "shape", None), getattr(got, "dtype", None)
    if shape is None:
        return told(got)
    array = "NumPy array" if isinstance(got, np.ndarray) else "tensor"
    return f"{array} of {entries}, shape {tuple(shape)}"


def scattered(candidate, *given):
    """The rows that are no slice of ids that count up."""
    rows = batch(candidate, *given)
    return [row for row in rows if row != [*range(row[0], row[0] + len(row))]]


def twice(candidate, *given):
    """The steps whose batch is another one when they are asked for once more."""
    first, differing = {}, []
    for step in (7, 3, 7, 0, 3):
        got = batch(candidate, given[0], step, *given[1:])
        if first.setdefault(step, got) != got:
            differing.append(step)
    return differing


def counting(count, first=0):
    """Ids that count up, so that an id tells its place."""
    return np.arange(first, first + count).astype("<u2")


def rows(count, step, batch_size, length, seed, first=0, hint=""):
    """A case of ids that count up."""
    what = f"the rows of step={step}, batch_size={batch_size}, length={length}, seed={seed}"
    ids = counting(count, first)
    what += f" for {count} ids that count up from {first}"
    return case(what, ids, step, batch_size, length, seed, hint=hint)


task.stage(
    "a tensor of whole numbers",
    case(
        "100 ids, batch_size=3, length=7",
        *(counting(100), 0, 3, 7, 0),
        expected="tensor of torch.int64, shape (3, 7)",
        hint="Embedding and loss want a tensor of torch.int64: see the last hint. If rows differ "
        "in length, a window runs past the end of the file: how many windows has an epoch?",
    ),
    measure=kind,
)
task.stage(
    "slices of the file",
    case("the rows that are no slice of ids that count up", counting(60, 500), 0, 4, 6, 0),
    measure=scattered,
    expected=lambda *given: [],
    hint="Each row is `ids[start : start + length]`.",
)
task.stage(
    "the first step",
    rows(60, 0, 3, 6, 1, first=500),
    rows(64, 0, 3, 6, 1, first=500),
    hint="Row r is at place r of the epoch's order, so it starts at offset + length * order[r]. An "
    "epoch has (len(ids) - length) // length windows, here 9.",
)
task.stage(
    "other steps",
    rows(80, 2, 3, 6, 0, hint="Step 2 with a batch of 3 has the rows 6, 7 and 8."),
    rows(80, 5, 2, 6, 4, hint="Step 5 with a batch of 2 has the rows 10 and 11."),
)
NINE = "Of 60 ids 9 windows of 6 make an epoch, so row 9 is at place 0 of epoch 1."
task.stage(
    "from epoch to epoch",
    rows(60, 3, 3, 6, 0, hint=NINE),
    rows(60, 1, 6, 6, 0, hint=NINE),
    *(rows(41, step, 4, 5, 2, hint="All epochs have 7 windows.") for step in (3, 11)),
)
task.stage(
    "nothing is remembered",
    case(
        "the steps that had another batch when they were asked for again",
        *(counting(200), 4, 9, 5),
        expected=[],
        measure=twice,
    ),
    rows(300, 2, 4, 9, 5, first=65_000),
    hint="A batch depends on the arguments alone, not on what was asked before.",
)


def other(
    start=lambda offset, place, length: offset + length * place,
    row=lambda step, batch_size, i: step * batch_size + i,
    order=epoch_order,
    count=lambda right: right,
):
    """An answer with one of its steps done otherwise."""

    def answer(ids, step, batch_size, length, seed=0):
        found, many = [], count((len(ids) - length) // length)
        for i in range(batch_size):
            epoch, place = divmod(row(step, batch_size, i), many)
            offset, places = order(many, length, seed=seed, epoch=epoch)
            at = start(offset, int(places[place]), length)
            found.append(ids[at : at + length].astype(np.int64))
        return torch.from_numpy(np.stack(found))

    return answer


def in_order(windows, length, seed, epoch):
    return epoch_order(windows, length, seed=seed, epoch=epoch)[0], range(windows)


def epoch_of_the_first_row(ids, step, batch_size, length, seed=0):
    count = (len(ids) - length) // length
    epoch = step * batch_size // count

    def order(windows, length, seed, **_):
        return epoch_order(windows, length, seed=seed, epoch=epoch)

    return other(order=order)(ids, step, batch_size, length, seed)


task.mistakes(
    (
        "This counts one window too many: an epoch has `(len(ids) - length) // length`. At the "
        "largest offset one more would run past the end of the file.",
        other(count=lambda right: right + 1),
    ),
    ("The offset is missing.", other(start=lambda offset, place, length: length * place)),
    (
        "Windows are `length` apart: here neighbours overlap.",
        other(start=lambda offset, place, length: offset + place),
    ),
    (
        "The windows come in the order of the file; `order[place]` tells which one comes.",
        other(order=in_order),
    ),
    (
        "The second epoch is like the first: `epoch_order` gets the epoch, `row // count`.",
        other(order=lambda windows, length, seed, epoch: epoch_order(windows, length, seed=seed)),
    ),
    (
        "Each batch is of one epoch here, but a batch may begin in one and end in the next.",
        epoch_of_the_first_row,
    ),
)
