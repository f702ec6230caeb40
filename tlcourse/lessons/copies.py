"""The learner's copy of the lessons, which updates of the course do not touch."""

from pathlib import Path

from tlcourse.lessons import finding


def learners_copy(folder: Path) -> list[str]:
    """Copies the lessons, with outputs cleared, into `folder`; returns a line for each file.

    Outputs are cleared because a learner predicts before running. An existing file is never
    overwritten.
    """
    lines = []
    for lesson in finding.every():
        target = folder / lesson.path.name
        if target.exists():
            lines.append(f"kept as you left it  {target}")
            continue
        notebook = finding.read_notebook(lesson.path)
        for cell in finding.code_cells(notebook):
            cell.execution_count, cell.outputs = None, []
        finding.write_notebook(notebook, target)
        lines.append(f"new                  {target}")
    return lines
