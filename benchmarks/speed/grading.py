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
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
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
KINDS = dict.fromkeys(RIGHT, 4) | {"mistake": 8, "nothing": 4, "loop": 0.1}
KINDS |= dict.fromkeys(("crash", "exit", "memory", "patch"), 0.7)
Cells = list[list[str]]  # of each exercise, the source of its cells


def answer(exercise: task.Exercise, kind: str, chance: random.Random) -> tuple[str, str]:
    """The name and the source of an answer of this kind; "" if there is none."""
    name, text = exercise.name, solution_text(exercise)
    if kind in BODIES:
        return name, f"def {name}(*given, **named):\n    {BODIES[kind]}\n"
    if kind in ("mistake", "another way"):
        known = [each.wrong for each in exercise.catalogue if callable(each.wrong)]
        known = known if kind == "mistake" else standard.RIGHT[exercise.id]
        pairs = [(name, without_annotations(text)) for name, text in map(source.cut, known)]
        pairs = [each for each in pairs if _stands_alone(exercise, each[1])]
        return chance.choice(pairs) if pairs else ("", "")
    if callable(exercise.solution):
        name = exercise.solution.__name__
    return name, _renamed(text) if kind == "renamed" else text


def _stands_alone(exercise: task.Exercise, text: str) -> bool:
    """Whether a text of the course uses nothing that an answer lacks or may not use."""
    known = {task.get(id).name: None for id in exercise.builds_on}
    exec(exercise.imports, known)
    words = words_of(text) - words_of(exercise.imports)
    return bool(text) and not source.outside_names(text, known) and not words & SUSPICIOUS


def _renamed(text: str) -> str:
    local = set(re.findall(r"^ +(\w+) = ", text, re.MULTILINE))
    local -= set(re.findall(r"\w+", " ".join(re.findall(r"def .*", text))))
    for each in sorted(local):
        text = re.sub(rf"(?<![\w.]){each}(?!\w|=[^=])", f"{each}_2", text)
    return text


def _handed_in_before(of_one: list[str]) -> list[str]:
    """An answer after another one of the same name."""
    if not of_one:
        return []
    name = of_one[-1].rpartition(", ")[2].removesuffix(")")
    return [f"def {name}(*given): return 0", of_one[-1], *of_one]


FORMS: dict[str, Callable[[Cells], Cells]] = {
    "a cell each": lambda cells: [["\n".join(of_one)] for of_one in cells],
    "split": lambda cells: cells,
    "copied": lambda cells: [of_one * 2 for of_one in cells],
    "reordered": lambda cells: cells[::-1],
    "imports first": lambda cells: [[each[0] for each in cells if each], *(e[1:] for e in cells)],
    "two definitions": lambda cells: [*map(_handed_in_before, cells)],
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
        book.metadata["kernelspec"] = {
            "name": "julia",
            "display_name": "Julia",
            "language": "julia",
        }
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
            name, text = ("", "") if kind == "nothing" else answer(exercise, kind, chance)
            if not name or form == "broken" or (form == "first deleted" and at == 0):
                kind = "nothing"
            call = f'handed_in = exercise("{id}", {name})'
            cells.append([exercise.imports, text, call] if name else [])
            yield (student, id), kind, form
        write(folder / f"{student}.ipynb", cells, form)


def due(kind: str, result: Result) -> bool:
    """Whether the verdict on an answer of this kind is right."""
    return result.passed == (kind in RIGHT) and result.as_reference >= (kind == "reference")


def table(counts: Mapping[str, list[float]]) -> str:
    """The rows of answers, wrong verdicts and seconds."""
    rows = (
        f"{name:24}{n:8}{wrong:8}{seconds:8.0f}" for name, (n, wrong, seconds) in counts.items()
    )
    return "\n".join([f"{'':24}{'answers':>8}{'wrong':>8}{'seconds':>8}", *rows])


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
    counts: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0.0])
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
                        added = 1, not right, result.seconds
                        counts[name] = [sum(each) for each in zip(counts[name], added, strict=True)]
                    if not right:
                        print(f"{submission.student}, {form}, {kind}: {result}")
        seconds = time.monotonic() - began
        print(f"lesson {lesson}: {count} submissions in {seconds:.0f} s", flush=True)
    print(table(counts))


if __name__ == "__main__":
    main()
