"""The data sets: a local mirror, else the network, else the bundled sample; all verified.

    from tlcourse import corpora

    data = corpora.trec_with_dev(corpora.load("trec"))     # splits train, dev and test
    few = corpora.label_subset(data["train"], 100, seed=0)
    few["text"][0], few["label"][0]                        # a question, and one of TREC_LABELS
    corpora.labels_of("trec")                              # the label names of any data set
    corpora.source_of(data), corpora.caption_note(data)    # the source, and a note for captions
    article = next(corpora.articles("wikitext-2"))

`load` returns `datasets` objects in one canonical form, whatever the source. All splits of a data
set come from one source. Each data set is one module of this folder, which documents its columns
and holds everything specific to it; the catalogue finds it there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tlcourse.corpora import catalogue, conllu, hub, reading, release, treebank, wikitext
from tlcourse.corpora.checks import HUB, LOCAL, RELEASE, SAMPLE, Absent, DataError
from tlcourse.corpora.corpus import Corpus
from tlcourse.corpora.persona_dialogues import persona_dialogues
from tlcourse.corpora.reading import name_of, source_of
from tlcourse.corpora.subsets import label_subset, split_by
from tlcourse.corpora.toy_language import toy_translations
from tlcourse.corpora.trec import TREC_FINE_LABELS, TREC_LABELS, duplicates_report, trec_with_dev
from tlcourse.corpora.word_senses import word_senses

if TYPE_CHECKING:
    import datasets

    from tlcourse.corpora.splits import Splits, StreamedSplits

__all__ = [
    "HUB",
    "LOCAL",
    "RELEASE",
    "SAMPLE",
    "TREC_FINE_LABELS",
    "TREC_LABELS",
    "DataError",
    "articles",
    "available",
    "caption_note",
    "conllu",
    "describe",
    "duplicates_report",
    "label_subset",
    "labels_of",
    "load",
    "name_of",
    "persona_dialogues",
    "source_of",
    "split_by",
    "toy_translations",
    "trec_with_dev",
    "treebank",
    "word_senses",
]

SOURCES: dict[str, Callable[[Corpus], Splits | StreamedSplits]] = {
    "local": reading.from_mirror,
    "hub": reading.from_hub,
    "release": reading.from_release,
    "sample": reading.from_sample,
}
NOT_COMPARABLE = "numbers on it cannot be compared with published ones"


def load(name: str, *, source: str | None = None) -> Splits | StreamedSplits:
    """The data set `name`, verified; `source` forces "local", "hub", "release" or "sample".

    "hub" is the Hugging Face Hub; some data sets come from a "release" on GitHub in its place.
    TREC's columns are text, label (the coarse name) and fine (such as LOC:city); the columns of
    the other data sets are listed in their modules (`help("tlcourse.corpora.rte")`) and cards.
    `wikipedia-standin` (447 MB) is streamed, and verified when its end is reached. Raises DataError
    for an unknown name or source, for wrong data, and if no source has the data set.
    """
    corpus = catalogue.get(name)
    if source is not None and source not in SOURCES:
        raise DataError(f"expected a source out of {', '.join(SOURCES)}, got {source!r}")
    splits, reasons = _first(
        corpus, _sources(corpus) if source is None else {source: SOURCES[source]}
    )
    if source_of(splits) == SAMPLE:
        because = f" ({'; '.join(reasons)})" if reasons else ""
        print(f"[data] {name}: the bundled sample{because}; {NOT_COMPARABLE}")
    return splits


def _sources(corpus: Corpus) -> dict[str, Callable]:
    """The sources of a data set: its release on GitHub, if it has one, replaces the Hub."""
    unused = "hub" if corpus.release else "release"
    return {source: read for source, read in SOURCES.items() if source != unused}


def _first(corpus: Corpus, sources: dict) -> tuple[Splits | StreamedSplits, list[str]]:
    """The splits from the first source that has them, and the reasons why earlier ones failed."""
    reasons = []
    for read in sources.values():
        try:
            return read(corpus), reasons
        except Absent as reason:
            reasons.append(str(reason))
    raise Absent(
        f"expected {corpus.name} in one of the sources {', '.join(sources)}, found it in none: "
        f"{'; '.join(reasons)}; set TLCOURSE_DATA to a folder that has it, or choose another"
    )


def labels_of(name: str) -> tuple[str, ...]:
    """The names of a data set's labels, () if it has none.

    BLiMP's labels are the phenomena, TREC's the coarse labels. Raises DataError for a wrong name.
    """
    return catalogue.get(name).labels


def articles(split: str | datasets.Dataset | datasets.IterableDataset) -> Iterator[str]:
    """The articles of a WikiText split, one string each; a name stands for its train split.

    The articles of `gutenberg` are its books.

    Lines lose the space at their end; joined, the articles are the whole text. The file of
    `wikipedia-standin` is read lazily and is in random order, so its first articles are an unbiased
    sample. Raises DataError for a data set without articles.
    """
    if isinstance(split, str):
        split = load(split)["train"]
    if split.column_names not in (None, ["text"]):
        raise DataError(
            f"expected a text with articles, got {name_of(split)} with the columns "
            f"{', '.join(split.column_names)}"
        )
    corpus = catalogue.CORPORA.get(name_of(split))
    if corpus is not None and corpus.whole_texts:
        return iter(split["text"])
    lines = (text for batch in split.iter(batch_size=1000) for text in batch["text"])
    blank_after = corpus is None or corpus.blank_after_title
    return wikitext.articles_of(lines, blank_after=blank_after)


def caption_note(data: dict | datasets.Dataset | datasets.IterableDataset) -> str:
    """The note that every caption of numbers on these data must carry; "" if none is needed."""
    if source_of(data) == SAMPLE:
        return f"On the bundled sample of {name_of(data)}: {NOT_COMPARABLE}."
    corpus = catalogue.CORPORA.get(name_of(data))
    return corpus.caption if corpus else ""


def describe(name: str) -> str:
    """One line: the source, the rows of each split, what was verified; uses no network.

    Reads all the data, `wikipedia-standin` too (half a minute). Raises DataError for wrong data.
    """
    corpus = catalogue.get(name)
    sources = SOURCES | {
        "hub": lambda corpus: reading.from_hub(corpus, network=False),
        "release": lambda corpus: reading.from_release(corpus, network=False),
    }
    try:
        splits, _ = _first(corpus, sources)
    except Absent:
        return f"{name}: not on this machine"
    source = source_of(splits)
    rows = ", ".join(f"{split} {_length(data):,}" for split, data in splits.items())
    return f"{name}: {source}, rows: {rows}; {_verified(corpus, source, splits)}"


def _verified(corpus: Corpus, source: str, splits: dict) -> str:
    if source == SAMPLE:
        return NOT_COMPARABLE
    complete = source in (LOCAL, RELEASE) and all(corpus.facts[split].digest for split in splits)
    return "counts and sha256 verified" if complete else "counts verified"


def _length(split: datasets.Dataset | datasets.IterableDataset) -> int:
    import datasets

    return split.num_rows if isinstance(split, datasets.Dataset) else sum(1 for _ in split)


def available() -> dict[str, list[str]]:
    """For each data set, the sources that have it on this machine; uses no network."""
    lookups = {
        LOCAL: reading.local_folder,
        HUB: lambda corpus: hub.fetch(corpus, network=False),
        RELEASE: lambda corpus: release.fetch(corpus, network=False),
        SAMPLE: reading.sample_folder,
    }
    return {
        name: [source for source, lookup in lookups.items() if _has(lookup, corpus)]
        for name, corpus in catalogue.CORPORA.items()
    }


def _has(lookup: Callable[[Corpus], object], corpus: Corpus) -> bool:
    try:
        lookup(corpus)
    except Absent:
        return False
    return True
