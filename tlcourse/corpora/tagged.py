"""The form of sentences whose words have tags of named entities: two lists of equal length."""

import reprlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tlcourse.corpora.checks import Counted, DataError, Facts, lines_of
from tlcourse.corpora.corpus import Corpus


@dataclass(frozen=True)
class Tagged:
    """The types of entities of a data set, and what stands before each token in its files."""

    types: tuple[str, ...]
    before: str = ""

    @property
    def tags(self) -> tuple[str, ...]:
        """O, and B- and I- of each type, in the order of the Hub's ids."""
        return ("O", *(f"{mark}-{kind}" for kind in self.types for mark in "BI"))

    def histogram(self, *counts: int) -> dict[str, int]:
        """The histogram of the tags, from counts in their order."""
        return dict(zip(self.tags, counts, strict=True))

    def row(self, values: tuple, where: str) -> dict[str, list[str]]:
        """A row from its tokens and tags.

        Raises DataError, naming `where`, if there are no tokens, a tag is unknown, or an I- tag
        does not continue an entity of its type.
        """
        tokens, tags = map(list, values)
        valid = len(tokens) == len(tags) > 0 and all(token.split() == [token] for token in tokens)
        if not valid or not all(map(self._may_follow, ["O", *tags], tags)):
            some = self.types[-2:]
            raise DataError(
                f"{where}: expected a tag for every token, O or, such as B-{some[0]} and "
                f"I-{some[0]}, of {', '.join(self.types)}, I- only inside an entity, got "
                f"{reprlib.repr(tokens)} and {reprlib.repr(tags)}; replace the data by the "
                "published ones"
            )
        return {"tokens": tokens, "tags": tags}

    def _may_follow(self, before: str, tag: str) -> bool:
        return tag in self.tags and (not tag.startswith("I-") or before[1:] == tag[1:])

    def parse(self, path: Path, source: str) -> Iterator[dict[str, list[str]]]:
        """Rows of a file with the lines `token<TAB>tag`; a blank line or a lone tab ends a row."""
        pairs: list[list[str]] = []
        for number, line in enumerate(lines_of(path, source), start=1):
            if line.strip():
                pairs.append(line.rstrip("\n").removeprefix(self.before).split("\t"))
                if len(pairs[-1]) != 2 or not line.startswith(self.before):
                    raise DataError(
                        f"{path.name}, line {number}: expected {self.before and repr(self.before)}"
                        f"{' and ' * bool(self.before)}a token, a tab and a tag, got "
                        f"{reprlib.repr(line)}; replace the data by the published ones"
                    )
            elif pairs:
                yield self.row(
                    tuple(zip(*pairs, strict=True)), f"{path.name}, before line {number}"
                )
                pairs = []
        if pairs:
            yield self.row(tuple(zip(*pairs, strict=True)), f"{path.name}, at its end")


def count(tokens: Sequence[str], tags: Sequence[str]) -> Counted:
    """The number of tokens of a row, its lines as the text to digest, and its tags."""
    lines = "\n".join(map("\t".join, zip(tokens, tags, strict=True)))
    return Counted(len(tokens), lines, tuple(tags))


def tagged(
    name: str, form: Tagged, files: dict[str, str], facts: dict[str, Facts], **more: Any
) -> Corpus:
    """A data set of this form; `more` are the remaining fields of Corpus."""
    return Corpus(
        name,
        files,
        facts,
        {"tokens": "tokens", "tags": "ner_tags"},
        form.parse,
        count,
        form.row,
        ids=("ner_tags",),
        labels=form.tags,
        **more,
    )
