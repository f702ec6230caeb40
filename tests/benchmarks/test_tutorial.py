"""The tutorial's own ways: what moves when, how fast, and what is written down."""

import pytest
import torch

from benchmarks.studies import multi_stage, tutorial
from tlcourse import checkpoints, corpora
from tlcourse.adaptation import Classifier
from tlcourse.transformer import Config, Transformer

STEPS = 70
pytestmark = pytest.mark.usefixtures("samples")


def classifier() -> Classifier:
    _, tokenizer = checkpoints.load("causal-small")
    torch.manual_seed(0)
    body = Transformer(Config(8192, 16, 6, 2, 32, 64))
    return Classifier(body, tokenizer, corpora.TREC_LABELS, pooling=tutorial.POOLING)


@pytest.mark.parametrize("way", tutorial.WAYS)
def test_what_moves_and_how_fast(way):
    scheme, recipe = tutorial.scheme_and_recipe(way, 6)
    model = classifier()
    model.add(scheme.edit)
    groups = scheme.groups(model, model.added)
    factors = scheme.schedule(STEPS, list(groups))
    moving = {name: set() for name in ("start", "end")}
    for moment, step in (("start", 0), ("end", STEPS - 1)):
        now = factors(step)
        for name, group in groups.items():
            if (now[name] if isinstance(now, dict) else now) > 0:
                moving[moment] |= set(group.names)
    everything = {name for name, _ in model.named_parameters()}
    around = {name for name in everything if name.startswith(("body.embedding", "head."))}
    assert around and around < everything
    expected = {
        "adapters": (around | set(model.added),) * 2,
        "gradual unfreezing": (around, everything),
        "never thawed": (around, around),
    }
    assert (moving["start"], moving["end"]) == expected.get(way, (everything, everything))
    rate = {"adapters": 6.5e-4, tutorial.OURS: 5e-4}.get(way, 6.5e-5)
    rates = [recipe.learning_rate * group.factor for group in groups.values()]
    assert rates == pytest.approx([rate] * len(groups))
    shape = [max(f.values()) if isinstance(f, dict) else f for f in map(factors, range(STEPS))]
    assert shape[:10] == pytest.approx([k / 10 for k in range(1, 11)])
    assert shape[10:] == pytest.approx([(STEPS - k) / (STEPS - 10) for k in range(10, STEPS)])
    assert recipe.epochs == (6 if way == "multi-task" else 3) and recipe.weight_decay == 0


def test_a_block_joins_in_each_interval_from_the_top():
    scheme, _ = tutorial.scheme_and_recipe("gradual unfreezing", 6)
    groups = scheme.groups(classifier(), ())
    assert list(groups) == [*(f"block {n}" for n in range(6)), "around"]
    assert "body.norm.weight" in groups["block 5"].names
    factors = scheme.schedule(STEPS, list(groups))
    first = {name: next(k for k in range(STEPS) if factors(k)[name] > 0) for name in groups}
    assert list(first.values()) == [60, 50, 40, 30, 20, 10, 0]


def test_a_job_tells_dev_after_each_epoch_and_is_kept(little, monkeypatch):
    job = tutorial.Job("adapters", 0, little)
    found = job.run()
    assert len(found["dev"]) == 3 and found["of"] == 100
    assert 0.5 < found["share"] < 1.0  # the embeddings are most of a small model
    monkeypatch.setattr(tutorial, "adapt", None)
    assert job.run() == found
    row = tutorial.row("adapters", [found, found])
    assert row["dev"] == pytest.approx(found["dev"])
    low, high = row["published"]["interval"]
    assert low < 4.0 < high and row["published"]["test"] == 4.0  # 20 of 500 there


def test_restarts_count_the_runs_that_learn_nothing(monkeypatch):
    lost = {(False, 2e-3): 3, (True, 2e-3): 1}

    def run_all(asked):
        dev = corpora.trec_with_dev(corpora.load("trec"))["dev"]
        return [
            {
                "wrong": list(range(len(dev) - 2))
                if job.seed < lost.get((job.intermediate, job.learning_rate), 0)
                else [0],
                "of": len(dev),
            }
            for job in asked
        ]

    monkeypatch.setattr(tutorial.runner, "run_all", run_all)
    found = tutorial.restarts()
    assert found["labels"] == 200 and found["on_the_way"] == multi_stage.INTERMEDIATE
    told = {(row["intermediate"], row["learning_rate"]): row["failed"] for row in found["rows"]}
    assert told == {(first, rate): 0 for first in (False, True) for rate in (5e-4, 1e-3)} | lost
    assert all(len(row["errors"]) == 20 for row in found["rows"])
