"""Training byte-level BPE: our incremental trainer against the naive loop, counted words and Rust.

From the same lines of WikiText-2 (or of the bundled sample) to the same list of merges, splitting
into pre-tokens included. A row's `ratio` is the other's seconds divided by ours: above 1, ours is
faster. Rounds alternate between the two, and the medians are compared. The library uses as many
threads as it likes; ours uses one.
"""

import functools
import json
import statistics
from collections.abc import Callable

import tokenizers

from benchmarks import runner
from benchmarks.speed import harness
from tlcourse import bpe, corpora, sizes

ROUNDS = {"naive": 3, "counted": 3, "tokenizers": 5}


def _ours(texts: list[str], vocabulary_size: int) -> list[tuple]:
    return bpe.train(bpe.count_words(texts), vocabulary_size)


def _counted(texts: list[str], vocabulary_size: int) -> list[tuple]:
    return bpe.train_counted(bpe.count_words(texts), vocabulary_size)


def _library(texts: list[str], vocabulary_size: int) -> tokenizers.Tokenizer:
    library = tokenizers.Tokenizer(tokenizers.models.BPE())
    library.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=list(bpe.SPECIALS),
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    library.train_from_iterator(texts, trainer)
    return library


def _strings(learnt: list[tuple] | tokenizers.Tokenizer) -> list[tuple[str, str]]:
    """The merges of ours or of the library as pairs of strings."""
    if isinstance(learnt, tokenizers.Tokenizer):
        return [tuple(pair) for pair in json.loads(learnt.to_str())["model"]["merges"]]
    strings = bpe.Tokenizer(learnt).strings
    return [(strings[left], strings[right]) for (left, right), _ in learnt]


def _row(peer: str, trainer: Callable, texts: list[str], vocabulary: int, data: str) -> dict:
    """One comparison; `equal` says whether all merges are the same, in the same order."""
    merges = {}
    trainers = {"ours": _ours, "peer": trainer}

    def work(name: str) -> None:
        merges[name] = trainers[name](texts, vocabulary)

    works = {name: functools.partial(work, name) for name in trainers}
    seconds = harness.alternate(works, ROUNDS[peer])
    return {
        "job": "bpe",
        "peer": peer,
        **harness.ratio(seconds["peer"], seconds["ours"]),
        **{f"seconds_{name}": round(statistics.median(seconds[name]), 4) for name in trainers},
        "megabytes": round(sum(len(text.encode("utf-8")) for text in texts) / 1e6, 3),
        "vocabulary_size": vocabulary,
        "merges": len(merges["ours"]),
        "equal": _strings(merges["ours"]) == _strings(merges["peer"]),
        "data": data,
    }


def measure() -> dict:
    """The naive and the counted trainer on the short text, the library on both."""
    size, corpus = sizes.current(), corpora.load("wikitext-2")
    lines = list(corpus["train"]["text"])
    data = f"wikitext-2 train, {corpora.source_of(corpus)}"
    short = _first(lines, size.bpe_race_bytes)
    long = _first(lines, size.bpe_training_bytes)
    return {
        "job": "bpe",
        **runner.provenance(data, tokenizers),
        "rows": [
            _row("naive", bpe.train_naive, short, size.bpe_race_vocabulary, data),
            _row("counted", _counted, short, size.bpe_race_vocabulary, data),
            _row("tokenizers", _library, short, size.bpe_race_vocabulary, data),
            _row("tokenizers", _library, long, size.bpe_vocabulary, data),
        ],
    }


def _first(lines: list[str], limit: int) -> list[str]:
    """Whole lines from the start, together at most `limit` bytes."""
    lengths = [len(line.encode("utf-8")) for line in lines]
    limit, taken = sizes.cap(limit, sum(lengths), "bytes of text"), 0
    for number, length in enumerate(lengths):
        taken += length
        if taken > limit:
            return lines[:number]
    return lines
