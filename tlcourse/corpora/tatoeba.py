"""Tatoeba, German and English (LASER's test set: Artetxe & Schwenk, 2019): translated sentences.

Columns: german, english. The two languages are two files, in which equal lines translate each
other. They are read from LASER's repository (`data/tatoeba/v1`), in a mirror; not from the Hub.
"""

import reprlib
from collections.abc import Iterator
from pathlib import Path

from tlcourse.corpora.checks import WHAT_TO_DO, Counted, DataError, Facts, lines_of
from tlcourse.corpora.corpus import Corpus
from tlcourse.corpora.labelled import canonical

COLUMNS = ("german", "english")
GERMAN, ENGLISH = "tatoeba.deu-eng.deu", "tatoeba.deu-eng.eng"


def row(values: tuple, where: str) -> dict[str, str]:
    """A row from a sentence and its translation; raises DataError, naming `where`, if one lacks."""
    clean = [canonical(value) if isinstance(value, str) else "" for value in values]
    if len(clean) != 2 or not all(clean):
        raise DataError(
            f"{where}: expected a German and an English sentence, got {reprlib.repr(values)}; "
            "replace the data by the published ones"
        )
    return dict(zip(COLUMNS, clean, strict=True))


def parse(path: Path, source: str) -> Iterator[dict[str, str]]:
    """Rows of the German file, with the lines of the English one, which lies beside it.

    Raises DataError if there is no English file, or if it has more or fewer lines.
    """
    packed, other = path.with_name(f"{ENGLISH}.xz"), path.with_name(ENGLISH)
    if not other.exists():
        if not packed.exists():
            raise DataError(
                f"{path.name}: expected {ENGLISH} beside it, packed (.xz) or not, got neither; "
                f"{WHAT_TO_DO[source]}"
            )
        other = packed
    german, english = ([*lines_of(each, source)] for each in (path, other))
    if len(german) != len(english):
        raise DataError(
            f"{path.name}: expected as many lines as {other.name} has, got {len(german):,} and "
            f"{len(english):,}; {WHAT_TO_DO[source]}"
        )
    for number, pair in enumerate(zip(german, english, strict=True), start=1):
        yield row(pair, f"{path.name}, line {number}")


def count(german: str, english: str) -> Counted:
    """The words of a row, and the text to digest."""
    return Counted(len(german.split()) + len(english.split()), f"{german}\t{english}")


FACTS = {
    "test": Facts(
        rows=1_000,
        words=18_191,
        digest="1832425ad7e4b2d0ce92b672cca5bba2b5c93446008e9ce532bfd894281a7823",
    )
}

CORPUS = Corpus(
    "tatoeba",
    {"test": GERMAN},
    FACTS,
    {name: name for name in COLUMNS},
    parse,
    count,
    row,
    sample="data/samples/tatoeba",
    lesson=9,
)
