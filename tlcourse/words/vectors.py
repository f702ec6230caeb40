"""One vector for each word, and the questions that are asked of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class Vectors:
    """A row for each word; the most frequent words come first.

    Raises ValueError unless there are as many rows as words, and no word twice.
    """

    words: tuple[str, ...]
    matrix: np.ndarray  # (words, width) of float32

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or len(self.words) != len(self.matrix):
            raise ValueError(
                f"expected a row for each of the {len(self.words)} words, got a matrix of shape "
                f"{self.matrix.shape}"
            )
        if len(self.ids) != len(self.words):
            raise ValueError(
                f"expected different words, got {len(self.words)} of which "
                f"{len(self.words) - len(self.ids)} came before"
            )

    @cached_property
    def ids(self) -> dict[str, int]:
        """The row of each word."""
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def directions(self) -> np.ndarray:
        """(words, width): the rows divided by their lengths, so that products are cosines."""
        return unit(self.matrix)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.ids

    def __getitem__(self, word: str) -> np.ndarray:
        """The vector (width,) of a word; raises KeyError for a word without one."""
        return self.matrix[self.ids[word]]

    def similarity(self, first: str, second: str) -> float:
        """The cosine of the angle between two words; raises KeyError for a word without vector."""
        return float(unit(self[first]) @ unit(self[second]))

    def nearest(
        self, to: str | np.ndarray, n: int = 10, *, without: Sequence[str] = ()
    ) -> list[tuple[str, float]]:
        """The `n` words nearest to a word or to a vector (width,), and their cosines.

        The word itself and the words in `without` are left out.
        """
        left_out = {*without, to} if isinstance(to, str) else set(without)
        rows = [self.ids[word] for word in left_out if word in self.ids]
        cosines = self.directions @ unit(self[to] if isinstance(to, str) else to)
        cosines[rows] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(n, len(self) - len(rows))]
        return [(self.words[row], float(cosines[row])) for row in best]

    def analogy(
        self, a: str, b: str, c: str, n: int = 5, *, exclude: bool = True
    ) -> list[tuple[str, float]]:
        """The `n` answers to "a is to b as c is to …": the words nearest to b - a + c.

        The three vectors are divided by their lengths first (3CosAdd; Mikolov et al., 2013).
        `exclude` leaves out a, b and c, which are often the nearest words themselves.
        """
        target = unit(self[b]) - unit(self[a]) + unit(self[c])
        return self.nearest(target, n, without=(a, b, c) if exclude else ())


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors (..., width) divided by their lengths; a vector of zeros stays as it is."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths == 0, 1, lengths)
