"""Training byte-level BPE: our incremental trainer against the naive loop, counted words and Rust.

From the same lines of WikiText-2 (or of the bundled sample) to the same list of merges, cutting
into pieces included. A row's `ratio` is the peer's seconds divided by ours: above 1, ours is
faster. Repeats alternate between ours and the peer, and the medians are compared. The library uses
as many threads as it likes; ours uses one.
"""

import json
import statistics
from collections.abc import Callable

import tokenizers

from benchmarks import clocks, runner
from tlcourse import bpe, corpora, sizes

REPEATS = {"naive": 3, "counted": 3, "tokenizers": 5}


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
    """Merges as pairs of strings, ours or the library's."""
    if isinstance(learnt, tokenizers.Tokenizer):
        return [tuple(pair) for pair in json.loads(learnt.to_str())["model"]["merges"]]
    strings = bpe.Tokenizer(learnt).strings
    return [(strings[left], strings[right]) for (left, right), _ in learnt]


def _row(peer: str, trainer: Callable, texts: list[str], vocabulary: int, data: str) -> dict:
    """One comparison; `equal` says whether all merges are the same, in the same order."""
    ours, theirs = [], []
    for _ in range(REPEATS[peer]):
        mine, seconds = clocks.timed(lambda: _ours(texts, vocabulary))
        ours.append(seconds)
        other, seconds = clocks.timed(lambda: trainer(texts, vocabulary))
        theirs.append(seconds)
    return {
        "job": "bpe",
        "peer": peer,
        "ratio": round(statistics.median(theirs) / statistics.median(ours), 3),
        "seconds_ours": round(statistics.median(ours), 4),
        "seconds_peer": round(statistics.median(theirs), 4),
        "megabytes": round(sum(len(text.encode("utf-8")) for text in texts) / 1e6, 3),
        "vocabulary_size": vocabulary,
        "merges": len(mine),
        "equal": _strings(mine) == _strings(other),
        "repeats": REPEATS[peer],
        "data": data,
    }


def measure() -> dict:
    """The naive and the counted trainer on the race's text, the library on both texts."""
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
