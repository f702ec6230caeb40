from collections import Counter

import numpy as np
import pytest

from tests.probing.made import PLAIN, blobs, model_of
from tlcourse.probing import (
    Examples,
    code_length,
    control_labels,
    controls,
    linear_probe,
    majority,
    random_encoder,
    report,
    selectivity,
    shuffled_labels,
    word_types,
)


class Laplace:
    """A probe that sees no vector: p(label) = (count + 1) / (items + labels)."""

    def __init__(self, _, labels, *, names, seed):
        counts = Counter(labels.tolist())
        self.shares = {name: (counts[name] + 1) / (len(labels) + len(names)) for name in names}

    def nats(self, _, labels):
        return [-np.log(self.shares[label]) for label in labels]


def test_guesses():
    groups, labels = ["the", "run", "run", "run", "a"], ["D", "N", "V", "V", "D"]
    assert majority(labels).predict(["x"]).tolist() == ["D"]  # D before V
    types = word_types(groups, labels)
    assert types.predict(["run", "a", "unseen"]).tolist() == ["V", "D", "D"]
    assert types.judge(groups, labels).accuracy == 0.8
    with pytest.raises(ValueError, match="at least one label"):
        majority([])


def pairs_of(count: int, seed: int) -> tuple[list[str], list[str]]:
    """The second word says the label; of the first there are as many as items."""
    generator = np.random.default_rng(seed)
    numbers = generator.integers(12, size=count)
    groups = [f"rare{seed}.{place}\tword{number}" for place, number in enumerate(numbers)]
    return groups, ["xyz"[number % 3] for number in numbers]


@pytest.mark.parametrize("place", [0, 1])
def test_a_pair_may_be_known_by_either_word(place):
    parts = []
    for seed in (0, 1):
        groups, labels = pairs_of(400, seed)
        if place == 0:
            groups = ["\t".join(reversed(group.split("\t"))) for group in groups]
        parts.append((groups, labels))
    assert word_types(*parts[0]).judge(*parts[1]).accuracy == 1.0


def test_pairs_known_as_pairs_come_first_and_others_back_off():
    """The label is whether the numbers are alike: neither word alone says it."""
    pairs = [(one, other) for one in range(6) for other in range(6)] * 8
    groups = [f"a{one}\tb{other}" for one, other in pairs]
    labels = ["even" if (one + other) % 2 == 0 else "odd" for one, other in pairs]
    guess = word_types(["only\tc"] * 9 + groups, ["other"] * 9 + labels)
    assert guess.judge(groups, labels).accuracy == 1.0
    asked = ["only\tc", "only\tnew", "new\tc", "new\tnew"]
    assert guess.predict(asked).tolist() == ["other", "other", "other", "even"]
    assert word_types(["a\tb"], ["x"]).predict(["a\tc", "d\te"]).tolist() == ["x", "x"]


def test_a_random_encoder_has_the_shape_and_nothing_else():
    import torch

    model = model_of()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    one, again, other = (random_encoder(model, seed=seed) for seed in (0, 0, 1))
    assert one.config == model.config
    tokens = torch.arange(8, 20)[None]
    assert torch.equal(one.hidden(tokens), again.hidden(tokens))
    assert not torch.equal(one.hidden(tokens), other.hidden(tokens))
    assert all(torch.equal(before[name], each) for name, each in model.state_dict().items())
    # each word sees its context, and is still to be seen after the last layer
    changed = tokens.clone()
    changed[0, 0] = 40
    states, others = one.hidden_states(tokens), one.hidden_states(changed)
    assert torch.equal(states[0][0, 5], others[0][0, 5])
    assert not torch.allclose(states[-1][0, 5], others[-1][0, 5])
    similar = torch.cosine_similarity(states[0][0], states[-1][0], dim=-1)
    assert similar.min() > 0.2


def test_control_labels_follow_types_and_their_distribution():
    labels = ["N"] * 60 + ["V"] * 30 + ["D"] * 10
    types = [f"word{number}" for number in range(4000)]
    drawn = control_labels(types, labels)
    shares = {name: count / 4000 for name, count in Counter(drawn.tolist()).items()}
    assert shares == pytest.approx({"N": 0.6, "V": 0.3, "D": 0.1}, abs=0.03)
    assert np.array_equal(control_labels(types[::-1], labels), drawn[::-1])  # by the type alone
    assert not np.array_equal(control_labels(types, labels, seed=1), drawn)


def test_shuffled_labels_are_the_same_labels():
    labels = list("abcdefgh") * 5
    mixed = shuffled_labels(labels)
    assert sorted(mixed) == sorted(labels) and mixed.tolist() != labels


def examples_of(one_hot: bool) -> list[Examples]:
    """Word types by one-hot vectors, a fixed label for each type; or vectors of the label only."""
    generator, found = np.random.default_rng(0), []
    for size in (600, 300):
        types = generator.integers(40, size=size)
        labels = np.array(list("abcd"))[types % 4]
        vectors = np.eye(40)[types] if one_hot else np.eye(4)[types % 4]
        noise = 0.01 * generator.standard_normal(vectors.shape)
        groups = np.array([f"type{number}" for number in types])
        found.append(Examples((vectors + noise).astype(np.float32), labels, groups, types * 0 + 1))
    return found


def test_selectivity_is_about_zero_where_types_are_all_there_is():
    found = selectivity(*examples_of(one_hot=True), compute=PLAIN)
    assert found.task.accuracy == 1.0 and found.control.accuracy == 1.0 and found.value == 0.0


def test_selectivity_is_high_where_types_cannot_be_told():
    found = selectivity(*examples_of(one_hot=False), compute=PLAIN)
    assert found.task.accuracy == 1.0 and found.value > 0.4


def with_unknown(test: Examples, *, kind: str = "word") -> Examples:
    """Every third item has a group that the training items do not have."""
    groups = [f"new{i}" if i % 3 == 0 else group for i, group in enumerate(test.groups)]
    return Examples(test.features, test.labels, np.array(groups), np.arange(300) // 3, kind)


def test_selectivity_is_judged_on_items_whose_group_is_known():
    train, test = examples_of(one_hot=True)
    found = selectivity(train, with_unknown(test), compute=PLAIN)
    assert found.known == pytest.approx(2 / 3)
    assert len(found.task.correct) == len(found.control.correct) == 200
    assert found.control.accuracy == 1.0 and found.value == 0.0  # nobody knows a new type's label
    others = Examples(test.features, test.labels, np.array(["new"] * 300), test.sentences)
    with pytest.raises(ValueError, match="are among the training groups, got none of 300"):
        selectivity(train, others, compute=PLAIN)


def test_a_report_tells_known_items_from_unknown_ones():
    train, test = examples_of(one_hot=True)
    test = with_unknown(test)
    found = report(train, test, code=False, compute=PLAIN)
    there = np.arange(300) % 3 != 0
    guess = majority(train.labels).predict(["x"])[0]
    assert found.known.share == pytest.approx(2 / 3) and found.unknown.share == pytest.approx(1 / 3)
    assert found.known.probe == found.known.word_types == found.unknown.probe == 1.0
    assert found.unknown.word_types == pytest.approx(np.mean(test.labels[~there] == guess))
    assert found.above_word_types_known.mean == 0.0
    assert found.above_word_types.mean == pytest.approx((1 - found.unknown.word_types) / 3)
    assert found.control == 1.0 and found.selectivity == 0.0


@pytest.mark.parametrize("kind", ["pair", "sentence"])
def test_a_report_has_no_control_for_pairs_and_sentences(kind):
    train, test = examples_of(one_hot=True)
    train = Examples(train.features, train.labels, train.groups, train.sentences, kind)
    found = report(train, with_unknown(test, kind=kind), code=False, compute=PLAIN)
    assert found.control is None and found.selectivity is None
    assert found.known.share == pytest.approx(2 / 3)


def test_a_report_on_items_that_are_all_unknown():
    train, test = examples_of(one_hot=True)
    groups = np.array([f"new{i}" for i in range(300)])
    test = Examples(test.features, test.labels, groups, np.arange(300))
    found = report(train, test, code=False, compute=PLAIN)
    assert found.known.share == 0.0 and found.known.probe is None
    assert found.above_word_types_known is None and found.control is None
    assert found.unknown.share == 1.0 and found.unknown.probe == found.accuracy.mean


def test_known_items_of_one_sentence_have_no_interval():
    train, test = examples_of(one_hot=True)
    groups = np.array([f"new{i}" for i in range(300)])
    groups[7] = test.groups[7]
    test = Examples(test.features, test.labels, groups, np.arange(300))
    found = report(train, test, code=False, compute=PLAIN)
    assert found.known.share == pytest.approx(1 / 300) and found.known.probe == 1.0
    assert found.above_word_types_known is None


def test_code_length_by_hand():
    """Eight items, blocks that end after 2, 4 and 8; Laplace's rule in the place of a probe."""
    labels = np.array(list("aababbaa"))
    order = []

    class Watching(Laplace):
        def __init__(self, vectors, given, **settings):
            order[:] = vectors[:, 0].tolist()
            super().__init__(vectors, given, **settings)

    features = np.arange(8.0)[:, None]
    code_length(features, labels, fit=Watching, fractions=[0.25, 0.5, 0.999, 1.0])
    order = [int(number) for number in order]
    order += sorted(set(range(8)) - set(order))
    sent = labels[order]
    expected, parts = 2 * 1.0, []
    for start, end in ((2, 4), (4, 8)):
        known = Counter(sent[:start].tolist())
        bits = -sum(np.log2((known[label] + 1) / (start + 2)) for label in sent[start:end])
        parts.append(bits)
        expected += bits
    found = code_length(features, labels, fit=Laplace, fractions=[0.25, 0.5, 1.0])
    assert found.bits == pytest.approx(expected)
    assert [end for end, _ in found.parts] == [2, 4, 8]
    assert [bits for _, bits in found.parts] == pytest.approx([2.0, *parts])
    assert found.uniform_bits == 8.0 and found.compression == pytest.approx(8 / expected)


def test_code_length_orders_what_is_easier_to_read():
    (easy, y), (hard, _) = blobs(2, 150, 4, apart=4.0), blobs(2, 150, 4, apart=0.3)
    lengths = [
        code_length(x, labels, compute=PLAIN, fractions=[0.1, 0.3, 1.0])
        for x, labels in ((easy, y), (hard, y), (easy, shuffled_labels(y)))
    ]
    assert lengths[0].bits < lengths[1].bits < lengths[2].bits
    assert lengths[0].compression > 3 and lengths[2].compression < 1.1
    assert lengths[0].uniform_bits == 300


@pytest.mark.parametrize("fractions", [[0.5], [0.5, 0.1, 1.0], [0.0, 1.0]])
def test_fractions_that_do_not_rise_to_1_are_refused(fractions):
    with pytest.raises(ValueError, match="expected fractions that rise to 1"):
        code_length(np.eye(4), list("abab"), fractions=fractions)


def test_blocks_are_the_papers():
    papers = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.25, 12.5, 25, 50, 100]
    assert [round(100 * share, 2) for share in controls.FRACTIONS] == papers


def test_a_report_is_its_parts():
    train, test = examples_of(one_hot=True)
    test = Examples(test.features, test.labels, test.groups, np.arange(300) // 3)
    found = report(train, test, seeds=(0, 1), code=False, compute=PLAIN)
    probe = linear_probe(train.features, train.labels, compute=PLAIN)
    assert found.accuracy.mean == found.seeds[0] == probe.judge(test.features, test.labels).accuracy
    assert found.word_types == 1.0 and found.above_word_types.mean == 0.0
    assert found.selectivity == found.seeds[0] - found.control
    assert found.majority < 0.5 and found.shuffled < 0.5 and found.compression is None
