"""Subsets of any labelled split."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import datasets


def label_subset(split: datasets.Dataset, n: int, *, seed: int = 0) -> datasets.Dataset:
    """`n` rows, in which every label of the column `label` has about its share, at least one row.

    With the same seed, a smaller subset is part of every larger one; the order of the rows in
    `split` does not matter. Raises ValueError if `n` is less than the number of labels or more than
    the number of rows.
    """
    labels = split["label"][:]
    by_label = defaultdict(list)
    for index in ordered(split):
        by_label[labels[index]].append(index)
    if not len(by_label) <= n <= len(split):
        raise ValueError(
            f"expected a number of rows from {len(by_label)} (one a label) to {len(split)}, got {n}"
        )
    generator = np.random.default_rng(seed)
    ranked = []
    for label in sorted(by_label):
        rows = generator.permutation(by_label[label])
        # The k-th of a label's m rows ranks at (k + 1/2) / m, its first row before all others.
        ranked += [((k + 0.5) / len(rows) if k else 0.0, label, row) for k, row in enumerate(rows)]
    return split.select(sorted(int(row) for _, _, row in sorted(ranked)[:n]))


def split_by(
    split: datasets.Dataset, column: str, *, share: float = 0.2, seed: int = 0
) -> tuple[datasets.Dataset, datasets.Dataset]:
    """Two parts of a split, in order: rows with the same value of a column are in the same part.

    The second part has `share` of the column's values, at least one, drawn by `seed`. Raises
    ValueError for a share that leaves one part empty, or a column that the split lacks.
    """
    if column not in split.column_names:
        raise ValueError(f"expected a column out of {split.column_names}, got {column!r}")
    values = sorted(set(split[column][:]))
    count = max(1, round(share * len(values)))
    if not 0 < share < 1 or count >= len(values):
        raise ValueError(
            f"expected a share that leaves some of the {len(values)} values of {column!r} in both "
            f"parts, got {share}"
        )
    drawn = set(np.random.default_rng(seed).permutation(len(values))[:count].tolist())
    held_out = {value for number, value in enumerate(values) if number in drawn}
    rows: tuple[list[int], list[int]] = ([], [])
    for number, value in enumerate(split[column][:]):
        rows[value in held_out].append(number)
    return split.select(rows[0]), split.select(rows[1])


def ordered(split: datasets.Dataset) -> list[int]:
    """The row indices, sorted by the content of the rows and not by their order in `split`."""
    rows = list(zip(*(split[column][:] for column in split.column_names), strict=True))
    return sorted(range(len(rows)), key=rows.__getitem__)
