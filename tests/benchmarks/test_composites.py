"""A student of several models, as the distilled ensemble is one."""

import pytest
import torch
from torch.nn import functional as F

from benchmarks.studies.composites import distil
from tlcourse.adaptation import Classifier, Recipe, adapt
from tlcourse.bpe import Tokenizer
from tlcourse.device import Compute
from tlcourse.transformer import Config, Transformer

LABELS = ["HUM", "LOC", "NUM"]
TEXTS = ["Who ran ?", "Where is the very old town ?", "When ?", "Who sang that song ?"] * 4
TARGETS = ["HUM", "LOC", "NUM", "HUM"] * 4
CPU = Compute(torch.device("cpu"), torch.float32, "explicit", False)
RECIPE = Recipe(epochs=4, batch_size=4, learning_rate=2e-3)


@pytest.fixture
def start():
    tokenizer = Tokenizer.train(TEXTS, 280)
    torch.manual_seed(0)
    body = Transformer(Config(tokenizer.vocabulary_size, 16, 2, 2, 32, 48), "explicit")
    return Classifier(body, tokenizer, LABELS)


def test_a_student_of_certain_teachers_learns_what_the_labels_teach(start):
    taught = adapt(start, TEXTS, TARGETS, compute=CPU, recipe=RECIPE)
    certain = F.one_hot(torch.tensor([LABELS.index(label) for label in TARGETS]), 3).float()
    student = distil(start, TEXTS, [certain, certain], compute=CPU, recipe=RECIPE)
    for name, value in taught.state_dict().items():
        torch.testing.assert_close(student.state_dict()[name], value, atol=1e-5, rtol=1e-4)


def test_a_student_of_two_teachers_ends_between_them(start):
    one = torch.tensor([[1.0, 0.0, 0.0]]).expand(len(TEXTS), 3)
    other = torch.tensor([[0.0, 1.0, 0.0]]).expand(len(TEXTS), 3)
    recipe = Recipe(epochs=40, batch_size=4, learning_rate=2e-3)
    student = distil(start, TEXTS, [one, other], compute=CPU, recipe=recipe)
    found = student.probabilities(TEXTS, compute=CPU)
    torch.testing.assert_close(found[:, :2], torch.full((16, 2), 0.5), atol=0.05, rtol=0)
