import pytest

from tests.adaptation import made
from tests.adaptation.made import CPU, LABELS, make
from tlcourse.adaptation import (
    Recipe,
    adapt,
    causal_nats,
    more_signal,
    pretrain_on_texts,
    self_train,
)
from tlcourse.batching import pad
from tlcourse.pretraining import PretrainingRecipe

TEXTS, TARGETS = 4 * made.TEXTS, 4 * made.LABELLED
MORE = ["Who is that ?", "Where is it ?", "When was that ?"]
RECIPE = Recipe(epochs=4, batch_size=4, learning_rate=2e-3)


@pytest.fixture
def start():
    return make(spread=0.0)


def equal(one, other):
    other = other.state_dict()
    return all(value.equal(other[name]) for name, value in one.state_dict().items())


def test_pretraining_on_the_texts_makes_them_likelier(start):
    start.eval()  # no dropout
    tokens, mask = pad([start.tokenizer.encode(text) for text in TEXTS], 0)
    before = causal_nats(start.body, tokens, mask).item()
    recipe = PretrainingRecipe(batch_size=4, length=16, warmup=4)
    found = pretrain_on_texts(start, TEXTS * 4, tokens=4000, recipe=recipe, compute=CPU)
    assert causal_nats(found.body, tokens, mask).item() < before - 1
    assert causal_nats(start.body, tokens, mask).item() == before  # a copy has read them
    assert found.head.weight.equal(start.head.weight)


def test_a_student_of_no_guess_is_its_teacher(start):
    teacher = adapt(start, TEXTS, TARGETS, compute=CPU, recipe=RECIPE)
    how = {"unlabelled": MORE, "threshold": 1.1, "recipe": RECIPE, "compute": CPU}
    assert equal(self_train(start, TEXTS, TARGETS, **how), teacher)


def test_a_student_learns_from_the_sure_guesses_of_its_teacher(start, monkeypatch):
    seen = []

    def watched(classifier, texts, labels, **how):
        assert classifier is start
        seen.append((list(texts), list(labels)))
        return adapt(classifier, texts, labels, **how)

    monkeypatch.setattr(more_signal, "adapt", watched)
    how = {"recipe": RECIPE, "compute": CPU}
    self_train(start, TEXTS, TARGETS, unlabelled=MORE, threshold=0.4, rounds=2, **how)
    assert seen[0] == (TEXTS, TARGETS) and len(seen) == 3
    teacher = adapt(start, TEXTS, TARGETS, **how)
    sure, guesses = teacher.probabilities(MORE, compute=CPU).max(-1)
    rows = [row for row in range(3) if sure[row] >= 0.4]
    assert seen[1][0] == [*TEXTS, *(MORE[row] for row in rows)]
    assert seen[1][1] == [*TARGETS, *(LABELS[guesses[row]] for row in rows)]
