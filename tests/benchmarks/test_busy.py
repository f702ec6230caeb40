import os
import subprocess
import sys

import pytest

from benchmarks import busy, jobs
from tlcourse import SPINS


def test_each_setting_runs_alone_and_two_at_a_time(monkeypatch):
    monkeypatch.setattr(busy, "SETTINGS", {"as libgomp comes": {}, busy.CHOSEN: {"A": "1"}})
    asked = []

    def seconds(setting, count, _):
        asked.append((setting, count))
        return (1.0 + len(setting)) * count**2

    monkeypatch.setattr(busy, "seconds_a_step", seconds)
    result = busy.measure()
    assert sorted(asked, key=str) == sorted(
        [(setting, count) for setting in ({}, {"A": "1"}) for count in (1, 2)], key=str
    )
    usual, chosen = result["rows"]
    assert (usual["alone, ratio"], usual["two at a time, ratio"]) == (1.0, 4.0)
    assert (chosen["alone, ratio"], chosen["two at a time, ratio"]) == (2.0, 8.0)


# In place of what trains: waits until it is told to begin, and tells its setting as its seconds.
WAITS = """
import os, time
from pathlib import Path
folder = Path(os.environ["FOLDER"])
(folder / f"ready-{os.getpid()}").touch()
while not (folder / "go").exists():
    time.sleep(0.01)
told = float(os.environ["GOMP_SPINCOUNT"]) + float(os.environ["SECONDS"])
(folder / f"taken-{os.getpid()}").write_text(str(told))
"""


def test_what_trains_begins_when_it_is_told_and_tells_its_seconds_a_step(tmp_path, monkeypatch):
    """In this process; that each has its own, with the setting, is held with WAITS."""
    variables = {"FOLDER": str(tmp_path), "SECONDS": "0.2"} | {"TLCOURSE_DEVICE": "cpu"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    ready, slept = tmp_path / f"ready-{os.getpid()}", []

    def sleep(seconds):
        slept.append(ready.exists())
        (tmp_path / "go").touch()

    monkeypatch.setattr(busy.time, "sleep", sleep)
    exec(compile(busy.TRAINING, "TRAINING", "exec"), {"__name__": "__main__"})
    (taken,) = tmp_path.glob("taken-*")
    assert slept == [True] and 0 < float(taken.read_text()) < 60


def test_two_wait_for_each_other_and_a_notebook_runs_the_same(monkeypatch):
    monkeypatch.setattr(busy, "TRAINING", WAITS)
    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    assert busy.seconds_a_step({"GOMP_SPINCOUNT": "300"}, 2, 0.25) == 300.25
    kernel = {"NOTEBOOK": "import os; os.environ['GOMP_SPINCOUNT'] = '20'"}
    assert busy.seconds_a_step(kernel, 1, 0.5) == 20.5


def test_a_process_that_ends_early_is_told(monkeypatch):
    monkeypatch.setattr(busy, "TRAINING", "raise SystemExit(3)")
    with pytest.raises(RuntimeError, match="ended before it was ready"):
        busy.seconds_a_step({}, 1, 0.1)


def spins(code: str, **variables: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "GOMP_SPINCOUNT"} | variables
    code += "; import os; print(os.environ.get('GOMP_SPINCOUNT'))"
    command = [sys.executable, "-c", code]
    return subprocess.check_output(command, env=environment, text=True).strip()


def test_the_package_sets_how_threads_wait_and_a_setting_of_ones_own_stays():
    assert spins("import tlcourse") == SPINS == busy.SETTINGS[busy.CHOSEN]["GOMP_SPINCOUNT"]
    assert spins("import tlcourse", GOMP_SPINCOUNT="7") == "7"
    assert spins("import sys; sys.modules['torch'] = None; import tlcourse") == "None"  # too late


def test_what_is_stored_costs_little_alone_and_helps_two_at_a_time():
    stored = jobs.stored("busy")
    rows = {row["setting"]: row for row in stored["rows"]}
    assert set(rows) >= set(busy.SETTINGS) and stored["chosen"] == busy.CHOSEN
    chosen, usual = rows[busy.CHOSEN], rows["as libgomp comes"]
    assert chosen["alone, ratio"] <= stored["limits"]["alone"]
    assert chosen["two at a time, ratio"] <= stored["limits"]["two at a time"]
    assert chosen["two at a time"] < usual["two at a time"]
