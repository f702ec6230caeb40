"""The form of word judgements: two words, and how alike people find them."""

import reprlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tlcourse.corpora.checks import Counted, DataError, Facts, lines_of
from tlcourse.corpora.corpus import Corpus, Release
from tlcourse.corpora.labelled import canonical

COLUMNS = ("word1", "word2", "score")
REPOSITORY, COMMIT = "mfaruqui/eval-word-vectors", "94b3dd9fdbac7ed08dbee7179cd5ee464acf0594"
SHARED = "word_similarity"  # the folder of a mirror, for all word judgements
SAMPLE = "data/samples/word-similarity"


def row(values: tuple, where: str, *, highest: float) -> dict[str, str | float]:
    """A row from two words, in lower case, and their score; a DataError names `where`."""
    try:
        first, second, score = *map(canonical, values[:2]), float(values[2])
    except (AttributeError, IndexError, TypeError, ValueError):
        first, second, score = "", "", -1.0
    if not (first and second and 0 <= score <= highest):
        raise DataError(
            f"{where}: expected {', '.join(COLUMNS)}, a score from 0 to {highest:g}, got "
            f"{reprlib.repr(values)}; replace the data by the published ones"
        )
    return dict(zip(COLUMNS, (first.lower(), second.lower(), score), strict=True))


def parse(path: Path, source: str, *, highest: float) -> Iterator[dict[str, str | float]]:
    """Rows of a file: two words and their score, tab-separated."""
    for number, line in enumerate(lines_of(path, source), start=1):
        yield row(tuple(line.split("\t")), f"{path.name}, line {number}", highest=highest)


def count(word1: str, word2: str, score: float) -> Counted:
    """The words of a row, and the text to digest."""
    return Counted(len(word1.split()) + len(word2.split()), f"{score:.3f}\t{word1}\t{word2}")


def word_pairs(
    name: str, files: dict[str, str], facts: dict[str, Facts], *, highest: float
) -> Corpus:
    """A data set of this form, whose scores go from 0 to `highest`."""
    return Corpus(
        name,
        files,
        facts,
        {column: column for column in COLUMNS},
        partial(parse, highest=highest),
        count,
        partial(row, highest=highest),
        release=Release(
            REPOSITORY, COMMIT, {split: f"data/word-sim/{file}" for split, file in files.items()}
        ),
        sample=SAMPLE,
        folder=SHARED,
        lesson=11,
    )
