"""What a data set is: its files, its places, how it is read and counted, what is known of it."""

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
    """A repository on GitHub and, for each split, its file there at a tag, which never changes."""

    repository: str
    tag: str
    files: dict[str, str]


@dataclass(frozen=True)
class Corpus:
    """A data set: the value `CORPUS` of the module that has all of it.

    Files are there as published or packed: each with .xz, or all in the `archive`. `columns` has
    our names and, for each, the Hub's. `row` makes a canonical row of values in the order of
    `columns` and raises DataError, saying where, if it cannot; None where the Hub's rows are
    canonical as they are.
    """

    name: str
    files: dict[str, str]
    facts: dict[str, Facts]
    columns: dict[str, str]
    parse: Callable[[Path, str], Iterable[dict]]  # canonical rows of a file from a source
    count: Callable[..., Counted]  # takes a row's values
    row: Callable[[tuple, str], dict] | None = None
    ids: tuple[str, ...] = ()  # those of the Hub's columns that have ids, named in its files
    labels: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    release: Release | None = None
    sample: str | None = None  # its folder
    archive: str | None = None
    blank_after_title: bool = True  # articles have a blank line after their title, not just before
    whole_texts: bool = False  # a row is a text as people write it, not a line of WikiText's
    streamed: bool = False  # read line by line, never kept in memory
    caption: str = ""  # what every caption of numbers on it must say
    kind: str = ""  # of text, such as "books": what the card of a model says of it depends on it
    licence: str = ""
    card: str = ""  # what the card of a model that has read it must say
    lesson: int = 99  # the first that speaks of it; lists go by it


def parquet(repository: str, folder: str, *splits: str, train_files: int = 1) -> Place:
    """One parquet file a split, or more for train, named as `datasets` names them."""
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
    """One parquet file a split, as the Hub itself converts a repository that has a script."""
    return Place(
        repository,
        {split: (f"{folder}/{split}/0000.parquet",) for split in splits},
        revision="refs/convert/parquet",
    )
