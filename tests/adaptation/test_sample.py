"""The example of adapting from Python in docs/ runs as written."""

import re

import pytest
import torch

from tlcourse import corpora, files
from tlcourse.adaptation import AddedOnly, Classifier, LoRA, Scheme


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The names of the example after it was run in an empty folder, on half of the questions."""
    page = (files.root() / "docs/classifiers.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?from_checkpoint.*?)```", page, flags=re.S)
    folder, names = tmp_path_factory.mktemp("sample"), {}
    data = corpora.load("trec")
    data["train"] = data["train"].select(range(100))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpora, "load", lambda name: {"trec": data}[name])
        patch.chdir(folder)
        exec(compile(code, "classifiers.md", "exec"), names)
    return names | {"folder": folder, "code": code}


def test_the_example_does_what_it_says(ran):
    adapted, scheme = ran["adapted"], ran["scheme"]
    assert adapted.predict(["Who left the lights on?"]) == ["HUM"]
    assert torch.allclose(adapted.probabilities(["Who left the lights on?"]).sum(), torch.ones(()))
    assert scheme == Scheme(edit=LoRA(rank=8, layers="all"), groups=AddedOnly(factor=8))
    assert set(adapted.report.declared) == set(adapted.report.moved)
    assert adapted.report.start_difference == 0.0


def test_what_it_saved_is_rebuilt_from_values(ran):
    found = Classifier.load(ran["folder"] / "lora-trec")
    assert found.scheme == ran["scheme"] and str(found.scheme) == str(ran["scheme"])
    assert str(found.scheme).startswith("Scheme(edit=LoRA(rank=8, ")  # no name, none printed
    assert found.about["scheme"]["name"] == "" and str(Scheme("mine")).startswith("Scheme(name='m")
    texts = ["Who left the lights on?", "How far is the moon?"]
    assert torch.equal(found.probabilities(texts), ran["adapted"].probabilities(texts))


def test_the_start_stayed_as_it_was_and_a_second_run_gives_the_same_bits(ran):
    start = ran["start"]
    fresh = Classifier.from_checkpoint("causal-small", labels=start.labels, pooling="mean", seed=0)
    assert all(value.equal(fresh.state_dict()[name]) for name, value in start.state_dict().items())
    texts, labels = (ran["train"][column][:24] for column in ("text", "label"))
    twice = [
        ran["adapt"](
            start, texts, labels, scheme=ran["scheme"], recipe=ran["Recipe"](epochs=3), seed=0
        ).state_dict()
        for _ in range(2)
    ]
    assert all(value.equal(twice[1][name]) for name, value in twice[0].items())
