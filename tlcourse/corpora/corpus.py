"""The description of a data set: its files, sources, reader, counter and known facts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tlcourse.corpora.checks import Counted, Facts


@dataclass(frozen=True)
class Place:
    """A repository on the Hub and, for each split, its files there."""

    repository: str
    files: dict[str, tuple[str, ...]]
    revision: str = "main"


@dataclass(frozen=True)
class Release:
    """A repository on GitHub and, for each split, its file there at a fixed tag or commit."""

    repository: str
    tag: str
    files: dict[str, str]


@dataclass(frozen=True)
class Corpus:
    """A data set: the value `CORPUS` of its module.

    Its files may be as published or packed: each with .xz, or all in the `archive`. `columns` maps
    our names to the Hub's. `row` makes a canonical row of values in the order of `columns`, or
    raises DataError that names where they stand; it is None if the Hub's rows are canonical.
    """

    name: str
    files: dict[str, str]
    facts: dict[str, Facts]
    columns: dict[str, str]
    parse: Callable[[Path, str], Iterable[dict]]  # canonical rows of a file from a source
    count: Callable[..., Counted]  # of the values of a row
    row: Callable[[tuple, str], dict] | None = None
    ids: tuple[str, ...] = ()  # the Hub's columns of label ids, whose names are in its files
    labels: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    release: Release | None = None
    sample: str | None = None  # the folder of the bundled sample
    folder: str = ""  # of a mirror, where several data sets share one; else that of the name
    archive: str | None = None
    blank_after_title: bool = True  # titles of articles have a blank line after them, too
    whole_texts: bool = False  # a row is a whole, untokenised text, not a line of WikiText
    streamed: bool = False  # read line by line, never kept in memory
    caption: str = ""  # the note that captions of numbers on it must carry
    kind: str = ""  # of text, such as "books"; the card of a model depends on it
    licence: str = ""
    card: str = ""  # the note that the card of a model trained on it must carry
    lesson: int = 99  # the first lesson to use it; lists are in this order


def parquet(repository: str, folder: str, *splits: str, train_files: int = 1) -> Place:
    """A place with one parquet file a split (more for train), named as `datasets` names them."""
    count = {split: train_files if split == "train" else 1 for split in splits}
    names = {
        split: tuple(
            f"{folder}/{split}-{number:05d}-of-{count[split]:05d}.parquet"
            for number in range(count[split])
        )
        for split in splits
    }
    return Place(repository, names)


def converted(repository: str, folder: str, *splits: str) -> Place:
    """A place with the Hub's own parquet conversion of a repository that has a script."""
    return Place(
        repository,
        {split: (f"{folder}/{split}/0000.parquet",) for split in splits},
        revision="refs/convert/parquet",
    )
