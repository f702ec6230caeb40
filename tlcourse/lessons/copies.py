"""The learner's copy of the lessons, which pulling and updating leave alone."""

from pathlib import Path

from tlcourse.lessons import finding


def learners_copy(folder: Path) -> list[str]:
    """Copies the lessons, outputs cleared, into `folder`; says per file what was done.

    A learner predicts before running, so the copy shows no answers yet. A file that is there is
    never overwritten.
    """
    said = []
    for lesson in finding.every():
        target = folder / lesson.path.name
        if target.exists():
            said.append(f"kept as you left it  {target}")
            continue
        notebook = finding.read_notebook(lesson.path)
        for cell in finding.code_cells(notebook):
            cell.execution_count, cell.outputs = None, []
        finding.write_notebook(notebook, target)
        said.append(f"new                  {target}")
    return said
