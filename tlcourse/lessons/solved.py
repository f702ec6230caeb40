"""For maintainers: a learner who solves everything (`python -m tlcourse.lessons.solved 01 02`).

Runs lessons one after the other with all solutions pasted in, and one folder of kept answers, so
that answers of lesson 02 are used in lesson 03. Prints the outputs of the cells tagged `seam`,
which show the learner's code beside the course's. Exits with 1 if an exercise was not solved or an
answer was not used again.
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

# not `_ = exercise(...)`, which only shows an example
HANDED_IN = re.compile(r'^(?!_ )(\w+) = exercise\(\s*"([\w.]+)"', re.MULTILINE)
TAG = "seam"  # of the cells that show a learner's code beside the course's
NOT_LEARNERS = (MARKS["wrong"][0], MARKS["open"][0])


def solve(notebook: Any) -> list[str]:
    """Pastes the solutions into a notebook, in place; returns the ids of its exercises."""
    solved = []
    for cell in finding.code_cells(notebook):
        match = HANDED_IN.search(cell.source)
        if match:
            name, id = match.groups()
            cell.source = pasted(cell.source, name, session.solution_text(task.get(id)))
            solved.append(id)
    return solved


def pasted(cell: str, name: str, text: str) -> str:
    """A cell with `text` in place of its definition of `name`, or else at its beginning."""
    lines = cell.split("\n")
    for node in ast.parse(cell).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            lines[node.lineno - 1 : node.end_lineno] = [text.rstrip("\n")]
            return "\n".join(lines)
    return f"{text}\n\n{cell}"


def run(lesson: Lesson, size: str, folder: Path, say: Callable[[str], Any] = print) -> list[str]:
    """Runs a solved lesson with the answers kept in `folder`.

    Returns the lines which say that an answer was not the learner's, and passes the outputs of the
    cells tagged `seam` to `say`. Raises LessonFailed if a cell raises.
    """
    notebook = finding.read_notebook(lesson.path)
    count = len(solve(notebook))
    variables = execution.environment(size, TLCOURSE_ANSWERS="on", TLCOURSE_MY=str(folder))
    execution.execute(notebook, lesson.path.parent, variables, lambda *lines, **options: None)
    say(f"{lesson.title}: {count} exercises solved, {size}")
    failures = []
    for cell in finding.code_cells(notebook):
        lines = "\n".join(_output_texts(cell)).splitlines()
        if TAG in cell.metadata.get("tags", []):
            say("\n".join(f"    {line}" for line in lines))
        if HANDED_IN.search(cell.source) or "yours(" in cell.source:
            failures += [line for line in lines if line.startswith(NOT_LEARNERS)]
    return failures


def _output_texts(cell: Any) -> Iterator[str]:
    """The texts of a cell's outputs."""
    for output in cell.outputs:
        yield output.get("text", "") or output.get("data", {}).get("text/plain", "")


def main(words: Sequence[str] | None = None) -> int:
    """The command; answers are kept in a temporary folder."""
    parser = argparse.ArgumentParser(
        prog="python -m tlcourse.lessons.solved", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("lesson", nargs="+", help="numbers in the order of the course")
    parser.add_argument("--size", default="tiny", choices=sizes.SIZES)
    arguments = parser.parse_args(words)
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for number in arguments.lesson:
            failures += run(finding.get(number), arguments.size, Path(folder))
    for line in failures:
        print(f"expected the learner's own, got: {line}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
