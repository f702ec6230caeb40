"""XQuAD, English (Artetxe et al., 2020): questions on paragraphs of Wikipedia, out of SQuAD's dev.

Columns: question, paragraph, answer, start; the answer stands in the paragraph at that character.
The Hub's copy nests the answers, so the file is read from the authors' repository instead.
"""

import json
import reprlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tlcourse.corpora.checks import Counted, DataError, Facts, lines_of
from tlcourse.corpora.corpus import Corpus, Release

COLUMNS = ("question", "paragraph", "answer", "start")


def row(values: tuple, where: str) -> dict[str, str | int]:
    """A row from a question, its paragraph, the answer and where it starts.

    Raises DataError, naming `where`, unless the answer stands in the paragraph at that character.
    """
    question, paragraph, answer, start = values
    texts = all(isinstance(text, str) and text.strip() for text in (question, paragraph, answer))
    if not texts or not isinstance(start, int) or not paragraph[max(start, 0) :].startswith(answer):
        raise DataError(
            f"{where}: expected a question, a paragraph, and an answer that stands in it at a "
            f"character, got {reprlib.repr(values)}; replace the data by the published ones"
        )
    return dict(zip(COLUMNS, (question, paragraph, answer, start), strict=True))


def parse(path: Path, source: str) -> Iterator[dict[str, str | int]]:
    """Rows of a file in SQuAD's form; of several answers the first is taken."""
    try:
        content = json.loads("".join(lines_of(path, source)))
        paragraphs = [each for document in content["data"] for each in document["paragraphs"]]
        rows: list[tuple[Any, ...]] = [
            (asked["question"], each["context"], first["text"], first["answer_start"])
            for each in paragraphs
            for asked in each["qas"]
            for first in asked["answers"][:1]
        ]
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{path.name}: expected JSON in SQuAD's form, got {type(error).__name__}: {error}; "
            "replace the data by the published ones"
        ) from error
    for number, values in enumerate(rows, start=1):
        yield row(values, f"{path.name}, question {number}")


def count(question: str, paragraph: str, answer: str, start: int) -> Counted:
    """The words of a row, and the text to digest."""
    words = len(question.split()) + len(paragraph.split())
    return Counted(words, "\t".join([question, paragraph, answer, str(start)]))


FACTS = {
    "validation": Facts(
        rows=1_190,
        words=163_538,
        digest="dd7db6da60349e3040ea4898687c0781a21bb00d0e024e0d85a88f6a3b0faddf",
    )
}
FILES = {"validation": "xquad.en.json"}

CORPUS = Corpus(
    "xquad",
    FILES,
    FACTS,
    {name: name for name in COLUMNS},
    parse,
    count,
    row,
    release=Release("google-deepmind/xquad", "master", FILES),
    sample="data/samples/xquad",
    lesson=9,
)
