"""Transfer: intervals, comparisons, and the choice of a pooling within the labels."""

import pytest
import torch

from benchmarks.studies import transfer
from tlcourse import checkpoints
from tlcourse.adaptation import Classifier, Recipe
from tlcourse.device import Compute
from tlcourse.transformer import Config, Transformer


def row(model, labels, found):
    return transfer.row_of(model, labels, list(range(len(found))), found, 500, 1.0)


def test_several_seeds_give_student_and_one_fit_gives_wilson():
    seeds = row("m", "all", [[*range(15)], [*range(18)], [*range(21)]])
    assert seeds["labels"] == 5452
    assert seeds["mean"] == pytest.approx(3.6)
    # t(0.975, 2) = 4.303, standard error 0.6 / sqrt(3) points
    assert seeds["interval"] == pytest.approx([3.6 - 4.303 * 0.34641, 3.6 + 4.303 * 0.34641], 1e-3)
    single = row("m", 100, [[*range(18)]])
    assert single["interval"] == pytest.approx([2.29, 5.62], abs=0.01)  # published: 2.3-5.6


def test_each_shipped_model_is_compared_with_both_others_at_every_number_of_labels():
    good, bad = [[*range(10)]] * 3, [[*range(100)]] * 3
    rows = [
        row(model, labels, found)
        for labels in (100, 500)
        for model, found in (("causal-small", good), (transfer.SCRATCH, bad), (transfer.TFIDF, bad))
    ]
    found = transfer.compare(rows, 500)
    assert [(c["labels"], c["against"]) for c in found] == [
        (100, transfer.SCRATCH),
        (100, transfer.TFIDF),
        (500, transfer.SCRATCH),
        (500, transfer.TFIDF),
    ]
    for comparison in found:
        assert comparison["points"] == pytest.approx(-18.0)  # 10 wrong against 100 of 500
        assert comparison["p"] == pytest.approx(2 * 0.5**90)  # 90 questions, all one way
        assert comparison["p_holm"] >= comparison["p"]


def test_the_shipped_models_are_compared_with_each_other_once():
    models = ("causal-small", "masked-small", transfer.SCRATCH, transfer.TFIDF)
    rows = [row(model, 100, [[*range(10 + 5 * n)]]) for n, model in enumerate(models)]
    pairs = [(c["model"], c["against"]) for c in transfer.compare(rows, 500)]
    assert len(pairs) == len(set(pairs)) == 5
    assert ("causal-small", "masked-small") in pairs


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

    monkeypatch.setattr(transfer, "adapt", adapted)
    monkeypatch.setattr(Classifier, "probabilities", probabilities)
    found = transfer.choose_pooling(start, TEXTS, LABELS, compute=PLAIN)
    assert found["pooling"] == "last token"
    assert found["errors"] == {"mean": 0.5, "last token": 0.0}
    for pooling in ("mean", "last token"):
        train = [texts for name, texts in fitted if name == pooling]
        held_out = [texts for name, texts in asked if name == pooling]
        assert len(held_out) == 3 and set.union(*held_out) == set(TEXTS)
        assert all(a | b == set(TEXTS) and not a & b for a, b in zip(train, held_out, strict=True))
    assert [t for n, t in asked if n == "mean"] == [t for n, t in asked if n == "last token"]


def test_the_body_stays_as_it_was(start):
    before = {name: tensor.clone() for name, tensor in start.state_dict().items()}
    recipe = Recipe(epochs=1, batch_size=4)
    found = transfer.choose_pooling(start, TEXTS, LABELS, recipe=recipe, compute=PLAIN)
    assert set(found["errors"]) == {"mean", "last token"}
    assert all(0 <= error <= 1 for error in found["errors"].values())
    after = start.state_dict()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())
