"""Splits of one source, by name; imports `datasets`, which takes seconds."""

import datasets

from tlcourse.corpora.checks import DataError


class _OneSource(dict):
    """Splits by name; raises DataError for a split that the source lacks."""

    def __missing__(self, split: str):
        source = next(iter(self.values())).info.description  # as `source_of` gives it
        raise DataError(
            f"expected a split out of {', '.join(self)}, got {split!r}; the {source} has "
            "no other, and splits of one data set are never taken from two sources"
        )


class Splits(_OneSource, datasets.DatasetDict):
    """A DatasetDict whose splits come from one source."""


class StreamedSplits(_OneSource, datasets.IterableDatasetDict):
    """An IterableDatasetDict whose splits come from one source."""
