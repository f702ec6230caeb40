"""Splits of one source, by name; imports `datasets`, which takes seconds."""

import datasets

from tlcourse.corpora.checks import DataError
from tlcourse.corpora.reading import source_of


class _OneSource(dict):
    """Splits by name; raises DataError for a split that the source lacks."""

    def __missing__(self, split: str):
        raise DataError(
            f"expected a split out of {', '.join(self)}, got {split!r}; the {source_of(self)} has "
            "no other, and splits of one data set are never taken from two sources"
        )


class Splits(_OneSource, datasets.DatasetDict):
    """A DatasetDict whose splits come from one source."""


class StreamedSplits(_OneSource, datasets.IterableDatasetDict):
    """An IterableDatasetDict whose splits come from one source."""
