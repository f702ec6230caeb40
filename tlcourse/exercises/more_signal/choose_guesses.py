"""Lesson 06b: which of a model's own guesses to believe."""

import random

import torch
from torch import Tensor
from torch.nn import functional as F

from tlcourse.exercises.expect import CheckFailed, expect_unchanged, real_number, short
from tlcourse.exercises.task import Exercise, case


def chosen(candidate, table, least, most):
    """The rows that the candidate chose; raises CheckFailed unless they are distinct rows."""
    got = expect_unchanged(candidate, table, least, most)
    if isinstance(got, Tensor) and got.dim() == 1:
        got = got.tolist()
    listed = got if isinstance(got, list) else []
    rows = [real_number(each) for each in listed]
    yours, expected, why = short(got), "a list of row numbers, or a tensor of them", ""
    if got is None:
        yours = "None (is a `return` missing?)"
    elif any(isinstance(each, bool) for each in listed):
        why = "This is a mask: `mask.nonzero()` finds the numbers of its rows."
    elif isinstance(got, list) and None not in rows:
        expected = f"row numbers from 0 to {len(table) - 1}, each at most once"
        if len(set(rows)) < len(rows):
            why = "A row is chosen twice, but it has only one guess."
        elif all(row in range(len(table)) for row in rows):
            return [int(row) for row in rows]
    raise CheckFailed(check="the rows that you return", yours=yours, expected=expected, why=why)


def which(candidate, table, least, most):
    """The rows that the candidate chose, sorted."""
    return sorted(chosen(candidate, table, least, most))


task = Exercise(
    __name__,
    number="6b.1",
    title="Which guesses to believe",
    difficulty=2,
    importance=3,
    minutes=15,
    hints=(
        "`sure, guesses = probabilities.max(dim=-1)` says how sure each guess is, and which label "
        "it names. After that, all you need is a queue and a counter for each label.",
        "The queue is `sure.argsort(descending=True, stable=True)`. Only a stable sort leaves "
        "equals in the order of their rows.",
        "Walk through the queue: is the guess sure enough, and is there room for its label? Then "
        "count it and append its row.",
    ),
    imports="import math\nimport numpy as np\nimport torch\nfrom torch.nn import functional as F",
    measure=chosen,
)


@task.reference
def choose_guesses(probabilities, least, most):
    """(texts, labels) probabilities to the rows to believe, a list, the most certain first."""
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


def rows(least, most, guesses, hint, measure=chosen):
    """A case of guesses (label, probability) of three labels, or of a table's rows."""
    if isinstance(guesses[0], tuple):
        table, each = table_of(guesses), ", ".join(f"{label} at {sure}" for label, sure in guesses)
        said = f"texts whose guesses (label at probability) are {each}"
    else:
        table, said = torch.tensor(guesses, dtype=torch.float64), f"the table {guesses}"
    sort = sorted if measure is which else list
    chosen_rows = "the chosen rows, sorted" if measure is which else "the chosen rows"
    return case(
        f"{chosen_rows}, for {said}; least {least}, at most {most}",
        *(table, least, most),
        expected=sort(by_counting(table, least, most)),
        measure=measure,
        hint=hint,
    )


def both(least, most, guesses, hint):
    """Two cases: which rows, then in which order."""
    return rows(least, most, guesses, hint, which), rows(least, most, guesses, ORDER)


def random_table(draw):
    """Arguments with many equals, and with probabilities close to `least`."""
    labels, most = draw.randrange(2, 9), draw.randrange(5)
    guesses = [
        (draw.randrange(labels), draw.choice((0.625, 0.75, 0.8746, 0.875, 0.8754, 1.0)))
        for _ in range(draw.randrange(1, 30))
    ]
    return table_of(guesses, labels), draw.choice((0.6, 0.75, 0.875, 0.9)), most


TWO = "Rows 1 and 2 are sure enough: a row's largest number says how sure it is."
ORDER = "These are the right rows, but the most certain comes first, whatever its label."
SURE = "The largest number of a row says how sure it is, not how far behind the second is."
ONE_GUESS = "Only a row's likeliest label is a guess: row 0 says 1, and takes no room of label 0."
LOWER = "Among equals the lower row comes first, both in what is chosen and in the order."
four = [(0, 0.5), (2, 0.75), (0, 0.875), (1, 0.5)]
five = [(2, 0.75), (0, 0.9), (1, 0.6), (2, 0.95), (1, 0.8)]
seven = [(0, 0.8), (0, 0.9), (0, 0.85), (1, 0.7), (0, 0.95), (2, 0.4), (1, 0.92)]
equals = [(1, 0.75), (0, 0.75), (0, 0.75), (1, 0.875), (0, 0.75), (1, 0.75)]
alike, draw = table_of([(0, 0.75)] * 40), random.Random(4)

task.stage(
    "rows",
    rows(0.7, 9, four, TWO, which),
    rows(0.95, 9, four, "No guess is as sure as that.", which),
)
task.stage(
    "sure enough",
    *both(0.75, 9, five, SURE),
    rows(0.5, 9, [[0.6, 0.4, 0.0], [0.55, 0.25, 0.2]], SURE),
)
task.stage(
    "at most so many of a label",
    *both(0.5, 2, seven, "Count for each label on its own, from the most certain guess on."),
    *both(0.5, 0, seven, "There is no room at all: `most` is 0."),
    *both(0.4, 1, [[0.45, 0.5, 0.05], [0.4, 0.3, 0.3], [0.05, 0.9, 0.05]], ONE_GUESS),
)
task.stage(
    "equals",
    rows(0.5, 2, equals, LOWER),
    case("40 guesses, all 0 at 0.75; least 0.5, at most 17", alike, 0.5, 17),
    rows(0.5, 1, [[0.5, 0.5], [0.9, 0.1]], "Of labels that are equally likely the first counts."),
    hint=LOWER,
)
task.stage(
    "50 random tables",
    *(
        case(
            "{} guesses of {} labels; least {}, at most {}".format(*given[0].shape, *given[1:]),
            *given,
        )
        for given in (random_table(draw) for _ in range(50))
    ),
    hint="Here all rules meet: sure enough, at most so many of each label, equals by row.",
)


def labels(table, *asked):
    return table[choose_guesses(table, *asked)].argmax(-1).unique().tolist()


def first_come(table, least, most):
    """The first rows of each label that are sure enough, then sorted."""
    alike = F.one_hot(table.argmax(-1), table.shape[1]) * (table.amax(-1, keepdim=True) >= least)
    return sorted(choose_guesses(alike, 1, most), key=lambda row: -table[row].max().item())


def stops_when_full(table, least, most):
    kept, every = choose_guesses(table, least, most), choose_guesses(table, least, len(table))
    return [row for row, due in zip(every, kept, strict=False) if row == due]


def turned(table, least, most):
    """An ascending order that was turned round, with equals in it."""
    last = len(table) - 1
    return [last - row for row in choose_guesses(table.flip(0), least, most)]


task.mistakes(
    (
        "These are columns: return the numbers of the rows that are sure enough, not their labels.",
        labels,
    ),
    (
        "These are places among the rows that are sure enough. In the table these rows have other "
        "numbers.",
        lambda table, least, most: choose_guesses(table[table.amax(-1) >= least], least, most),
    ),
    (
        "A guess of exactly `least` is believed, so compare with `>=`.",
        lambda table, least, most: choose_guesses(table, least + 1e-9, most),
    ),
    (
        "`most` guesses were kept in all; there may be so many of *each* label.",
        lambda table, least, most: choose_guesses(table, least, len(table))[:most],
    ),
    (
        "The first rows of a label were kept, not its most certain ones: sort before you count.",
        first_come,
    ),
    ("Where one label is full, go on with the others: `continue`, not `break`.", stops_when_full),
    (f"{LOWER} Turning an ascending order round turns its equals round, too.", turned),
)
