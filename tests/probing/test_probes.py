import numpy as np
import pytest
from scipy.special import softmax

from tests.probing.made import PLAIN, blobs
from tlcourse.probing import Judgement, hidden_probe, linear_probe, mix_probe


def test_linear_probe_is_the_librarys_logistic_regression():
    from sklearn.linear_model import LogisticRegression

    (x, y), (test, right) = blobs(3, 60, 6, apart=0.6), blobs(3, 60, 6, apart=0.6, seed=1)
    x, test = x * 7 + 3, test * 7 + 3
    probe = linear_probe(x, y, l2=2.0, epochs=300, compute=PLAIN)
    library = LogisticRegression(C=0.5, max_iter=1000).fit((x - x.mean(0)) / x.std(0), y)
    expected = library.predict_proba((test - x.mean(0)) / x.std(0))
    assert softmax(probe.logits(test), axis=1) == pytest.approx(expected, abs=0.01)
    chosen = np.searchsorted(library.classes_, right)
    nats = -np.log(expected[np.arange(len(test)), chosen])
    assert probe.nats(test, right) == pytest.approx(nats, abs=0.05)
    assert 0.5 < probe.judge(test, right).accuracy < 0.95  # hard enough to tell them apart


def test_only_a_hidden_layer_reads_what_is_not_linear():
    generator = np.random.default_rng(0)
    x = generator.standard_normal((600, 4)).astype(np.float32)
    y = np.where(x[:, 0] * x[:, 1] > 0, "same", "other")
    accuracies = [
        fit(x[:400], y[:400], epochs=300, compute=PLAIN).judge(x[400:], y[400:]).accuracy
        for fit in (linear_probe, hidden_probe)
    ]
    assert accuracies[0] < 0.65 and accuracies[1] > 0.9


def test_a_seed_gives_the_same_probe():
    x, y = blobs(3, 20, 4, apart=1.0)
    one, two, other = (hidden_probe(x, y, seed=seed, compute=PLAIN) for seed in (0, 0, 1))
    assert np.array_equal(one.logits(x), two.logits(x))
    assert not np.array_equal(one.logits(x), other.logits(x))


def test_the_mix_finds_the_layer_that_knows():
    x, y = blobs(3, 100, 6, apart=1.0)
    noise = [np.random.default_rng(i).standard_normal(x.shape).astype(np.float32) for i in (5, 6)]
    layers = [noise[0], 100 * x, noise[1]]  # large numbers do not count for more
    probe = mix_probe(layers, y, epochs=400, compute=PLAIN)
    assert probe.weights.sum() == pytest.approx(1.0)
    assert probe.weights.argmax() == 1 and probe.weights[1] > 0.6
    alone = linear_probe(x, y, compute=PLAIN).judge(x, y).accuracy
    assert probe.judge(layers, y).accuracy > alone - 0.03


def test_half_precision_and_a_unit_that_never_changes():
    x, y = blobs(2, 50, 4, apart=5.0)
    x = np.concatenate([x, np.ones((100, 1))], axis=1).astype(np.float16)
    assert linear_probe(x, y, compute=PLAIN).judge(x, y).accuracy == 1.0


def test_labels_that_were_never_met():
    x, y = blobs(3, 20, 4, apart=5.0)
    known = y != "c"
    probe = linear_probe(x[known], y[known], compute=PLAIN)
    assert not probe.judge(x, y).correct[~known].any()
    with pytest.raises(ValueError, match=r"got also \['c'\]; pass all labels as names="):
        probe.nats(x, y)
    wider = linear_probe(x[known], y[known], names="abc", compute=PLAIN)
    assert wider.nats(x, y)[~known].min() > 2
    with pytest.raises(ValueError, match="at least two labels"):
        linear_probe(x[:3], ["a"] * 3)


def test_judgements_and_their_intervals():
    judged = Judgement.of(["a", "b", "b", "a"], ["a", "b", "a", "a"])
    other = Judgement.of(["b", "b", "b", "a"], ["a", "b", "a", "a"])
    assert judged.accuracy == 0.75 and judged.correct.tolist() == [True, True, False, True]
    assert judged.interval().mean == 0.75
    assert judged.above(other).mean == pytest.approx(0.25)
    for values in (([], []), (["a"], ["a", "b"])):
        with pytest.raises(ValueError, match="as many predictions as labels"):
            Judgement.of(*values)
