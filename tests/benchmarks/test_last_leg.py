"""The ways of the last leg differ in what their names say, and are judged alike."""

from dataclasses import asdict

import pytest
import torch

from benchmarks import runner
from benchmarks.studies import last_leg
from tlcourse import checkpoints


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path):
    """Size tiny on the bundled samples, results in a folder of their own."""
    monkeypatch.delenv("TLCOURSE_DATA", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    monkeypatch.setattr(runner, "FOLDER", tmp_path)


def test_every_way_goes_on_from_the_long_leg_and_the_mean_is_that_of_its_checkpoints():
    found = last_leg.measure()
    assert [row["way"] for row in found["rows"]] == ["none", *last_leg.WAYS]
    start, *rows = found["rows"]
    assert start["tokens"] == 0 and all(row["tokens"] == 768 for row in rows)
    assert {row["word_perplexity"] for row in rows}.isdisjoint({start["word_perplexity"]})
    assert [row["window"] for row in rows] == [32, 64, 32, 32, 32, 32]
    assert all(0 <= row["blimp"] <= 100 for row in found["rows"])

    run = last_leg.run(last_leg.MEAN)
    assert run.kept == (480, 576, 672, 768)
    mean, _ = checkpoints.load(run.place() / "mean")
    states = [checkpoints.load(run.checkpoint(tokens))[0].state_dict() for tokens in run.kept]
    for name, tensor in mean.state_dict().items():
        expected = sum(state[name] for state in states) / len(states)
        torch.testing.assert_close(tensor, expected, rtol=2e-3, atol=1e-4)  # stored as halves
    assert any(not torch.equal(states[0][name], states[-1][name]) for name in states[0])


def test_ways_differ_from_the_plain_one_in_what_they_are_called_after():
    plain = asdict(last_leg.run(last_leg.PLAIN).recipe)
    changed = {}
    for name in last_leg.WAYS:
        recipe = asdict(last_leg.run(name).recipe)
        changed[name] = {key: recipe[key] for key in recipe if recipe[key] != plain[key]}
        tokens = recipe["batch_size"] * recipe["length"]
        assert tokens == plain["batch_size"] * plain["length"], name
    assert changed.pop("windows twice as long") == {"batch_size": 2, "length": 64}
    assert changed.pop("three times the weight decay") == {"weight_decay": 0.3}
    assert set(changed.pop("an eighth read from both sides")) == {
        "objective",
        "causal_share",
        "mask_probability",
    }
    assert changed.pop(last_leg.MEAN) == {"decay": 0.0}
    assert not any(changed.values())
