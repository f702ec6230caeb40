"""Word vectors from counts: co-occurrences, pointwise mutual information, and the truncated SVD.

Levy, Goldberg and Dagan (2015) compare these vectors with those of word2vec; of documents, the same
SVD gives latent semantic analysis (Deerwester et al., 1990). Counts are sparse arrays, because most
words never meet. scipy takes a second to import, so the functions that need it import it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array, sparray, spmatrix

    from tlcourse.words.text import Text


def bigrams(text: Text, distance: int = 1) -> csr_array:
    """How often one word stands `distance` places before another: sparse (words, words).

    Rows are the first words and columns the second. Pairs are counted within a line only. Raises
    ValueError for a distance below 1.
    """
    from scipy.sparse import coo_array

    if distance < 1:
        raise ValueError(f"expected a distance of at least 1, got {distance}")
    same_line = text.lines[:-distance] == text.lines[distance:]
    pairs = text.ids[:-distance][same_line], text.ids[distance:][same_line]
    size = len(text.vocabulary)
    return coo_array((np.ones(len(pairs[0])), pairs), shape=(size, size)).tocsr()


def cooccurrences(
    text: Text, window: int = 5, *, weight: Callable[[int], float] = lambda distance: 1
) -> csr_array:
    """How often two words stand within `window` words of each other: sparse (words, words).

    The counts are symmetric. A pair counts `weight(distance)`: by default 1 at every distance;
    GloVe takes `1 / distance`. word2vec, which draws each window's size from 1 to `window`, counts
    `1 - (distance - 1) / window` on average. Raises ValueError for a window below 1.
    """
    if window < 1:
        raise ValueError(f"expected a window of at least 1 word, got {window}")
    ahead = sum(weight(distance) * bigrams(text, distance) for distance in range(1, window + 1))
    return ahead + ahead.T


def ppmi(
    counts: csr_array | np.ndarray, *, context_power: float = 1.0, shift: float = 0.0
) -> csr_array:
    """The positive pointwise mutual information in nats of words (rows) and contexts, sparse.

    The PMI of a pair is log P(word, context) / (P(word) P(context)) (Church & Hanks, 1990). What is
    below 0, such as the PMI of words that never met, becomes 0 (Bullinaria & Levy, 2007).

    With a `context_power` below 1, P(context) is proportional to that power of its count, so that
    rare contexts score less (Levy et al., 2015). `shift` is subtracted from the PMI: with log k,
    this is what word2vec with k negative samples factorises (Levy & Goldberg, 2014), cut off at 0.
    """
    from scipy.sparse import coo_array, csr_array

    pairs = coo_array(counts)
    words, contexts = pairs.sum(axis=1), pairs.sum(axis=0) ** context_power
    by_chance = words[pairs.row] * contexts[pairs.col] / contexts.sum()
    pmi = np.log(pairs.data / by_chance) - shift
    kept = pmi > 0
    return csr_array((pmi[kept], (pairs.row[kept], pairs.col[kept])), shape=pairs.shape)


def svd(
    matrix: sparray | spmatrix | np.ndarray, *, width: int = 100, power: float = 0.5, seed: int = 0
) -> np.ndarray:
    """A vector for each row of `matrix`, (rows, width) in float32, by the truncated SVD.

    The matrix is U Σ Vᵀ, and the vectors are the rows of U Σᵖ for the `width` largest singular
    values, the largest first; p is `power`. With 1, as in latent semantic analysis, cosines are
    those of the closest matrix of this rank; for the similarity of words, a lower power is better
    (Levy et al., 2015). The sign of a column is free: its largest entry is made positive. `seed`
    draws the vector from which the iteration starts. Raises ValueError for a width that is not
    between 1 and one less than the shorter side of the matrix.
    """
    from scipy.sparse.linalg import svds

    if not 1 <= width < min(matrix.shape):
        raise ValueError(
            f"expected a width from 1 to {min(matrix.shape) - 1} for a matrix of shape "
            f"{matrix.shape}, got {width}"
        )
    start = np.random.default_rng(seed).standard_normal(min(matrix.shape))
    left, values, _ = svds(matrix.astype(np.float32), k=width, v0=start)
    left, values = left[:, ::-1], values[::-1]
    signs = np.sign(left[np.abs(left).argmax(axis=0), np.arange(width)])
    return (left * signs * values**power).astype(np.float32)
