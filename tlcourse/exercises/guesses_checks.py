"""The checks of lesson 06's choice of guesses, a function for each stage."""

import random
from typing import Any

import torch
from torch import Tensor

from tlcourse.exercises.expect import Wrong, expect_equal, short
from tlcourse.exercises.expect import expect_unchanged as call


def _table(guesses: list[tuple[int, float]], labels: int = 3) -> Tensor:
    """(texts, labels): each guess is a label and its probability, the others share the rest."""
    rest = [(1 - sure) / (labels - 1) for _, sure in guesses]
    table = torch.tensor(rest, dtype=torch.float64)[:, None].repeat(1, labels)
    for row, (label, sure) in enumerate(guesses):
        table[row, label] = sure
    return table


def _rows(candidate, table: Tensor, least: float, most: int) -> list[int]:
    """What the candidate chose; raises Wrong unless it is a list of rows, each of them once."""
    got: Any = call(candidate, table, least, most)
    if hasattr(got, "tolist"):  # tensors and arrays
        got = got.tolist() if len(got.shape) == 1 else got
    if not isinstance(got, list | tuple):
        missing = " Is a `return` missing?" if got is None else ""
        raise Wrong(f"it gave {short(got)}; expected a list of the numbers of rows.{missing}")
    if any(isinstance(each, bool) for each in got):
        raise Wrong(
            f"it gave a mask, {short(got)}; expected the numbers of the rows, as "
            "`mask.nonzero()` finds them."
        )
    try:
        rows = [int(each) for each in got]
    except (TypeError, ValueError):
        raise Wrong(f"it gave {short(got)}; expected a list of the numbers of rows.") from None
    if rows != list(got) or any(not 0 <= row < len(table) for row in rows):
        raise Wrong(f"it gave {short(got)}; the numbers of rows go from 0 to {len(table) - 1}.")
    if len(set(rows)) < len(rows):
        raise Wrong(f"it gave {short(rows)}: a row is chosen twice.")
    return rows


def kinds(candidate) -> None:
    table = _table([(0, 0.5), (0, 0.75), (1, 0.875), (1, 0.5)])
    rows = _rows(candidate, table, 0.7, 9)
    likely = "Two texts are sure enough, in rows 1 and 2: their numbers, not their labels."
    expect_equal(sorted(rows), [1, 2], "guesses at 0.5, 0.75, 0.875, 0.5, least 0.7:", likely)
    expect_equal(_rows(candidate, table, 0.95, 9), [], "the same, least 0.95:", "None is as sure.")


def enough(candidate) -> None:
    table = _table([(2, 0.75), (0, 0.9), (1, 0.6), (2, 0.95), (1, 0.8)])
    rows = _rows(candidate, table, 0.75, 9)
    likely = "How sure a guess is, is the largest number of its row, whatever the label."
    if 0 not in rows and sorted(rows) == [1, 3, 4]:
        likely = "At `least` or more: a guess of exactly 0.75 is believed, so `>=`."
    elif rows == [0, 4, 1, 3]:
        likely = "The most certain comes first; this is the other way round."
    elif sorted(rows) == [0, 1, 3, 4]:
        likely = "These are the right rows in another order: the most certain comes first."
    expect_equal(rows, [3, 1, 4, 0], "guesses at 0.75, 0.9, 0.6, 0.95, 0.8, least 0.75:", likely)


def room(candidate) -> None:
    table = _table([(0, 0.8), (0, 0.9), (0, 0.85), (1, 0.7), (0, 0.95), (2, 0.4)])
    rows = _rows(candidate, table, 0.5, 2)
    likely = "Count for each label on its own, from the most certain guess on."
    if rows == [4, 1]:
        likely = "Two in all were kept; it is two of each label, and row 3 has another one."
    elif sorted(rows) == [0, 1, 3]:
        likely = "Of label 0 the first two rows were kept; it should be the two most certain."
    elif rows == [4, 1, 2, 0, 3]:
        likely = "Label 0 has four, and there is room for two of each label."
    elif 5 in rows:
        likely = "Room that is left over is not filled with guesses below `least`."
    elif sorted(rows) == [1, 3, 4]:
        likely = "These are the right rows: now over all labels, the most certain first."
    what = "label 0 at 0.8, 0.9, 0.85, label 1 at 0.7, label 0 at 0.95, label 2 at 0.4; least 0.5, "
    expect_equal(rows, [4, 1, 3], what + "at most 2:", likely)
    expect_equal(_rows(candidate, table, 0.5, 0), [], "the same, at most 0:", "No room at all.")


def equals(candidate) -> None:
    guesses = [(1, 0.75), (0, 0.75), (0, 0.75), (1, 0.875), (0, 0.75), (1, 0.75)]
    likely = "Among equals the lower row comes first, in what is chosen and in the order."
    if _rows(candidate, _table(guesses), 0.5, 2) == [3, 5, 4, 2]:
        likely += " Was an ascending order turned round? That turns equals round, too."
    for table, most, right in (
        (_table(guesses), 2, [3, 0, 1, 2]),
        (_table([(0, 0.75)] * 40), 17, list(range(17))),
    ):
        what = f"{len(table)} guesses, most of them at 0.75, at most {most}:"
        expect_equal(_rows(candidate, table, 0.5, most), right, what, likely)


def whole(candidate) -> None:
    draw = random.Random(4)
    for _ in range(50):
        labels, most = draw.randrange(2, 6), draw.randrange(5)
        guesses = [
            (draw.randrange(labels), draw.choice((0.625, 0.75, 0.875, 0.9375, 1.0)))
            for _ in range(draw.randrange(1, 30))
        ]
        least, right = draw.choice((0.6, 0.75, 0.9)), []
        for row, (label, sure) in enumerate(guesses):
            before = [
                other
                for other, (its, how) in enumerate(guesses)
                if its == label and (how > sure or (how == sure and other < row))
            ]
            if sure >= least and len(before) < most:
                right.append(row)
        right.sort(key=lambda row: guesses[row][1], reverse=True)
        what = f"{len(guesses)} guesses of {labels} labels, least {least}, at most {most}:"
        likely = "Here all rules meet: sure enough, at most so many of each label, equals by rows."
        expect_equal(_rows(candidate, _table(guesses, labels), least, most), right, what, likely)
