"""Character n-grams, their hashes, and vectors of words that never occurred, as in gensim."""

import numpy as np
import pytest

from tlcourse import words
from tlcourse.words.subwords import ngram_hash

STRANGE = ["where", "a", "über", "naïve", "日本語", "mañana", "🙂🙂", "isn't", "x" * 30]


def test_ngrams_of_a_word():
    assert words.ngrams("where", 3, 3) == ["<wh", "whe", "her", "ere", "re>"]
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
        np.testing.assert_allclose(ours[word], theirs[word], rtol=1e-5, atol=1e-8)


def test_every_word_has_a_vector_and_the_empty_one_has_none():
    rng = np.random.default_rng(0)
    own, buckets = (rng.normal(size=(rows, 4)).astype(np.float32) for rows in (2, 30))
    vectors = words.SubwordVectors.composed(("cat", "dog"), own, buckets)
    assert "cats" in vectors and "" not in vectors and 7 not in vectors
    parts = words.ngram_buckets("cats", buckets=30)
    np.testing.assert_allclose(vectors["cats"], buckets[parts].mean(axis=0), rtol=1e-5)
    with pytest.raises(KeyError):
        vectors[""]


def test_a_misspelt_word_is_near_the_right_one():
    rng = np.random.default_rng(0)
    kinds = (["government", "minister", "parliament"], ["guitar", "melody", "orchestra"])
    lines = [" ".join(rng.choice(each, 8)) for _ in range(300) for each in kinds]
    text = words.read(lines, min_count=1)
    vectors = words.fasttext(text, width=10, epochs=20, threshold=1.0, buckets=2_000)
    assert vectors.nearest(vectors["goverment"], 1)[0][0] == "government"
    assert vectors.nearest(vectors["orchestras"], 1)[0][0] == "orchestra"
