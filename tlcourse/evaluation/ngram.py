"""An n-gram model with modified Kneser-Ney smoothing (Chen & Goodman, 1999): the one to beat.

It has no parameters but counts: the probability of a token is read off how often it followed the
last n - 1 tokens, blended with what fewer of them say. Counting is sorting: an n-gram is written as
one whole number, that of its context times the vocabulary plus its last token.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from tlcourse.bpe import EOS, Tokenizer
from tlcourse.evaluation.perplexity import Evaluation, evaluate_stream
from tlcourse.evaluation.scoring import rows_of

# Discounts where the counts give none, as in KenLM (Heafield et al., 2013).
FALLBACK = (0.5, 1.0, 1.5)


class Order(NamedTuple):
    """The n-grams of one length; those of the length before are their contexts, by their places."""

    keys: np.ndarray  # (types,) sorted: place of the context * vocabulary + last token
    counts: np.ndarray  # (types,) how often it is there, or how many tokens come before it
    discounts: np.ndarray  # (4,) what is taken off a count of 0, of 1, of 2, of 3 and more
    totals: np.ndarray  # (contexts,) the sum of the counts after each context
    left: np.ndarray  # (contexts,) the share that the discounts leave to the shorter n-grams


class NgramModel:
    """Interpolated modified Kneser-Ney of `order` n over a stream of ids.

    `ids` (length,), from 0 to below `vocabulary_size`, are documents with `<eos>` between them,
    such as the `ids` of a `TokenFile`. No n-gram reaches back over an `<eos>`: every document is
    begun as the first one is. The count of an n-gram of n tokens is how often it is there; that of
    a shorter one, how many different tokens come before it, or, where it begins with `<eos>` and
    nothing can, how often it is there. Each length has discounts of its own, see `discounts_of`.
    Below single tokens lies an even guess, so that nothing is impossible.

    Raises ValueError for no ids, ids out of range, or an order below 1.
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
        begins, ends = keys == EOS, ids  # of each type, whether <eos> begins it; which end where
        for length in range(2, order + 1):
            before = _before(ends, ids, length)
            longer, often, places, longer_ends = _sorted_types(before, ids, vocabulary_size)
            various = np.bincount(ends[places], minlength=len(keys))  # tokens that come before
            counts = np.where(begins, counts, various) if length > 2 else various
            del before, places, various
            self.orders.append(_smoothed(keys, counts, contexts, vocabulary_size))
            begins, contexts = begins[longer // vocabulary_size], len(keys)
            keys, counts, ends = longer, often, longer_ends
        self.orders.append(_smoothed(keys, counts, contexts, vocabulary_size))

    def _checked(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        ids = np.asarray(ids).astype(np.int32)
        if len(ids) and not 0 <= ids.min() <= ids.max() < self.vocabulary_size:
            raise ValueError(
                f"expected ids from 0 to {self.vocabulary_size - 1}, got {ids.min()} to "
                f"{ids.max()}; is this the vocabulary that the text was encoded with?"
            )
        return ids

    def log_probabilities(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        """(length,) natural logarithms, float64: of each id given the ids before it.

        The first one stands at the beginning, after nothing.
        """
        ids = self._checked(ids)
        probabilities = np.full(len(ids), 1 / self.vocabulary_size)
        before = np.zeros(len(ids), dtype=np.int64)  # the place of each id's context; -1: unseen
        for length, order in enumerate(self.orders, start=1):
            seen = np.flatnonzero(before >= 0)
            context = before[seen]
            places, counts = _found(order, context * self.vocabulary_size + ids[seen])
            kept = counts - order.discounts[np.minimum(counts, 3)]
            probabilities[seen] *= order.left[context]
            probabilities[seen] += kept / np.maximum(order.totals[context], 1)
            ends = np.full(len(ids), -1)
            ends[seen] = places
            before = _before(ends, ids, length + 1)
        return np.log(probabilities)


def discounts_of(counts: np.ndarray) -> np.ndarray:
    """(4,) what is taken off a count of 0, 1, 2, and 3 or more (Chen & Goodman, 1999, eq. 26).

    With n_c n-grams of the count c and Y = n_1 / (n_1 + 2 n_2): D_c = c - (c + 1) Y n_(c+1) / n_c.
    Where one of n_1 to n_3 is 0, or a D_c below 0, FALLBACK takes their place: most of a vocabulary
    of sub-words is too frequent to have small counts.
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6).astype(float)
    found = np.array(FALLBACK)
    if n[1:4].all():
        y, c = n[1] / (n[1] + 2 * n[2]), np.arange(1, 4)
        closed = c - (c + 1) * y * n[2:5] / n[1:4]
        found = closed if (closed >= 0).all() else found
    return np.concatenate([[0.0], found])


def _before(ends: np.ndarray, ids: np.ndarray, length: int) -> np.ndarray:
    """(length of ids,) the place of the context of an n-gram of `length` tokens, by its last token.

    `ends` has the places of the n-grams one shorter, by their last tokens; -1 where there is none.
    An `<eos>` may begin a context, not end it after another token.
    """
    context = np.full(len(ids), -1, dtype=ends.dtype)
    context[1:] = ends[:-1] if length == 2 else np.where(ids[:-1] == EOS, -1, ends[:-1])
    return context


def _sorted_types(before: np.ndarray, ids: np.ndarray, vocabulary_size: int) -> tuple:
    """The different n-grams: keys, how often each is there, where one ends; and what ends where.

    Most of it in 32 bits, and one array given up before the next is made: there are many.
    """
    keys = before.astype(np.int64)
    keys *= vocabulary_size
    keys += ids
    order = np.argsort(keys).astype(np.int32)
    keys.sort()
    none = np.searchsorted(keys, 0)  # those without a context are below 0
    keys, order = keys[none:], order[none:]
    new = np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)]
    keys = keys[new]
    ends = np.full(len(ids), -1, dtype=np.int32)
    ends[order] = np.cumsum(new, dtype=np.int32) - 1
    often = np.diff(np.append(np.flatnonzero(new), len(order))).astype(np.int32)
    return keys, often, order[new], ends


def _smoothed(keys: np.ndarray, counts: np.ndarray, contexts: int, vocabulary_size: int) -> Order:
    """The order of these n-grams: what each context's tokens keep, and what is left over."""
    discounts, context = discounts_of(counts), keys // vocabulary_size
    totals = np.bincount(context, weights=counts, minlength=contexts)
    taken = np.bincount(context, weights=discounts[np.minimum(counts, 3)], minlength=contexts)
    left = np.divide(taken, totals, out=np.ones(contexts), where=totals > 0)
    return Order(keys, counts.astype(np.int32), discounts, totals.astype(np.int32), left)


def _found(order: Order, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The places of n-grams, -1 for those that are not there, and their counts, then 0."""
    if not len(order.keys):
        return np.full(len(keys), -1), np.zeros(len(keys), dtype=np.int32)
    places = np.minimum(np.searchsorted(order.keys, keys), len(order.keys) - 1)
    there = order.keys[places] == keys
    return np.where(there, places, -1), np.where(there, order.counts[places], 0)


def ngram_scores(model: NgramModel, tokenizer: Tokenizer, sentences: Sequence[str]) -> list[float]:
    """What `sentence_scores` is for other models: the log-probability of each sentence, in nats.

    Sentences pass `normalise` and stand after `<eos>`. Sums are exact, so that sentences made of
    the same probabilities tie, in whatever order these come.
    """
    rows = rows_of(tokenizer, sentences)
    lengths = [len(row) for row in rows.values()]
    found = model.log_probabilities(np.concatenate([*rows.values(), []]))
    parts = np.split(found, np.cumsum(lengths)[:-1]) if lengths else []
    sums = {text: math.fsum(part[1:]) for text, part in zip(rows, parts, strict=True)}
    return [sums[text] for text in sentences]


def evaluate_ngrams(model: NgramModel, tokenizer: Tokenizer, articles: Sequence[str]) -> Evaluation:
    """What `evaluate` is for other models; the window is the order, and moves token by token."""

    def nats(stream: list[int]) -> torch.Tensor:
        return torch.from_numpy(-model.log_probabilities(stream)[1:])

    return evaluate_stream(nats, tokenizer, articles, window=model.order, stride=1)
