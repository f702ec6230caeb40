"""Skip-gram and CBOW: sampling, windows, gradients, and what the vectors learn."""

from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch.nn.functional import logsigmoid

from tlcourse import words
from tlcourse.words.skipgram import blocks, gradients, initial, windows

LINE = "the cat sat on the mat while a small dog slept near the old door"
TOPICS = [
    " ".join(np.random.default_rng(number).choice(topic, 8))
    for number in range(300)
    for topic in (
        ["cat", "dog", "horse", "tail", "fur"],
        ["ship", "boat", "sail", "sea", "harbour"],
    )
]
BUCKETS = 40
LEARNERS: dict[str, Callable[..., words.Vectors]] = {
    "skipgram": words.skipgram,
    "cbow": words.cbow,
    "fasttext": partial(words.fasttext, buckets=BUCKETS),
}


def test_frequent_words_are_kept_and_drawn_as_in_gensim():
    word2vec = pytest.importorskip("gensim.models").Word2Vec
    counts = np.array([60_000, 9_000, 800, 100, 30, 6])
    names = [f"word{number}" for number in range(len(counts))]
    for threshold in (1e-3, 1e-4):
        theirs = word2vec(sample=threshold, min_count=1, vector_size=4)
        theirs.build_vocab_from_freq(dict(zip(names, counts.tolist(), strict=True)))
        kept = [theirs.wv.get_vecattr(name, "sample_int") / (2**32 - 1) for name in names]
        assert words.keep_probabilities(counts, threshold) == pytest.approx(kept, abs=1e-6)
        drawn = np.diff(theirs.cum_table / theirs.cum_table[-1], prepend=0)
        assert words.noise_distribution(counts) == pytest.approx(drawn, abs=1e-6)


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


def test_blocks_have_all_pairs_within_random_windows():
    """Each word occurs once, so that it tells its place."""
    lengths = [1, 30, 2, 25, 3, 29, 10, 27, 23, 30, 30, 30, 30, 30]
    names = iter(f"word{number}" for number in range(sum(lengths)))
    text = words.read([" ".join(next(names) for _ in range(n)) for n in lengths], min_count=1)
    place = {int(id): at for at, id in enumerate(text.ids)}
    reach, centres = Counter(), []
    generator = np.random.default_rng(2)
    for block, _ in blocks(text, generator, window=4, epochs=30, threshold=1.0):
        for centre, near in zip(block.centres.tolist(), block.near, strict=True):
            at, line = place[centre], text.lines[place[centre]]
            found = [place[context] for context in block.contexts[near == 1].tolist()]
            away = max((abs(other - at) for other in found), default=1)
            within = [p for p in range(at - away, at + away + 1) if p != at and 0 <= p < len(text)]
            assert found == [p for p in within if text.lines[p] == line]
            centres.append(at)
            if at - text.lines.searchsorted(line) >= 4:  # the line does not cut the window short
                reach[away] += 1
    assert centres == [*range(len(text))] * 30
    assert sorted(reach) == [1, 2, 3, 4] and chisquare(list(reach.values())).pvalue > 1e-3


def test_an_epoch_keeps_and_draws_words_with_their_probabilities():
    text = words.read(["a a a a a a b c d e"] * 500, min_count=1)
    seen = np.zeros((2, 5))
    for block, _ in blocks(text, np.random.default_rng(3), window=5, epochs=4, threshold=0.1):
        seen += [np.bincount(ids, minlength=5) for ids in (block.centres, block.noise)]
    counts = text.vocabulary.counts
    expected = 4 * counts * words.keep_probabilities(counts, 0.1)
    assert expected[0] < 0.6 * 4 * counts[0]
    assert seen[0, 0] == pytest.approx(expected[0], abs=4 * np.sqrt(expected[0]))
    assert np.array_equal(seen[0, 1:], 4 * counts[1:])
    drawn = words.noise_distribution(counts) * seen[1].sum()
    assert chisquare(seen[1], drawn).pvalue > 1e-3


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


@pytest.mark.parametrize("name", LEARNERS)
def test_training_is_gradient_descent_on_the_loss(name):
    """Word by word, with the gradients of autograd; the text has lines of a single word, too."""
    generator = np.random.default_rng(0)
    lines = [" ".join(generator.choice(list("abcdefghijkl"), n)) for n in [1, 5, 9, 1, 2, 12] * 4]
    text, rate = words.read(lines, min_count=1), 0.2
    parts, size = rows_of(name, text), len(text.vocabulary)
    generator = np.random.default_rng(4)
    inputs = initial(size + BUCKETS * (name == "fasttext"), 6, generator).double()
    outputs = torch.zeros(size, 6, dtype=torch.double)
    for block, left in blocks(text, generator, window=5, epochs=2, threshold=1.0):
        inputs, outputs = (each.detach().requires_grad_() for each in (inputs, outputs))
        loss = torch.zeros((), dtype=torch.double)
        for centre, near in zip(block.centres.tolist(), block.near, strict=True):
            context = block.contexts[near == 1].tolist()
            if name == "cbow" and context:
                pairs = [(inputs[context].mean(0), centre)]
            else:
                own = inputs[parts[centre]]
                value, step = own.mean(0), own.sum(0)  # fastText's code takes the step of the sum
                pairs = [(step + (value - step).detach(), other) for other in context]
            for hidden, other in pairs:
                noise = logsigmoid(-outputs[block.noise] @ hidden).mean()
                loss = loss - logsigmoid(hidden @ outputs[other]) - 3 * noise
        steps = torch.autograd.grad(loss, (inputs, outputs))
        inputs, outputs = inputs - rate * left * steps[0], outputs - rate * left * steps[1]
    settings = {"width": 6, "negatives": 3, "epochs": 2, "threshold": 1.0, "seed": 4}
    found, untrained = (
        LEARNERS[name](text, learning_rate=each, **settings).matrix for each in (rate, 0)
    )
    expected = np.stack([inputs[rows].mean(0).detach() for rows in parts])
    assert np.abs(found - untrained).max() > 0.05
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


def rows_of(name: str, text: words.Text) -> list[list[int]]:
    """The rows of the inputs whose mean is the vector of a word."""
    names, rows = text.vocabulary.words, []
    for number, word in enumerate(names):
        buckets = words.ngram_buckets(word, buckets=BUCKETS) if name == "fasttext" else []
        rows.append([number, *(len(names) + bucket for bucket in buckets)])
    return rows


def test_few_words_that_recur_at_once_do_not_overflow():
    text = words.read(["the cat sat on the mat", "the dog sat on the rug"] * 30, min_count=1)
    vectors = words.skipgram(text, epochs=20, threshold=1.0, learning_rate=0.1)
    assert np.linalg.norm(vectors.matrix, axis=1).max() < 10


@pytest.mark.parametrize("learn", LEARNERS.values(), ids=LEARNERS)
def test_words_of_one_topic_become_neighbours(learn):
    text = words.read(TOPICS, min_count=1)
    vectors = learn(text, width=10, epochs=20, threshold=1.0)
    animals = {"cat", "dog", "horse", "tail", "fur"}
    for word in text.vocabulary.words:
        nearest = {near for near, _ in vectors.nearest(word, 4)}
        assert (nearest <= animals) == (word in animals)


@pytest.mark.parametrize("learn", LEARNERS.values(), ids=LEARNERS)
def test_a_seed_gives_the_same_vectors_and_another_one_others(learn):
    text = words.read(TOPICS[:40], min_count=1)
    first, again, other = (learn(text, width=4, epochs=1, seed=seed).matrix for seed in (1, 1, 2))
    assert np.array_equal(first, again) and not np.allclose(first, other)


@pytest.mark.parametrize("learn", LEARNERS.values(), ids=LEARNERS)
def test_errors_say_what_to_do(learn):
    with pytest.raises(ValueError, match="two words in a line.*whole sentences"):
        learn(words.read(["cat", "cat", "dog"], min_count=1))
    with pytest.raises(ValueError, match="at least one word on each side, got 0"):
        learn(words.read(TOPICS, min_count=1), window=0)
    with pytest.raises(ValueError, match="stay finite.*learning_rate=.*smaller"):
        learn(words.read(TOPICS, min_count=1), width=4, learning_rate=1e6)
