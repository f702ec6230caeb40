"""The learner's copy of the lessons, which updates of the course do not touch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from nbformat.v4 import new_code_cell

from tlcourse.lessons import finding, solved

NO_SOLUTIONS = """import os

os.environ["TLCOURSE_SOLUTIONS"] = "off"  # in this copy, solution() does not answer"""


def _as_it_is(notebook: Any) -> None:
    pass


def learners_copy(folder: Path) -> list[str]:
    """Copies the lessons, with outputs cleared, into `folder`; returns a line for each file.

    Outputs are cleared because a learner predicts before running. An existing file is never
    overwritten.
    """
    return [_copied(lesson, folder / lesson.path.name) for lesson in finding.every()]


def solved_copy(lesson: finding.Lesson, folder: Path) -> tuple[Path, str]:
    """Copies a lesson as NAME.solved.ipynb, with the solutions pasted in; its path and a line.

    An existing file is never overwritten.
    """
    target = folder / f"{lesson.path.stem}.solved.ipynb"
    return target, _copied(lesson, target, solved.solve)


def hand_out(lesson: finding.Lesson, folder: Path, *, solutions: bool = True) -> str:
    """Copies a lesson for a class, with outputs cleared; without `solutions`, they are not shown.

    An existing file is never overwritten; returns a line that says what was done.
    """

    def without(notebook: Any) -> None:
        place = next(at for at, cell in enumerate(notebook.cells) if cell.id == "set-up")
        notebook.cells.insert(place, new_code_cell(NO_SOLUTIONS, id="no-solutions"))

    change = _as_it_is if solutions else without
    return _copied(lesson, folder / lesson.path.name, change)


def _copied(lesson: finding.Lesson, target: Path, change: Callable = _as_it_is) -> str:
    """Copies one lesson, changed and without its outputs, unless there is a file already."""
    if target.exists():
        return f"kept as you left it  {target}"
    notebook = finding.read_notebook(lesson.path)
    for cell in finding.code_cells(notebook):
        cell.execution_count, cell.outputs = None, []
    change(notebook)
    finding.write_notebook(notebook, target)
    return f"new                  {target}"
