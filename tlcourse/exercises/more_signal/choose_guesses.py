"""Lesson 06b: which of a model's own guesses to believe."""

import random

import torch

from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying


def chosen(candidate, *given):
    """The rows that the candidate chose; a tensor of one dimension counts as a list."""
    got = expect_unchanged(candidate, *given)
    return got.tolist() if isinstance(got, torch.Tensor) and got.dim() == 1 else got


task = Exercise(
    __name__,
    number="6b.1",
    title="Which guesses to believe",
    difficulty=2,
    importance=3,
    minutes=15,
    hints=(
        "`sure, guesses = probabilities.max(dim=-1)` says how sure each guess is, and which label "
        "it names. After that, you only need a queue and a counter for each label.",
        "The queue is `sure.argsort(descending=True, stable=True)`. Only a stable sort keeps "
        "equally sure guesses in the order of their rows.",
        "Walk through the queue: is the guess sure enough, and is there room for its label? Then "
        "count it and append its row.",
    ),
    imports="import math\nimport numpy as np\nimport torch\nfrom torch.nn import functional as F",
    measure=chosen,
)


@task.reference
def choose_guesses(probabilities, least, most):
    """(texts, labels) probabilities to a list of the rows to believe, the surest guess first."""
    sure, guesses = probabilities.max(dim=-1)
    rows, taken = [], [0] * probabilities.shape[1]
    for row in sure.argsort(descending=True, stable=True).tolist():
        label = int(guesses[row])
        if sure[row] >= least and taken[label] < most:
            taken[label] += 1
            rows.append(row)
    return rows


@task.truth
def by_counting(table, least, most):
    table = table.tolist()
    queue = sorted(range(len(table)), key=lambda row: (-max(table[row]), row))
    sure = [row for row in queue if max(table[row]) >= least]
    labels = [table[row].index(max(table[row])) for row in sure]
    return [row for n, row in enumerate(sure) if labels[:n].count(labels[n]) < most]


def table_of(guesses, labels=3):
    """(texts, labels): each guess is a label and its probability, the others share the rest."""
    table = torch.empty(len(guesses), labels, dtype=torch.float64)
    for row, (label, sure) in enumerate(guesses):
        table[row] = (1 - sure) / (labels - 1)
        table[row, label] = sure
    return table


def rows(least, most, guesses, hint=""):
    """A case of guesses (label, probability) of three labels, or of a table's rows."""
    if isinstance(guesses[0], tuple):
        table, kind = table_of(guesses), "guesses (label, probability)"
    else:
        table, kind = torch.tensor(guesses, dtype=torch.float64), "the table"
    what = f"the rows that you return for {kind} {guesses}; least {least}, at most {most}"
    return case(what, table, least, most, hint=hint)


def random_table(draw):
    """Arguments with many equally sure guesses, and with probabilities close to `least`."""
    labels, most = draw.randrange(2, 9), draw.randrange(5)
    guesses = [
        (draw.randrange(labels), draw.choice((0.625, 0.75, 0.8746, 0.875, 0.8754, 1.0)))
        for _ in range(draw.randrange(1, 30))
    ]
    return table_of(guesses, labels), draw.choice((0.6, 0.75, 0.875, 0.9)), most


LOWER = "Of equally sure guesses, the one in the lower row comes first."
draw = random.Random(varying(4))

task.stage(
    "rows",
    rows(0.85, 9, [(0, 0.5), (2, 0.75), (0, 0.875), (1, 0.5)]),
    hint="Return a list of row numbers, here of row 2 alone: the largest number of a row says how "
    "sure its guess is, and no other row reaches 0.85. A mask is not a list of row numbers.",
)
task.stage(
    "probable enough",
    rows(0.75, 9, [(2, 0.75), (0, 0.9), (1, 0.6), (2, 0.95), (1, 0.8)]),
    rows(0.5, 9, [[0.6, 0.4, 0.0], [0.55, 0.25, 0.2]]),
    hint="The surest guess comes first, whatever its label: the largest number of a row says how "
    "sure it is, not its distance from the second. A guess of exactly `least` is believed.",
)
task.stage(
    "a limit for each label",
    rows(0.5, 2, [(0, 0.8), (0, 0.9), (0, 0.85), (1, 0.7), (0, 0.95), (2, 0.4), (1, 0.92)]),
    rows(
        *(0.4, 1, [[0.45, 0.5, 0.05], [0.4, 0.3, 0.3], [0.05, 0.9, 0.05]]),
        "Only a row's likeliest label is a guess: row 0 guesses 1, and takes no room of label 0.",
    ),
    hint="Count each label separately, from the surest guess on. When one label is full, go on "
    "with the others: `continue`, not `break`.",
)
task.stage(
    "ties",
    rows(0.5, 2, [(1, 0.75), (0, 0.75), (0, 0.75), (1, 0.875), (0, 0.75), (1, 0.75)]),
    case("40 guesses, all 0 at 0.75; least 0.5, at most 17", table_of([(0, 0.75)] * 40), 0.5, 17),
    rows(0.5, 1, [[0.5, 0.5], [0.9, 0.1]], "Of labels that are equally likely the first counts."),
    hint=f"{LOWER} Reversing an ascending order reverses equally sure guesses, too.",
)
task.stage(
    "50 random tables",
    *(
        case(f"{len(table)} guesses; least {least}, at most {most}", table, least, most)
        for table, least, most in (random_table(draw) for _ in range(50))
    ),
    hint=f"Here all rules apply: sure enough, at most so many of each label. {LOWER}",
)


def stops_when_full(table, least, most):
    kept, every = choose_guesses(table, least, most), choose_guesses(table, least, len(table))
    return [row for row, due in zip(every, kept, strict=False) if row == due]


task.mistakes(
    (
        "These are positions among the rows that are sure enough. In the table these rows have "
        "other numbers.",
        lambda table, least, most: choose_guesses(table[table.amax(-1) >= least], least, most),
    ),
    (
        "This is a mask, True for each row that is sure enough: `mask.nonzero()` gives the numbers "
        "of these rows.",
        lambda table, least, most: table.amax(dim=-1) >= least,
    ),
    (
        "A guess whose probability is exactly `least` is left out: compare with `>=`.",
        lambda table, least, most: choose_guesses(table, least + 1e-9, most),
    ),
    (
        "The loop ends as soon as one label is full, but the others may still have room: "
        "`continue`, not `break`.",
        stops_when_full,
    ),
)
