"""Lesson 03: the batch of a step, as a function of the seed and the step."""

import numpy as np
import torch

from tlcourse.batching import epoch_order
from tlcourse.exercises.expect import CheckFailed, expect_shape, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="3.2",
    title="The batch of a step",
    difficulty=2,
    minutes=10,
    hints=(
        "which rows does step 3 have if a batch has 4? Take 5 windows an epoch: in which epoch is "
        "row 12, and at which place?",
        "rows are `range(step * batch_size, (step + 1) * batch_size)`; "
        "`divmod(row, count)` gives the epoch and the place in it.",
        "for each row: `offset, order = epoch_order(count, length, seed=seed, epoch=epoch)`, "
        "`start = offset + length * order[place]`, and the window is "
        "`ids[start : start + length]`.",
        "from NumPy to a tensor: `torch.from_numpy(np.stack(rows).astype(np.int64))`.",
    ),
    imports="import math\nimport numpy as np\nimport torch\n"
    "from tlcourse.batching import epoch_order",
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


@task.right
def by_folding(ids, step, batch_size, length, seed=0):
    count = len(ids) // length - 1
    found = []
    for row in range(step * batch_size, step * batch_size + batch_size):
        offset, order = epoch_order(count, length, seed=seed, epoch=row // count)
        whole = np.asarray(ids[offset : offset + count * length]).reshape(count, length)
        found.append(whole[order[row % count]].tolist())
    return torch.tensor(found)


@task.right
def by_indexing(ids, step, batch_size, length, seed=0):
    count = (len(ids) - length) // length
    numbers = step * batch_size + torch.arange(batch_size)
    starts = torch.zeros(batch_size, dtype=torch.long)
    for epoch in (numbers // count).unique().tolist():
        offset, order = epoch_order(count, length, seed=seed, epoch=epoch)
        mine = numbers // count == epoch
        starts[mine] = offset + length * torch.from_numpy(order.copy())[numbers[mine] % count]
    places = starts[:, None] + torch.arange(length)
    return torch.from_numpy(np.array(ids).astype("int64"))[places]


def batch(candidate, ids, *arguments):
    """The candidate's batch as a list of rows; raises CheckFailed where it is no such tensor."""
    handed = ids.copy()
    got = candidate(handed, *arguments)
    if not np.array_equal(handed, ids):
        raise CheckFailed("your function changed `ids`, which it was given.")
    _, batch_size, length, *_ = arguments
    if isinstance(got, np.ndarray):
        raise CheckFailed(f"the batch is a NumPy array of {got.dtype}; expected a tensor, see hint 4.")
    expect_shape(got, (batch_size, length), f"batch_size={batch_size}, length={length}: the batch")
    if got.dtype != torch.int64:
        raise CheckFailed(
            f"the batch has the type {got.dtype}; expected torch.int64, as embedding and loss want "
            "it: `.astype(np.int64)` before it becomes a tensor."
        )
    return got.tolist()


def counting(length: int, first: int = 0) -> np.ndarray:
    """Ids that count up, so that an id tells its place."""
    return np.arange(first, first + length).astype("<u2")


def right(ids: np.ndarray, step: int, batch_size: int, length: int, seed: int) -> list:
    """The same by cutting whole epochs and going through them in their order."""
    count, found, epoch = len(ids) // length - 1, [], 0
    while len(found) < (step + 1) * batch_size:
        generator = np.random.default_rng((seed, epoch))
        cut = ids[int(generator.integers(length)) :].tolist()
        whole = [cut[k * length : (k + 1) * length] for k in range(count)]
        found += [whole[k] for k in generator.permutation(count)]
        epoch += 1
    return found[step * batch_size : (step + 1) * batch_size]


def expect_batch(candidate, ids, *arguments, likely, note=""):
    step, batch_size, length, seed = arguments
    task.observe(
        candidate, batch, ids, *arguments, gives=right(ids, *arguments), likely=likely,
        what=f"{len(ids)} ids that count up from {ids[0]}, step={step}, batch_size={batch_size}, "
        f"length={length}, seed={seed}{note}: the rows",
    )  # fmt: skip


@task.stage(
    "a tensor of whole numbers",
    hint="if rows differ in length, a window runs past the end of the file: how many has an epoch?",
)
def tensor(candidate):
    batch(candidate, counting(100), 0, 3, 7, 0)


@task.stage("slices of the file")
def slices(candidate):
    for row in batch(candidate, counting(60, first=500), 0, 4, 6, 0):
        if row != [*range(row[0], row[0] + 6)]:
            raise CheckFailed(f"the ids count up, but a row is {short(row)}; expected a slice of `ids`.")


@task.stage("the first step")
def first_step(candidate):
    likely = (
        "Row r is at place r of the epoch's order: it starts at offset + length * order[r]. An "
        "epoch has (len(ids) - length) // length windows, here 9."
    )
    for ids in (60, 64):
        expect_batch(candidate, counting(ids, first=500), 0, 3, 6, 1, likely=likely)


@task.stage("other steps")
def other_steps(candidate):
    likely = "Step 2 with a batch of 3 has the rows 6, 7 and 8."
    expect_batch(candidate, counting(80), 2, 3, 6, 0, likely=likely)
    expect_batch(candidate, counting(80), 5, 2, 6, 4, likely="Here it has the rows 10 and 11.")


@task.stage("from epoch to epoch")
def epochs(candidate):
    likely = "Of 60 ids 9 windows of 6 make an epoch: row 9 is at place 0 of epoch 1."
    expect_batch(candidate, counting(60), 3, 3, 6, 0, likely=likely)
    expect_batch(candidate, counting(60), 1, 6, 6, 0, likely=likely)
    for step in (3, 11):
        expect_batch(candidate, counting(41), step, 4, 5, 2, likely="All epochs are as long: 7.")


@task.stage("nothing is remembered")
def nothing_remembered(candidate):
    ids, first = counting(200), {}
    for step in (7, 3, 7, 0, 3):
        got = batch(candidate, ids, step, 4, 9, 5)
        if first.setdefault(step, got) != got:
            raise CheckFailed(f"step {step} gave two batches: it depends on what was asked before.")
    expect_batch(candidate, counting(300, first=65_000), 2, 4, 9, 5, likely="")


def other(start=None, number=None, order=None, share=lambda count: count):
    """A solution with one of its steps done otherwise."""
    start = start or (lambda offset, place, length: offset + length * place)
    number = number or (lambda step, batch_size, i: step * batch_size + i)
    order = order or epoch_order

    def function(ids, step, batch_size, length, seed=0):
        count = share((len(ids) - length) // length)
        rows = []
        for i in range(batch_size):
            epoch, place = divmod(number(step, batch_size, i), count)
            offset, found = order(count, length, seed=seed, epoch=epoch)
            at = start(offset, int(found[place]), length)
            rows.append(ids[at : at + length].astype(np.int64))
        return torch.from_numpy(np.stack(rows))

    return function


def of_one_epoch(windows, length, seed, epoch):
    return epoch_order(windows, length, seed=seed)


def in_order(windows, length, seed, epoch):
    return epoch_order(windows, length, seed=seed, epoch=epoch)[0], range(windows)


FIRST, STEPS, EPOCHS = "the first step", "other steps", "from epoch to epoch"
COUNT = "an epoch has `count = (len(ids) - length) // length` windows"
for stage, says, wrong in (
    (FIRST, f"One window too many: {COUNT}. At the largest offset one more would run past the end "
     "of the file.", other(share=lambda count: count + 1)),
    (FIRST, f"One window too few: {COUNT}.", other(share=lambda count: count - 1)),
    (FIRST, "The offset is missing.", other(lambda offset, place, length: length * place)),
    (FIRST, "Windows are `length` apart: here neighbours overlap.",
     other(lambda offset, place, length: offset + place)),
    (FIRST, "The windows come in the order of the file; `order[place]` says which one comes.",
     other(order=in_order)),
    (FIRST, "All rows are one window.", other(number=lambda step, batch_size, i: step)),
    (STEPS, "All steps have the rows of step 0.", other(number=lambda step, batch_size, i: i)),
    (STEPS, "Two steps share rows: step 1 begins `batch_size` rows after step 0, not 1.",
     other(number=lambda step, batch_size, i: step + i)),
    (EPOCHS, "The second epoch is like the first: `epoch_order` gets the epoch, `row // count`.",
     other(order=of_one_epoch)),
):  # fmt: skip
    task.mistake(stage, says)(wrong)


@task.mistake(FIRST, "The window is picked by `seed` 0, whatever `seed` is.")
def ignores_the_seed(ids, step, batch_size, length, seed=0):
    return windows(ids, step, batch_size, length)


@task.mistake("a tensor of whole numbers", "expected torch.int64, as embedding and loss want it")
def as_floats(ids, step, batch_size, length, seed=0):
    return windows(ids, step, batch_size, length, seed).float()


@task.mistake(EPOCHS, "Every batch is of one epoch here: a batch may begin in one and end in the "
              "next.")  # fmt: skip
def epoch_of_the_first_row(ids, step, batch_size, length, seed=0):
    count = (len(ids) - length) // length
    epoch = step * batch_size // count
    offset, order = epoch_order(count, length, seed=seed, epoch=epoch)
    places = [order[(step * batch_size + i) % count] for i in range(batch_size)]
    rows = [ids[offset + length * p : offset + length * (p + 1)] for p in places]
    return torch.from_numpy(np.stack(rows).astype(np.int64))
