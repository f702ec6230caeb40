"""`tlcourse run`: what it refuses; that it runs is in `tests/lessons`."""

import subprocess
import sys

import pytest

from tlcourse import files, lessons
from tlcourse.cli import main
from tlcourse.lessons import execution, readme


@pytest.mark.parametrize("by", ["argument", "variable"])
def test_an_unknown_size_is_one_line_that_lists_the_sizes(one_lesson, refused, monkeypatch, by):
    if by == "variable":
        monkeypatch.setenv("TLCOURSE_SIZE", "huge")
    more = ["--size", "huge"] if by == "argument" else []
    assert "tiny, small, full" in refused("run", "00", *more)


def test_where_no_copy_can_be_written_no_cell_is_run(one_lesson, tmp_path, refused, monkeypatch):
    def slow(*arguments, **more):
        raise AssertionError("a cell was run")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(execution, "execute", slow)
    (tmp_path / "runs").write_text("a file", encoding="utf-8")
    told = refused("run", "00", "--size", "tiny")
    assert "can be written to, got runs/lessons: " in told and told.endswith("another folder")
    (tmp_path / "runs").unlink()
    with pytest.raises(AssertionError, match="a cell was run"):
        main(["run", "00", "--size", "tiny"])


def test_outputs_that_cannot_be_committed_are_refused_before_a_cell_is_run(
    one_lesson, tmp_path, refused, monkeypatch
):
    monkeypatch.setattr(execution, "root", lambda: tmp_path)
    (tmp_path / "benchmarks").write_text("a file", encoding="utf-8")
    said = f"a folder of the clone that can be written to, got {tmp_path}/benchmarks/res"
    assert said in refused("run", "00", "--commit-outputs")


def test_committed_outputs_are_followed_by_the_pages_that_show_them(one_lesson, monkeypatch):
    done = []
    monkeypatch.setattr(lessons, "commit_outputs", lambda lesson, size: done.append(lesson.id))
    monkeypatch.setattr(readme, "main", lambda: done.append("README.md"))
    monkeypatch.setattr(subprocess, "run", lambda command, **how: done.append((command, how)))
    assert main(["run", "00", "--commit-outputs"]) == 0
    assert done[:2] == ["00", "README.md"]
    command = [sys.executable, "-m", "benchmarks", "results"]
    assert done[2:] == [(command, {"cwd": files.root(), "check": True})]
