"""Skip-gram on words made of their character n-grams: fastText (Bojanowski et al., 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch.nn import functional as F

from tlcourse.words.skipgram import blocks, finite, gradients, initial
from tlcourse.words.text import Text
from tlcourse.words.vectors import Vectors


def ngrams(word: str, shortest: int = 3, longest: int = 6) -> list[str]:
    """The n-grams of `<word>` in the order in which they begin, the shorter ones first.

    Their lengths count characters, not bytes. The marks `<` and `>` alone are no n-grams. Raises
    ValueError unless 1 <= shortest <= longest.
    """
    if not 1 <= shortest <= longest:
        raise ValueError(
            f"expected lengths of at least 1, the shortest first, got {shortest} and {longest}"
        )
    marked = f"<{word}>"
    return [
        marked[start:end]
        for start in range(len(marked))
        for end in range(start + shortest, min(start + longest, len(marked)) + 1)
        if end - start > 1 or 0 < start < len(marked) - 1
    ]


def ngram_hash(ngram: str) -> int:
    """The 32-bit FNV-1a hash of an n-gram, in which bytes are signed, as in fastText's code."""
    number = 2166136261
    for byte in ngram.encode():
        signed = byte if byte < 128 else byte | 0xFFFFFF00
        number = (number ^ signed) * 16777619 % 2**32
    return number


def ngram_buckets(
    word: str, shortest: int = 3, longest: int = 6, *, buckets: int = 200_000
) -> list[int]:
    """The bucket of each of the word's n-grams: its hash modulo the number of buckets."""
    return [ngram_hash(ngram) % buckets for ngram in ngrams(word, shortest, longest)]


@dataclass(frozen=True, eq=False)
class SubwordVectors(Vectors):
    """A vector for every word: its row, or for a word without one the mean of its n-grams.

    A word that is too short for an n-gram has a vector of zeros. Raises KeyError for "".
    """

    buckets: np.ndarray  # (buckets, width) of float32: the vectors of the n-grams
    shortest: int = 3
    longest: int = 6

    @classmethod
    def composed(
        cls,
        words: tuple[str, ...],
        own: np.ndarray,
        buckets: np.ndarray,
        *,
        shortest: int = 3,
        longest: int = 6,
    ) -> Self:
        """The vectors of which each row is the mean of a word's own vector and its n-grams'.

        `own` is (words, width), and `buckets` (buckets, width).
        """
        matrix = np.empty_like(own)
        for number, word in enumerate(words):
            parts = ngram_buckets(word, shortest, longest, buckets=len(buckets))
            matrix[number] = np.vstack([own[number], buckets[parts]]).mean(axis=0)
        return cls(words, matrix, buckets, shortest, longest)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and word != ""

    def __getitem__(self, word: str) -> np.ndarray:
        """The vector (width,) of any word."""
        if word in self.ids or word not in self:
            return super().__getitem__(word)
        parts = ngram_buckets(word, self.shortest, self.longest, buckets=len(self.buckets))
        return self.buckets[parts].sum(axis=0) / max(1, len(parts))


def fasttext(
    text: Text,
    *,
    width: int = 100,
    window: int = 5,
    negatives: int = 5,
    epochs: int = 5,
    learning_rate: float = 0.025,
    threshold: float = 1e-3,
    shortest: int = 3,
    longest: int = 6,
    buckets: int = 200_000,
    seed: int = 0,
) -> SubwordVectors:
    """Vectors of words and of character n-grams, whose mean predicts each of the words around.

    It is `skipgram`, with its keywords and errors, but a word is the mean of its own vector and
    those of its n-grams of `shortest` to `longest` characters, which share `buckets` rows by their
    hash. As in fastText's code, each of these moves by the gradient of the mean, so that the mean
    moves as far as the single vector of a word does in `skipgram`.
    """
    generator = np.random.default_rng(seed)
    words = text.vocabulary.words
    parts = [
        torch.tensor([number, *(len(words) + bucket for bucket in own)])
        for number, own in enumerate(
            ngram_buckets(word, shortest, longest, buckets=buckets) for word in words
        )
    ]
    inputs = initial(len(words) + buckets, width, generator)
    outputs = torch.zeros(len(words), width)
    for block, left in blocks(text, generator, window=window, epochs=epochs, threshold=threshold):
        rate, targets = learning_rate * left, torch.cat([block.contexts, block.noise])
        bags = [parts[centre] for centre in block.centres.tolist()]
        rows, lengths = torch.cat(bags), torch.tensor([len(bag) for bag in bags])
        hidden = F.embedding_bag(rows, inputs, lengths.cumsum(0) - lengths, mode="mean")
        by_hidden, by_outputs = gradients(hidden, outputs[targets], block.near, negatives=negatives)
        inputs.index_add_(0, rows, by_hidden.repeat_interleave(lengths, dim=0), alpha=-rate)
        outputs.index_add_(0, targets, by_outputs, alpha=-rate)
    learnt = finite(inputs, learning_rate)
    return SubwordVectors.composed(
        words, learnt[: len(words)], learnt[len(words) :], shortest=shortest, longest=longest
    )
