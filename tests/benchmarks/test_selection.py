"""Choosing a pooling within the labels: every text is held out once, the body stays as it is."""

import pytest
import torch

from benchmarks.studies import selection
from benchmarks.studies.selection import choose_pooling
from tlcourse import checkpoints
from tlcourse.adaptation import Classifier, Recipe
from tlcourse.device import Compute
from tlcourse.transformer import Config, Transformer

PLAIN = Compute(torch.device("cpu"), torch.float32, "explicit", False)
TEXTS = [f"word number {n}" for n in range(12)]
LABELS = ["even", "odd"] * 6


@pytest.fixture
def start():
    torch.manual_seed(0)
    _, tokenizer = checkpoints.load("causal-small")
    return Classifier(Transformer(Config(8192, 16, 1, 2, 32, 64)), tokenizer, ["even", "odd"])


def test_each_text_is_held_out_once_and_the_fewest_errors_win(start, monkeypatch):
    fitted, asked = [], []

    def adapted(classifier, texts, labels, **how):
        fitted.append((classifier.pooling, set(texts)))
        assert classifier.body is not start.body and how["compute"] is PLAIN
        return classifier

    def probabilities(classifier, texts, *, compute):
        asked.append((classifier.pooling, set(texts)))
        # "last token" is always right, the other always says "even".
        right = classifier.pooling == "last token"
        odd = [int(text.split()[-1]) % 2 if right else 0 for text in texts]
        return torch.nn.functional.one_hot(torch.tensor(odd), 2).float()

    monkeypatch.setattr(selection, "adapt", adapted)
    monkeypatch.setattr(Classifier, "probabilities", probabilities)
    found = choose_pooling(start, TEXTS, LABELS, compute=PLAIN)
    assert found.pooling == "last token"
    assert found.errors == {"mean": 0.5, "last token": 0.0}
    for pooling in ("mean", "last token"):
        train = [texts for name, texts in fitted if name == pooling]
        held_out = [texts for name, texts in asked if name == pooling]
        assert len(held_out) == 3 and set.union(*held_out) == set(TEXTS)
        assert all(a | b == set(TEXTS) and not a & b for a, b in zip(train, held_out, strict=True))
    assert [t for n, t in asked if n == "mean"] == [t for n, t in asked if n == "last token"]


def test_the_body_stays_as_it_was(start):
    before = {name: tensor.clone() for name, tensor in start.state_dict().items()}
    recipe = Recipe(epochs=1, batch_size=4)
    found = choose_pooling(start, TEXTS, LABELS, recipe=recipe, compute=PLAIN)
    assert set(found.errors) == {"mean", "last token"}
    assert all(0 <= error <= 1 for error in found.errors.values())
    after = start.state_dict()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())
