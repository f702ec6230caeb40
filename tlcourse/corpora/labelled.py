"""The form of labelled texts: one or more columns of text, then a label."""

import json
import reprlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tlcourse.corpora.checks import Counted, DataError, fields, lines_of
from tlcourse.corpora.corpus import Corpus


def canonical(text: str) -> str:
    """A text with white space collapsed; the line break `<br />` of IMDB is a space."""
    return " ".join(text.replace("<br />", " ").split())


@dataclass(frozen=True)
class Labelled:
    """The published names of a data set's columns of text and of its labels, by our names."""

    texts: dict[str, str]  # our column: the published one, in files and on the Hub alike
    labels: dict[str, str]  # the published label: our name, which is accepted as well
    label: str = "label"  # the published column of the label

    @property
    def published(self) -> tuple[str, ...]:
        """The published columns, the label last."""
        return (*self.texts.values(), self.label)

    def row(self, values: tuple, where: str) -> dict[str, str]:
        """A row of our columns from the values of `published`; a DataError names `where`."""
        *texts, label = values
        name = self.labels.get(str(label), label)
        clean = [canonical(text) if isinstance(text, str) else "" for text in texts]
        if not all(clean) or name not in self.labels.values():
            raise DataError(
                f"{where}: expected {', '.join(self.texts)} and one of the labels "
                f"{', '.join(self.labels)}, got {reprlib.repr(values)}; replace the data by the "
                "published ones"
            )
        return dict(zip((*self.texts, "label"), (*clean, name), strict=True))

    def parse(self, path: Path, source: str) -> Iterator[dict[str, str]]:
        """The rows of a file: tab-separated, unquoted, with a header; or a JSON object a line."""
        lines, decode, first = iter(lines_of(path, source)), json.loads, 1
        if {".tsv", ".txt"} & set(path.suffixes):
            decode, first = partial(_by_tabs, _cells(next(lines, "").lstrip("\ufeff"))), 2
        for number, line in enumerate(lines, start=first):
            where = f"{path.name}, line {number}"
            yield self.row(fields(line, self.published, decode, where=where), where)


def _by_tabs(header: list[str], line: str) -> dict[str, str]:
    return dict(zip(header, _cells(line), strict=True))


def _cells(line: str) -> list[str]:
    return line.rstrip("\n").split("\t")


def count(*texts_and_label: str) -> Counted:
    """The words, the text to digest and the label of a row; the label comes last in it."""
    *texts, label = texts_and_label
    words = sum(len(text.split()) for text in texts)
    return Counted(words, "\t".join([label, *texts]), (label,))


def labelled(
    name: str, texts: dict[str, str], labels: dict[str, str], label: str = "label", **more: Any
) -> Corpus:
    """A data set of this form; `more` are the remaining fields of Corpus."""
    form = Labelled(texts, labels, label)
    return Corpus(
        name=name,
        columns=texts | {"label": label},
        parse=form.parse,
        count=count,
        row=form.row,
        ids=(label,),
        labels=tuple(labels.values()),
        **more,
    )
