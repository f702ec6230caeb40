"""The studies behind the choices run from end to end on the bundled sample."""

import subprocess
import time
from pathlib import Path

import pytest

from benchmarks import runner
from benchmarks.studies import (
    ablation,
    interruptions,
    objectives,
    pretraining_runs,
    scaling,
    transfer,
)
from tlcourse import checkpoints, cli
from tlcourse.pretraining import PretrainingRecipe
from tlcourse.training import STATE
from tlcourse.transformer import Config, count_parameters


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path, one_process):
    """Size tiny, no real data, results in a folder of their own; nothing is fine-tuned."""
    monkeypatch.delenv("TLCOURSE_DATA", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    monkeypatch.setattr(runner, "FOLDER", tmp_path)

    def judge(models, labels, seeds):
        rows = []
        for model in models:
            if str(model) == transfer.SCRATCH:
                causal = None
            else:
                causal = checkpoints.load(model)[0].config.causal
            rows += [{"model": str(model), "labels": n, "causal": causal} for n in labels]
        return rows

    monkeypatch.setattr(pretraining_runs, "judge", judge)


def test_checkpoints_along_the_way_are_judged_and_the_hybrid_both_ways():
    found = objectives.measure()
    read = [(row["read"], row["tokens"], row["causal"]) for row in found["rows"]]
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
    assert set(found["curves"]) == {"causal", "masked", "hybrid"}
    assert found["curves"]["causal"][-1][0] == 2048


def test_a_study_goes_on_where_it_was(tmp_path, capsys):
    recipe = PretrainingRecipe(batch_size=4, length=32, warmup=2)
    run = pretraining_runs.Run("again", recipe, (512, 1024), "", Config(8192, 16, 1, 2, 32, 64))
    first = run.run()
    weights = [run.checkpoint(n) / "model.safetensors" for n in (512, 1024)]
    before = [path.stat().st_mtime_ns for path in weights]
    assert run.run() == first
    assert [path.stat().st_mtime_ns for path in weights] == before


def test_the_scaling_laws_are_fitted_and_held_against_the_shipped_model():
    found = scaling.measure()
    assert list(found["laws"]) == list(scaling.RECIPES)
    rows = found["rows"]
    assert [row["width"] for row in rows] == 2 * ([16] * 3 + [32] * 3)
    assert [row["recipe"] for row in rows] == [name for name in scaling.RECIPES for _ in range(6)]
    flops = [row["flops"] for row in rows[:3]]
    assert flops == pytest.approx([flops[0], 2 * flops[0], 4 * flops[0]])
    assert rows[2]["loss"] != rows[8]["loss"]  # of the most steps
    for law in found["laws"].values():
        low, high = law["interval"]
        assert low <= high and law["predicted"] > 0
    assert found["shipped"]["loss"] > 0


def test_the_ablation_takes_one_part_away_at_a_time():
    found = ablation.measure()
    assert [row["variant"] for row in found["rows"]] == list(ablation.PARTS)
    assert found["rows"][0]["worse_by"] == 0.0
    assert all(len(tried) == 3 for tried in found["rates_tried"].values())
    rates = {row["variant"]: row.get("muon_learning_rate") for row in found["rows"]}
    assert [name for name, rate in rates.items() if rate is None] == [
        "AdamW for Muon",
        ablation.OLD,
    ]
    for name, tried in found["rates_tried"].items():
        best = min(tried, key=lambda each: sum(each["losses"]))
        row = next(row for row in found["rows"] if row["variant"] == name)
        assert all(row[key] == best[key] for key in best if key != "losses")
    others = {rate for name, rate in rates.items() if name not in ablation.TUNED}
    assert others == {rates[ablation.TODAY]}


def test_without_zeros_at_the_start_the_outputs_begin_small_and_random():
    recipe, shape = (
        PretrainingRecipe(batch_size=4, length=32, warmup=2),
        Config(8192, 16, 1, 2, 32, 64),
    )
    losses = [
        pretraining_runs.Run(f"zero {zero}", recipe, (256,), "", shape, zero).run()["history"][0][
            "loss"
        ]
        for zero in (True, False)
    ]
    assert losses[0] != losses[1]


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
    found = interruptions.measure()
    assert (found["kills"], found["bit_exact"]) == (1, 1)
    assert found["rows"][0]["nothing_left_over"]
    assert found["rows"][0]["doing"].startswith("at step")
    assert 0 < int(found["rows"][0]["doing"].split()[2].strip(",")) < found["steps"]


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
