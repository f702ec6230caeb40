"""Lesson 03: the batch of a step, as a function of the seed and the step."""

import numpy as np
import torch

from tlcourse.batching import epoch_order
from tlcourse.exercises.expect import expect_shape, expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying


def batch(candidate, *given):
    """The rows of the batch as lists."""
    return expect_unchanged(candidate, *given).tolist()


task = Exercise(
    __name__,
    number="3.2",
    title="The batch of a step",
    difficulty=2,
    importance=3,
    minutes=10,
    hints=(
        "Which rows does step 3 have if a batch has 4? With 5 windows per epoch, in which epoch "
        "and at which place is row 12?",
        "The rows are `range(step * batch_size, (step + 1) * batch_size)`; "
        "`divmod(row, count)` gives the epoch and the place in it.",
        "For each row: `offset, order = epoch_order(count, length, seed=seed, epoch=epoch)`, "
        "`start = offset + length * order[place]`, and the window is "
        "`ids[start : start + length]`.",
        "To convert NumPy arrays: `torch.from_numpy(np.stack(rows).astype(np.int64))`.",
    ),
    imports="import math\nimport numpy as np\nimport torch\n"
    "from tlcourse.batching import epoch_order",
    measure=batch,
)


@task.reference
def windows(ids, step, batch_size, length, seed=0):
    """The (batch_size, length) ids of a step's windows, which depend on the arguments alone."""
    count = (len(ids) - length) // length  # windows per epoch
    rows = []
    for row in range(step * batch_size, (step + 1) * batch_size):
        epoch, place = divmod(row, count)
        offset, order = epoch_order(count, length, seed=seed, epoch=epoch)
        start = offset + length * order[place]
        rows.append(ids[start : start + length])
    return torch.from_numpy(np.stack(rows).astype(np.int64))


@task.truth
def by_whole_epochs(ids, step, batch_size, length, seed=0):
    count, found, epoch = len(ids) // length - 1, [], 0
    while len(found) < (step + 1) * batch_size:
        generator = np.random.default_rng((seed, epoch))
        cut = ids[int(generator.integers(length)) :].tolist()
        whole = [cut[k * length : (k + 1) * length] for k in range(count)]
        found += [whole[k] for k in generator.permutation(count)]
        epoch += 1
    return found[step * batch_size :][:batch_size]


def kind(candidate, *given):
    """The type of the numbers; raises CheckFailed unless the batch has the right shape."""
    got = expect_unchanged(candidate, *given)
    expect_shape(got, given[2:4], "the batch", FULL)
    return str(got.dtype)


def scattered(candidate, *given):
    """The rows that are not a slice of the ids, which count up."""
    rows = batch(candidate, *given)
    return [row for row in rows if row != [*range(row[0], row[0] + len(row))]]


def twice(candidate, *given):
    """The steps whose batch differs when they are called again."""
    first, differing = {}, []
    for step in (7, 3, 7, 0, 3):
        got = batch(candidate, given[0], step, *given[1:])
        if first.setdefault(step, got) != got:
            differing.append(step)
    return differing


def counting(count, first=0):
    """Ids that count up, so that an id shows its position."""
    return np.arange(first, first + count).astype("<u2")


def rows(count, step, batch_size, length, seed, first=0, hint=""):
    """A case whose ids count up."""
    seed = varying(seed)
    what = f"the rows of step={step}, batch_size={batch_size}, length={length}, seed={seed}"
    what += f" for {count} ids that count up from {first}"
    return case(what, counting(count, first), step, batch_size, length, seed, hint=hint)


FULL = "If the rows differ in length, a window runs past the end of the file: how many fit?"
task.stage(
    "a tensor of whole numbers",
    case(
        "the type of a batch, 100 ids, batch_size=3, length=7",
        *(counting(100), 0, 3, 7, 0),
        expected="torch.int64",
    ),
    measure=kind,
    hint="The embedding and the loss need a tensor of torch.int64.",
)
task.stage(
    "slices of the file",
    case("the rows that are not a slice of the ids, which count up", counting(60, 500), 0, 4, 6, 0),
    measure=scattered,
    expected=lambda *given: [],
    hint="Each row is `ids[start : start + length]`.",
)
task.stage(
    "the first step",
    rows(60, 0, 3, 6, 1, first=500),
    hint="Row r is at place r of the epoch's order, so its window begins at offset + length * "
    "order[r]. An epoch has (len(ids) - length) // length windows, here 9.",
)
task.stage(
    "other steps", rows(80, 2, 3, 6, 0, hint="Step 2 with a batch of 3 has the rows 6, 7 and 8.")
)
task.stage(
    "from epoch to epoch",
    rows(60, 3, 3, 6, 0),
    rows(60, 1, 6, 6, 0),
    hint="With 60 ids an epoch has 9 windows of 6, so row 9 is at place 0 of epoch 1. Call "
    "`epoch_order` for the epoch of each row, `row // count`.",
)
task.stage(
    "nothing is remembered",
    case(
        "the steps whose batch differs when they are called again",
        *(counting(200), 4, 9, 5),
        expected=[],
        measure=twice,
    ),
    case(
        "the rows of step=1, batch_size=3, length=6 for 80 ids, without `seed`",
        *(counting(80), 1, 3, 6),
        hint="If `seed` is not given, it is 0.",
    ),
    hint="A batch depends on the arguments alone, not on earlier calls.",
)


def starting(start, more=0):
    """An answer with other starts of its windows, or with `more` windows per epoch."""

    def answer(ids, step, batch_size, length, seed=0):
        count, found = (len(ids) - length) // length + more, []
        for row in range(step * batch_size, (step + 1) * batch_size):
            offset, order = epoch_order(count, length, seed=seed, epoch=row // count)
            at = start(offset, order, row % count, length)
            found.append(ids[at : at + length])
        return torch.from_numpy(np.stack(found).astype(np.int64))

    return answer


task.mistakes(
    (
        "This code counts one window too many: with a large offset, it would run past the end of "
        "the file, so an epoch has `(len(ids) - length) // length` windows.",
        starting(lambda offset, order, place, length: offset + length * order[place], more=1),
    ),
    (
        "The offset is missing: a window starts at `offset + length * order[place]`.",
        starting(lambda offset, order, place, length: length * order[place]),
    ),
    (
        "The windows come in the order of the file: use `order[place]` instead of the place.",
        starting(lambda offset, order, place, length: offset + length * place),
    ),
)
