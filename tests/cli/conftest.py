"""What several tests of commands need."""

from pathlib import Path

import nbformat
import pytest

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
