"""Skip-gram and CBOW: sampling, windows, gradients, and what the vectors learn."""

import numpy as np
import pytest
import torch

from tlcourse import words
from tlcourse.words.skipgram import blocks, gradients, windows

LINE = "the cat sat on the mat while a small dog slept near the old door"
TOPICS = [
    " ".join(np.random.default_rng(number).choice(topic, 8))
    for number in range(300)
    for topic in (
        ["cat", "dog", "horse", "tail", "fur"],
        ["ship", "boat", "sail", "sea", "harbour"],
    )
]


def test_frequent_words_are_kept_and_drawn_as_in_gensim():
    word2vec = pytest.importorskip("gensim.models").Word2Vec
    rng = np.random.default_rng(0)
    rows = [rng.choice(list("abcdefgh"), 20, p=np.arange(1, 9) / 36).tolist() for _ in range(50)]
    text = words.read(map(" ".join, rows), min_count=1)
    theirs = word2vec(rows, min_count=1, sample=0.05, epochs=1, vector_size=4, seed=1).wv
    order = [theirs.key_to_index[word] for word in text.vocabulary.words]
    kept = np.array([theirs.get_vecattr(at, "sample_int") for at in order]) / 2**32
    ours = words.keep_probabilities(text.vocabulary.counts, threshold=0.05)
    np.testing.assert_allclose(ours, np.minimum(kept, 1), atol=1e-6)
    raised = text.vocabulary.counts**0.75
    np.testing.assert_allclose(
        words.noise_distribution(text.vocabulary.counts), raised / raised.sum()
    )


def test_a_window_ends_with_its_line():
    lines, reach = np.array([0, 0, 0, 1, 1]), np.array([2, 1, 1, 3, 1])
    begins, ends = windows(lines, reach)
    assert list(zip(begins.tolist(), ends.tolist(), strict=True)) == [
        (0, 3), (0, 3), (1, 3), (3, 5), (3, 5),
    ]  # fmt: skip


def test_every_pair_in_a_window_of_one_is_learnt_from_once_an_epoch():
    text = words.read([LINE] * 30, min_count=1)
    generator = np.random.default_rng(0)
    settings = {"window": 1, "epochs": 1, "threshold": 1.0}  # nothing is left out
    found = np.zeros((len(text.vocabulary),) * 2)
    for block, _ in blocks(text, generator, **settings):
        rows, columns = block.near.nonzero(as_tuple=True)
        np.add.at(found, (block.centres[rows].numpy(), block.contexts[columns].numpy()), 1)
    np.testing.assert_array_equal(found, words.cooccurrences(text, window=1).toarray())


def test_the_learning_rate_falls_in_a_straight_line():
    text = words.read([LINE] * 30, min_count=1)
    left = [
        each
        for _, each in blocks(text, np.random.default_rng(0), window=2, epochs=2, threshold=1.0)
    ]
    assert left[0] == 1 and left[-1] == pytest.approx(1 / len(left))
    np.testing.assert_allclose(np.diff(left), -1 / len(left))


def test_the_gradients_are_those_of_the_loss():
    """-log σ(u·v) for each pair, and -log σ(-u·n) for its negatives, which share some rows."""
    generator = torch.Generator().manual_seed(0)
    hidden, outputs = (
        torch.randn(rows, 3, generator=generator, dtype=torch.double).requires_grad_()
        for rows in (4, 7)
    )
    positive = (torch.rand(4, 5, generator=generator) < 0.5).double()  # and two rows of noise
    scores = hidden @ outputs.T
    logs = torch.nn.functional.logsigmoid
    real = -(positive * logs(scores[:, :5])).sum()
    noise = -(positive.sum(1) * 6 / 2 * logs(-scores[:, 5:]).sum(1)).sum()
    expected = torch.autograd.grad(real + noise, (hidden, outputs))
    found = gradients(hidden.detach(), outputs.detach(), positive, negatives=6)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("learn", [words.skipgram, words.cbow, words.fasttext])
def test_words_of_one_topic_become_neighbours(learn):
    text = words.read(TOPICS, min_count=1)
    vectors = learn(text, width=10, epochs=20, threshold=1.0)
    animals = {"cat", "dog", "horse", "tail", "fur"}
    for word in text.vocabulary.words:
        nearest = {near for near, _ in vectors.nearest(word, 4)}
        assert (nearest <= animals) == (word in animals)


@pytest.mark.parametrize("learn", [words.skipgram, words.cbow, words.fasttext])
def test_a_seed_gives_the_same_vectors_and_another_one_others(learn):
    text = words.read(TOPICS[:40], min_count=1)
    first, again, other = (learn(text, width=4, epochs=1, seed=seed).matrix for seed in (1, 1, 2))
    assert np.array_equal(first, again) and not np.allclose(first, other)


@pytest.mark.parametrize("learn", [words.skipgram, words.cbow, words.fasttext])
def test_errors_say_what_to_do(learn):
    with pytest.raises(ValueError, match="two words in a line.*whole sentences"):
        learn(words.read(["cat", "cat", "dog"], min_count=1))
    with pytest.raises(ValueError, match="stay finite.*learning_rate=.*smaller"):
        learn(words.read(TOPICS, min_count=1), width=4, learning_rate=1e6)
