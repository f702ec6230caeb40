"""Scores against tokens read: checkpoints, interrupted runs, rows, layers, correlations."""

import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from benchmarks import runner
from benchmarks.studies import growth, pretraining_runs
from tlcourse import checkpoints, corpora, files
from tlcourse.probing import fitting, structure


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path, rehearsed, one_process):
    """Size tiny, the sample, results in a folder of their own; nothing is fine-tuned."""
    monkeypatch.setattr(runner, "FOLDER", tmp_path / "runs")
    monkeypatch.setattr(fitting, "LEAST_STEPS", 5)
    monkeypatch.setattr(structure, "LEAST_STEPS", 5)
    load = corpora.load
    monkeypatch.setattr(corpora, "load", lambda name, source=None: load(name, source="sample"))
    errors = iter(range(60, 0, -1))
    monkeypatch.setattr(
        pretraining_runs,
        "judge",
        lambda models, labels, seeds: [
            {"mean": float(error), "dev_errors": [float(error)]}
            for error in (next(errors) for _ in models)
        ],
    )
    growth.sentences.cache_clear()
    yield
    growth.sentences.cache_clear()


def weights(run):
    return [checkpoints.load(run.checkpoint(n))[0].state_dict() for n in run.kept]


def same(one, other):
    return all((one[name] == other[name]).all() for name in one)


def test_a_row_an_objective_and_number_of_tokens_and_again_nothing_is_done(tmp_path, monkeypatch):
    result = growth.measure()
    read = [(row["objective"], row["tokens"]) for row in result["rows"]]
    assert read == [(each, n) for each in growth.OBJECTIVES for n in (0, 512, 1024)]
    for row in result["rows"]:
        for score in ("part of speech", "trees", "agreement, 0 attractors"):
            value, low, high = row[score]
            assert 0 <= low <= value <= high <= 1
        assert row["selectivity"] <= 1 and row["loss"] > 0 and 0 < row["linear order"] < 1
        assert row["part of speech, layer"] == np.argmax(row["part of speech, dev by layer"])
        assert len(row["trees, dev by layer"]) == 2 and "model" not in row
    causal, masked = (
        [row["loss"] for row in result["rows"] if row["objective"] == each]
        for each in growth.OBJECTIVES
    )
    assert causal[0] == pytest.approx(math.log(8192), rel=0.02) and causal[-1] < causal[0]
    assert causal[0] != masked[0] and masked[-1] < masked[0]
    assert result["curves"]["masked"][-1][0] == 1024
    assert len(result["correlations"]) == 2 * len(growth.SCORES)
    files.write_json(tmp_path / "growth.json", result)
    with monkeypatch.context() as patch:
        patch.setattr(growth.Job, "work", None)
        again = growth.measure()
    assert [row["loss"] for row in again["rows"]] == causal + masked
    assert again["curves"] == result["curves"]


def test_an_interrupted_run_keeps_the_same_models(monkeypatch, tmp_path):
    whole = growth.runs(growth.TINY)["causal"]
    whole.run()
    undisturbed, save, saved = weights(whole), checkpoints.save, []

    def stops(place, *rest, **named):
        save(place, *rest, **named)
        saved.append(place.name)
        if len(saved) in (1, 3):
            raise KeyboardInterrupt

    monkeypatch.setattr(runner, "FOLDER", tmp_path / "other")
    monkeypatch.setattr(checkpoints, "save", stops)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            whole.run()
    whole.run()
    assert saved[0] == "0M" and len(set(saved)) == 3
    assert all(same(*pair) for pair in zip(undisturbed, weights(whole), strict=True))
    assert not same(undisturbed[0], undisturbed[1])


def test_no_kept_model_is_decayed_and_tokens_double():
    for run in growth.runs(growth.Scale()).values():
        assert run.recipe.decay == 0 and run.kept[0] == 0 and len(run.kept) == 7
        step = run.recipe.batch_size * run.recipe.length
        assert all(tokens % step == 0 for tokens in run.kept)
        assert 3_120_000 < run.kept[-1] <= 3_125_000 and run.text_of == 25_000_000
        assert run.kept[-1] // run.kept[-2] in (1, 2)


def test_rank_correlations_are_spearmans_with_an_interval_that_has_a_width():
    one, other = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], [2, 1, 4, 3, 5, 5, 8, 7, 10, 9]
    near = growth.rank_correlation(one, other)
    assert near["rho"] == pytest.approx(spearmanr(one, other).statistic)
    half = 1.96 * math.sqrt((1 + near["rho"] ** 2 / 2) / 7)
    ends = [math.tanh(math.atanh(near["rho"]) + sign * half) for sign in (-1, 1)]
    assert near["interval"] == pytest.approx(ends)
    full = growth.rank_correlation(one, one)
    assert full["rho"] == pytest.approx(1) and 0.9 < full["interval"][0] < 0.95
    assert full["interval"][1] == pytest.approx(1)
    assert growth.rank_correlation(one[:4], one[:4])["rho"] is None
    assert growth.rank_correlation(one, [3] * 10)["interval"] is None


def test_a_lower_loss_and_a_higher_accuracy_are_better():
    rows = [
        {
            "objective": "causal",
            "tokens": n,
            "dev error": 50 - n,
            "loss": 9 - n,
            "part of speech": [0.1 * n, 0, 1],
            "selectivity": -n,
            "trees": [0.5, 0, 1],
            "agreement, 0 attractors": [n / 9, 0, 1],
            "agreement, 1 attractor": [n / 9, 0, 1],
        }
        for n in range(6)
    ]
    rho = {
        row["score"]: row["rho"]
        for row in growth.correlations(rows)
        if row["objective"] == "causal"
    }
    assert rho["loss"] == rho["part of speech"] == rho["tokens"] == pytest.approx(1)
    assert rho["selectivity"] == pytest.approx(-1) and rho["trees"] is None


def test_the_section_is_a_row_a_checkpoint():
    score = [0.5, 0.4, 0.6]
    row = {"objective": "causal", "tokens": 1_000_000, "loss": 6.5, "dev error": 25.04}
    row |= {"part of speech": score, "trees": [0.3, 0.2, 0.4], "word types": 0.819}
    row |= {"agreement, 0 attractors": score, "agreement, 1 attractor": score, "linear order": 0.43}
    study = {"rows": [row], "data": "EWT", "machine": "2 threads"}
    lines = growth.section(study).splitlines()
    assert "Word types reach 81.9 %" in lines[2] and "43.0 % of the trees" in lines[2]
    assert lines[4].count("|") == lines[6].count("|") == 9
    assert lines[6] == (
        "| causal | 1,000,000 | 50.0 (40.0 to 60.0) | 30.0 (20.0 to 40.0) | 50.0 (40.0 to 60.0) "
        "| 50.0 (40.0 to 60.0) | 6.50 | 25.0 |"
    )
