"""Subsets of any labelled split."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import datasets


def label_subset(split: datasets.Dataset, n: int, *, seed: int = 0) -> datasets.Dataset:
    """`n` rows with every label of the column `label` in about its share, and at least once.

    For one seed a smaller subset is part of every larger one; the order of the rows in `split`
    does not matter. Raises ValueError where `n` is less than the number of labels or more than the
    rows there are.
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
        # The k-th of m rows stands at (k + a half) / m of the way; the first of all before that.
        ranked += [((k + 0.5) / len(rows) if k else 0.0, label, row) for k, row in enumerate(rows)]
    return split.select(sorted(int(row) for _, _, row in sorted(ranked)[:n]))


def ordered(split: datasets.Dataset) -> list[int]:
    """The row numbers in an order that depends on what the rows say, not on where they stand."""
    rows = list(zip(*(split[column][:] for column in split.column_names), strict=True))
    return sorted(range(len(rows)), key=rows.__getitem__)
