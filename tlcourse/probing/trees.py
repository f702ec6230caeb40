"""Depths, distances and edges of dependency trees, and trees from distances."""

from collections.abc import Sequence

import numpy as np


def depths(heads: Sequence[int]) -> np.ndarray:
    """The number of arcs between each word and the root, (words,); heads from 1, the root's is 0.

    Raises ValueError unless the heads form one tree.
    """
    by_word = np.zeros(len(heads), dtype=np.int64)
    for depth, words in enumerate(_levels(heads)):
        by_word[words] = depth
    return by_word


def distances(heads: Sequence[int]) -> np.ndarray:
    """The number of arcs between two words, (words, words); ValueError unless it is one tree."""
    arcs = np.zeros((len(heads), len(heads)), dtype=np.int64)
    visited: list[int] = []
    for words in _levels(heads):
        for word in words:
            if visited:  # from each of these, one arc more than to the head
                arcs[word, visited] = arcs[visited, word] = arcs[heads[word] - 1, visited] + 1
            visited.append(word)
    return arcs


def edges(heads: Sequence[int]) -> set[tuple[int, int]]:
    """The undirected arcs as pairs (smaller, larger word), counted from 0."""
    pairs = ((word, head - 1) for word, head in enumerate(heads) if head)
    return {(min(pair), max(pair)) for pair in pairs}


def spanning_tree(distances: np.ndarray, keep: Sequence[bool] | None = None) -> set:
    """The edges (smaller, larger word) of the minimum spanning tree of the words.

    `distances` (words, words) is symmetric and not negative; only words where `keep` (words,) is
    True are connected (None: all).
    """
    from scipy.sparse.csgraph import minimum_spanning_tree

    words = np.arange(len(distances)) if keep is None else np.flatnonzero(keep)
    # Adding 1 to every edge does not change the tree; scipy would read 0 as "no edge".
    tree = minimum_spanning_tree(distances[np.ix_(words, words)] + 1.0).tocoo()
    pairs = zip(words[tree.row].tolist(), words[tree.col].tolist(), strict=True)
    return {(min(pair), max(pair)) for pair in pairs}


def _levels(heads: Sequence[int]) -> list[list[int]]:
    """The words at each depth, from the root; ValueError unless the heads form one tree."""
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
