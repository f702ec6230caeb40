"""The command line as a person meets it, in child processes."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from packaging.requirements import Requirement

from tlcourse import checking, cli, lessons


def tlcourse(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs `python -m tlcourse` with `arguments`."""
    return subprocess.run(
        [sys.executable, "-m", "tlcourse", *arguments],
        env=os.environ | variables,
        capture_output=True,
        encoding="utf-8",
    )


@pytest.fixture
def one_lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> lessons.Lesson:
    """A course of one short lesson, 00, in place of the real one."""
    cells = [
        nbformat.v4.new_markdown_cell("# 00 · A lesson"),
        nbformat.v4.new_code_cell("1 + 1", outputs=[], execution_count=3),
    ]
    path = tmp_path / "notebooks" / "00_a_lesson.ipynb"
    path.parent.mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    lesson = lessons.Lesson("00", "a_lesson", path)
    monkeypatch.setattr(lessons, "every", lambda: [lesson])
    return lesson


@pytest.mark.parametrize(
    ("arguments", "listed"),
    [
        (["run", "99"], "expected a lesson out of"),
        (["run", "no_such_lesson"], "expected a lesson out of"),
        (["sing"], "check"),
        (["data", "no-such-data"], "wikitext-2"),
        ([], "command"),
        (["run"], "lesson"),
    ],
)
def test_a_wrong_word_is_one_line_that_lists_the_right_ones(arguments, listed, capsys) -> None:
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert listed in err


def test_the_exit_code_of_a_wrong_word_reaches_the_shell() -> None:
    result = tlcourse("sing")
    assert result.returncode == 2
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("by", ["argument", "variable"])
def test_an_unknown_size_is_one_line_that_lists_the_sizes(one_lesson, capsys, monkeypatch, by):
    if by == "variable":
        monkeypatch.setenv("TLCOURSE_SIZE", "huge")
    assert cli.main(["run", "00", *(["--size", "huge"] if by == "argument" else [])]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert "tiny, small, full" in said


def test_help_is_quick_and_names_every_command() -> None:
    code = "import sys; from tlcourse import cli; cli.main(['--help'])"
    heavy = "import atexit, sys; atexit.register(lambda: print('torch' in sys.modules))\n"
    result = subprocess.run(
        [sys.executable, "-c", heavy + code], capture_output=True, encoding="utf-8"
    )
    for command in ("check", "lab", "run", "data", "pretrain", "evaluate", "adapt", "predict"):
        assert f"    {command} " in result.stdout
    assert result.stdout.splitlines()[-1] == "False"


def test_check_says_ok(capsys) -> None:
    code = cli.main(["check"])
    said = capsys.readouterr().out
    assert code == 0, said
    assert "[OK]   torch " in said
    assert "CPU thread" in said or "NVIDIA" in said


def test_check_says_what_to_do(capsys, monkeypatch) -> None:
    monkeypatch.setenv("TLCOURSE_DEVICE", "abacus")
    monkeypatch.setenv("TLCOURSE_SIZE", "huge")
    assert cli.main(["check"]) == 1
    failed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("[FAIL]")]
    assert len(failed) == 2
    assert any("unset TLCOURSE_DEVICE" in line for line in failed)


@pytest.mark.parametrize(
    ("asked", "good"),
    [("numpy", True), ("numpy>=1.0", True), ("numpy>=999", False), ("nOne>=1", False)],
)
def test_versions(asked: str, good: bool) -> None:
    result = checking.version_result(Requirement(asked))
    assert result.good == good
    assert good or f'pip install "{asked}"' in str(result)


@pytest.mark.parametrize(
    ("there", "good"),
    [
        ("2.9.0", True),
        ("2.9", True),
        ("2.10.1", True),
        ("2.9.0+cpu", True),
        ("2.9.0a0+50eac811a6.nv25.09", True),
        ("2.11.0.dev20260801", True),
        ("2.8.1", False),
        ("1.19", False),
    ],
)
def test_a_version_is_more_than_its_letters(monkeypatch, there: str, good: bool) -> None:
    monkeypatch.setattr(checking.metadata, "version", lambda name: there)
    result = checking.version_result(Requirement("torch>=2.9.0"))
    assert (result.good, result.what) == (good, f"torch {there} (at least 2.9.0)")


def test_lab_copies_new_lessons_and_never_overwrites(one_lesson, tmp_path, capsys) -> None:
    folder = tmp_path / "my"
    command = ["lab", "--prepare-only", "--folder", str(folder)]
    assert cli.main(command) == 0
    copy = folder / one_lesson.path.name
    assert capsys.readouterr().out.startswith("new ")
    assert lessons.read_notebook(copy).cells[1].execution_count is None

    copy.write_text("my own work", encoding="utf-8")
    assert cli.main(command) == 0
    assert "kept as you left it" in capsys.readouterr().out
    assert copy.read_text(encoding="utf-8") == "my own work"
