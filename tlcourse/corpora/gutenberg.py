"""Books of Project Gutenberg by authors who wrote in English, 46 MB.

Column: text, one book a row and one paragraph a line.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from tlcourse.corpora.checks import Counted, Facts, fields, lines_of
from tlcourse.corpora.corpus import Corpus

FACTS = {
    "train": Facts(
        rows=149,
        words=8_075_540,
        digest="b1d719c5c9e35c4edeeb1ffbed2493be7e93f9990a06d0e89d65f6e39b788dab",
    )
}
FRONT = 12  # paragraphs left out at the start: title page and contents, as a rule
BETWEEN = re.compile(r"\n\s*\n")  # paragraphs


def book(text: str) -> str:
    """A published text without its first paragraphs, hard line breaks and `_italics_`."""
    paragraphs = (" ".join(lines.split()) for lines in BETWEEN.split(text)[FRONT:])
    return "".join(text.replace("_", "") + "\n" for text in paragraphs if text)


def parse(path: Path, source: str) -> Iterator[dict[str, str]]:
    """The books of a file, packed or not, with one JSON object a line."""
    for number, line in enumerate(lines_of(path, source), start=1):
        where = f"{path.name}, line {number}"
        (text,) = fields(line, ("text",), json.loads, where=where)
        yield {"text": book(text)}


def count(text: str) -> Counted:
    """The words of a book, and the text to digest."""
    return Counted(len(text.split()), text)


CORPUS = Corpus(
    "gutenberg",
    {"train": "gutenberg-00.jsonl"},
    FACTS,
    {"text": "text"},
    parse,
    count,
    whole_texts=True,
    kind="books",
    licence="in the public domain in the USA",
    card="`gutenberg` is books of Project Gutenberg, mostly fiction, by authors from the 18th "
    "century to the 1920s (see `data/README.md`).",
    lesson=3,
)
