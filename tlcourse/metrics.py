"""Perplexities, intervals, and paired tests of classifiers on the same questions.

scipy.stats takes a second to import, so the functions that need it import it.
"""

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np


def words_and_line_ends(text: str) -> int:
    """The number of white-space words plus line ends, as for WikiText (Merity et al., 2016)."""
    return len(text.split()) + text.count("\n")


def word_perplexity(total_nats: float, words: int) -> float:
    """exp(nats per word), where `words` counts words and line ends for any tokenization.

    This makes models with different vocabularies comparable. Raises ValueError if `words` is 0.
    """
    return _exp(total_nats / _positive(words, "words"))


def token_perplexity(total_nats: float, tokens: int) -> float:
    """exp(nats per token), comparable only between models with the same vocabulary.

    Raises ValueError if `tokens` is 0.
    """
    return _exp(total_nats / _positive(tokens, "tokens"))


def _exp(nats: float) -> float:
    """exp(nats), infinite beyond a float's range: without spaces, a line may be one "word"."""
    try:
        return math.exp(nats)
    except OverflowError:
        return math.inf


def bits_per_byte(total_nats: float, bytes_of_text: int) -> float:
    """Bits per UTF-8 byte of the text; raises ValueError if there are no bytes."""
    return total_nats / math.log(2) / _positive(bytes_of_text, "bytes")


def _positive(count: int, what: str) -> int:
    if count <= 0:
        raise ValueError(f"expected at least one of the {what}, got {count}; give a longer text")
    return count


def wilson_interval(errors: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """The confidence interval of the error rate `errors` / `n`, as fractions (Wilson, 1927).

    18 of 500 is 3.6 %, with an interval from 2.3 to 5.6 %. Raises ValueError unless
    0 <= errors <= n and n > 0.
    """
    from scipy.stats import binomtest

    if not 0 <= errors <= n or n == 0:
        raise ValueError(f"expected 0 <= errors <= n and n > 0, got {errors} errors of {n}")
    low, high = binomtest(errors, n).proportion_ci(confidence, method="wilson")
    return float(low), float(high)


class Interval(NamedTuple):
    """A mean and its confidence interval, in the unit of the values."""

    mean: float
    low: float
    high: float


def mean_interval(values: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """The mean over seeds and its confidence interval by Student's t (Student, 1908).

    The interval covers further seeds, not further test questions. Raises ValueError for fewer than
    two values, from which no variance can be estimated.
    """
    from scipy.stats import t as student

    if len(values) < 2:
        raise ValueError(f"expected the values of at least two seeds, got {len(values)}")
    mean = fmean(values)
    quantile = float(student.ppf((1 + confidence) / 2, len(values) - 1))
    half = quantile * stdev(values) / math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


def least_difference(rows: Sequence[Sequence[float]]) -> float:
    """Fisher's least significant difference of two rows' means (1935), at the level of 5 %.

    A row holds the scores of one method, one for each seed. The variance between seeds is pooled
    over all rows, which must be equally long. Of many differences, some exceed it by chance.
    Raises ValueError for rows of fewer than two scores.
    """
    from scipy.stats import t as student

    scores = np.array(rows, dtype=float)  # NumPy refuses rows of several lengths
    if scores.ndim != 2 or scores.shape[1] < 2:
        raise ValueError(f"expected rows of at least two scores, got an array {scores.shape}")
    count, seeds = scores.shape
    quantile = student.ppf(0.975, count * (seeds - 1))
    return float(quantile * np.sqrt(2 * scores.var(axis=1, ddof=1).mean() / seeds))


def bootstrap_interval(
    values: Sequence[float],
    *,
    groups: Sequence[int] | None = None,
    confidence: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
) -> Interval:
    """The mean of items and its percentile bootstrap interval (Efron, 1979).

    The interval covers further items of the same kind. `groups` (items,) are numbers; items with
    the same number, such as the words of a sentence, are drawn together, because they are not
    independent. Raises ValueError for fewer than two items or groups.
    """
    items = np.asarray(values, dtype=np.float64)
    numbers = np.arange(len(items)) if groups is None else np.asarray(groups)
    _, numbers = np.unique(numbers, return_inverse=True)
    sums, counts = np.bincount(numbers, weights=items), np.bincount(numbers)
    if len(counts) < 2:
        raise ValueError(f"expected at least two items, or groups of them, got {len(counts)}")
    generator, means = np.random.default_rng(seed), np.empty(draws)
    for draw in range(draws):
        sample = generator.integers(len(counts), size=len(counts))
        means[draw] = sums[sample].sum() / counts[sample].sum()
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(items.mean()), float(low), float(high))


class Comparison(NamedTuple):
    """The error rate of a minus that of b, as a fraction, and the two-sided p-value."""

    difference: float
    p_value: float


def sign_flip_test(
    wrong_a: Sequence[Sequence[int]], wrong_b: Sequence[Sequence[int]], n_questions: int
) -> Comparison:
    """Compares two schemes on the same questions, each over its own seeds.

    `wrong_a` and `wrong_b` have, for every seed, the numbers of the misclassified questions. If the
    schemes were equally good, the sign of each question's difference of mean errors would be
    arbitrary. The p-value is the share of all 2^n sign flips whose total is at least as far from
    zero (Fisher, 1935). It is exact: the totals are multiples of 1 / (seeds of a * seeds of b), so
    their distribution is a convolution. With one seed each, this is McNemar's exact test. Raises
    ValueError if there are no seeds, and for numbers that are out of range or repeated.
    """
    counts_a, counts_b = (_times_wrong(wrong, n_questions) for wrong in (wrong_a, wrong_b))
    differences = counts_a * len(wrong_b) - counts_b * len(wrong_a)
    sizes = np.abs(differences[differences != 0])
    total, furthest = abs(int(differences.sum())), int(sizes.sum())
    shares = np.zeros(2 * furthest + 1)  # the share of total s is at index s + furthest
    shares[furthest] = 1.0
    for size in sizes:
        shares = (np.roll(shares, size) + np.roll(shares, -size)) / 2
    totals = np.abs(np.arange(-furthest, furthest + 1))
    scale = len(wrong_a) * len(wrong_b) * n_questions
    p_value = min(float(shares[totals >= total].sum()), 1.0)
    return Comparison(int(differences.sum()) / scale, p_value)


def _times_wrong(wrong: Sequence[Sequence[int]], n_questions: int) -> np.ndarray:
    """The number of seeds that misclassified each question, (questions,)."""
    counts = np.zeros(n_questions, dtype=np.int64)
    if not len(wrong):
        raise ValueError("expected the wrong questions of at least one seed, got no seed")
    for numbers in wrong:
        numbers = list(numbers)
        if len(set(numbers)) < len(numbers) or not all(0 <= i < n_questions for i in numbers):
            raise ValueError(
                f"expected different question numbers from 0 to {n_questions - 1}, got {numbers}"
            )
        counts[numbers] += 1
    return counts


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for multiple comparisons, in the given order (Holm, 1979).

    Rejecting those below a level bounds the probability of any false rejection by that level.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = largest
    return corrected
