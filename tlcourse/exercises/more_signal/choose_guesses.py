"""Lesson 06b: which of a model's own guesses to believe."""

import heapq
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tlcourse.exercises.expect import CheckFailed, expect_unchanged, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="6b.1",
    title="Which guesses to believe",
    difficulty=2,
    minutes=15,
    hints=(
        "`sure, guesses = probabilities.max(dim=-1)`: how sure, and of which label. From here "
        "on it is a queue and a counter for each label.",
        "the queue: `sure.argsort(descending=True, stable=True)`. Only a stable sort leaves "
        "equals in the order of their rows.",
        "walk through the queue: is it sure enough, and is there room for its label? Then "
        "count it and append its row.",
    ),
    imports="import math\nimport numpy as np\nimport torch\nfrom torch.nn import functional as F",
)
ROOM = "at most so many of a label"  # the third stage
LOWER = "Among equals the lower row comes first, in what is chosen and in the order."


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


@task.right
def by_sorting_keys(probabilities, least, most):
    sure, guesses = probabilities.max(dim=1)
    rows = [row for row in range(len(sure)) if sure[row] >= least]
    rows.sort(key=lambda row: (-sure[row].item(), row))
    taken = Counter()
    chosen = []
    for row in rows:
        taken[guesses[row].item()] += 1
        if taken[guesses[row].item()] <= most:
            chosen.append(row)
    return chosen


@task.right
def by_label(probabilities, least, most):
    table = probabilities.numpy()
    guesses, sure = table.argmax(axis=1), table.max(axis=1)
    kept = []
    for label in range(table.shape[1]):
        rows = np.flatnonzero((guesses == label) & (sure >= least))
        kept += heapq.nsmallest(most, [(-sure[row], row) for row in rows])
    return torch.tensor([int(row) for _, row in sorted(kept)], dtype=torch.long)


def table_of(guesses: list[tuple[int, float]], labels: int = 3) -> Tensor:
    """(texts, labels): each guess is a label and its probability, the others share the rest."""
    rest = [(1 - sure) / (labels - 1) for _, sure in guesses]
    table = torch.tensor(rest, dtype=torch.float64)[:, None].repeat(1, labels)
    for row, (label, sure) in enumerate(guesses):
        table[row, label] = sure
    return table


def said(guesses: list[tuple[int, float]]) -> tuple[Tensor, str]:
    """A table of guesses of three labels, and the same in words, in the order of the rows."""
    each = [f"{label} at {sure}" for label, sure in guesses]
    return table_of(guesses), f"rows that say (label at probability) {', '.join(each)};"


def shown(rows: list[list[float]]) -> tuple[Tensor, str]:
    """A table, and the same in words."""
    return torch.tensor(rows, dtype=torch.float64), f"the rows {rows},"


def chosen(candidate, table: Tensor, least: float, most: int) -> list[int]:
    """What the candidate chose; raises CheckFailed unless these are rows, each of them once."""
    got: Any = expect_unchanged(candidate, table, least, most)
    if isinstance(got, Tensor):
        got = got.tolist() if len(got.shape) == 1 else got
    if not isinstance(got, list):
        missing = " Is a `return` missing?" if got is None else " A tensor with them will do, too."
        raise CheckFailed(f"it gave {short(got)}; expected a list of the numbers of rows.{missing}")
    if any(isinstance(each, bool) for each in got):
        raise CheckFailed(
            f"it gave a mask, {short(got)}; expected the numbers of the rows, as "
            "`mask.nonzero()` finds them."
        )
    try:
        rows = [int(each) for each in got]
    except (TypeError, ValueError):
        raise CheckFailed(f"it gave {short(got)}; expected a list of the numbers of rows.") from None
    if rows != list(got) or any(not 0 <= row < len(table) for row in rows):
        raise CheckFailed(f"it gave {short(got)}; the numbers of rows go from 0 to {len(table) - 1}.")
    if len(set(rows)) < len(rows):
        raise CheckFailed(f"it gave {short(rows)}: a row is chosen twice. It has one guess only.")
    return rows


def which(candidate, table: Tensor, least: float, most: int) -> list[int]:
    """The rows that the candidate chose, in whatever order."""
    return sorted(chosen(candidate, table, least, most))


def expect(candidate, table: Tensor, words: str, least, most, right: list[int], likely) -> None:
    """Raises CheckFailed unless the candidate chooses these rows, and in this order."""
    what, asked = f"{words} least {least}, at most {most},", (table, least, most)
    sentence = f"{what} whatever the order,"
    task.observe(candidate, which, *asked, gives=sorted(right), what=sentence, likely=likely)
    likely = "These are the right rows: now over all labels, the most certain comes first."
    task.observe(candidate, chosen, *asked, gives=right, what=what, likely=likely)


@task.stage("rows")
def kinds(candidate):
    table, words = said([(0, 0.5), (2, 0.75), (0, 0.875), (1, 0.5)])
    two = "Two texts are sure enough, in rows 1 and 2: a row's largest number says how sure it is."
    for least, right, likely in ((0.7, [1, 2], two), (0.95, [], "None is as sure.")):
        what = f"{words} least {least}, at most 9,"
        task.observe(candidate, which, table, least, 9, gives=right, what=what, likely=likely)


@task.stage("sure enough")
def enough(candidate):
    guesses = said([(2, 0.75), (0, 0.9), (1, 0.6), (2, 0.95), (1, 0.8)])
    likely = "How sure a guess is, is the largest number of its row, whatever the label."
    expect(candidate, *guesses, 0.75, 9, [3, 1, 4, 0], likely)
    expect(candidate, *shown([[0.6, 0.4, 0.0], [0.55, 0.25, 0.2]]), 0.5, 9, [0, 1], likely)


@task.stage(ROOM)
def room(candidate):
    guesses = said([(0, 0.8), (0, 0.9), (0, 0.85), (1, 0.7), (0, 0.95), (2, 0.4), (1, 0.92)])
    likely = "Count for each label on its own, from the most certain guess on."
    expect(candidate, *guesses, 0.5, 2, [4, 6, 1, 3], likely)
    expect(candidate, *guesses, 0.5, 0, [], "No room at all.")
    columns = shown([[0.45, 0.5, 0.05], [0.4, 0.3, 0.3], [0.05, 0.9, 0.05]])
    likely = "Only a row's likeliest label is a guess: row 0 says 1, and takes no room of label 0."
    expect(candidate, *columns, 0.4, 1, [2, 1], likely)


@task.stage("equals")
def equals(candidate):
    six = said([(1, 0.75), (0, 0.75), (0, 0.75), (1, 0.875), (0, 0.75), (1, 0.75)])
    forty = table_of([(0, 0.75)] * 40), "40 rows that say 0 at 0.75;"
    for (table, words), most, right, likely in (
        (six, 2, [3, 0, 1, 2], LOWER),
        (forty, 17, list(range(17)), LOWER),
        (shown([[0.5, 0.5], [0.9, 0.1]]), 1, [1], FIRST_LABEL),
    ):
        what = f"{words} least 0.5, at most {most},"
        task.observe(candidate, chosen, table, 0.5, most, gives=right, what=what, likely=likely)


@task.stage("50 random tables")
def whole(candidate):
    draw = random.Random(4)
    for _ in range(50):
        labels, most = draw.randrange(2, 9), draw.randrange(5)
        guesses = [
            (draw.randrange(labels), draw.choice((0.625, 0.75, 0.8746, 0.875, 0.8754, 1.0)))
            for _ in range(draw.randrange(1, 30))
        ]
        least, right = draw.choice((0.6, 0.75, 0.875, 0.9)), []
        for row, (label, sure) in enumerate(guesses):
            before = [
                other
                for other, (its, how) in enumerate(guesses)
                if its == label and (-how, other) < (-sure, row)
            ]
            if sure >= least and len(before) < most:
                right.append(row)
        right.sort(key=lambda row: guesses[row][1], reverse=True)
        what = f"{len(guesses)} guesses of {labels} labels, least {least}, at most {most}:"
        likely = "Here all rules meet: sure enough, at most so many of each label, equals by rows."
        asked = table_of(guesses, labels), least, most
        task.observe(candidate, chosen, *asked, gives=right, what=what, likely=likely)


def by(order: Callable[[Tensor], Tensor]) -> Callable:
    """Believes guesses in an order of their rows that goes by the table."""

    def candidate(probabilities, least, most):
        sure, guesses = probabilities.max(dim=-1)
        taken, rows = Counter(), []
        for row in order(probabilities).tolist():
            if sure[row] >= least and taken[int(guesses[row])] < most:
                taken[int(guesses[row])] += 1
                rows.append(row)
        return rows

    return candidate


LABELS = "These are columns: give the numbers of the rows that are sure enough, not their labels."
RENUMBERED = "Counted among those that are sure enough; in the table these rows have other numbers."
UNUSED = "`least` was not used: rows that are hardly sure were chosen, too."
EXACTLY = "At `least` or more: a guess of exactly `least` is believed, so `>=`."
REVERSED = "The most certain comes first; this is the other way round."
MARGIN = "The largest number of a row says how sure it is, not how far behind the second is."
IN_ALL = "`most` were kept in all; it is so many of each label."
BREAK = "The rest was dropped where one label was full: go on, `continue`, no `break`."
FIRST_ROWS = "Of a label the first rows were kept, not the most certain: sort before you count."
ONE_MORE = "One too many of a label: there is room while *fewer* than `most` are kept."
NO_LIMIT = "`most` was not used: there is room for so many of each label."
FILLED = "Room that is left over is not filled with guesses below `least`."
FIRST_LABEL = "Of labels that are equally likely the first is the guess."
TURNED = f"{LOWER} Was an ascending order turned round? That turns equals round, too."

for stage, says, wrong in (
    ("rows", LABELS, lambda x, *asked: x[choose_guesses(x, *asked)].argmax(-1).unique().tolist()),
    ("rows", RENUMBERED, lambda x, at, most: choose_guesses(x[x.amax(-1) >= at], at, most)),
    ("rows", MARGIN, lambda x, at, n: choose_guesses(x * (x.topk(2)[0].diff() <= -at), at, n)),
    ("rows", UNUSED, lambda x, at, most: choose_guesses(x, 0.0, most)),
    ("sure enough", EXACTLY, lambda x, at, most: choose_guesses(x, at + 1e-9, most)),
    ("sure enough", REVERSED, lambda *asked: choose_guesses(*asked)[::-1]),
    ("sure enough", MARGIN, by(lambda x: x.topk(2)[0].diff().flatten().argsort())),
    (ROOM, IN_ALL, lambda x, at, most: choose_guesses(x, at, 999)[:most]),
    (ROOM, ONE_MORE, lambda x, at, most: choose_guesses(x, at, most + 1)),
    (ROOM, NO_LIMIT, lambda x, at, most: choose_guesses(x, at, 999)),
    (ROOM, FILLED, lambda x, at, most: choose_guesses(x, at if most > 2 else 0.0, most)),
    ("equals", FIRST_LABEL, lambda x, *asked: choose_guesses(x.flip(1), *asked)),
    ("equals", TURNED, by(lambda x: x.amax(dim=-1).argsort(stable=True).flip(0))),
):
    task.mistake(stage, says)(wrong)


@task.mistake(ROOM, FIRST_ROWS)
def first_come(probabilities, least, most):
    rows = by(lambda table: torch.arange(len(table)))(probabilities, least, most)
    return sorted(rows, key=lambda row: -probabilities[row].max().item())


@task.mistake(ROOM, BREAK)
def stops_when_full(probabilities, least, most):
    rows, taken = choose_guesses(probabilities, least, len(probabilities)), Counter()
    for place, row in enumerate(rows):
        label = int(probabilities[row].argmax())
        if taken[label] >= most:
            return rows[:place]
        taken[label] += 1
    return rows
