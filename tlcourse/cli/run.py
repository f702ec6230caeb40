"""Executes one lesson from top to bottom without a browser."""

import os
import subprocess
import sys
from types import SimpleNamespace

from tlcourse import files, sizes
from tlcourse.cli.console import complain
from tlcourse.cli.options import Argument, Option

OPTIONS = [
    Argument("lesson", "its number or name, such as 01"),
    Option("--size", f"one of {', '.join(sizes.SIZES)}", shown="TLCOURSE_SIZE, else small"),
    Option(
        "--commit-outputs",
        "for maintainers: run without bf16 and replace the notebook and its stated minutes",
        bool,
    ),
]


def run(arguments: SimpleNamespace) -> int:
    """Executes the lesson and prints each cell's progress; names a cell that raises."""
    from tlcourse import lessons

    lesson = lessons.get(arguments.lesson)
    # What git holds is always small unless asked otherwise, whatever the environment says.
    chosen = None if arguments.commit_outputs else os.environ.get("TLCOURSE_SIZE")
    size = sizes.get(arguments.size or chosen or "small").name
    execute = lessons.commit_outputs if arguments.commit_outputs else lessons.run_lesson
    try:
        execute(lesson, size)
    except lessons.LessonFailed as error:
        complain(f"failed: {error}")
        return 1
    if arguments.commit_outputs:
        from tlcourse.lessons import readme

        readme.main()
        page = [sys.executable, "-m", "benchmarks", "results"]  # RESULTS.md shows lessons' figures
        subprocess.run(page, cwd=files.root(), check=True)
    return 0


def left(arguments: SimpleNamespace) -> str:
    """Returns what is left behind when stopped: a run writes its results at its end."""
    return "nothing was written; the lesson is unchanged"
