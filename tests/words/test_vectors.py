"""Nearest words and analogies, against the definitions and gensim."""

import numpy as np
import pytest

from tlcourse import words

NAMES = tuple(f"word{number}" for number in range(40))
MATRIX = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
VECTORS = words.Vectors(NAMES, MATRIX)


@pytest.fixture(scope="module")
def gensims():
    vectors = pytest.importorskip("gensim.models").KeyedVectors(6)
    vectors.add_vectors(list(NAMES), MATRIX)
    return vectors


def same(ours, theirs):
    assert [word for word, _ in ours] == [word for word, _ in theirs]
    np.testing.assert_allclose([x for _, x in ours], [x for _, x in theirs], atol=1e-6)


def test_the_nearest_words_are_gensims(gensims):
    same(VECTORS.nearest("word3", 7), gensims.most_similar("word3", topn=7))
    assert VECTORS.similarity("word1", "word2") == pytest.approx(
        gensims.similarity("word1", "word2"), abs=1e-6
    )


def test_analogies_are_gensims_and_exclude_leaves_out_the_words_asked(gensims):
    theirs = gensims.most_similar(positive=["word1", "word2"], negative=["word0"], topn=5)
    ours = VECTORS.analogy("word0", "word1", "word2", 5)
    assert [word for word, _ in ours] == [word for word, _ in theirs]
    everything = VECTORS.analogy("word0", "word1", "word2", 40, exclude=False)
    assert {word for word, _ in everything} == set(NAMES)


def test_the_nearest_to_a_vector_may_be_its_word_and_some_may_be_left_out():
    assert VECTORS.nearest(2 * VECTORS["word5"], 1)[0] == ("word5", pytest.approx(1))
    found = [word for word, _ in VECTORS.nearest("word5", 100, without=["word6", "unknown"])]
    assert len(found) == 38 and not {"word5", "word6"} & set(found)


def test_a_vector_of_zeros_is_like_no_word():
    vectors = words.Vectors(("a", "b"), np.array([[0.0, 0.0], [3.0, 4.0]]))
    assert vectors.similarity("a", "b") == 0
    np.testing.assert_allclose(vectors.directions, [[0, 0], [0.6, 0.8]])


def test_errors_say_what_was_expected():
    with pytest.raises(ValueError, match="a row for each of the 2 words.*shape .3, 4"):
        words.Vectors(("a", "b"), np.zeros((3, 4)))
    with pytest.raises(ValueError, match="different words"):
        words.Vectors(("a", "a"), np.zeros((2, 4)))
    with pytest.raises(KeyError):
        VECTORS["unknown"]
