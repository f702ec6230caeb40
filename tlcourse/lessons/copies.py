"""The learner's copy of the lessons, which updates of the course do not touch."""

from collections.abc import Callable
from pathlib import Path

from tlcourse.lessons import finding, solved


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


def _copied(lesson: finding.Lesson, target: Path, change: Callable = lambda notebook: None) -> str:
    """Copies one lesson, changed and without its outputs, unless there is a file already."""
    if target.exists():
        return f"kept as you left it  {target}"
    notebook = finding.read_notebook(lesson.path)
    for cell in finding.code_cells(notebook):
        cell.execution_count, cell.outputs = None, []
    change(notebook)
    finding.write_notebook(notebook, target)
    return f"new                  {target}"
