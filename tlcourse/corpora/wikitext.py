"""The form of WikiText data sets: one row a line, and articles cut from the lines."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tlcourse.corpora.checks import Counted, Facts, lines_of
from tlcourse.corpora.corpus import Corpus

TOKENS = {
    "train": "wiki.train.tokens",
    "validation": "wiki.valid.tokens",
    "test": "wiki.test.tokens",
}
TITLE = re.compile(r" = (?!= ).*(?<! =) =")


def canonical(line: str) -> str:
    """A line as in Salesforce/wikitext: "" if it is blank, otherwise with its line end."""
    return line if line.strip() else ""


def parse(path: Path, source: str) -> Iterator[dict[str, str]]:
    """The rows of a file, packed or not."""
    return ({"text": canonical(line)} for line in lines_of(path, source))


def count(text: str) -> Counted:
    """The words of a row plus one `<eos>` (Merity et al., 2016), and the text to digest."""
    return Counted(len(text.split()) + 1, text)


def wikitext(name: str, files: dict[str, str], facts: dict[str, Facts], **more: Any) -> Corpus:
    """A data set of this form, with the column text; `more` are other fields of Corpus."""
    more = {"kind": "Wikipedia", "licence": "CC BY-SA 3.0"} | more
    return Corpus(name, files, facts, {"text": "text"}, parse, count, **more)


def articles_of(lines: Iterable[str], *, blank_after: bool = True) -> Iterator[str]:
    """Cuts lines into articles at the titles (` = Title = `), keeping one article in memory.

    A title comes after a blank line and, if `blank_after`, before one; a line of a formula
    (` = 7 / 2 = `) does not. Text before the first title is an article as well. Lines lose the
    white space at their end and keep the space at their start; blank lines belong to the article
    before them, so that the articles, joined, are the whole text and its line ends can be counted.
    """
    article: list[str] = []
    for before, line, after in _with_neighbours(line.rstrip() for line in lines):
        starts = not before and not (blank_after and after) and TITLE.fullmatch(line)
        if starts and any(article):
            yield "\n".join(article) + "\n"
            article = []
        article.append(line)
    if any(article):
        yield "\n".join(article) + "\n"


def _with_neighbours(lines: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Triples (line before, line, line after), with "" beyond the ends."""
    before = line = None
    for after in lines:
        if line is not None:
            yield before or "", line, after
        before, line = line, after
    if line is not None:
        yield before or "", line, ""
