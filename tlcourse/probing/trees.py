"""Dependency trees as numbers: depths, distances, edges; trees from distances."""

from collections.abc import Sequence

import numpy as np


def depths(heads: Sequence[int]) -> np.ndarray:
    """(words,) how many arcs each word is below the root; heads from 1, the root's is 0.

    Raises ValueError unless the heads are one tree.
    """
    found = np.zeros(len(heads), dtype=np.int64)
    for depth, words in enumerate(_levels(heads)):
        found[words] = depth
    return found


def distances(heads: Sequence[int]) -> np.ndarray:
    """(words, words) how many arcs lie between two words; ValueError unless it is one tree."""
    found = np.zeros((len(heads), len(heads)), dtype=np.int64)
    placed: list[int] = []
    for words in _levels(heads):
        for word in words:
            if placed:  # one arc farther than the head from everything there is
                found[word, placed] = found[placed, word] = found[heads[word] - 1, placed] + 1
            placed.append(word)
    return found


def edges(heads: Sequence[int]) -> set[tuple[int, int]]:
    """The arcs without direction: (smaller, larger) word, counted from 0."""
    pairs = ((word, head - 1) for word, head in enumerate(heads) if head)
    return {(min(pair), max(pair)) for pair in pairs}


def spanning_tree(distances: np.ndarray, keep: Sequence[bool] | None = None) -> set:
    """The edges (smaller, larger) that join all words with the least total distance.

    `distances` (words, words) is symmetric and not negative; `keep` (words,) says which words
    are joined (None: all).
    """
    from scipy.sparse.csgraph import minimum_spanning_tree

    words = np.arange(len(distances)) if keep is None else np.flatnonzero(keep)
    # One more for every edge changes no choice, and scipy reads 0 as "no edge".
    tree = minimum_spanning_tree(distances[np.ix_(words, words)] + 1.0).tocoo()
    pairs = zip(words[tree.row].tolist(), words[tree.col].tolist(), strict=True)
    return {(min(pair), max(pair)) for pair in pairs}


def _levels(heads: Sequence[int]) -> list[list[int]]:
    """The words at each depth, root first; ValueError unless the heads are one tree."""
    below: dict[int, list[int]] = {}
    for word, head in enumerate(heads):
        below.setdefault(head, []).append(word)
    levels, words = [], below.get(0, [])
    while words:
        levels.append(words)
        words = [word for above in words for word in below.get(above + 1, [])]
    if len(below.get(0, [])) != 1 or sum(map(len, levels)) != len(heads):
        raise ValueError(f"expected heads of one tree, one of them 0, got {list(heads)}")
    return levels
