"""STS benchmark (Cer et al., 2017): how similar are two sentences, from 0 to 5?

Columns: sentence1, sentence2, score; the score is the mean of several annotators'.
"""

import reprlib
from collections.abc import Iterator
from pathlib import Path

from tlcourse.corpora.checks import Counted, DataError, Facts, lines_of
from tlcourse.corpora.corpus import Corpus, converted
from tlcourse.corpora.labelled import canonical


def row(values: tuple, where: str) -> dict[str, str | float]:
    """A row from two sentences and their score; raises DataError that names `where`."""
    try:
        first, second, score = *map(canonical, values[:2]), float(values[2])
    except (AttributeError, IndexError, TypeError, ValueError):
        first, second, score = "", "", -1.0
    if not (first and second and 0 <= score <= 5):
        raise DataError(
            f"{where}: expected sentence1, sentence2 and a score from 0 to 5, got "
            f"{reprlib.repr(values)}; replace the data by the published ones"
        )
    return {"sentence1": first, "sentence2": second, "score": score}


def parse(path: Path, source: str) -> Iterator[dict[str, str | float]]:
    """Rows of a file: genre, file, year, id, score and two sentences, tab-separated, unquoted."""
    for number, line in enumerate(lines_of(path, source), start=1):
        score, *sentences = line.rstrip("\n").split("\t")[4:7] or [""]
        yield row((*sentences, score), f"{path.name}, line {number}")


def count(sentence1: str, sentence2: str, score: float) -> Counted:
    """The words of a row, and the text to digest."""
    words = len(sentence1.split()) + len(sentence2.split())
    return Counted(words, f"{score:.3f}\t{sentence1}\t{sentence2}")


FACTS = {
    "train": Facts(
        rows=5_749,
        words=114_346,
        digest="4fe5933e8f9f0fd7aa1dfc850eb034eb16727bebff153db3063d9a4425e98300",
    ),
    "validation": Facts(
        rows=1_500,
        words=34_147,
        digest="9267a6f1a09fc0fd95f08dfb7025e458e613b88ffbb4e9fa652fbcf9edbb87cf",
    ),
    "test": Facts(
        rows=1_379,
        words=27_052,
        digest="323fe48b0f6a428396dce042fb82e2e23ad3c4e0ae761399704c296140b2650c",
    ),
}

FILES = {"train": "sts-train.csv", "validation": "sts-dev.csv", "test": "sts-test.csv"}

CORPUS = Corpus(
    "stsb",
    FILES,
    FACTS,
    {"sentence1": "sentence1", "sentence2": "sentence2", "score": "score"},
    parse,
    count,
    row,
    # GLUE's copy has no scores for test; sentence-transformers' copy divides them by 5.
    places=(converted("mteb/stsbenchmark-sts", "default", *FILES),),
    sample="data/samples/stsb",
    lesson=6,
)
