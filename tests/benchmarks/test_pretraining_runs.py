"""The studies of pretraining run from end to end on the bundled sample."""

import subprocess
import time
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from benchmarks import runner
from benchmarks.studies import (
    ablation,
    interruptions,
    objectives,
    pretraining_runs,
    scaling,
    stages,
    transfer,
)
from tlcourse import checkpoints, cli
from tlcourse.pretraining import PretrainingRecipe
from tlcourse.training import STATE
from tlcourse.transformer import Config, count_parameters


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path, rehearsed, one_process):
    """Size tiny, no real data, results in a folder of their own; nothing is fine-tuned."""
    monkeypatch.setattr(runner, "FOLDER", tmp_path)

    def judge(models, labels, seeds):
        rows = []
        for model, facts in models.items():
            scratch = model == transfer.SCRATCH
            causal = None if scratch else checkpoints.load(model)[0].config.causal
            rows += [facts | {"labels": count, "causal": causal} for count in labels]
        return rows

    monkeypatch.setattr(pretraining_runs, "judge", judge)


def test_checkpoints_along_the_way_are_judged_and_the_hybrid_both_ways():
    result = objectives.measure()
    read = [(row["read"], row["tokens"], row["causal"]) for row in result["rows"]]
    assert read == [
        ("causal", 1024, True),
        ("causal", 2048, True),
        ("masked", 1024, False),
        ("masked", 2048, False),
        ("hybrid", 1024, True),
        ("hybrid, two-sided", 1024, False),
        ("hybrid", 2048, True),
        ("hybrid, two-sided", 2048, False),
        ("from scratch", 0, None),
        ("causal-small", 60_588_032, True),
        ("masked-small", 75_784_192, False),
    ]
    assert set(result["curves"]) == {"causal", "masked", "hybrid"}
    assert result["curves"]["causal"][-1][0] == 2048


def test_a_study_goes_on_where_it_was(tmp_path, capsys):
    recipe = PretrainingRecipe(batch_size=4, length=32, warmup=2)
    run = pretraining_runs.Run("again", recipe, (0, 512, 1024), "", Config(8192, 16, 1, 2, 32, 64))
    first = run.run()
    weights = [run.checkpoint(n) / "model.safetensors" for n in run.kept]
    before = [path.stat().st_mtime_ns for path in weights]
    assert run.run() == first
    assert [path.stat().st_mtime_ns for path in weights] == before


def test_the_scaling_laws_are_fitted_and_held_against_the_shipped_model():
    result = scaling.measure()
    assert list(result["laws"]) == list(scaling.RECIPES)
    rows = result["rows"]
    assert [row["width"] for row in rows] == 2 * ([16] * 3 + [32] * 3)
    assert [row["recipe"] for row in rows] == [name for name in scaling.RECIPES for _ in range(6)]
    flops = [row["flops"] for row in rows[:3]]
    assert flops == pytest.approx([flops[0], 2 * flops[0], 4 * flops[0]])
    assert rows[2]["loss"] != rows[8]["loss"]  # of the most steps
    for law in result["laws"].values():
        low, high = law["interval"]
        assert low <= high and law["predicted"] > 0
    assert result["shipped"]["loss"] > 0


def test_the_ablation_takes_one_part_away_at_a_time():
    result = ablation.measure()
    assert [row["variant"] for row in result["rows"]] == list(ablation.PARTS)
    assert result["rows"][0]["worse_by"] == 0.0
    assert all(len(tried) == 3 for tried in result["rates_tried"].values())
    rates = {row["variant"]: row.get("muon_learning_rate") for row in result["rows"]}
    assert [name for name, rate in rates.items() if rate is None] == [
        "AdamW for Muon",
        ablation.OLD,
    ]
    for name, tried in result["rates_tried"].items():
        best = min(tried, key=lambda entry: sum(entry["losses"]))
        row = next(row for row in result["rows"] if row["variant"] == name)
        assert all(row[key] == best[key] for key in best if key != "losses")
    others = {rate for name, rate in rates.items() if name not in ablation.TUNED}
    assert others == {rates[ablation.TODAY]}


def test_without_zeros_at_the_start_the_outputs_begin_small_and_random():
    recipe = PretrainingRecipe(batch_size=4, length=32, warmup=2)
    shape = Config(8192, 16, 1, 2, 32, 64)
    losses = {
        pretraining_runs.Run(f"zero {zero}", recipe, (256,), "", shape, zero).run()["history"][0][
            "loss"
        ]
        for zero in (True, False)
    }
    assert len(losses) == 2


def test_a_run_may_read_a_text_of_its_own():
    runs = [
        pretraining_runs.Run("a run", PretrainingRecipe(), (4096,), text_of=text_of)
        for text_of in (None, 4096)
    ]
    shared, own = (run.text()[0] for run in runs)
    assert own.digest() == pretraining_runs.corpus(4096)[0].digest() and len(own) < len(shared)
    folder = str(runner.FOLDER / "studies" / "corpus-0.004096M")
    read = pretraining_runs.Run("a run", PretrainingRecipe(), (4096,), text_of=folder).text()
    assert read[0].digest() == own.digest() and read[1].vocabulary_size == 8192


def test_each_variant_of_the_last_stage_goes_on_and_the_mean_is_that_of_its_checkpoints():
    result = stages.last()
    start, *rows = result["rows"]
    assert [start["way"], *(row["way"] for row in rows)] == ["none", *stages.CHANGES]
    assert start["tokens"] == 0 and all(row["tokens"] == 768 for row in rows)
    assert {row["word_perplexity"] for row in rows}.isdisjoint({start["word_perplexity"]})
    assert [row["window"] for row in rows] == [32, 64, 32, 32, 32, 32]
    assert all(0 <= row["blimp"] <= 100 for row in result["rows"])

    run = stages.last_runs()[stages.MEAN]
    assert run.kept == (480, 576, 672, 768)
    mean, _ = checkpoints.load(run.place() / "mean")
    states = [checkpoints.load(run.checkpoint(tokens))[0].state_dict() for tokens in run.kept]
    for name, tensor in mean.state_dict().items():
        expected = sum(state[name] for state in states) / len(states)
        torch.testing.assert_close(tensor, expected, rtol=2e-3, atol=1e-4)  # stored as halves
    assert any(not torch.equal(states[0][name], states[-1][name]) for name in states[0])


def test_variants_of_the_last_stage_differ_in_what_they_are_named_after(monkeypatch):
    recipes = {name: asdict(run.recipe) for name, run in stages.last_runs().items()}
    plain, changed = recipes[stages.PLAIN], {}
    for name, recipe in recipes.items():
        changed[name] = {key: recipe[key] for key in recipe if recipe[key] != plain[key]}
        tokens = recipe["batch_size"] * recipe["length"]
        assert tokens == plain["batch_size"] * plain["length"], name
    assert changed.pop(stages.LONGER) == {"batch_size": 2, "length": 64}
    assert changed.pop("three times the weight decay") == {"weight_decay": 0.3}
    hybrid = {"objective", "causal_share", "mask_probability"}
    assert set(changed.pop("an eighth read from both sides")) == hybrid
    assert changed.pop(stages.MEAN) == {"decay": 0.0}
    assert not any(changed.values())
    monkeypatch.setenv("TLCOURSE_SIZE", "small")
    texts = {name: run.text_of for name, run in stages.last_runs().items()}
    assert texts.pop(stages.ARTICLES) == stages.RICH
    assert set(texts.values()) == {str(stages.LONG / "corpus")}


def test_the_masked_stage_is_judged_two_sided_and_the_hybrid_both_ways():
    result = stages.masked()
    assert [(row["run"], row["read"], row["causal"]) for row in result["rows"]] == [
        ("none", "causal", True),
        ("masked, 15 %", "masked", False),
        ("masked, 30 %", "masked", False),
        ("masked next token, 15 %", "hybrid, two-sided", False),
        ("hybrid, 30 %", "hybrid", True),
        ("hybrid, 30 %", "hybrid, two-sided", False),
    ]
    assert set(result["last_losses"]) == set(stages.MASKED)


class Patient(subprocess.Popen):
    """A process whose time is up as soon as the run's first state is saved."""

    def wait(self, timeout=None):
        state = Path(self.args[-1]) / STATE
        while timeout is not None and self.poll() is None:
            if state.exists():
                raise subprocess.TimeoutExpired(self.args, timeout)
            time.sleep(0.005)
        return super().wait()


@pytest.fixture
def killed_at_its_first_state(monkeypatch):
    """What is killed has a process of its own; what nobody disturbs runs in this one."""
    run = interruptions._run

    def either(out, size, kill_after=None):
        if kill_after is not None:
            return run(out, size, kill_after)
        assert cli.main(interruptions._command(out, size)[3:]) == 0
        return True

    monkeypatch.setattr(interruptions.subprocess, "Popen", Patient)
    monkeypatch.setattr(interruptions, "_run", either)


def test_a_killed_run_ends_as_one_that_nobody_disturbed(killed_at_its_first_state):
    result = interruptions.measure()
    assert (result["kills"], result["bit_exact"]) == (1, 1)
    assert result["rows"][0]["nothing_left_over"]
    assert result["rows"][0]["doing"].startswith("at step")
    assert 0 < int(result["rows"][0]["doing"].split()[2].strip(",")) < result["steps"]


def test_a_run_that_fails_is_told_and_one_that_is_too_slow_is_killed(tmp_path, monkeypatch):
    fails = [interruptions.sys.executable, "-c", "raise SystemExit('no room')"]
    monkeypatch.setattr(interruptions, "_command", lambda out, size: fails)
    with pytest.raises(RuntimeError, match="expected the run to end well: no room"):
        interruptions._run(tmp_path, "tiny")
    sleeps = [interruptions.sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(interruptions, "_command", lambda out, size: sleeps)
    assert interruptions._run(tmp_path, "tiny", kill_after=0.05) is False


def test_training_takes_about_six_operations_a_parameter_and_token():
    config = Config(8192, 512, 8, 8, 2048)
    # The look-up of the embedding is no product, but the head, which shares it, is.
    expected = 6 * count_parameters(config)["total"] * 1000
    assert scaling.training_flops(config, 128, 1000) == pytest.approx(expected, rel=0.05)
