"""Grades made-up submissions of lessons: is every verdict right, and how long does it take?

    python -m benchmarks.speed.grading --lesson 02 --students 30

Each student hands in, for each exercise, by chance: the reference, the reference with other names,
a known mistake, nothing, an endless loop, or code that kills its process.
"""

import argparse
import random
import re
import tempfile
import time
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from tlcourse.exercises import source, task
from tlcourse.exercises.session import solution_text, without_annotations
from tlcourse.grading import grade, submissions

KINDS = {"reference": 5, "renamed": 5, "mistake": 8, "nothing": 4, "loop": 0.3, "crash": 1}
BODIES = {
    "loop": "while True: pass",
    "crash": "__import__('os').kill(__import__('os').getpid(), 9)",
}


def answer(exercise: task.Exercise, kind: str, chance: random.Random) -> tuple[str, bool]:
    """A cell that hands in an answer of this kind, and whether it must pass."""
    name = exercise.name
    if kind == "mistake":
        wrong = [source.cut(each.wrong) for each in exercise.catalogue if callable(each.wrong)]
        wrong = [(name, text) for name, text in wrong if text]
        if not wrong:
            return "", False
        name, text = chance.choice(wrong)
        text = without_annotations(text)
    elif kind == "nothing":
        return "", False
    elif kind in BODIES:
        text = f"def {name}(*given, **named):\n    {BODIES[kind]}\n"
    else:
        text = solution_text(exercise)
        if callable(exercise.solution):
            name = exercise.solution.__name__
        if kind == "renamed":
            local = set(re.findall(r"^ +(\w+) = ", text, re.MULTILINE))
            local -= set(re.findall(r"\w+", " ".join(re.findall(r"def .*", text))))
            for each in sorted(local):
                text = re.sub(rf"(?<![\w.]){each}(?!\w|=[^=])", f"{each}_2", text)
    cell = f'{exercise.imports}\n{text}\nhanded_in = exercise("{exercise.id}", {name})'
    return cell, kind in ("reference", "renamed")


def main() -> None:
    """Builds the submissions, grades them, and prints the verdicts that were wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--lesson", default="02")
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    ids = [id for id in task.ids() if task.facts(id).lesson == arguments.lesson]
    expected: dict[tuple[str, str], tuple[str, bool]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.students):
            student, cells = f"student-{number:03}", []
            for id in ids:
                (kind,) = chance.choices([*KINDS], [*KINDS.values()])
                cell, passes = answer(task.get(id), kind, chance)
                expected[student, id] = kind, passes
                cells.append(new_code_cell(cell))
            nbformat.write(new_notebook(cells=cells), Path(folder) / f"{student}.ipynb")
        began, wrong, seen = time.monotonic(), 0, 0
        for submission in submissions(folder, arguments.lesson):
            for result in grade(submission):
                kind, passes = expected[submission.student, result.id]
                seen += 1
                if result.passed != passes or result.as_reference < (kind == "reference"):
                    wrong += 1
                    print(f"{submission.student} {result.id} {kind}: {result}")
    seconds = time.monotonic() - began
    print(
        f"lesson {arguments.lesson}: {arguments.students} submissions, {seen} answers in "
        f"{seconds:.0f} s; {wrong} verdicts wrong"
    )


if __name__ == "__main__":
    main()
