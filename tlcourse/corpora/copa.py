"""COPA (Roemmele et al., 2011): which of two sentences is the likelier cause, or effect?

Columns: premise, asks_for (cause, effect), choice1, choice2, label (1, 2). It is not read from the
Hub: SuperGLUE's copy splits the questions otherwise, and withholds the answers to its test.
"""

import reprlib
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from tlcourse.corpora.checks import Counted, DataError, Facts, lines_of
from tlcourse.corpora.corpus import Corpus

COLUMNS = ("premise", "asks_for", "choice1", "choice2", "label")
ASKS = ("cause", "effect")


def row(values: tuple, where: str) -> dict[str, str]:
    """A row from the values of COLUMNS; raises DataError that names `where`."""
    valid = len(values) == 5 and all(isinstance(value, str) and value.strip() for value in values)
    if not valid or values[1] not in ASKS or values[4] not in ("1", "2"):
        raise DataError(
            f"{where}: expected a premise, cause or effect, two choices and the number of one, got "
            f"{reprlib.repr(values)}; replace the data by the published ones"
        )
    return dict(zip(COLUMNS, (" ".join(value.split()) for value in values), strict=True))


def parse(path: Path, source: str) -> Iterator[dict[str, str]]:
    """Rows of an XML file with an element `item` for each question."""
    text = "".join(lines_of(path, source))
    try:
        items = list(ElementTree.fromstring(text.encode()).iter("item"))
    except ElementTree.ParseError as error:
        raise DataError(
            f"{path.name}: expected XML, got {error}; replace the data by the published ones"
        ) from error
    for number, item in enumerate(items, start=1):
        asks, label = item.get("asks-for", ""), item.get("most-plausible-alternative", "")
        premise, first, second = (item.findtext(name, "") for name in ("p", "a1", "a2"))
        yield row((premise, asks, first, second, label), f"{path.name}, item {number}")


def count(premise: str, asks_for: str, choice1: str, choice2: str, label: str) -> Counted:
    """The words of a row, the text to digest, and the right choice."""
    texts = (premise, choice1, choice2)
    words = sum(len(text.split()) for text in texts)
    return Counted(words, "\t".join([label, asks_for, *texts]), (label,))


FACTS = {
    "train": Facts(
        rows=500,
        words=8_269,
        labels={"1": 250, "2": 250},
        digest="20fcaa651119a2d813a461850427ef3f23334eacb6389c881682e020efe072b9",
    ),
    "test": Facts(
        rows=500,
        words=8_043,
        labels={"1": 250, "2": 250},
        digest="1e6202c2d7cfef26043db805bcae452795554e068d5453434fb395ff0722b7c6",
    ),
}
FILES = {"train": "copa-dev.xml", "test": "copa-test.xml"}

CORPUS = Corpus(
    "copa",
    FILES,
    FACTS,
    {name: name for name in COLUMNS},
    parse,
    count,
    row,
    ids=("label",),
    labels=("1", "2"),
    sample="data/samples/copa",
    lesson=9,
)
