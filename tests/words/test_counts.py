"""Counts, PPMI and SVD against their definitions, pair by pair, and scikit-learn."""

from collections import Counter
from math import log

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from tests.words.lines import random_lines
from tlcourse import words

LINES = random_lines(lines=30, size=12, seed=0)


@pytest.fixture(scope="module")
def text() -> words.Text:
    return words.read(LINES, min_count=1)


@pytest.fixture(scope="module")
def counts(text):
    return words.cooccurrences(text, 3)


def by_name(counts, text: words.Text) -> dict[tuple[str, str], float]:
    """The counts that are not 0, with the words that they belong to."""
    names, found = text.vocabulary.words, counts.tocoo()
    pairs = zip(found.row, found.col, found.data, strict=True)
    return {(names[i], names[j]): value for i, j, value in pairs}


@pytest.mark.parametrize("distance", [1, 2, 5, 40])
def test_bigrams_are_those_of_each_line(text, distance):
    expected = Counter(
        pair for line in LINES for pair in zip(line.split(), line.split()[distance:], strict=False)
    )
    assert by_name(words.bigrams(text, distance), text) == expected


def pair_by_pair(window: int, weight) -> Counter:
    """The co-occurrences, from each word of each line to each word around it."""
    found: Counter = Counter()
    for line in map(str.split, LINES):
        for i, centre in enumerate(line):
            for j, context in enumerate(line):
                if 1 <= abs(i - j) <= window:
                    found[centre, context] += weight(abs(i - j))
    return found


@pytest.mark.parametrize("window", [1, 2, 5, 40])
def test_cooccurrences_are_the_pairs_within_the_window(text, window):
    expected = pair_by_pair(window, lambda distance: 1)
    assert by_name(words.cooccurrences(text, window), text) == expected


def test_cooccurrences_weigh_distances(text):
    found = by_name(words.cooccurrences(text, 4, weight=lambda distance: 1 / distance), text)
    assert found == pytest.approx(pair_by_pair(4, lambda distance: 1 / distance))


def test_the_weight_of_word2vec_is_the_mean_over_its_windows(text):
    found = words.cooccurrences(text, 4, weight=lambda distance: 1 - (distance - 1) / 4)
    drawn = sum(words.cooccurrences(text, window) for window in (1, 2, 3, 4)) / 4
    assert np.allclose(found.toarray(), drawn.toarray())


def test_distances_and_windows_begin_at_1(text):
    with pytest.raises(ValueError, match="a distance of at least 1, got 0"):
        words.bigrams(text, 0)
    with pytest.raises(ValueError, match="a window of at least 1 word, got 0"):
        words.cooccurrences(text, 0)


def ppmi_of(counts: np.ndarray, power: float, shift: float) -> np.ndarray:
    """From the definition, one pair at a time."""
    found, total = np.zeros(counts.shape), counts.sum()
    raised = [counts[:, j].sum() ** power for j in range(counts.shape[1])]
    for (i, j), count in np.ndenumerate(counts):
        if count:
            word, context = counts[i].sum() / total, raised[j] / sum(raised)
            found[i, j] = max(0, log(count / total / (word * context)) - shift)
    return found


@pytest.mark.parametrize(("power", "shift"), [(1, 0), (0.75, 0), (1, 0.2), (0.75, log(2))])
def test_ppmi_is_its_definition(counts, power, shift):
    lopsided = counts[:, :9]  # so that rows and columns cannot be taken for each other
    for table in (counts, lopsided):
        found = words.ppmi(table, context_power=power, shift=shift)
        expected = ppmi_of(table.toarray(), power, shift)
        assert np.allclose(found.toarray(), expected)
        assert found.nnz == np.count_nonzero(expected) < table.nnz


def test_ppmi_of_a_dense_table_by_hand():
    # 1/8 < 1/2 · 1/2, so only the pairs that occur 3 times are seen more than by chance.
    found = words.ppmi(np.array([[1, 3], [3, 1]])).toarray()
    assert found == pytest.approx(np.array([[0, log(1.5)], [log(1.5), 0]]))


def test_a_lower_context_power_lowers_rare_contexts_only(counts):
    plain, smoothed = (words.ppmi(counts, context_power=p).toarray() for p in (1, 0.5))
    order = np.argsort(counts.sum(axis=0))
    rare, frequent = order[0], order[-1]
    both = (plain > 0) & (smoothed > 0)
    assert (smoothed < plain)[:, rare][both[:, rare]].all()
    assert (smoothed > plain)[:, frequent][both[:, frequent]].all()


@pytest.mark.parametrize("power", [0, 0.5, 1])
def test_svd_is_that_of_the_whole_matrix(counts, power):
    matrix = words.ppmi(counts)
    left, values, _ = np.linalg.svd(matrix.toarray())
    found = words.svd(matrix, width=4, power=power)
    assert found.dtype == np.float32
    assert np.allclose(np.abs(found), np.abs(left * values**power)[:, :4], atol=1e-5)
    assert (found[np.abs(found).argmax(axis=0), range(4)] > 0).all()


def test_svd_does_latent_semantic_analysis():
    documents = random_lines(lines=25, size=40, seed=1)
    matrix = TfidfVectorizer().fit_transform(documents)
    expected = TruncatedSVD(6, algorithm="arpack", random_state=0).fit_transform(matrix)
    found = words.svd(matrix, width=6, power=1)
    signs = np.sign((found * expected).sum(axis=0))
    assert np.allclose(found * signs, expected, atol=1e-5)


def test_svd_is_the_same_each_time_and_from_any_seed(counts):
    first = words.svd(counts, width=4)
    assert np.array_equal(first, words.svd(counts, width=4))
    assert np.allclose(first, words.svd(counts, width=4, seed=1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("width", [0, 9])
def test_svd_says_what_widths_a_matrix_has(counts, width):
    with pytest.raises(ValueError, match=rf"a width from 1 to 8 .* \(12, 9\), got {width}"):
        words.svd(counts[:, :9], width=width)


def test_words_with_the_same_neighbours_have_like_vectors():
    generator = np.random.default_rng(0)
    places = {"on": ("river", "lake"), "by": ("king", "queen")}
    lines = []
    for preposition, nouns in places.items():
        for noun in nouns:
            others = generator.permutation([f"{preposition}{n}" for n in range(6)])
            lines += [f"{preposition} {noun} {other}" for other in others] * 2
    text = words.read(lines, min_count=1)
    vectors = words.Vectors(
        text.vocabulary.words, words.svd(words.ppmi(words.cooccurrences(text)), width=4)
    )
    assert vectors.similarity("river", "lake") > 0.9
    assert vectors.similarity("river", "king") < 0.4
