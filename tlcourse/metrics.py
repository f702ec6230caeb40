"""Perplexities, intervals, and paired tests of classifiers on the same questions.

scipy.stats takes a second to import, which few who import this module need: see the functions.
"""

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np


def words_and_line_ends(text: str) -> int:
    """White-space words plus one `<eos>` a line, as for WikiText (Merity et al., 2016)."""
    return len(text.split()) + text.count("\n")


def word_perplexity(total_nats: float, words: int) -> float:
    """exp(nats per word), where `words` are words plus line ends, however the text was tokenised.

    So models with different vocabularies can be compared. Raises ValueError without a word.
    """
    return _exp(total_nats / _positive(words, "words"))


def token_perplexity(total_nats: float, tokens: int) -> float:
    """exp(nats per token); comparable only between models with one vocabulary.

    Raises ValueError without a token.
    """
    return _exp(total_nats / _positive(tokens, "tokens"))


def _exp(nats: float) -> float:
    """Infinite where a float cannot say it: a text without spaces may be one "word" a line."""
    try:
        return math.exp(nats)
    except OverflowError:
        return math.inf


def bits_per_byte(total_nats: float, bytes_of_text: int) -> float:
    """Bits per UTF-8 byte of the text; raises ValueError without a byte."""
    return total_nats / math.log(2) / _positive(bytes_of_text, "bytes")


def _positive(count: int, what: str) -> int:
    if count <= 0:
        raise ValueError(f"expected at least one of the {what}, got {count}; is the text empty?")
    return count


def wilson_interval(errors: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of an error rate, as fractions, from `errors` among `n` (Wilson, 1927).

    18 of 500 is 3.6 %, and the interval goes from 2.3 to 5.6 %. Raises ValueError unless
    0 <= errors <= n and n > 0.
    """
    from scipy.stats import binomtest

    if not 0 <= errors <= n or n == 0:
        raise ValueError(f"expected 0 <= errors <= n and n > 0, got {errors} errors of {n}")
    low, high = binomtest(errors, n).proportion_ci(confidence, method="wilson")
    return float(low), float(high)


class Interval(NamedTuple):
    """A mean and the interval around it, in the unit of the values."""

    mean: float
    low: float
    high: float


def mean_interval(values: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """The mean over seeds and its interval by Student's t (Student, 1908).

    It holds for other seeds, not for other test questions. Raises ValueError on fewer than two
    values, which say nothing of the spread.
    """
    from scipy.stats import t as student

    if len(values) < 2:
        raise ValueError(f"expected the values of at least two seeds, got {len(values)}")
    mean = fmean(values)
    quantile = float(student.ppf((1 + confidence) / 2, len(values) - 1))
    half = quantile * stdev(values) / math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


def bootstrap_interval(
    values: Sequence[float],
    *,
    groups: Sequence[int] | None = None,
    confidence: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
) -> Interval:
    """The mean of items and its percentile bootstrap interval (Efron, 1979).

    It holds for other items of the kind. `groups` (items,) are numbers; items with the same one,
    such as the words of a sentence, are drawn together: they are not independent. Raises ValueError
    for fewer than two items or groups.
    """
    items = np.asarray(values, dtype=np.float64)
    numbers = np.arange(len(items)) if groups is None else np.asarray(groups)
    _, numbers = np.unique(numbers, return_inverse=True)
    sums, counts = np.bincount(numbers, weights=items), np.bincount(numbers)
    if len(counts) < 2:
        raise ValueError(f"expected at least two items, or groups of them, got {len(counts)}")
    generator, means = np.random.default_rng(seed), np.empty(draws)
    for draw in range(draws):
        drawn = generator.integers(len(counts), size=len(counts))
        means[draw] = sums[drawn].sum() / counts[drawn].sum()
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(items.mean()), float(low), float(high))


class Comparison(NamedTuple):
    """`difference` is the error rate of a minus that of b, a fraction; `p_value` is two-sided."""

    difference: float
    p_value: float


def sign_flip_test(
    wrong_a: Sequence[Sequence[int]], wrong_b: Sequence[Sequence[int]], n_questions: int
) -> Comparison:
    """Compares two schemes on the same questions, each over its own seeds.

    `wrong_a` and `wrong_b` hold, for every seed, the numbers of the questions that were answered
    wrong. Were the schemes alike, the sign of each question's difference of mean errors would be
    arbitrary: the p-value is the share of all 2^n flips of signs with a total at least as far from
    zero (Fisher, 1935). It is exact: the totals are whole multiples of 1 / (seeds of a * seeds of
    b), so their distribution is a convolution. With one seed each, this is McNemar's exact test.
    Raises ValueError without seeds, and on numbers that are out of range or repeated.
    """
    counts_a, counts_b = (_times_wrong(wrong, n_questions) for wrong in (wrong_a, wrong_b))
    differences = counts_a * len(wrong_b) - counts_b * len(wrong_a)
    sizes = np.abs(differences[differences != 0])
    total, furthest = abs(int(differences.sum())), int(sizes.sum())
    shares = np.zeros(2 * furthest + 1)  # the place of total s is s + furthest
    shares[furthest] = 1.0
    for size in sizes:
        shares = (np.roll(shares, size) + np.roll(shares, -size)) / 2
    totals = np.abs(np.arange(-furthest, furthest + 1))
    scale = len(wrong_a) * len(wrong_b) * n_questions
    p_value = min(float(shares[totals >= total].sum()), 1.0)
    return Comparison(int(differences.sum()) / scale, p_value)


def _times_wrong(wrong: Sequence[Sequence[int]], n_questions: int) -> np.ndarray:
    """(questions,) how many seeds got each question wrong."""
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
    """p-values corrected for their number, in the order given (Holm, 1979).

    Rejecting those below a level keeps the probability of any false rejection below that level.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = largest
    return corrected
