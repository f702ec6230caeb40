"""Finished runs: carried to a file and back, nothing worked twice, nothing lost."""

import json

import pytest

from benchmarks import run_cache, runner
from tests.benchmarks.example import Job
from tests.benchmarks.test_runner import checkpoint


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_cache, "FOLDER", tmp_path / "finished")


def test_runs_are_kept_put_back_and_not_worked_again(tmp_path, monkeypatch, capsys):
    asked = [Job(checkpoint(b"one"), missed) for missed in (3, 1, 2)]
    found = [job.run() for job in asked]
    assert run_cache.main(["keep", "example"]) == 0
    assert "example: 3 runs are kept in example.jsonl" in capsys.readouterr().out
    monkeypatch.setattr(runner, "FOLDER", tmp_path / "another machine")
    assert run_cache.main(["restore"]) == 0
    monkeypatch.setattr(Job, "work", lambda job: pytest.fail("it works again"))
    assert [job.run() for job in asked] == found
    assert "example: 3 runs were put back" in capsys.readouterr().out
    assert run_cache.restore("example") == 0


def test_runs_of_another_machine_stay_and_the_file_does_not_depend_on_the_order(
    tmp_path, monkeypatch
):
    first, second = (Job(checkpoint(b"one"), missed) for missed in (4, 5))
    first.run()
    run_cache.keep("example")
    monkeypatch.setattr(runner, "FOLDER", tmp_path / "another machine")
    second.run()
    assert run_cache.keep("example") == 2
    text = (run_cache.FOLDER / "example.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line)["key"] for line in text.splitlines()] == sorted(
        [first.key(), second.key()]
    )
    run_cache.restore("example")
    assert run_cache.keep("example") == 2
    assert (run_cache.FOLDER / "example.jsonl").read_text(encoding="utf-8") == text


def test_a_study_without_runs_is_said():
    with pytest.raises(FileNotFoundError, match="has the study nothing run here"):
        run_cache.keep("nothing")
