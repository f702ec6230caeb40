"""The form of WikiText: one row a line, and articles from lines."""

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
    """A line as in Salesforce/wikitext: a blank one is "", any other keeps its end."""
    return line if line.strip() else ""


def parse(path: Path, source: str) -> Iterator[dict[str, str]]:
    """Rows of a file, packed or not."""
    return ({"text": canonical(line)} for line in lines_of(path, source))


def count(text: str) -> Counted:
    """What a row counts for: its words and one `<eos>` (Merity et al., 2016)."""
    return Counted(len(text.split()) + 1, text)


def wikitext(name: str, files: dict[str, str], facts: dict[str, Facts], **more: Any) -> Corpus:
    """A data set of this form, with the one column text; `more` are other fields of Corpus."""
    more |= {"kind": "Wikipedia", "licence": "CC BY-SA 3.0"}
    return Corpus(name, files, facts, {"text": "text"}, parse, count, **more)


def articles_of(lines: Iterable[str], *, blank_after: bool = True) -> Iterator[str]:
    """Cuts lines into articles at the titles (` = Title = `), keeping one article in memory.

    A title stands after a blank line and, if `blank_after`, before one; a formula that is torn
    over lines (` = 7 / 2 = `) does not. What comes before the first title is an article as well,
    if there is any text. Lines lose the white space at their end and keep the space at their
    start; blank lines belong to the article before them, so that the articles, joined, are the
    whole text and its line ends can be counted.
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
    """Every line between the one before and the one after ("" at the ends)."""
    before = line = None
    for after in lines:
        if line is not None:
            yield before or "", line, after
        before, line = line, after
    if line is not None:
        yield before or "", line, ""
