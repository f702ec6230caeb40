"""For maintainers: a learner who solves everything (`python -m tlcourse.lessons.solved 01 02`).

Runs lessons one after the other with each solution pasted in where its exercise asks for it, and
one folder of kept answers for all, so that what lesson 02 solves comes back in lesson 03. Prints
what the cells tagged `seam` say: there the learner's piece stands beside the course's. Ends with 1
where an exercise was not solved or an answer did not come back.
"""

import argparse
import ast
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tlcourse import sizes
from tlcourse.exercises import session, task
from tlcourse.exercises.messages import MARKS
from tlcourse.lessons import execution, finding
from tlcourse.lessons.finding import Lesson

# `_ = exercise(...)` throws away what an example shows
ASKED = re.compile(r'^(?!_ )(\w+) = exercise\(\s*"([\w.]+)"', re.MULTILINE)
TAG = "seam"  # on the cells that show a learner's piece beside the course's
NOT_THEIRS = (MARKS["wrong"][0], MARKS["open"][0])


def solve(notebook: Any) -> list[str]:
    """Pastes each solution in where it is asked for, in place; returns the exercises' ids."""
    solved = []
    for cell in finding.code_cells(notebook):
        found = ASKED.search(cell.source)
        if found:
            name, id = found.groups()
            cell.source = _pasted(cell.source, name, session.solution_text(task.get(id)))
            solved.append(id)
    return solved


def _pasted(cell: str, name: str, text: str) -> str:
    """A cell with `text` in place of its definition of `name`, or where that comes from elsewhere,
    in front of all.
    """
    lines = cell.split("\n")
    for node in ast.parse(cell).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            lines[node.lineno - 1 : node.end_lineno] = [text.rstrip("\n")]
            return "\n".join(lines)
    return f"{text}\n\n{cell}"


def run(lesson: Lesson, size: str, folder: Path, say: Callable[[str], Any] = print) -> list[str]:
    """Runs a solved lesson with the answers kept in `folder`; returns what was not the learner's.

    Says what is told in the cells tagged `seam`. Raises LessonFailed where a cell raises.
    """
    notebook = finding.read_notebook(lesson.path)
    count = len(solve(notebook))
    variables = execution.environment(size, TLCOURSE_ANSWERS="on", TLCOURSE_MY=str(folder))
    execution.execute(notebook, lesson.path.parent, variables, lambda *told, **how: None)
    say(f"{lesson.title}: {count} exercises solved, {size}")
    amiss = []
    for cell in finding.code_cells(notebook):
        told = "\n".join(_told(cell))
        if TAG in cell.metadata.get("tags", []):
            say("\n".join(f"    {line}" for line in told.splitlines()))
        if ASKED.search(cell.source) or "yours(" in cell.source:
            amiss += [line for line in told.splitlines() if line.startswith(NOT_THEIRS)]
    return amiss


def _told(cell: Any) -> Iterator[str]:
    """The text of a cell's outputs."""
    for output in cell.outputs:
        yield output.get("text", "") or output.get("data", {}).get("text/plain", "")


def main(words: Sequence[str] | None = None) -> int:
    """The command; its answers go to a folder that is removed afterwards."""
    parser = argparse.ArgumentParser(
        prog="python -m tlcourse.lessons.solved", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("lesson", nargs="+", help="numbers in the order of the course")
    parser.add_argument("--size", default="tiny", choices=sizes.SIZES)
    arguments = parser.parse_args(words)
    amiss = []
    with tempfile.TemporaryDirectory() as folder:
        for wanted in arguments.lesson:
            amiss += run(finding.get(wanted), arguments.size, Path(folder))
    for line in amiss:
        print(f"expected the learner's own, got: {line}", file=sys.stderr)
    return 1 if amiss else 0


if __name__ == "__main__":
    sys.exit(main())
