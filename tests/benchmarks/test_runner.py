"""Jobs: what is kept and read, what makes them differ, the pool, and what stands beside rows."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks import clocks, runner
from benchmarks.studies import pretraining_runs, tasks, transfer, trials
from tests.benchmarks import example
from tests.benchmarks.example import Job
from tlcourse import files, results
from tlcourse.adaptation import Recipe
from tlcourse.pretraining import PretrainingRecipe


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def checkpoint(content: bytes) -> str:
    """A folder with weights in it that nobody loads."""
    Path("checkpoint").mkdir(exist_ok=True)
    (Path("checkpoint") / "model.safetensors").write_bytes(content)
    (Path("checkpoint") / "config.json").write_text("{}", encoding="utf-8")
    return "checkpoint"


def test_a_job_works_once_and_is_read_afterwards(capsys):
    job = Job(checkpoint(b"one"), 10)
    found = job.run()
    assert found["wrong"] == list(range(10)) and found["missed"] == 10
    assert found["recipe"] == {"learning_rate": 5e-4, "epochs": 5}
    assert "example: model checkpoint, missed 10: 20.0 % wrong" in capsys.readouterr().out
    assert job.place() == Path("runs/example") / f"{job.key()}.json"
    assert job.run() == found and capsys.readouterr().out == ""


def test_what_was_made_at_another_size_is_made_again(monkeypatch):
    job = Job(checkpoint(b"one"), 10)
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    first = job.run()
    assert first["made_at"] == "tiny" and "CPU" in first["made_on"]
    Path("worked-10").unlink()
    monkeypatch.setenv("TLCOURSE_SIZE", "small")
    assert job.run()["made_at"] == "small"
    older = {key: value for key, value in first.items() if not key.startswith("made_")}
    files.write_json(job.place(), older)
    assert job.run() == older  # of before sizes were kept


def test_other_fields_and_other_weights_are_another_job():
    job = Job(checkpoint(b"one"), 10)
    places = {job.place(), replace(job, missed=11).place()}
    places.add(replace(job, recipe=example.Recipe(epochs=9)).place())
    checkpoint(b"another")
    assert job.place() not in places and len(places) == 3
    assert job.run()["digest"] == runner.digest("checkpoint")


def test_jobs_run_in_processes_of_one_thread_that_know_the_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "FOLDER", tmp_path / "kept")
    monkeypatch.setattr(runner, "workers", lambda: 2)
    model = checkpoint(b"one")
    asked = [Job(model, missed) for missed in (3, 1, 2)]
    found = runner.run_all(asked)
    assert [runner.error_of(each) for each in found] == [6.0, 2.0, 4.0]
    assert all(each["threads"] == 1 and each["pid"] != os.getpid() for each in found)
    assert all((tmp_path / "kept/example" / f"{job.key()}.json").exists() for job in asked)
    assert [job.run() for job in asked] == found  # each fails if it has to work again


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc who is alive")
def test_no_worker_outlives_a_parent_that_is_killed():
    script = (
        "from benchmarks import runner\n"
        "from tests.benchmarks.example import stay\n"
        "runner.workers = lambda: 2\n"
        "if __name__ == '__main__':\n"
        "    runner.in_parallel(stay, ['one', 'two'])\n"
    )
    Path("parent.py").write_text(script, encoding="utf-8")
    variables = os.environ | {"PYTHONPATH": str(Path(runner.__file__).parents[1])}
    parent = subprocess.Popen([sys.executable, "parent.py"], env=variables)
    try:
        wait_until(lambda: all(Path(name).exists() for name in ("one", "two")))
    finally:
        parent.kill()
        parent.wait()
    workers = [int(Path(name).read_text(encoding="utf-8")) for name in ("one", "two")]
    wait_until(lambda: not any(is_alive(worker) for worker in workers), seconds=60)


def wait_until(true, seconds=300):
    ends = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < ends, f"still not so after {seconds} seconds"
        time.sleep(0.05)


def is_alive(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"  # nobody may be there to bury it


def test_keys_stay_or_what_was_kept_is_lost(monkeypatch):
    monkeypatch.setattr(runner, "digest", lambda model: "abc")
    keys = {
        transfer.Job("causal-small", 100, 0, "mean", Recipe(), "test"): "7f0d88dc9566daed",
        transfer.Job(transfer.SCRATCH, 100, 0, "mean", Recipe(), "test"): "3f5d369fc87b560a",
        trials.Job("LoRA", 100, 0, "test", Recipe()): "68cc4ee0f091a358",
        tasks.Job("trec", 100, "TF-IDF", 0, Recipe()): "e0cedfd51508c7db",
    }
    for job, key in keys.items():
        assert job.place() == Path("runs") / job.study / f"{key}.json"


def test_a_study_of_other_weights_or_of_another_recipe_is_another_run():
    run = pretraining_runs.Run("leg", PretrainingRecipe(), (1000, 2000), checkpoint(b"one"))
    places = {run.place(), replace(run, recipe=PretrainingRecipe(seed=1)).place()}
    assert run.checkpoint() == run.checkpoint(2000) != run.checkpoint(1000)
    checkpoint(b"another")
    assert run.place() not in places and len(places) == 2
    assert all(place.name.startswith("leg, ") for place in places)


def test_the_seeds_of_a_row_stand_together():
    assert runner.groups([1, 2, 3, 4, 5, 6], 3) == [[1, 2, 3], [4, 5, 6]]
    found = runner.over_seeds([0.0, 0.0, 3.0])
    assert found["mean"] == 1.0 and found["interval"][0] == 0.0 < found["interval"][1]


def test_comparisons_are_corrected_together():
    entries = [{"p": 0.01}, {"p": 0.04}]
    runner.correct(entries)
    assert [entry["p_holm"] for entry in entries] == [0.02, 0.04]


def test_seconds_are_those_of_the_clock_that_is_asked():
    found, seconds = clocks.timed(lambda: time.sleep(0.05) or "done")
    assert found == "done" and seconds >= 0.05
    assert clocks.timed(lambda: time.sleep(0.05), time.process_time)[1] < 0.04


def test_provenance_is_complete():
    found = runner.provenance("random tokens", pytest, note=runner.pooled())
    assert list(found) == ["size", "machine", "python", "versions", "data"]
    assert found["machine"].endswith(f", {runner.workers()} runs at a time, one thread each")
    assert found["versions"] == {"torch": torch.__version__, "pytest": pytest.__version__}
    alone = runner.provenance("random tokens")["machine"]
    assert found["machine"].removesuffix(f", {runner.pooled()}") == alone


def test_kept_runs_say_on_which_machines_they_were_made():
    here, there = {"made_on": "a CPU"}, {"made_on": "a GPU"}
    assert runner.provenance("x", runs=[there, there])["machine"] == "a GPU"
    told = runner.provenance("x", runs=[here, there, there, {}], note="quiet")["machine"]
    assert told == "a GPU (runs: 2), a CPU (runs: 1), a machine that was not noted (runs: 1), quiet"


@pytest.mark.parametrize("names", [("rate", "batch"), ("learning_rate", "batch_size")])
def test_recipes_are_read_under_earlier_names_and_under_those_of_now(names):
    stored = dict(zip((*names, "min_steps"), (1e-3, 16, 200), strict=True))
    expected = Recipe(learning_rate=1e-3, batch_size=16, min_steps=200)
    assert runner.recipe_of({"recipe": stored}) == expected
    with pytest.raises(TypeError):
        runner.recipe_of({"recipe": stored | {"speed": 1}})


def test_every_stored_recipe_of_an_adaptation_can_be_read():
    stored = [results.stored(name) for name in ("schemes", "transfer", "tasks")]
    rows = [row for each in stored for row in each["rows"] if "recipe" in row]
    rows += [each for choice in stored[1]["choices"].values() for each in choice["tried"]]
    assert len(rows) > 50
    assert all(runner.recipe_of(row).learning_rate > 0 for row in rows)
