"""Character n-grams, their hashes, and vectors of words that never occurred, as in gensim."""

import numpy as np
import pytest

from tlcourse import words
from tlcourse.words.subwords import ngram_hash

STRANGE = ["where", "a", "über", "naïve", "日本語", "mañana", "🙂🙂", "isn't", "x" * 30]


def test_ngrams_of_a_word():
    assert words.ngrams("river", 3, 3) == ["<ri", "riv", "ive", "ver", "er>"]
    assert words.ngrams("a", 3, 6) == ["<a>"]
    assert words.ngrams("ab", 1, 2) == ["<a", "a", "ab", "b", "b>"]
    with pytest.raises(ValueError, match="lengths of at least 1.*got 4 and 3"):
        words.ngrams("where", 4, 3)


def test_the_hash_has_the_published_values_of_fnv():
    assert [ngram_hash(text) for text in ("", "a", "foobar")] == [
        0x811C9DC5, 0xE40C292C, 0xBF9CF968,
    ]  # fmt: skip


@pytest.mark.parametrize("word", STRANGE)
def test_ngrams_and_buckets_are_gensims(word):
    inner = pytest.importorskip("gensim.models.fasttext_inner")
    theirs = inner.compute_ngrams_bytes(word, 2, 5)
    assert [each.encode() for each in words.ngrams(word, 2, 5)] == list(theirs)
    hashes = [inner.ft_hash_bytes(each) % 1000 for each in theirs]
    assert words.ngram_buckets(word, 2, 5, buckets=1000) == hashes


def test_vectors_are_those_that_gensim_composes_from_the_same_weights():
    fasttext = pytest.importorskip("gensim.models").FastText
    rows = [["the", "naïve", "dog"], ["über", "the", "isn't"]] * 5
    theirs = fasttext(rows, vector_size=6, min_count=1, bucket=50, epochs=2, seed=1).wv
    known = tuple(theirs.index_to_key)
    ours = words.SubwordVectors.composed(known, theirs.vectors_vocab, theirs.vectors_ngrams)
    for word in [*known, *STRANGE, "dogs", "undogged"]:
        np.testing.assert_array_equal(ours[word], theirs[word])


def test_every_word_has_a_vector_and_the_empty_one_has_none():
    rng = np.random.default_rng(0)
    own, buckets = (rng.normal(size=(rows, 4)).astype(np.float32) for rows in (2, 30))
    vectors = words.SubwordVectors.composed(("cat", "dog"), own, buckets)
    assert "cats" in vectors and "" not in vectors and 7 not in vectors
    parts = words.ngram_buckets("cats", buckets=30)
    np.testing.assert_allclose(vectors["cats"], buckets[parts].mean(axis=0), rtol=1e-5)
    with pytest.raises(KeyError):
        vectors[""]


def test_a_word_too_short_for_an_ngram_has_zeros():
    one = np.ones((1, 2), np.float32)
    vectors = words.SubwordVectors.composed(("word",), one, one, shortest=4, longest=6)
    assert np.array_equal(vectors["a"], [0, 0])


def test_misspelt_words_lie_near_the_neighbours_of_the_right_one():
    """Their n-grams alone would not do: the neighbours share none of them."""
    rng = np.random.default_rng(0)
    topics = (["river", "canal", "brook", "stream"], ["winter", "summer", "autumn", "season"])
    lines = [" ".join(rng.choice(each, 8)) for _ in range(400) for each in topics]
    text = words.read(lines, min_count=1)
    vectors = words.fasttext(text, width=20, epochs=8, threshold=0.1, buckets=1000)
    for word, topic in {"rivver": 0, "brooks": 0, "wintter": 1, "seasonal": 1}.items():
        assert word not in vectors.ids
        assert {near for near, _ in vectors.nearest(word, 4)} == set(topics[topic])
