"""Grades made-up submissions of lessons: is every verdict right, and how long does it take?

    python -m benchmarks.speed.grading --lesson 02 --students 30
    python -m benchmarks.speed.grading --lesson all --students 300 --variant 4711

Each student hands in one lesson in one of FORMS, and in it, for each exercise, an answer of one of
KINDS, both by chance. Prints the verdicts that are wrong, and a table of kinds and of forms.
"""

import argparse
import json
import random
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.exercises import standard
from tlcourse.exercises import source, task
from tlcourse.exercises.session import solution_text, without_annotations
from tlcourse.grading import grade, submissions
from tlcourse.grading.checking import SUSPICIOUS, Result
from tlcourse.grading.submitted import words_of

BODIES = {
    "loop": "while True: pass",
    "crash": "__import__('os').kill(__import__('os').getpid(), 9)",
    "exit": "raise SystemExit(0)",
    "memory": "[0] * 10**11",
    "patch": """for module in list(__import__("sys").modules.values()):
        if getattr(module, "__name__", "").endswith("exercises.task"):
            module.agree = lambda *given, **named: True""",
}
RIGHT = ("reference", "renamed", "another way")
KINDS = dict.fromkeys(RIGHT, 4) | {"mistake": 8, "nothing": 4, "loop": 0.2}
KINDS |= dict.fromkeys(("crash", "exit", "memory", "patch"), 0.7)
Cells = list[list[str]]  # of each exercise, the source of its cells


def answer(exercise: task.Exercise, kind: str, chance: random.Random) -> tuple[str, str]:
    """The name and the source of an answer of this kind."""
    name, text = exercise.name, solution_text(exercise)
    if kind == "nothing":
        return "", ""
    if kind in BODIES:
        return name, f"def {name}(*given, **named):\n    {BODIES[kind]}\n"
    if kind in ("mistake", "another way"):
        return chance.choice(texts(exercise.id, kind))
    if callable(exercise.solution):
        name = exercise.solution.__name__
    return name, _renamed(text) if kind == "renamed" else text


@cache
def texts(id: str, kind: str) -> list[tuple[str, str]]:
    """The names and sources of known mistakes, or of the right answers of the tests.

    Those that use what an answer lacks, or may not use, are left out.
    """
    exercise = task.get(id)
    given = [each.wrong for each in exercise.catalogue if callable(each.wrong)]
    if kind == "another way":
        given = standard.RIGHT[id]
    known = {task.get(id).name: None for id in exercise.builds_on}
    exec(exercise.imports, known)
    pairs = [(name, without_annotations(text)) for name, text in map(source.cut, given)]
    return [
        (name, text)
        for name, text in pairs
        if text
        and not source.outside_names(text, known)
        and not (words_of(text) - words_of(exercise.imports)) & SUSPICIOUS
    ]


def _renamed(text: str) -> str:
    local = set(re.findall(r"^ +(\w+) = ", text, re.MULTILINE))
    local -= set(re.findall(r"\w+", " ".join(re.findall(r"def .*", text))))
    for each in sorted(local):
        text = re.sub(rf"(?<![\w.]){each}(?!\w|=[^=])", f"{each}_2", text)
    return text


def _twice(imports: str, text: str, call: str) -> list[str]:
    """An answer after another one of the same name."""
    name = call.rpartition(", ")[2].removesuffix(")")
    return [f"def {name}(*given): return 0", call, imports, text, call]


def _by_another_name(imports: str, text: str, call: str) -> list[str]:
    """An answer that is handed in by a second name."""
    before, _, name = call.rpartition(", ")
    return [imports, text, f"mine = {name.removesuffix(')')}", f"{before}, mine)"]


FORMS: dict[str, Callable[[Cells], Cells]] = {
    "a cell each": lambda cells: [["\n".join(of_one)] for of_one in cells],
    "split": lambda cells: cells,
    "copied": lambda cells: [of_one * 2 for of_one in cells],
    "reordered": lambda cells: cells[::-1],
    "imports first": lambda cells: [[each[0] for each in cells if each], *(e[1:] for e in cells)],
    "two definitions": lambda cells: [_twice(*of_one) if of_one else [] for of_one in cells],
    "by another name": lambda cells: [_by_another_name(*of) if of else [] for of in cells],
    "first deleted": lambda cells: cells[1:],
    "with magics": lambda cells: [["%matplotlib inline\n!ls", *of_one] for of_one in cells],
    "another kernel, outputs": lambda cells: cells,
    "broken": lambda cells: cells,
}


def write(path: Path, cells: Cells, form: str) -> None:
    """Writes a notebook of this form."""
    book = new_notebook(cells=[new_markdown_cell("# A lesson")])
    for each in FORMS[form](cells):
        book.cells += [new_code_cell(text) for text in each]
    if form == "another kernel, outputs":
        book.metadata["kernelspec"] = {"name": "julia", "display_name": "Julia"}
        for cell in book.cells[1:]:
            cell.outputs = [new_output("stream", text="Solved: all stages passed.")]
    text = json.dumps(book)
    path.write_text(text[: len(text) // 2] if form == "broken" else text, encoding="utf-8")


def hand_in(folder: Path, ids: list[str], count: int, chance: random.Random) -> Iterator[tuple]:
    """Writes the notebooks of a lesson; yields ((student, id), kind, form) of each answer."""
    for number in range(count):
        student, cells = f"student-{number:03}", []
        form = chance.choice(list(FORMS))
        for at, id in enumerate(ids):
            exercise = task.get(id)
            (kind,) = chance.choices([*KINDS], [*KINDS.values()])
            if kind in ("mistake", "another way") and not texts(exercise.id, kind):
                kind = "renamed"
            name, text = answer(exercise, kind, chance)
            if form == "broken" or (form == "first deleted" and at == 0):
                kind = "nothing"
            call = f'handed_in = exercise("{id}", {name})'
            cells.append([exercise.imports, text, call] if name else [])
            yield (student, id), kind, form
        write(folder / f"{student}.ipynb", cells, form)


def due(kind: str, result: Result) -> bool:
    """Whether the verdict on an answer of this kind is right."""
    return result.passed == (kind in RIGHT) and result.as_reference >= (kind == "reference")


def main() -> None:
    """Builds the submissions, grades them, and prints the verdicts that were wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--lesson", default="02", help="or `all`, which takes turns")
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--variant", type=int, help="grade with the hidden cases of this seed")
    arguments = parser.parse_args()
    standard.load_tables()
    lessons: dict[str, list[str]] = {}
    for id in task.ids():
        if arguments.lesson in ("all", task.facts(id).lesson):
            lessons.setdefault(task.facts(id).lesson, []).append(id)
    chance = random.Random(arguments.seed)
    answers, wrong = Counter[str](), Counter[str]()
    spent: dict[str, float] = defaultdict(float)  # seconds
    for at, (lesson, ids) in enumerate(lessons.items()):
        count = len(range(at, arguments.students, len(lessons)))
        with tempfile.TemporaryDirectory() as folder:
            facts = {each: what for each, *what in hand_in(Path(folder), ids, count, chance)}
            began = time.monotonic()
            for submission in submissions(folder, lesson) if count else []:
                for result in grade(submission, arguments.variant):
                    kind, form = facts[submission.student, result.id]
                    right = due(kind, result)
                    for name in (kind, form, "all"):
                        answers[name] += 1
                        wrong[name] += not right
                        spent[name] += result.seconds
                    if not right:
                        print(f"{submission.student}, {form}, {kind}: {result}")
        seconds = time.monotonic() - began
        print(f"lesson {lesson}: {count} submissions in {seconds:.0f} s", flush=True)
    print(f"{'':24}{'answers':>8}{'wrong':>8}{'seconds':>8}")
    for name in (*KINDS, *FORMS, "all"):
        print(f"{name:24}{answers[name]:8}{wrong[name]:8}{spent[name]:8.0f}")


if __name__ == "__main__":
    main()
