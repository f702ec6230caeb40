"""An n-gram model with modified Kneser-Ney smoothing (Chen & Goodman, 1999), the baseline.

Its only parameters are counts: the probability of a token depends on how often it followed the last
n - 1 tokens, interpolated with that after fewer tokens. Counting is done by sorting: an n-gram is
one integer, the index of its context times the vocabulary size plus its last token.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from tlcourse.bpe import EOS, Tokenizer
from tlcourse.evaluation.perplexity import Evaluation, evaluate_stream
from tlcourse.evaluation.scoring import rows_of

# The discounts if the counts determine none, as in KenLM (Heafield et al., 2013).
FALLBACK = (0.5, 1.0, 1.5)


class Order(NamedTuple):
    """The n-grams of one length; their contexts are indices of the n-grams one token shorter."""

    keys: np.ndarray  # (types,) sorted: index of the context * vocabulary + last token
    counts: np.ndarray  # (types,) occurrences, or the number of different preceding tokens
    discounts: np.ndarray  # (4,) subtracted from counts of 0, 1, 2, and 3 or more
    totals: np.ndarray  # (contexts,) the sum of the counts after each context
    left: np.ndarray  # (contexts,) the probability mass that the discounts give to shorter n-grams


class NgramModel:
    """Interpolated modified Kneser-Ney of `order` n over a stream of ids.

    `ids` (length,), below `vocabulary_size`, are documents separated by `<eos>`, such as the `ids`
    of a `TokenFile`. No n-gram extends back over an `<eos>`, so every document begins in the same
    way. The count of an n-gram of n tokens is the number of its occurrences; the count of a shorter
    one is the number of different tokens before it, or of its occurrences if it begins with
    `<eos>`. Each length has its own discounts, see `discounts_of`. Single tokens are interpolated
    with the uniform distribution, so that no token is impossible.

    Raises ValueError for no ids, ids out of range, and an order below 1.
    """

    def __init__(self, ids: Sequence[int] | np.ndarray, vocabulary_size: int, *, order: int = 5):
        self.vocabulary_size, self.order = vocabulary_size, order
        if order < 1 or not len(ids):
            raise ValueError(
                f"expected an order from 1 and at least one id, got {order} and {len(ids)} ids"
            )
        ids = np.concatenate([np.array([EOS], dtype=np.int32), self._checked(ids)])
        self.orders: list[Order] = []
        keys, contexts = np.arange(vocabulary_size), 1
        counts = np.bincount(ids[1:], minlength=vocabulary_size)
        # For each type, True where it begins with <eos>; for each position, the type ending there.
        begins, ends = keys == EOS, ids
        for length in range(2, order + 1):
            before = _contexts(ends, ids, length)
            longer, occurrences, positions, longer_ends = _sorted_types(
                before, ids, vocabulary_size
            )
            preceding = np.bincount(ends[positions], minlength=len(keys))  # different tokens
            counts = np.where(begins, counts, preceding) if length > 2 else preceding
            del before, positions, preceding
            self.orders.append(_smoothed(keys, counts, contexts, vocabulary_size))
            begins, contexts = begins[longer // vocabulary_size], len(keys)
            keys, counts, ends = longer, occurrences, longer_ends
        self.orders.append(_smoothed(keys, counts, contexts, vocabulary_size))

    def _checked(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        ids = np.asarray(ids).astype(np.int32)
        if len(ids) and not 0 <= ids.min() <= ids.max() < self.vocabulary_size:
            raise ValueError(
                f"expected ids from 0 to {self.vocabulary_size - 1}, got {ids.min()} to "
                f"{ids.max()}; pass the size of the vocabulary that encoded the text"
            )
        return ids

    def log_probabilities(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        """The log-probability (nats, float64) of each id given the ids before it, (length,).

        The first id has no context.
        """
        ids = self._checked(ids)
        probabilities = np.full(len(ids), 1 / self.vocabulary_size)
        contexts = np.zeros(len(ids), dtype=np.int64)  # index of each id's context; -1: unseen
        for length, order in enumerate(self.orders, start=1):
            seen = np.flatnonzero(contexts >= 0)
            context = contexts[seen]
            indices, counts = _look_up(order, context * self.vocabulary_size + ids[seen])
            kept = counts - order.discounts[np.minimum(counts, 3)]
            probabilities[seen] *= order.left[context]
            probabilities[seen] += kept / np.maximum(order.totals[context], 1)
            ends = np.full(len(ids), -1)
            ends[seen] = indices
            contexts = _contexts(ends, ids, length + 1)
        return np.log(probabilities)


def discounts_of(counts: np.ndarray) -> np.ndarray:
    """The discounts of counts of 0, 1, 2, and 3 or more, (4,) (Chen & Goodman, 1999, eq. 26).

    With n_c n-grams of the count c and Y = n_1 / (n_1 + 2 n_2): D_c = c - (c + 1) Y n_(c+1) / n_c.
    If one of n_1 to n_3 is 0 or a D_c is negative, FALLBACK is used instead, because most tokens of
    a sub-word vocabulary are too frequent to have small counts.
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6).astype(float)
    discounts = np.array(FALLBACK)
    if n[1:4].all():
        y, c = n[1] / (n[1] + 2 * n[2]), np.arange(1, 4)
        estimates = c - (c + 1) * y * n[2:5] / n[1:4]
        discounts = estimates if (estimates >= 0).all() else discounts
    return np.concatenate([[0.0], discounts])


def _contexts(ends: np.ndarray, ids: np.ndarray, length: int) -> np.ndarray:
    """For each position, the index of the context of the n-gram of `length` tokens ending there.

    `ends` has, for each position, the index of the n-gram one token shorter that ends there; -1 if
    there is none. An `<eos>` may begin a context, but may not follow another token in it.
    """
    context = np.full(len(ids), -1, dtype=ends.dtype)
    context[1:] = ends[:-1] if length == 2 else np.where(ids[:-1] == EOS, -1, ends[:-1])
    return context


def _sorted_types(before: np.ndarray, ids: np.ndarray, vocabulary_size: int) -> tuple:
    """The n-gram types: keys, occurrences, a position where each ends; and the type ending at each.

    The arrays are large, so most have 32 bits, and one is freed before the next is made.
    """
    keys = before.astype(np.int64)
    keys *= vocabulary_size
    keys += ids
    order = np.argsort(keys).astype(np.int32)
    keys.sort()
    none = np.searchsorted(keys, 0)  # keys below 0 have no context
    keys, order = keys[none:], order[none:]
    new = np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)]
    keys = keys[new]
    ends = np.full(len(ids), -1, dtype=np.int32)
    ends[order] = np.cumsum(new, dtype=np.int32) - 1
    occurrences = np.diff(np.append(np.flatnonzero(new), len(order))).astype(np.int32)
    return keys, occurrences, order[new], ends


def _smoothed(keys: np.ndarray, counts: np.ndarray, contexts: int, vocabulary_size: int) -> Order:
    """The `Order` of these n-grams, with their discounts and the mass left to shorter ones."""
    discounts, context = discounts_of(counts), keys // vocabulary_size
    totals = np.bincount(context, weights=counts, minlength=contexts)
    taken = np.bincount(context, weights=discounts[np.minimum(counts, 3)], minlength=contexts)
    left = np.divide(taken, totals, out=np.ones(contexts), where=totals > 0)
    return Order(keys, counts.astype(np.int32), discounts, totals.astype(np.int32), left)


def _look_up(order: Order, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The indices and counts of n-grams; -1 and 0 for unseen ones."""
    if not len(order.keys):
        return np.full(len(keys), -1), np.zeros(len(keys), dtype=np.int32)
    indices = np.minimum(np.searchsorted(order.keys, keys), len(order.keys) - 1)
    seen = order.keys[indices] == keys
    return np.where(seen, indices, -1), np.where(seen, order.counts[indices], 0)


def ngram_scores(model: NgramModel, tokenizer: Tokenizer, sentences: Sequence[str]) -> list[float]:
    """The log-probability of each sentence, in nats: `sentence_scores` for an n-gram model.

    Sentences are normalised and follow `<eos>`. Sums are exact, so that sentences with the same
    probabilities in another order tie.
    """
    rows = rows_of(tokenizer, sentences)
    lengths = [len(row) for row in rows.values()]
    stream = model.log_probabilities(np.concatenate([*rows.values(), []]))
    by_sentence = np.split(stream, np.cumsum(lengths)[:-1]) if lengths else []
    sums = {text: math.fsum(logs[1:]) for text, logs in zip(rows, by_sentence, strict=True)}
    return [sums[text] for text in sentences]


def evaluate_ngrams(model: NgramModel, tokenizer: Tokenizer, articles: Sequence[str]) -> Evaluation:
    """`evaluate` for an n-gram model: the window is the order and moves token by token."""

    def nats(stream: list[int]) -> torch.Tensor:
        return torch.from_numpy(-model.log_probabilities(stream)[1:])

    return evaluate_stream(nats, tokenizer, articles, window=model.order, stride=1)
