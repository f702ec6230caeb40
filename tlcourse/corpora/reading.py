"""Data sets from a folder, from the Hub's files or from the bundled sample, in canonical form."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tlcourse import files
from tlcourse.corpora import hub, release
from tlcourse.corpora.checks import HUB, LOCAL, RELEASE, SAMPLE, Absent, DataError, Measure, verify
from tlcourse.corpora.corpus import Corpus

if TYPE_CHECKING:
    import datasets

    from tlcourse.corpora.splits import Splits, StreamedSplits


def source_of(data: dict | datasets.Dataset | datasets.IterableDataset) -> str:
    """The source of data, such as "local mirror" or "Hugging Face Hub".

    Takes the splits, one split or any selection of its rows.
    """
    return _split_of(data).info.description


def name_of(data: dict | datasets.Dataset | datasets.IterableDataset) -> str:
    """The name of the data set that the data are from, such as "wikitext-2"."""
    return _split_of(data).info.dataset_name


def _split_of(data):
    return next(iter(data.values())) if isinstance(data, dict) else data


def local_folder(corpus: Corpus) -> Path:
    """The data set's folder in the local mirror; raises Absent if there is none.

    Raises DataError if TLCOURSE_DATA does not name a folder.
    """
    mirror = os.environ.get("TLCOURSE_DATA")
    if not mirror:
        raise Absent("TLCOURSE_DATA is not set")
    if not Path(mirror).is_dir():
        raise DataError(f"expected a folder in TLCOURSE_DATA, got {mirror!r}; correct or unset it")
    names = [corpus.name, corpus.name.replace("-", "_"), corpus.folder]
    for name in filter(None, names):
        if _files_in(corpus, Path(mirror) / name):
            return Path(mirror) / name
    raise Absent(f"TLCOURSE_DATA has no {corpus.name}")


def _files_in(corpus: Corpus, folder: Path) -> dict[str, Path]:
    """The file, packed or not, of each split that a folder holds."""
    paths = {}
    for split, file in corpus.files.items():
        for path in (folder / (corpus.archive or f"{file}.xz"), folder / file):
            if path.exists():
                paths[split] = path
    return paths


def from_folder(corpus: Corpus, folder: Path, source: str) -> Splits | StreamedSplits:
    """The splits in a folder of files laid out as published."""
    from tlcourse.corpora.splits import Splits, StreamedSplits

    paths = _files_in(corpus, folder)
    if corpus.streamed:
        return StreamedSplits({s: _stream(corpus, s, path, source) for s, path in paths.items()})
    return Splits(
        {s: _dataset(corpus, s, corpus.parse(path, source), source) for s, path in paths.items()}
    )


def from_mirror(corpus: Corpus) -> Splits | StreamedSplits:
    """The splits in the local mirror; raises Absent if it has none."""
    return from_folder(corpus, local_folder(corpus), LOCAL)


def sample_folder(corpus: Corpus) -> Path:
    """The folder of the data set's bundled sample; raises Absent if there is none."""
    if corpus.sample is None:
        raise Absent("there is no bundled sample of it")
    return files.bundled(corpus.sample)


def from_sample(corpus: Corpus) -> Splits:
    """The splits of the bundled sample; raises Absent if there is no sample."""
    return from_folder(corpus, sample_folder(corpus), SAMPLE)


def from_hub(corpus: Corpus, *, network: bool = True) -> Splits:
    """All splits, from the Hub's cache or the Hub; raises Absent if neither has them."""
    from tlcourse.corpora.splits import Splits

    splits = Splits()
    for split, paths in hub.fetch(corpus, network=network).items():
        rows = hub.rows(corpus, paths, f"{corpus.name} {split}")
        splits[split] = _dataset(corpus, split, rows, HUB)
    return splits


def from_release(corpus: Corpus, *, network: bool = True) -> Splits:
    """All splits, from a release on GitHub or its cache; raises Absent if neither has them."""
    from tlcourse.corpora.splits import Splits

    paths = release.fetch(corpus, network=network)
    return Splits(
        {s: _dataset(corpus, s, corpus.parse(path, RELEASE), RELEASE) for s, path in paths.items()}
    )


def _dataset(
    corpus: Corpus, split: str, rows: Iterable[dict] | datasets.Dataset, source: str
) -> datasets.Dataset:
    """Rows as a verified Dataset that records its name and source."""
    import datasets

    if isinstance(rows, datasets.Dataset):
        dataset = rows
    else:
        columns: dict[str, list] = {}
        for row in rows:
            for name, value in row.items():
                columns.setdefault(name, []).append(value)
        dataset = datasets.Dataset.from_dict(columns)
    measure = Measure()
    for batch in dataset.iter(batch_size=1000):
        for row in zip(*batch.values(), strict=True):
            measure.add(corpus.count(*row))
    if source != SAMPLE:
        verify(measure, corpus.facts[split], what=f"{corpus.name} {split}", source=source)
    return _signed(dataset, corpus, source)


def _stream(corpus: Corpus, split: str, path: Path, source: str) -> datasets.IterableDataset:
    """The rows of a big file, read lazily."""
    import datasets

    rows = datasets.IterableDataset.from_generator(
        _rows, gen_kwargs={"corpus": corpus, "split": split, "path": str(path), "source": source}
    )
    return _signed(rows, corpus, source)


def _rows(corpus: Corpus, split: str, path: str, source: str) -> Iterator[dict]:
    """The rows of a big file; raises DataError at its end if the counts are wrong."""
    measure = Measure()
    for row in corpus.parse(Path(path), source):
        measure.add(corpus.count(*row.values()))
        yield row
    verify(measure, corpus.facts[split], what=f"{corpus.name} {split}", source=source)


def _signed(split, corpus: Corpus, source: str):
    """The split with its name and source in `info`, which `datasets` keeps through selections."""
    split.info.dataset_name, split.info.description = corpus.name, source
    return split
