"""Writes copies of lessons to hand out to a class."""

from pathlib import Path
from types import SimpleNamespace

from tlcourse.cli.options import Argument, Option

OPTIONS = [
    Argument("lessons", "their numbers, such as 02 02b", nargs=-1, required=True),
    Option("--out", "the folder to write them to", Path, required=True),
    Option("--no-solutions", "`hint` still answers in these copies, `solution` does not", bool),
]


def run(arguments: SimpleNamespace) -> int:
    """Writes the copies, without outputs; prints a line for each."""
    from tlcourse import lessons

    for lesson in [lessons.get(name) for name in arguments.lessons]:
        with_solutions = not arguments.no_solutions
        print(lessons.hand_out(lesson, arguments.out, solutions=with_solutions))
    return 0


def left(arguments: SimpleNamespace) -> str:
    """Returns what is left behind when stopped: each lesson is copied whole or not at all."""
    return f"the copies that were announced are in {arguments.out}"
