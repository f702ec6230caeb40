"""WNUT-17 (Derczynski et al., 2017): named entities that are new or rare, in noisy text.

Columns: tokens and tags, two lists of equal length; a row is a message or a sentence of one. A tag
is O, or B- (an entity begins) or I- (it continues) with one of six types.
"""

import reprlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from tlcourse.corpora.checks import Counted, DataError, Facts, lines_of
from tlcourse.corpora.corpus import Corpus, converted

TYPES = ("corporation", "creative-work", "group", "location", "person", "product")
TAGS = ("O", *(f"{mark}-{kind}" for kind in TYPES for mark in "BI"))  # the order of the Hub's ids


def row(values: tuple, where: str) -> dict[str, list[str]]:
    """A row from its tokens and tags.

    Raises DataError, naming `where`, if there are no tokens, a tag is unknown, or an I- tag does
    not continue an entity of its type.
    """
    tokens, tags = map(list, values)
    valid = len(tokens) == len(tags) > 0 and all(token.split() == [token] for token in tokens)
    if not valid or not all(map(_may_follow, ["O", *tags], tags)):
        raise DataError(
            f"{where}: expected a tag for every token, O or, such as B-person and I-person, of "
            f"{', '.join(TYPES)}, I- only inside an entity, got {reprlib.repr(tokens)} and "
            f"{reprlib.repr(tags)}; replace the data by the published ones"
        )
    return {"tokens": tokens, "tags": tags}


def _may_follow(before: str, tag: str) -> bool:
    return tag in TAGS and (not tag.startswith("I-") or before[1:] == tag[1:])


def parse(path: Path, source: str) -> Iterator[dict[str, list[str]]]:
    """Rows of a file with the lines `token<TAB>tag`; a blank line, or a lone tab, ends a row."""
    pairs: list[list[str]] = []
    for number, line in enumerate(lines_of(path, source), start=1):
        if line.strip():
            pairs.append(line.rstrip("\n").split("\t"))
            if len(pairs[-1]) != 2:
                raise DataError(
                    f"{path.name}, line {number}: expected a token, a tab and a tag, got "
                    f"{reprlib.repr(line)}; replace the data by the published ones"
                )
        elif pairs:
            yield row(tuple(zip(*pairs, strict=True)), f"{path.name}, before line {number}")
            pairs = []
    if pairs:
        yield row(tuple(zip(*pairs, strict=True)), f"{path.name}, at its end")


def count(tokens: Sequence[str], tags: Sequence[str]) -> Counted:
    """The number of tokens of a row, its lines as the text to digest, and its tags."""
    lines = "\n".join(map("\t".join, zip(tokens, tags, strict=True)))
    return Counted(len(tokens), lines, tuple(tags))


def _histogram(*counts: int) -> dict[str, int]:
    """The histogram of TAGS, from counts in their order."""
    return dict(zip(TAGS, counts, strict=True))


FACTS = {
    "train": Facts(
        rows=3_394,
        words=62_730,
        labels=_histogram(59_570, 221, 46, 140, 206, 264, 150, 548, 245, 660, 335, 142, 203),
        digest="dfc02ad884dfbc5d7cbc8a6d447efc1661a424f2699b03c45486e50505f5ca50",
    ),
    "validation": Facts(
        rows=1_009,
        words=15_733,
        labels=_histogram(14_483, 34, 12, 105, 133, 39, 25, 74, 33, 470, 117, 114, 94),
        digest="4eace5016bd20f99408127218bc180fa1e22560b0eb8e25c4f88ce62cb06e627",
    ),
    "test": Facts(
        rows=1_287,
        words=23_394,
        labels=_histogram(21_654, 66, 22, 142, 218, 165, 70, 150, 94, 429, 131, 127, 126),
        digest="c626cf6742f4af1d1faf185e09e73a2664d674bde220bd872bab549cc424a230",
    ),
}
FILES = {
    "train": "wnut17train.conll",
    "validation": "emerging.dev.conll",
    "test": "emerging.test.annotated",
}

CORPUS = Corpus(
    "wnut17",
    FILES,
    FACTS,
    {"tokens": "tokens", "tags": "ner_tags"},
    parse,
    count,
    row,
    ids=("ner_tags",),
    labels=TAGS,
    places=(converted("leondz/wnut_17", "wnut_17", *FILES),),
    sample="data/samples/wnut17",
    lesson=7,
)
