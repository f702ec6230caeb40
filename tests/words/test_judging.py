"""Agreement with people's judgements, against SciPy, gensim and naive loops."""

import logging
from pathlib import Path

import datasets
import numpy as np
import pytest
from scipy.spatial.distance import cosine
from scipy.stats import spearmanr

from tlcourse import words
from tlcourse.words import judging

NAMES = tuple(f"word{number}" for number in range(60))
SECTIONS = ["capitals", "family", "gram1-plural"]


@pytest.fixture(scope="module")
def vectors() -> words.Vectors:
    matrix = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    return words.Vectors(NAMES, matrix)


@pytest.fixture(scope="module")
def pairs() -> dict[str, list]:
    """80 pairs with few different scores, three of them twice, and 20 with a word unknown."""
    generator = np.random.default_rng(1)
    first, second = ([NAMES[n] for n in generator.integers(60, size=80)] for _ in "12")
    first[77:], second[77:] = second[:3], first[:3]  # the same cosines again
    first += ["unheard"] * 10 + list(NAMES[:10])
    second += list(NAMES[:10]) + ["unheard"] * 10
    return {"word1": first, "word2": second, "score": generator.integers(8, size=100).tolist()}


@pytest.fixture(scope="module")
def questions(vectors) -> dict[str, list]:
    """300 questions of four different words, 40 of them with an unknown word; a third is easy."""
    generator = np.random.default_rng(2)
    rows = []
    for number in range(300):
        a, b, c, d = four_of(generator)
        if number % 3 == 0:
            d = vectors.analogy(a, b, c, 1)[0][0]
        rows.append([a, b, c, d])
    for number in range(40):
        rows[number][number % 4] = "unheard"
    columns = dict(zip("abcd", map(list, zip(*rows, strict=True)), strict=True))
    return {"section": [SECTIONS[number % 3] for number in range(300)], **columns}


def four_of(generator: np.random.Generator) -> list[str]:
    return [NAMES[n] for n in generator.choice(60, 4, replace=False)]


def both(vectors: words.Vectors, pairs: dict[str, list]) -> tuple[np.ndarray, np.ndarray]:
    """The cosines and scores of the pairs with two known words, one at a time."""
    rows = [*zip(*pairs.values(), strict=True)]
    known = [row for row in rows if {*row[:2]} <= {*NAMES}]
    cosines = [1 - cosine(vectors[a], vectors[b]) for a, b, _ in known]
    return np.array(cosines).round(6), np.array([score for *_, score in known])


def test_the_correlation_is_that_of_scipy_over_the_covered_pairs(vectors, pairs):
    found = words.correlation(vectors, pairs)
    cosines, scores = both(vectors, pairs)
    assert len(set(cosines)) < 80 and len(set(scores)) == 8  # there are ties
    assert found.spearman == pytest.approx(spearmanr(cosines, scores).statistic, abs=1e-9)
    assert (found.covered, found.pairs) == (80, 100)
    whole = words.correlation(vectors, datasets.Dataset.from_dict(pairs))
    assert whole == found == words.correlation(vectors, pairs, seed=0)


def test_the_interval_is_of_bootstrap_samples_of_the_covered_pairs(vectors, pairs):
    found = words.correlation(vectors, pairs, draws=200, seed=3)
    cosines, scores = both(vectors, pairs)
    samples = np.random.default_rng(3).integers(80, size=(200, 80))
    drawn = [spearmanr(cosines[sample], scores[sample]).statistic for sample in samples]
    assert (found.low, found.high) == pytest.approx(np.percentile(drawn, [2.5, 97.5]), abs=1e-9)
    assert found.low < found.spearman < found.high
    assert words.correlation(vectors, pairs, seed=4).low != words.correlation(vectors, pairs).low


def test_the_correlation_is_that_of_gensim(vectors, pairs, tmp_path: Path):
    path = tmp_path / "pairs.tsv"
    lines = ["\t".join(map(str, row)) for row in zip(*pairs.values(), strict=True)]
    path.write_text("\n".join(lines), encoding="utf-8")
    _, theirs, missing = in_gensim(vectors).evaluate_word_pairs(str(path), case_insensitive=False)
    found = words.correlation(vectors, pairs)
    assert found.spearman == pytest.approx(theirs.statistic, abs=1e-6)
    assert 100 * (1 - found.covered / found.pairs) == pytest.approx(missing)


def in_gensim(vectors: words.Vectors):
    models = pytest.importorskip("gensim.models", reason="needs the extra: .[test]")
    logging.getLogger("gensim").setLevel(logging.WARNING)
    theirs = models.KeyedVectors(vectors.matrix.shape[1])
    theirs.add_vectors(list(vectors.words), vectors.matrix)
    return theirs


class Letters:
    """A vector for every word: how often it has each letter."""

    def __contains__(self, word: object) -> bool:
        return True

    def __getitem__(self, word: str) -> np.ndarray:
        return np.array([word.count(letter) for letter in "abcdefg"], float)


def test_what_has_a_vector_for_every_word_covers_every_pair():
    pairs = {"word1": ["bad", "bad", "egg"], "word2": ["dab", "bead", "bad"], "score": [9, 5, 1]}
    assert words.correlation(Letters(), pairs).spearman == pytest.approx(1)
    assert words.correlation(Letters(), pairs).covered == 3


@pytest.mark.parametrize(
    ("word2", "score", "covered"),
    [
        (["unheard", "unheard"], [1, 2], 0),
        (["word1", "unheard"], [1, 2], 1),
        (["word1", "word2"], [3, 3], 2),
    ],
)
def test_no_number_where_a_correlation_has_no_meaning(vectors, word2, score, covered):
    pairs = {"word1": ["word3", "word4"], "word2": word2, "score": score}
    found = words.correlation(vectors, pairs)
    assert np.isnan([found.spearman, found.low, found.high]).all()
    assert (found.covered, found.pairs) == (covered, 2)


def naive(vectors: words.Vectors, questions: dict[str, list], exclude: bool) -> dict[str, list]:
    """By section: right answers, questions covered and all; one question at a time."""
    found = {section: [0, 0, 0] for section in SECTIONS}
    directions = {name: vectors[name] / np.linalg.norm(vectors[name]) for name in NAMES}
    for section, a, b, c, d in zip(*questions.values(), strict=True):
        found[section][2] += 1
        if {a, b, c, d} <= {*NAMES}:
            found[section][1] += 1
            target = directions[b] - directions[a] + directions[c]
            allowed = [name for name in NAMES if not exclude or name not in (a, b, c)]
            found[section][0] += max(allowed, key=lambda name: target @ directions[name]) == d
    return found


@pytest.mark.parametrize("exclude", [True, False])
def test_analogies_are_counted_as_one_at_a_time(vectors, questions, exclude):
    assert len(questions["a"]) > 2 * judging.BATCH
    found = words.analogies(vectors, questions, exclude=exclude)
    expected = naive(vectors, questions, exclude)
    assert {name: [*answers] for name, answers in found.sections.items()} == expected
    assert (expected["capitals"][0] == expected["capitals"][1]) == exclude  # the easy ones
    meaning, grammar = np.array([expected[name] for name in SECTIONS[:2]]), expected[SECTIONS[2]]
    assert [*found.semantic] == meaning.sum(0).tolist() and [*found.syntactic] == grammar
    assert [*found.all] == (meaning.sum(0) + grammar).tolist()
    assert found.all.questions == 300 and found.all.covered == 260
    assert found.all.accuracy == pytest.approx(found.all.right / 260)


def test_analogies_are_answered_as_by_gensim(vectors, questions, tmp_path: Path):
    lines, path = [], tmp_path / "questions.txt"
    for section in SECTIONS:
        lines.append(f": {section}")
        for name, *four in zip(*questions.values(), strict=True):
            if name == section:
                lines.append(" ".join(four))
    path.write_text("\n".join(lines), encoding="utf-8")
    theirs = in_gensim(vectors)
    accuracy, sections = theirs.evaluate_word_analogies(str(path), case_insensitive=False)
    found = words.analogies(vectors, questions)
    assert found.all.accuracy == accuracy
    for section in sections[:-1]:
        right, wrong = len(section["correct"]), len(section["incorrect"])
        assert found.sections[section["section"]][:2] == (right, right + wrong)


def test_a_section_that_nothing_covers_has_no_accuracy(vectors):
    question = {"section": ["family"], "a": ["he"], "b": ["she"], "c": ["king"], "d": ["queen"]}
    found = words.analogies(vectors, question)
    assert found.sections == {"family": (0, 0, 1)} and found.syntactic == (0, 0, 0)
    assert np.isnan(found.all.accuracy)


@pytest.mark.parametrize(
    ("function", "columns"), [("correlation", "word1, word2, score"), ("analogies", "section, a")]
)
def test_a_table_without_the_columns_is_refused(vectors, pairs, function, columns):
    split = datasets.Dataset.from_dict({"text": ["a b"]})
    for table in ({"test": pairs}, split, datasets.DatasetDict(test=split)):
        with pytest.raises(ValueError, match=f"expected the columns {columns}.*one split of a"):
            getattr(words, function)(vectors, table)
