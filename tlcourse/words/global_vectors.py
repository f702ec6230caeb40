"""GloVe: vectors whose products are the logarithms of co-occurrences (Pennington et al., 2014)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BLOCK = 1024  # words, and contexts, whose pairs are learnt from at once


@dataclass(frozen=True, eq=False)
class Block:
    """The pairs of some words with some contexts whose count is not 0."""

    words: np.ndarray  # (words,) of ids
    contexts: np.ndarray  # (contexts,) of ids
    pairs: tuple[np.ndarray, np.ndarray]  # their places in `words` and in `contexts`
    logs: np.ndarray  # (pairs,): the logarithm of each count
    weights: np.ndarray  # (pairs,): the weight of each pair in the loss

    @property
    def rows(self) -> tuple[np.ndarray, ...]:
        """The rows of the four parameters that belong to this block."""
        return self.words, self.words, self.contexts, self.contexts


def blocks(
    counts: csr_array, *, x_max: float, alpha: float, generator: np.random.Generator
) -> list[Block]:
    """All counts in blocks, each of random words and random contexts."""
    size = counts.shape[0]
    groups = np.array_split(generator.permutation(size), -(-size // BLOCK))
    found = []
    for words in groups:
        of_words = counts[words].tocsc()
        for contexts in groups:
            part = of_words[:, contexts].tocoo()
            logs = np.log(part.data).astype(np.float32)
            weights = np.minimum(1, part.data / x_max).astype(np.float32) ** alpha
            found.append(Block(words, contexts, part.coords, logs, weights))
    return found


def loss_and_gradients(
    block: Block, parameters: Sequence[np.ndarray]
) -> tuple[float, tuple[np.ndarray, ...]]:
    """The loss of a block's pairs, and its gradient with respect to each of the parameters.

    These are the vectors w and biases b of the block's words, and those of its contexts, v and c.
    The loss is the sum of f(x) (w · v + b + c - log x)² / 2 over the pairs, where x is the count of
    a pair and f(x) its weight; words that occur in several pairs get the sum of their gradients.
    """
    from scipy.sparse import coo_array

    w, b, v, c = parameters
    i, j = block.pairs
    errors = np.einsum("pd,pd->p", w[i], v[j]) + b[i] + c[j] - block.logs
    slopes = coo_array((block.weights * errors, (i, j)), shape=(len(w), len(v)))
    loss = float(slopes.data @ errors) / 2
    return loss, (slopes @ v, slopes.sum(axis=1), slopes.T @ w, slopes.sum(axis=0))


def glove(
    counts: csr_array,
    *,
    width: int = 100,
    x_max: float = 100,
    alpha: float = 0.75,
    epochs: int = 15,
    learning_rate: float = 0.2,
    seed: int = 0,
    report: Callable[[float], object] = lambda loss: None,
) -> np.ndarray:
    """GloVe's vectors (words, width) in float32, learnt from co-occurrence counts.

    A pair of words that met x times has the weight (x / `x_max`) ** `alpha`, at most 1; pairs that
    never met are left out. `report` is called with the mean loss of a pair in each epoch. As in the
    paper, the two vectors of a word, as a word and as a context, are added.

    AdaGrad starts as in the authors' program, which makes a step for each pair. Here a step is made
    for a block of pairs, so there are fewer, and the learning rate is higher than their 0.05.
    """
    generator = np.random.default_rng(seed)
    size = counts.shape[0]
    shapes = (size, width), size, (size, width), size
    parameters = [(generator.random(shape, np.float32) - 0.5) / width for shape in shapes]
    squares = [np.ones_like(parameter) for parameter in parameters]
    parts = blocks(counts, x_max=x_max, alpha=alpha, generator=generator)
    for _ in range(epochs):
        total = 0.0
        for block in map(parts.__getitem__, generator.permutation(len(parts))):
            here = [each[rows] for each, rows in zip(parameters, block.rows, strict=True)]
            loss, gradients = loss_and_gradients(block, here)
            total += loss
            updates = zip(parameters, squares, block.rows, gradients, strict=True)
            for parameter, square, rows, gradient in updates:
                square[rows] += gradient**2
                parameter[rows] -= learning_rate * gradient / np.sqrt(square[rows])
        report(total / counts.nnz)
    return parameters[0] + parameters[2]
