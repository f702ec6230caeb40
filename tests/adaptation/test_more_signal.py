import pytest
import torch
from torch.nn import functional as F

from tlcourse.adaptation import more_signal
from tlcourse.adaptation.adapting import Recipe, adapt
from tlcourse.adaptation.classifier import Classifier, predict
from tlcourse.adaptation.extra_losses import causal_nats
from tlcourse.adaptation.more_signal import distil, pretrain_on_texts, self_train
from tlcourse.batching import pad
from tlcourse.bpe import Tokenizer
from tlcourse.device import Compute
from tlcourse.pretraining import PretrainingRecipe
from tlcourse.transformer import Config, Transformer

LABELS = ["HUM", "LOC", "NUM"]
TEXTS = ["Who ran ?", "Where is the very old town ?", "When ?", "Who sang that song ?"] * 4
GOALS = ["HUM", "LOC", "NUM", "HUM"] * 4
MORE = ["Who is that ?", "Where is it ?", "When was that ?"]
CPU = Compute(torch.device("cpu"), torch.float32, "explicit", False)
RECIPE = Recipe(epochs=4, batch=4, rate=2e-3)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TEXTS, 280)


def body(tokenizer):
    torch.manual_seed(0)
    return Transformer(Config(tokenizer.vocabulary_size, 16, 2, 2, 32, 48), "explicit")


def start_with(tokenizer):
    def start():
        model = body(tokenizer)
        return Classifier(model, LABELS, "mean")

    return start


def equal(one, other):
    other = other.state_dict()
    return all(value.equal(other[name]) for name, value in one.state_dict().items())


def test_pretraining_on_the_texts_makes_them_likelier(tokenizer):
    model = body(tokenizer)
    tokens, mask = pad([tokenizer.encode(text) for text in TEXTS], 0)
    before = causal_nats(model, tokens, mask).item()
    recipe = PretrainingRecipe(batch_size=4, length=16, warmup=4)
    history = pretrain_on_texts(model, tokenizer, TEXTS * 4, 4000, CPU, recipe)
    after = causal_nats(model, tokens, mask).item()
    assert after < before - 1 and history[-1]["loss"] < history[0]["loss"]


def test_a_student_of_no_guess_is_its_teacher(tokenizer):
    start = start_with(tokenizer)
    teacher = start()
    adapt(teacher, tokenizer, TEXTS, GOALS, CPU, RECIPE, seed=0)
    student = self_train(start, tokenizer, TEXTS, GOALS, MORE, CPU, RECIPE, seed=0, least=1.1)
    assert equal(student, teacher)


def test_a_student_learns_from_the_sure_guesses_of_its_teacher(tokenizer, monkeypatch):
    seen = []

    def watched(classifier, tokenizer, texts, labels, *rest):
        seen.append((list(texts), list(labels)))
        return adapt(classifier, tokenizer, texts, labels, *rest)

    monkeypatch.setattr(more_signal, "adapt", watched)
    start = start_with(tokenizer)
    self_train(start, tokenizer, TEXTS, GOALS, MORE, CPU, RECIPE, 0, least=0.4, rounds=2)
    assert seen[0] == (TEXTS, GOALS) and len(seen) == 3
    teacher = start()
    adapt(teacher, tokenizer, TEXTS, GOALS, CPU, RECIPE, seed=0)
    sure, guesses = predict(teacher, tokenizer, MORE, CPU).max(-1)
    rows = [row for row in range(3) if sure[row] >= 0.4]
    assert seen[1][0] == [*TEXTS, *(MORE[row] for row in rows)]
    assert seen[1][1] == [*GOALS, *(LABELS[guesses[row]] for row in rows)]


def test_a_student_of_certain_teachers_learns_what_the_labels_teach(tokenizer):
    start = start_with(tokenizer)
    taught = start()
    adapt(taught, tokenizer, TEXTS, GOALS, CPU, RECIPE, seed=0)
    certain = F.one_hot(torch.tensor([LABELS.index(label) for label in GOALS]), 3).float()
    student = distil(start, tokenizer, TEXTS, [certain, certain], CPU, RECIPE, seed=0)
    for name, value in taught.state_dict().items():
        torch.testing.assert_close(student.state_dict()[name], value, atol=1e-5, rtol=1e-4)


def test_a_student_of_two_teachers_ends_between_them(tokenizer):
    one = torch.tensor([[1.0, 0.0, 0.0]]).expand(len(TEXTS), 3)
    other = torch.tensor([[0.0, 1.0, 0.0]]).expand(len(TEXTS), 3)
    recipe = Recipe(epochs=40, batch=4, rate=2e-3)
    student = distil(start_with(tokenizer), tokenizer, TEXTS, [one, other], CPU, recipe, seed=0)
    found = predict(student, tokenizer, TEXTS, CPU)
    torch.testing.assert_close(found[:, :2], torch.full((16, 2), 0.5), atol=0.05, rtol=0)
