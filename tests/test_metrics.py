"""Metrics against closed forms, brute force, and scipy."""

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import log_loss

from tlcourse import metrics


def test_word_perplexity_counts_words_and_line_ends() -> None:
    text = " = Robert <unk> = \n\n Robert acts . \n"
    assert metrics.words_and_line_ends(text) == 4 + 3 + 3
    assert metrics.word_perplexity(10 * math.log(50), 10) == pytest.approx(50)


def test_a_perplexity_that_no_float_can_say_is_infinite() -> None:
    assert metrics.word_perplexity(1000.0, 1) == metrics.token_perplexity(1e5, 2) == math.inf


def test_token_perplexity_is_the_exponential_of_the_log_loss() -> None:
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(5), size=40)
    targets = rng.integers(5, size=40)
    nats = -np.log(probabilities[np.arange(40), targets]).sum()
    expected = math.exp(log_loss(targets, probabilities, labels=range(5)))
    assert metrics.token_perplexity(nats, 40) == pytest.approx(expected)


def test_uniform_bytes_cost_eight_bits() -> None:
    assert metrics.bits_per_byte(1000 * math.log(256), 1000) == pytest.approx(8)


@pytest.mark.parametrize("metric", ["word_perplexity", "token_perplexity", "bits_per_byte"])
def test_nothing_to_measure_is_an_error(metric: str) -> None:
    with pytest.raises(ValueError, match="got 0"):
        getattr(metrics, metric)(1.0, 0)


def test_wilson_interval_of_the_published_result() -> None:
    low, high = metrics.wilson_interval(18, 500)
    assert (round(100 * low, 1), round(100 * high, 1)) == (2.3, 5.6)


@given(st.integers(1, 600).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_interval_by_its_formula(case: tuple[int, int]) -> None:
    """Its ends are the error rates whose own standard errors just reach the one that was seen."""
    errors, n = case
    z, seen = NormalDist().inv_cdf(0.95), errors / n
    centre = seen + z * z / (2 * n)
    half = z * math.sqrt(seen * (1 - seen) / n + (z / (2 * n)) ** 2)
    expected = [(centre + sign * half) / (1 + z * z / n) for sign in (-1, 1)]
    found = metrics.wilson_interval(errors, n, confidence=0.9)
    assert found == pytest.approx(expected, abs=1e-12)
    assert 0 <= found[0] <= seen <= found[1] <= 1
    for end in found:
        if 0 < end < 1:
            assert abs(end - seen) == pytest.approx(z * math.sqrt(end * (1 - end) / n), abs=1e-9)


@pytest.mark.parametrize("case", [(1, 0), (-1, 5), (6, 5)])
def test_wilson_interval_of_nonsense(case: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="expected 0 <= errors <= n"):
        metrics.wilson_interval(*case)


def test_the_least_difference_of_two_rows_is_where_the_t_test_begins_to_see_it() -> None:
    low = np.array([3.1, 2.7, 3.6, 3.0])
    least = metrics.least_difference([low, low[::-1] + 5])
    same_spread = low + least
    assert stats.ttest_ind(low, same_spread).pvalue == pytest.approx(0.05)
    assert metrics.least_difference([low, 3 * low]) > least
    for rows in ([[1.0], [2.0]], [1.0, 2.0], []):
        with pytest.raises(ValueError, match="at least two scores"):
            metrics.least_difference(rows)


def test_mean_interval_is_scipys() -> None:
    values = [3.6, 4.2, 3.1, 4.0, 5.2]
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert metrics.mean_interval(values) == pytest.approx((np.mean(values), *expected))


def test_one_seed_has_no_interval() -> None:
    with pytest.raises(ValueError, match="two seeds"):
        metrics.mean_interval([3.6])


def wrong_questions(seeds: int, n: int) -> st.SearchStrategy:
    return st.lists(st.sets(st.integers(0, n - 1)).map(list), min_size=seeds, max_size=seeds)


@given(wrong_questions(2, 9), wrong_questions(3, 9))
def test_sign_flips_by_brute_force(wrong_a: list, wrong_b: list) -> None:
    def means(wrong: list) -> np.ndarray:
        return np.mean([[q in numbers for q in range(9)] for numbers in wrong], axis=0)

    differences = means(wrong_a) - means(wrong_b)
    seen = abs(differences.sum())
    flips = itertools.product((1, -1), repeat=9)
    totals = [abs(differences @ np.array(signs)) for signs in flips]
    expected = np.mean([total >= seen - 1e-9 for total in totals])
    result = metrics.sign_flip_test(wrong_a, wrong_b, 9)
    assert result.p_value == pytest.approx(expected)
    assert result.difference == pytest.approx(differences.mean())


def test_one_seed_each_is_mcnemars_exact_test() -> None:
    wrong_a, wrong_b = [list(range(30))], [list(range(18, 50))]
    expected = stats.binomtest(18, 18 + 20, 0.5).pvalue
    assert metrics.sign_flip_test(wrong_a, wrong_b, 500).p_value == pytest.approx(expected)


def test_equal_schemes_do_not_differ() -> None:
    assert metrics.sign_flip_test([[1, 2]], [[2, 1]], 5) == (0.0, 1.0)


@pytest.mark.parametrize("wrong", [[], [[5]], [[-1]], [[1, 1]]])
def test_wrong_questions_that_cannot_be(wrong: list) -> None:
    with pytest.raises(ValueError, match="expected"):
        metrics.sign_flip_test(wrong, [[0]], 5)


def test_holm_by_hand() -> None:
    assert metrics.holm([0.04, 0.01, 0.03, 0.005]) == pytest.approx([0.06, 0.03, 0.06, 0.02])
    assert metrics.holm([0.7, 0.8]) == [1.0, 1.0]
    assert metrics.holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_lies_between_none_and_bonferroni(p_values: list[float]) -> None:
    """And rejects at a level what the step-down rule rejects."""
    corrected = metrics.holm(p_values)
    for before, after in zip(p_values, corrected, strict=True):
        assert before <= after <= min(1.0, before * len(p_values))
    level = 0.1
    rejected = 0
    for p_value in sorted(p_values):
        if p_value * (len(p_values) - rejected) > level:
            break
        rejected += 1
    assert sum(after <= level for after in corrected) == rejected


def test_bootstrap_of_independent_items_is_about_students_interval():
    values = np.random.default_rng(0).normal(3.0, 2.0, 400)
    found, expected = metrics.bootstrap_interval(values), metrics.mean_interval(values)
    assert found.mean == pytest.approx(expected.mean)
    assert found.low == pytest.approx(expected.low, abs=0.03)
    assert found.high == pytest.approx(expected.high, abs=0.03)
    assert metrics.bootstrap_interval(values) == found


def test_bootstrap_of_groups_knows_that_copies_tell_nothing_new():
    values = np.random.default_rng(0).normal(0.0, 1.0, 100)
    copies, groups = np.repeat(values, 9), np.repeat(np.arange(100), 9)
    alone = metrics.bootstrap_interval(values)
    assert metrics.bootstrap_interval(copies, groups=groups) == pytest.approx(alone)
    naive = metrics.bootstrap_interval(copies)
    assert naive.high - naive.low < 0.4 * (alone.high - alone.low)
    with pytest.raises(ValueError, match="at least two items, or groups of them, got 1"):
        metrics.bootstrap_interval([1.0, 2.0], groups=[7, 7])
