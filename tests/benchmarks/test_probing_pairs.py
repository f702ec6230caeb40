"""Probes in pairs: the difference is that of two accuracies on the same items."""

import pytest

from benchmarks.studies import probing, probing_pairs


@pytest.fixture
def tiny(little, twelve_sentences, monkeypatch):
    names = ("part of speech", "relation", "question type")
    monkeypatch.setattr(probing_pairs, "TASKS", {name: probing.TASKS[name] for name in names})
    return little


def test_a_pair_is_two_accuracies_and_their_difference(tiny, monkeypatch):
    pairs = {"layers": ((tiny, 1), (tiny, 0)), "itself": ((tiny, 1), (tiny, 1))}
    monkeypatch.setattr(probing_pairs, "PAIRS", pairs)
    found = probing_pairs.measure()
    assert [(row["task"], row["pair"]) for row in found["rows"]] == [
        (task, pair) for task in probing_pairs.TASKS for pair in pairs
    ]
    for row in found["rows"]:
        (one, other), (gain, low, high) = row["right"], row["gain"]
        assert gain == pytest.approx(one - other) and low <= gain <= high
        assert row["pair"] == "layers" or (gain, low, high) == (0, 0, 0)
    assert any(row["gain"][0] for row in found["rows"])
    assert found["kinds"]["question type"] == "meaning"


def test_the_same_layer_of_the_course_s_models_is_asked():
    layers = {layer for pair in probing_pairs.PAIRS.values() for _, layer in pair}
    assert layers == {0, probing_pairs.LAYER}
    assert {model for pair in probing_pairs.PAIRS.values() for model, _ in pair} == {
        *probing.MODELS
    }
