"""Vectors of sentences: words, averages, the common component, paraphrases, paragraph vectors."""

import numpy as np
import pytest
import torch

from tests.words.test_skipgram import TOPICS
from tlcourse import words
from tlcourse.exercises.words.smooth_average import smooth_average
from tlcourse.words.sentences import document_blocks

VECTORS = words.Vectors(("the", "film", "dull"), np.eye(3, dtype=np.float32))
COUNTS = words.Vocabulary(("the", "film"), np.array([90, 10]))


def test_tokens_are_the_words_of_wikitexts_tokenization():
    assert words.tokens("It doesn't work, in 1986: <unk>!") == [
        "it",
        "doesn",
        "'t",
        "work",
        "in",
        "unk",
    ]
    assert words.tokens("Café-owner's 3rd") == ["café", "owner", "'s", "3rd"]
    assert words.tokens("...") == []


def test_an_average_is_the_mean_of_the_words_that_have_a_vector():
    found = words.averages(["The film.", "The the unheard-of!", "1986"], VECTORS)
    np.testing.assert_allclose(found, [[0.5, 0.5, 0], [1, 0, 0], [0, 0, 0]])
    assert words.averages([], VECTORS).shape == (0, 3)


def test_frequent_words_count_less_and_unseen_ones_are_whole():
    (found,) = words.averages(["the dull film"], VECTORS, COUNTS, smoothing=0.1)
    np.testing.assert_allclose(found, np.array([0.1 / 1.0, 0.1 / 0.2, 1.0]) / 3, rtol=1e-6)
    with pytest.raises(ValueError, match="a positive smoothing, got 0"):
        words.averages(["the"], VECTORS, COUNTS, smoothing=0)


def test_the_smooth_average_is_that_of_the_exercise():
    generator = np.random.default_rng(0)
    names = tuple("abcdefgh")
    vectors = words.Vectors(names, generator.normal(1, 1, (8, 4)).astype(np.float32))
    counts = words.Vocabulary(names, np.arange(8, 0, -1))
    ids = [generator.integers(8, size=5).tolist() for _ in range(20)]
    texts = [" ".join(names[id] for id in each) for each in ids]
    means = words.averages(texts, vectors, counts)
    found = words.without_component(means, words.common_component(means))
    shares = counts.counts / counts.counts.sum()
    np.testing.assert_allclose(found, smooth_average(ids, vectors.matrix, shares), atol=1e-6)


def test_the_common_component_is_the_first_singular_vector():
    matrix = np.random.default_rng(1).normal(2, 1, (30, 5))
    component = words.common_component(matrix)
    right = np.linalg.svd(matrix)[2][0]
    assert abs(component @ right) == pytest.approx(1)
    np.testing.assert_allclose(words.without_component(matrix, component) @ component, 0, atol=1e-9)


def test_a_word_average_is_that_of_its_vectors_and_can_be_tuned():
    model = words.WordAverage(VECTORS)
    tokens, mask = torch.tensor([[0, 1], [2, 0]]), torch.tensor([[True, True], [True, False]])
    np.testing.assert_allclose(model(tokens, mask).detach(), [[0.5, 0.5, 0], [0, 0, 1]])
    model(tokens, mask)[0, 1].backward()
    assert model.embedding.weight.grad[1, 1] == 0.5
    model.embedding.weight.data.zero_()
    assert VECTORS.matrix.any()  # which stay as they were


def test_the_margin_is_that_to_the_most_similar_of_the_others():
    first = torch.tensor([[1.0, 0.0], [0.0, 2.0], [-1.0, 0.0]])
    second = torch.tensor([[3.0, 0.0], [0.6, 0.8], [0.0, -1.0]])
    loss, rows = words.margin_loss(first, second, margin=1.0)
    assert rows == 3 and loss.item() == pytest.approx((1 - 1 + 0.6) + (1 - 0.8 + 0) + (1 - 0 - 0.6))
    with pytest.raises(ValueError, match="at least two pairs, got 1"):
        words.margin_loss(first[:1], second[:1])


def test_blocks_have_the_words_of_each_document():
    text = words.read(["a b a", "", "c"] * 100, min_count=1)
    found = np.zeros((300, 3))
    for block, _ in document_blocks(text, np.random.default_rng(0), epochs=1, threshold=np.inf):
        np.testing.assert_array_equal(block.within.sum(dim=0), 1)
        rows, columns = block.within.nonzero(as_tuple=True)
        np.add.at(found, (block.documents[rows].numpy(), block.words[columns].numpy()), 1)
    np.testing.assert_array_equal(found[:3], [[2, 1, 0], [0, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(found.reshape(100, 3, 3), np.broadcast_to(found[:3], (100, 3, 3)))


def test_documents_of_a_topic_get_similar_vectors_and_so_do_new_ones():
    text = words.read(TOPICS, min_count=1)
    learnt = words.paragraph_vectors(text, width=10, epochs=20, threshold=1.0)
    assert learnt.matrix.shape == (600, 10) and learnt.outputs.shape == (10, 10)
    cosines = words.unit(learnt.matrix) @ words.unit(learnt.matrix).T
    same = np.equal.outer(np.arange(600) % 2, np.arange(600) % 2)
    assert cosines[same].mean() > cosines[~same].mean() + 0.3
    asked = ["The dog and a horse", "sail, sea, ship", "no word of these"]
    found = words.unit(learnt.infer(asked))
    near = found @ words.unit(learnt.matrix).T
    assert near[0, ::2].mean() > near[0, 1::2].mean() + 0.3
    assert near[1, 1::2].mean() > near[1, ::2].mean() + 0.3
    assert not found[2].any()
    assert np.array_equal(words.unit(learnt.infer(asked)), found)
    assert learnt.infer([]).shape == (0, 10)


def test_the_same_seed_gives_the_same_vectors_and_large_rates_are_refused():
    text = words.read(TOPICS[:40], min_count=1)
    once, again = (words.paragraph_vectors(text, width=4, epochs=2, seed=3) for _ in range(2))
    assert np.array_equal(once.matrix, again.matrix)
    with pytest.raises(ValueError, match="learning_rate=1e"):
        words.paragraph_vectors(text, width=4, learning_rate=1e30)


def test_the_correlation_takes_sentences():
    pairs = {
        "sentence1": ["a b", "a", "b"],
        "sentence2": ["a", "b", "b"],
        "score": [3.0, 0.0, 5.0],
    }
    vectors = {"a": np.array([1, 0]), "b": np.array([0, 1]), "a b": np.array([1, 1])}
    found = words.correlation(vectors, pairs, columns=("sentence1", "sentence2"))
    assert found.spearman == pytest.approx(1) and found.covered == 3
