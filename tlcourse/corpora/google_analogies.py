"""Google's analogies (Mikolov et al., 2013): a is to b as c is to d.

Columns: section, a, b, c, d. There are 14 sections: the names of the nine syntactic ones begin with
gram, and the others are semantic.
"""

import reprlib
from collections.abc import Iterator
from pathlib import Path

from tlcourse.corpora.checks import Counted, DataError, Facts, lines_of
from tlcourse.corpora.corpus import Corpus, Release
from tlcourse.corpora.word_pairs import SAMPLE, SHARED

COLUMNS = ("section", "a", "b", "c", "d")
SECTIONS = {  # and how many questions each has
    "capital-common-countries": 506,
    "capital-world": 4_524,
    "currency": 866,
    "city-in-state": 2_467,
    "family": 506,
    "gram1-adjective-to-adverb": 992,
    "gram2-opposite": 812,
    "gram3-comparative": 1_332,
    "gram4-superlative": 1_122,
    "gram5-present-participle": 1_056,
    "gram6-nationality-adjective": 1_599,
    "gram7-past-tense": 1_560,
    "gram8-plural": 1_332,
    "gram9-plural-verbs": 870,
}


def row(values: tuple, where: str) -> dict[str, str]:
    """A row from a section and four words, in lower case; a DataError names `where`."""
    valid = all(isinstance(value, str) and len(value.split()) == 1 for value in values)
    if len(values) != 5 or not valid or values[0] not in SECTIONS:
        raise DataError(
            f"{where}: expected one of the {len(SECTIONS)} sections and four words, got "
            f"{reprlib.repr(values)}; replace the data by the published ones"
        )
    return dict(zip(COLUMNS, (value.strip().lower() for value in values), strict=True))


def parse(path: Path, source: str) -> Iterator[dict[str, str]]:
    """Rows of a file: a line with a colon and a name begins a section, the others are questions."""
    section = ""
    for number, line in enumerate(lines_of(path, source), start=1):
        if line.startswith(":"):
            section = line[1:].strip()
        else:
            yield row((section, *line.split()), f"{path.name}, line {number}")


def count(section: str, a: str, b: str, c: str, d: str) -> Counted:
    """The words of a row, the text to digest, and the section."""
    return Counted(4, "\t".join([section, a, b, c, d]), (section,))


FACTS = {
    "test": Facts(
        rows=19_544,
        words=78_176,
        labels=SECTIONS,
        digest="05276e54d35f08905351dc9a8f5fb4634723c2fd83d8050dc8564fa2e316f6f9",
    )
}
FILES = {"test": "questions-words.txt"}

CORPUS = Corpus(
    "google-analogies",
    FILES,
    FACTS,
    {name: name for name in COLUMNS},
    parse,
    count,
    row,
    ids=("section",),
    labels=tuple(SECTIONS),
    release=Release("nicholas-leonard/word2vec", "d83ccfba4dd08f113d5e75d67c9f6cd30f6532c4", FILES),
    sample=SAMPLE,
    folder=SHARED,
    lesson=11,
)
