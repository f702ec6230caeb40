"""Grades a folder of submitted lessons: every answer is checked again."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tlcourse.cli.options import Argument, Option

OPTIONS = [
    Argument("folder", "with notebooks, or with files of `tlcourse answers export`", Path),
    Option("--lesson", "the number of the lesson, such as 02", required=True),
    Option(
        "--out",
        "the table to write, NAME.csv; a page NAME.html beside it",
        Path,
        Path("grades.csv"),
    ),
    Option(
        "--variant",
        "a seed of your choice: answers that pass are also checked on inputs drawn by it, which "
        "no learner has seen",
        int,
    ),
]


def run(arguments: SimpleNamespace) -> int:
    """Checks the answers, one process each; writes a table and a page, and prints a line each."""
    from tlcourse import lessons
    from tlcourse.grading import grade, submissions, write_report

    out = arguments.out
    if out.suffix != ".csv":
        raise ValueError(f"expected the name of a table, NAME.csv, got {out}")
    lesson = lessons.get(arguments.lesson).id
    graded = []
    for submission in submissions(arguments.folder, lesson):
        results = grade(submission, arguments.variant)
        graded.append((submission, results))
        print(_line(submission, results))
    print(f"wrote {out} and {write_report(out, graded, lesson)}")
    return 0


def _line(submission: Any, results: Any) -> str:
    passed = sum(result.passed for result in results)
    look = sum(bool(result.look) or result.as_reference for result in results)
    by_heart = sum(result.variant == "failed" for result in results)
    notes = [
        f"{by_heart} failed on hidden cases" * bool(by_heart),
        f"{look} to look at" * bool(look),
        submission.fault,
    ]
    return ", ".join([f"{submission.student}: {passed} of {len(results)}", *filter(None, notes)])


def left(arguments: SimpleNamespace) -> str:
    """Returns what is left behind by a command that was stopped."""
    return "nothing is written before all submissions are checked"
