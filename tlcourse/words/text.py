"""From lines of text to the ids of their words."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

UNKNOWN = "<unk>"  # in WikiText, in the place of a rare word


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words and how often each occurred, the most frequent first; a word's place is its id."""

    words: tuple[str, ...]
    counts: np.ndarray  # (words,) of int64

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of each word."""
        return {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.ids


@dataclass(frozen=True, eq=False)
class Text:
    """The words of a text that are in its vocabulary, in their order.

    Words outside the vocabulary are gone, so their neighbours stand side by side, as in word2vec.
    """

    ids: np.ndarray  # (words,) of int32
    lines: np.ndarray  # (words,) of int32: the number of the line that each word stands in
    vocabulary: Vocabulary

    def __len__(self) -> int:
        return len(self.ids)


def split(line: str) -> list[str]:
    """The lower-case words of a line, without numbers, punctuation and `<unk>`.

    Words are what stands between white space and contains a letter, as in WikiText's tokenization.
    """
    words = line.lower().split()
    return [word for word in words if word != UNKNOWN and any(map(str.isalpha, word))]


def read(lines: Iterable[str], *, min_count: int = 5, size: int | None = None) -> Text:
    """The text in `lines`, with the words that occur `min_count` times or more, at most `size`.

    Words with equal counts are in alphabetical order. Raises ValueError if no word is frequent
    enough.
    """
    first: dict[str, int] = {}  # the numbers of words, in the order in which they first occur
    ids, numbers = array("i"), array("i")
    for number, line in enumerate(lines):
        here = [first.setdefault(word, len(first)) for word in split(line)]
        ids.extend(here)
        numbers.extend([number] * len(here))
    found, counts = np.array(list(first)), np.bincount(ids, minlength=len(first))
    order = np.lexsort((found, -counts))
    order = order[counts[order] >= min_count][:size]
    if not len(order):
        raise ValueError(
            f"expected a text in which a word occurs {min_count} times, got {len(ids)} words; give "
            "a longer text or a smaller min_count"
        )
    vocabulary = Vocabulary(tuple(found[order].tolist()), counts[order])
    new = np.full(len(first), -1, np.int32)
    new[order] = np.arange(len(order))
    mapped = new[np.frombuffer(ids, np.int32)]
    kept = mapped >= 0
    return Text(mapped[kept], np.frombuffer(numbers, np.int32)[kept], vocabulary)
