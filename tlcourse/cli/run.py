"""Executes one lesson from top to bottom without a browser."""

import argparse
import os
import subprocess
import sys

from tlcourse import files, sizes
from tlcourse.cli.parsing import Parser
from tlcourse.cli.saying import complain


def add_options(parser: Parser) -> None:
    """The options of `tlcourse run`."""
    parser.add_argument("lesson", help="its number or name, such as 01")
    parser.add_argument(
        "--size", help=f"out of {', '.join(sizes.SIZES)} (default: TLCOURSE_SIZE, else small)"
    )
    parser.add_argument(
        "--commit-outputs",
        action="store_true",
        help="for maintainers: run without bf16 and replace the notebook and its stated minutes",
    )


def run(arguments: argparse.Namespace) -> int:
    """Executes the lesson and says each cell; a cell that raises is named."""
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


def left(arguments: argparse.Namespace) -> str:
    """What there is when it was stopped: what a run writes is written at its end, at once."""
    return "nothing was written; the lesson is unchanged"
