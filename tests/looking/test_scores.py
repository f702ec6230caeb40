import math

import numpy as np
import pytest
import torch

from tests.looking.made import PLAIN, TEXTS, classifier_of, each_kind, ids_of, model_of
from tlcourse.looking import head_scores, rollout, scores_by_text
from tlcourse.transformer import record

DELIMITERS = (7, 9)


def slowly(weights: torch.Tensor, ids: list[int], causal: bool) -> dict[str, float]:
    """The scores of one head on one text, a query and a key at a time."""
    sums: dict[str, list[float]] = {}
    for q in range(1, len(ids)):
        seen = range(q + 1) if causal else range(len(ids))
        wanted = {
            "previous token": [q - 1],
            "first token": [0],
            "itself": [q],
            "same token": [k for k in range(q) if ids[k] == ids[q]],
            "delimiters": [k for k in seen if ids[k] in DELIMITERS],
        }
        if not causal:
            wanted["next token"] = [k for k in seen if k == q + 1]
        row = [float(weight) for weight in weights[q]]
        for name, keys in wanted.items():
            if keys:
                sums.setdefault(name, []).append(sum(row[k] for k in keys))
        entropy = -sum(weight * math.log(weight) for weight in row if weight > 0)
        sums.setdefault("entropy", []).append(entropy)
        distance = sum(weight * abs(q - k) for k, weight in enumerate(row))
        sums.setdefault("distance", []).append(distance)
    return {name: float(np.mean(values)) for name, values in sums.items()}


@torch.no_grad()
@each_kind
def test_the_scores_of_a_corpus_are_those_of_a_slow_loop(kind):
    model = model_of(kind)
    texts = ids_of(5, 12, 9, 2, vocabulary_size=12)
    found = scores_by_text(model, texts, delimiters=DELIMITERS, compute=PLAIN)
    assert ("next token" in found) == (not model.config.causal)
    for number, ids in enumerate(texts):
        with record(model) as seen:
            model(torch.tensor([ids]))
        for layer, attention in enumerate(seen.attention):
            for head, weights in enumerate(attention[0]):
                slow = slowly(weights, ids, model.config.causal)
                fast = {name: values[number, layer, head] for name, values in found.items()}
                assert {name for name in fast if not math.isnan(fast[name])} == set(slow)
                assert {name: fast[name] for name in slow} == pytest.approx(slow, abs=1e-5)


def test_batches_of_texts_and_one_at_a_time_are_one(monkeypatch):
    model, texts = model_of(), ids_of(12, 3, 7, 5, 8, vocabulary_size=12)
    alone = [scores_by_text(model, [text], compute=PLAIN) for text in texts]
    monkeypatch.setattr("tlcourse.looking.texts.TOKENS_AT_A_TIME", 24)  # batches of 2, 3
    together = scores_by_text(model, [torch.tensor(text) for text in texts], compute=PLAIN)
    for name, values in together.items():
        expected = np.concatenate([each[name] for each in alone])
        assert values == pytest.approx(expected, abs=1e-5, nan_ok=True)


def test_each_text_counts_the_same_and_texts_without_a_query_not_at_all():
    model = model_of()
    texts = [[8, 9, 10, 11], [8, 9, 8, 9, 10], [12, 12]]
    by_text = scores_by_text(model, texts, compute=PLAIN)
    means = head_scores(model, texts, compute=PLAIN)
    assert np.isnan(by_text["same token"][0]).all()
    assert means["same token"] == pytest.approx(by_text["same token"][1:].mean(0))
    assert means["entropy"] == pytest.approx(by_text["entropy"].mean(0))
    assert means["entropy"].shape == (2, 3) and "delimiters" not in means
    assert np.isnan(head_scores(model, texts[:1], compute=PLAIN)["same token"]).all()


def test_a_prefix_is_no_token():
    model, texts = model_of(), ids_of(6, 4)
    for block in model.blocks:
        block.attention.prefix = torch.nn.Parameter(torch.zeros(2, 3, 5, 8))
    found = scores_by_text(model, texts, compute=PLAIN)
    with record(model) as seen:
        model(torch.tensor([texts[0]]))
    weights = seen.attention[1][0, 2]
    assert weights.shape == (6, 11)
    expected = slowly(weights[:, 5:], texts[0], True)
    assert found["previous token"][0, 1, 2] == pytest.approx(expected["previous token"], abs=1e-5)
    assert found["distance"][0, 1, 2] == pytest.approx(expected["distance"], abs=1e-5)


def test_the_body_of_a_classifier_is_looked_at_as_any_model():
    classifier = classifier_of("classification token").train()
    texts = classifier.encode(TEXTS)
    before = classifier.eval().probabilities(TEXTS, compute=PLAIN)
    found = head_scores(classifier.train().body, texts, compute=PLAIN)
    assert found["entropy"] == pytest.approx(
        head_scores(classifier.body, texts, compute=PLAIN)["entropy"]  # no dropout
    )
    assert torch.equal(before, classifier.probabilities(TEXTS, compute=PLAIN))


@pytest.mark.parametrize("texts", [[], [[8, 9], []]])
def test_there_must_be_texts(texts):
    with pytest.raises(ValueError, match="at least one text and a token in each"):
        head_scores(model_of(), texts)


def test_rollout_of_two_layers_by_hand():
    first = [[1.0, 0.0], [0.5, 0.5]]
    second = [[1.0, 0.0], [1.0, 0.0]]
    # 0.5 A + 0.5 I: [[1, 0], [.25, .75]] and [[1, 0], [.5, .5]]; second @ first
    expected = np.array([[1.0, 0.0], [0.5 + 0.5 * 0.25, 0.5 * 0.75]])
    assert rollout(np.array([first, second])) == pytest.approx(expected)
    heads = torch.tensor([[[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]], [second, second]])
    assert rollout(heads) == pytest.approx(expected)  # the mean of the heads is `first`


def test_the_rows_of_a_rollout_sum_to_one_and_see_no_future():
    model = model_of()
    with record(model) as seen:
        model(torch.tensor(ids_of(9)))
    found = rollout(torch.stack(seen.attention)[:, 0])
    assert found.sum(-1) == pytest.approx(np.ones(9))
    assert (np.triu(found, 1) == 0).all() and (np.diag(found) > 0.25 - 1e-6).all()
    halved = rollout(0.5 * torch.stack(seen.attention)[:, 0])  # rows that do not sum to 1
    assert halved.sum(-1) == pytest.approx(np.ones(9))


@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 3, 4), (1, 2, 2, 3, 3)])
def test_rollout_takes_one_text(shape):
    with pytest.raises(ValueError, match="expected attention of one text"):
        rollout(np.zeros(shape))
