import numpy as np
import pytest
import torch

from tests.looking.made import PLAIN, each_kind, model_of
from tlcourse.looking import induction_of, induction_score, repeated_tokens
from tlcourse.transformer import record


def looking_back(length: int, offset: int) -> np.ndarray:
    """Attention of a text said twice: everybody looks `offset` places back, or at the first."""
    weights = np.zeros((2 * length, 2 * length))
    for query in range(2 * length):
        weights[query, max(query - offset, 0)] = 1.0
    return weights


def test_an_induction_head_looks_at_the_token_after_and_not_at_the_same_one():
    text = [8, 9, 10, 11, 8, 9, 10, 11]
    for query in range(4, 7):
        assert text[query - 4] == text[query] and text[query - 3] == text[query + 1]
    assert induction_of(looking_back(4, offset=4), 4) == 0.0  # on the same token
    assert induction_of(looking_back(4, offset=3), 4) == 1.0  # on the next one
    assert induction_of(looking_back(4, offset=2), 4) == 0.0
    assert induction_of(np.full((2, 3, 8, 8), 1 / 8), 4) == pytest.approx(np.full((2, 3), 1 / 8))


def test_the_first_half_does_not_count():
    weights = looking_back(5, offset=4)
    weights[:5] = 0.0
    weights[:5, 0] = 1.0
    assert induction_of(torch.from_numpy(weights), 5) == 1.0
    weights[7] = 0.0
    assert induction_of(weights, 5) == pytest.approx(4 / 5)


@pytest.mark.parametrize("shape", [(8,), (8, 9), (2, 7, 7), (10, 10)])
def test_the_shape_must_fit(shape):
    with pytest.raises(ValueError, match="expected attention over 4 tokens and their repetition"):
        induction_of(np.zeros(shape), 4)


@each_kind
def test_the_score_of_a_model_is_the_mean_over_texts(kind, monkeypatch):
    model = model_of(kind)
    settings = dict(length=6, count=5, seed=3)
    texts = repeated_tokens(50, **settings)
    monkeypatch.setattr("tlcourse.looking.texts.TOKENS_AT_A_TIME", 24)
    found = induction_score(model, **settings, compute=PLAIN)
    with torch.no_grad(), record(model) as seen:
        model(texts)
    expected = np.stack([induction_of(each, 6).mean(0) for each in seen.attention])
    assert found == pytest.approx(expected, abs=1e-6) and found.shape == (2, 3)


def test_texts_repeat_and_depend_on_the_seed_alone():
    texts = repeated_tokens(50, length=6, count=40, seed=3)
    assert texts.shape == (40, 12) and torch.equal(texts[:, :6], texts[:, 6:])
    assert all(len(set(row.tolist())) == 6 for row in texts)
    assert texts.min() == 6 and texts.max() == 49  # no special
    assert torch.equal(texts, repeated_tokens(50, length=6, count=40, seed=3))
    assert not torch.equal(texts, repeated_tokens(50, length=6, count=40, seed=4))
    few = repeated_tokens(50, ids=[20, 30, 40], length=2, count=20)
    assert set(few.flatten().tolist()) == {20, 30, 40}


@pytest.mark.parametrize("ids", [[8, 9], [8, 9, 9]])
def test_there_must_be_enough_ids(ids):
    with pytest.raises(ValueError, match="at least 3 different ids"):
        induction_score(model_of(), ids=ids, length=3)
