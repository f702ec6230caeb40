"""What several tests of commands need."""

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from tlcourse.cli import main
from tlcourse.lessons import Lesson, finding


@pytest.fixture
def one_lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lesson:
    """A course of one short lesson, 00, in place of the real one."""
    cells = [
        nbformat.v4.new_markdown_cell("# 00 · A lesson"),
        nbformat.v4.new_code_cell("1 + 1", outputs=[], execution_count=3),
    ]
    path = tmp_path / "notebooks" / "00_a_lesson.ipynb"
    path.parent.mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    lesson = Lesson("00", "a_lesson", path)
    monkeypatch.setattr(finding, "every", lambda: [lesson])
    return lesson


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Returns a function that runs a command, which must exit with 2, and returns its one line."""

    def run(*words: str) -> str:
        capsys.readouterr()
        assert main([*words]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        return line

    return run
