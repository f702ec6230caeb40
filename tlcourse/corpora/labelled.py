"""Labelled texts of one form, SST-2, IMDB and RTE, and subsets of any labelled split."""

import json
import reprlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import datasets
import numpy as np

from tlcourse.corpora.checks import DataError, fields, lines_of


def canonical(text: str) -> str:
    """A text with white space collapsed; the line break `<br />` of IMDB is a space."""
    return " ".join(text.replace("<br />", " ").split())


@dataclass(frozen=True)
class Labelled:
    """How a set is published: what its columns of text and its labels are called, by our names."""

    texts: dict[str, str]  # our column: the published one, in files and on the Hub alike
    labels: dict[str, str]  # the published label: our name, which is understood as well

    @property
    def published(self) -> tuple[str, ...]:
        """The published columns, the label last."""
        return (*self.texts.values(), "label")

    def row(self, values: tuple, where: str) -> dict[str, str]:
        """A row of our columns from those of `published`; raises DataError, saying where."""
        *texts, label = values
        name = self.labels.get(str(label), label)
        good = all(isinstance(text, str) and canonical(text) for text in texts)
        if not good or name not in self.labels.values():
            raise DataError(
                f"{where}: expected {', '.join(self.texts)} and one of the labels "
                f"{', '.join(self.labels)}, got {reprlib.repr(values)}; replace the data by the "
                "published ones"
            )
        return dict(zip((*self.texts, "label"), (*map(canonical, texts), name), strict=True))

    def parse(self, path: Path, source: str) -> Iterator[dict[str, str]]:
        """Rows of a file: tab-separated, unquoted, with a header, or one JSON object a line."""
        lines, decode, first = iter(lines_of(path, source)), json.loads, 1
        if ".tsv" in path.suffixes:
            decode, first = partial(_by_tabs, _cells(next(lines, ""))), 2
        for number, line in enumerate(lines, start=first):
            where = f"{path.name}, line {number}"
            yield self.row(fields(line, self.published, decode, where=where), where)


def _by_tabs(header: list[str], line: str) -> dict[str, str]:
    return dict(zip(header, _cells(line), strict=True))


def _cells(line: str) -> list[str]:
    return line.rstrip("\n").split("\t")


SETS = {
    "sst-2": Labelled({"text": "sentence"}, {"0": "negative", "1": "positive"}),
    "imdb": Labelled({"text": "text"}, {"neg": "negative", "pos": "positive"}),
    "rte": Labelled(
        {"premise": "sentence1", "hypothesis": "sentence2"},
        {name: name for name in ("entailment", "not_entailment")},
    ),
}


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
