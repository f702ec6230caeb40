"""Training word vectors: our skip-gram, CBOW and fastText against those of gensim.

An epoch over the same words of WikiText-2 (or of the bundled sample), with the same settings. A
row's `ratio` is gensim's seconds divided by ours: above 1, ours is faster. Rounds alternate, and
the medians are compared. Gensim runs with one thread and with one a core; ours uses one.
"""

import os
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from benchmarks import markdown, runner
from benchmarks.speed import harness
from tlcourse import corpora, sizes, words

TEXT = "wikitext-2"
WORDS = {"tiny": 2_000, "small": 400_000, "full": 1_600_000}  # of the text, before sampling
ROUNDS = {"tiny": 1, "small": 3, "full": 3}
BUCKETS = {"tiny": 1_000, "small": 200_000, "full": 200_000}
LEARNERS = {"skip-gram": words.skipgram, "CBOW": words.cbow, "fastText": words.fasttext}
OURS = "ours"
COLUMNS = {
    "job": "method",
    "peer": "peer",
    "ratio": "times as fast",
    "range": "in rounds",
    "words_per_second": "words/s, ours",
}


def measure() -> dict:
    """A row for each method and number of gensim's threads."""
    import gensim

    size, data = sizes.current().name, corpora.load(TEXT)
    lines = (line for article in corpora.articles(data["train"]) for line in article.split("\n"))
    whole = words.read(lines)
    text = words.Text(whole.ids[: WORDS[size]], whole.lines[: WORDS[size]], whole.vocabulary)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rows = [row for name in LEARNERS for row in _rows(name, text, size)]
    finally:
        torch.set_num_threads(threads)
    return {
        "job": "word_vector_speeds",
        **runner.provenance(f"{TEXT} train, {corpora.source_of(data)}", gensim),
        "words": len(text),
        "vocabulary": len(text.vocabulary),
        "rows": rows,
    }


def _rows(name: str, text: words.Text, size: str) -> list[dict]:
    more = {"buckets": BUCKETS[size]} if name == "fastText" else {}
    works = {OURS: lambda: LEARNERS[name](text, epochs=1, **more)}
    for threads in sorted({1, os.cpu_count() or 1}):
        peer = f"gensim, {threads} thread{'s' * (threads > 1)}"
        works[peer] = _gensim(name, text, threads, BUCKETS[size])
    seconds = harness.alternate(works, ROUNDS[size])
    return [
        {
            "job": name,
            "peer": peer,
            **harness.ratio(seconds[peer], seconds[OURS]),
            "words_per_second": round(len(text) / statistics.median(seconds[OURS])),
            "words_per_second_peer": round(len(text) / statistics.median(seconds[peer])),
        }
        for peer in works
        if peer != OURS
    ]


def _gensim(name: str, text: words.Text, threads: int, buckets: int) -> Callable[[], object]:
    """An epoch of gensim's model, whose vocabulary is built before."""
    from gensim import models

    names = np.array(text.vocabulary.words, dtype=object)
    lines = np.split(names[text.ids], np.flatnonzero(np.diff(text.lines)) + 1)
    sentences = [line.tolist() for line in lines]
    settings = {"sg": int(name != "CBOW"), "min_count": 1, "workers": threads}
    if name == "fastText":
        model = models.FastText(bucket=buckets, **settings)
    else:
        model = models.Word2Vec(**settings)
    model.build_vocab(sentences)
    return lambda: model.train(sentences, total_examples=len(sentences), epochs=1)


def section(study: dict[str, Any]) -> str:
    """For RESULTS.md: a row for each method and number of gensim's threads."""
    rows = [
        [
            row["job"],
            row["peer"],
            f"{row['ratio']:.2f} ({row['ratio_lowest']:.2f}-{row['ratio_highest']:.2f})",
            f"{row['words_per_second']:,}",
            f"{row['words_per_second_peer']:,}",
        ]
        for row in study["rows"]
    ]
    return markdown.section(
        "### How fast word vectors are trained",
        f"An epoch over {study['words']:,} words. Above 1, ours is faster, which uses one thread; "
        f"in brackets the lowest and the highest ratio of {study['rows'][0]['rounds']} rounds. "
        f"{markdown.source(study, 'lesson 11')}",
        markdown.table(
            ["", "against", "times as fast", "words a second, ours", "the other's"],
            rows,
            left=(0, 1),
        ),
    )
