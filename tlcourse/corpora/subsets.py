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


def ordered(split: datasets.Dataset) -> list[int]:
    """The row indices, sorted by the content of the rows and not by their order in `split`."""
    rows = list(zip(*(split[column][:] for column in split.column_names), strict=True))
    return sorted(range(len(rows)), key=rows.__getitem__)
