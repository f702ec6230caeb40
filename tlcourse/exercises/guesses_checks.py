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
        raise Wrong(
            f"it gave {short(rows)}: a row is chosen twice. It has one guess, its likeliest."
        )
    return rows


def _said(guesses: list[tuple[int, float]]) -> str:
    """Guesses in words, in the order of their rows."""
    each = [f"{label} at {sure}" for label, sure in guesses]
    return f"rows that say (label at probability) {', '.join(each)};"


def kinds(candidate) -> None:
    guesses = [(0, 0.5), (0, 0.75), (1, 0.875), (1, 0.5)]
    table, what = _table(guesses), f"{_said(guesses)} least {{}}, at most 9,"
    rows = _rows(candidate, table, 0.7, 9)
    likely = "Two texts are sure enough, in rows 1 and 2: their numbers, not their labels."
    if sorted(rows) == [0, 1, 2, 3]:
        likely = "`least` was not used: rows 0 and 3 are sure by 0.5 alone."
    expect_equal(sorted(rows), [1, 2], what.format(0.7), likely)
    expect_equal(_rows(candidate, table, 0.95, 9), [], what.format(0.95), "None is as sure.")


def enough(candidate) -> None:
    guesses = [(2, 0.75), (0, 0.9), (1, 0.6), (2, 0.95), (1, 0.8)]
    rows = _rows(candidate, _table(guesses), 0.75, 9)
    likely = "How sure a guess is, is the largest number of its row, whatever the label."
    if 0 not in rows and sorted(rows) == [1, 3, 4]:
        likely = "At `least` or more: a guess of exactly 0.75 is believed, so `>=`."
    elif rows == [0, 4, 1, 3]:
        likely = "The most certain comes first; this is the other way round."
    elif sorted(rows) == [0, 1, 3, 4]:
        likely = "These are the right rows in another order: the most certain comes first."
    expect_equal(rows, [3, 1, 4, 0], f"{_said(guesses)} least 0.75, at most 9,", likely)
    table = [[0.6, 0.4, 0.0], [0.55, 0.25, 0.2]]
    likely = "The largest number of a row says how sure it is, not how far behind the second is."
    rows = _rows(candidate, torch.tensor(table, dtype=torch.float64), 0.5, 9)
    expect_equal(rows, [0, 1], f"the rows {table}, least 0.5, at most 9,", likely)


def room(candidate) -> None:
    guesses = [(0, 0.8), (0, 0.9), (0, 0.85), (1, 0.7), (0, 0.95), (2, 0.4), (1, 0.92)]
    table, what = _table(guesses), f"{_said(guesses)} least 0.5, at most {{}},"
    rows = _rows(candidate, table, 0.5, 2)
    known = (
        ([4, 6], "Two in all were kept; it is two of each label."),
        (
            [4, 6, 1],
            "The rest was dropped where one label was full: go on, `continue`, no `break`.",
        ),
        ([6, 1, 0, 3], "Of label 0 the first two rows were kept, not the two most certain."),
        ([4, 6, 1, 2, 3], "Three of label 0: there is room while *fewer* than two are kept."),
        ([4, 6, 1, 2, 0, 3], "Label 0 has four, and there is room for two of each label."),
    )
    likely = "Count for each label on its own, from the most certain guess on."
    if 5 in rows:
        likely = "Room that is left over is not filled with guesses below `least`."
    elif sorted(rows) == [1, 3, 4, 6]:
        likely = "These are the right rows: now over all labels, the most certain first."
    likely = next((said for wrong, said in known if rows == wrong), likely)
    expect_equal(rows, [4, 6, 1, 3], what.format(2), likely)
    expect_equal(_rows(candidate, table, 0.5, 0), [], what.format(0), "No room at all.")
    table = [[0.45, 0.5, 0.05], [0.4, 0.3, 0.3], [0.05, 0.9, 0.05]]
    rows = _rows(candidate, torch.tensor(table, dtype=torch.float64), 0.4, 1)
    likely = "Only a row's likeliest label is a guess: row 0 says 1, and takes no room of label 0."
    expect_equal(rows, [2, 1], f"the rows {table}, least 0.4, at most 1,", likely)


def equals(candidate) -> None:
    guesses = [(1, 0.75), (0, 0.75), (0, 0.75), (1, 0.875), (0, 0.75), (1, 0.75)]
    likely = "Among equals the lower row comes first, in what is chosen and in the order."
    if _rows(candidate, _table(guesses), 0.5, 2) == [3, 5, 4, 2]:
        likely += " Was an ascending order turned round? That turns equals round, too."
    for table, what, most, right in (
        (_table(guesses), _said(guesses), 2, [3, 0, 1, 2]),
        (_table([(0, 0.75)] * 40), "40 rows that say 0 at 0.75;", 17, list(range(17))),
    ):
        rows = _rows(candidate, table, 0.5, most)
        expect_equal(rows, right, f"{what} least 0.5, at most {most},", likely)
    table = [[0.5, 0.5], [0.9, 0.1]]
    rows = _rows(candidate, torch.tensor(table, dtype=torch.float64), 0.5, 1)
    likely = "Of labels that are equally likely the first is the guess: both rows say 0."
    expect_equal(rows, [1], f"the rows {table}, least 0.5, at most 1,", likely)


def whole(candidate) -> None:
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
                if its == label and (how > sure or (how == sure and other < row))
            ]
            if sure >= least and len(before) < most:
                right.append(row)
        right.sort(key=lambda row: guesses[row][1], reverse=True)
        what = f"{len(guesses)} guesses of {labels} labels, least {least}, at most {most}:"
        likely = "Here all rules meet: sure enough, at most so many of each label, equals by rows."
        expect_equal(_rows(candidate, _table(guesses, labels), least, most), right, what, likely)
