"""The data sets: a local mirror, else the Hugging Face Hub, else the bundled sample; all verified.

`load` returns `datasets` objects in one canonical form, whatever the source. All splits of a data
set come from one source.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import datasets

from tlcourse.corpora import trec, wikitext
from tlcourse.corpora.catalogue import CORPORA, Corpus, get
from tlcourse.corpora.checks import LOCAL, SAMPLE, DataError, Measure, lines_of, verify
from tlcourse.corpora.trec import TREC_FINE_LABELS, TREC_LABELS

__all__ = ["TREC_FINE_LABELS", "TREC_LABELS", "DataError", "articles", "load", "source_of"]


class _OneSource(dict):
    """Splits by name; a split that the source lacks is a DataError when asked for."""

    def __missing__(self, split: str):
        raise DataError(
            f"expected a split out of {', '.join(self)}, got {split!r}; the {source_of(self)} has "
            "no other, and splits of one data set are never taken from two sources"
        )


class Splits(_OneSource, datasets.DatasetDict):
    """A DatasetDict whose splits come from one source."""


class StreamedSplits(_OneSource, datasets.IterableDatasetDict):
    """An IterableDatasetDict whose splits come from one source."""


def load(name: str, source: str | None = None) -> Splits | StreamedSplits:
    """The data set `name`, verified; `source` forces "local", "hub" or "sample".

    TREC's columns are text, label (the coarse name) and fine (such as LOC:city); WikiText's is
    text, one line a row. `wikipedia-standin` (447 MB) is streamed, its counts are verified when
    its end is reached. Raises DataError on an unknown name or source, and on wrong data.
    """
    corpus = get(name)
    path = local_folder(corpus)
    if path is None:
        raise DataError(f"{name} is not below TLCOURSE_DATA")
    return _from_folder(corpus, path, LOCAL)


def local_folder(corpus: Corpus) -> Path | None:
    """The data set's folder in the local mirror, None where there is none.

    Raises DataError when TLCOURSE_DATA names no folder.
    """
    mirror = os.environ.get("TLCOURSE_DATA")
    if not mirror:
        return None
    if not Path(mirror).is_dir():
        raise DataError(f"expected a folder in TLCOURSE_DATA, got {mirror!r}; correct or unset it")
    folder = Path(mirror) / corpus.name
    return folder if any(_files(corpus, folder)) else None


def _files(corpus: Corpus, folder: Path) -> Iterator[tuple[str, Path]]:
    """The splits that a folder holds and their files, packed or not."""
    for split, file in corpus.files.items():
        for path in (folder / file, folder / f"{file}.xz"):
            if path.is_file():
                yield split, path
                break


def _from_folder(corpus: Corpus, folder: Path, source: str) -> Splits | StreamedSplits:
    """The splits in a folder of files laid out as published."""
    found = dict(_files(corpus, folder))
    if corpus.streamed:
        return StreamedSplits({s: _stream(corpus, s, path, source) for s, path in found.items()})
    read = {True: _questions, False: _lines}[corpus.name == "trec"]
    return Splits({s: _dataset(corpus, s, read(path, source), source) for s, path in found.items()})


def _questions(path: Path, source: str) -> dict[str, list[str]]:
    rows = list(trec.parse(lines_of(path, source, encoding="latin-1"), str(path)))
    return {column: [row[column] for row in rows] for column in ("text", "label", "fine")}


def _lines(path: Path, source: str) -> dict[str, list[str]]:
    return {"text": [wikitext.canonical(line) for line in lines_of(path, source)]}


def _dataset(
    corpus: Corpus, split: str, columns: dict[str, list[str]], source: str
) -> datasets.Dataset:
    """Columns as a verified Dataset that knows where it comes from."""
    measure = Measure()
    add = measure.add_question if "label" in columns else measure.add_line
    for row in zip(*columns.values(), strict=True):
        add(*row)
    if source != SAMPLE:
        verify(f"{corpus.name} {split}", source, measure, corpus.facts[split])
    return _signed(datasets.Dataset.from_dict(columns), corpus, source)


def _stream(corpus: Corpus, split: str, path: Path, source: str) -> datasets.IterableDataset:
    """The lines of a big file, read as they are asked for."""
    rows = datasets.IterableDataset.from_generator(
        _rows, gen_kwargs={"name": corpus.name, "split": split, "path": str(path), "source": source}
    )
    return _signed(rows, corpus, source)


def _rows(name: str, split: str, path: str, source: str) -> Iterator[dict[str, str]]:
    """Rows of a big file; raises DataError at its end if the counts are wrong."""
    measure = Measure()
    for line in lines_of(Path(path), source):
        text = wikitext.canonical(line)
        measure.add_line(text)
        yield {"text": text}
    verify(f"{name} {split}", source, measure, get(name).facts[split])


def _signed(split, corpus: Corpus, source: str):
    """The split, with its name and source where `datasets` keeps them through every selection."""
    split.info.dataset_name, split.info.description = corpus.name, source
    return split


def articles(split: str | datasets.Dataset | datasets.IterableDataset) -> Iterator[str]:
    """The articles of a WikiText split, one string each; a name means that data set's train split.

    Lines lose the space at their end; an article ends with a line end. The file of
    `wikipedia-standin` is read while articles are asked for, and is in random order: its first
    articles are an unbiased sample.
    """
    if isinstance(split, str):
        split = load(split)["train"]
    name = split.info.dataset_name
    blank_after = name not in CORPORA or CORPORA[name].blank_after_title
    return wikitext.articles_of(_texts(split), blank_after)


def _texts(split: datasets.Dataset | datasets.IterableDataset) -> Iterator[str]:
    for batch in split.iter(batch_size=1000):
        yield from batch["text"]


def source_of(data: dict | datasets.Dataset | datasets.IterableDataset) -> str:
    """Where data come from: "local mirror", "Hugging Face Hub" or "bundled sample"."""
    split = next(iter(data.values())) if isinstance(data, dict) else data
    return split.info.description
