"""Removes your kept answer to one exercise."""

import sys
from types import SimpleNamespace

from tlcourse import signals
from tlcourse.cli.options import Argument, Option

OPTIONS = [
    Argument("id", "of the exercise, as `tlcourse progress` lists it", metavar="ID"),
    Option("--yes", "do not ask", bool),
]


def run(arguments: SimpleNamespace) -> int:
    """Asks and removes; what is kept of a file that cannot be read is removed, too."""
    from tlcourse.exercises import answers, task

    try:
        id = task.get(arguments.id).id
    except task.Unknown as error:
        raise ValueError(str(error)) from error
    try:
        nothing = answers.read(id) == answers.Kept()
    except answers.Broken:
        nothing = False
    if nothing:
        print(f"Nothing is kept of {id}.")
    elif arguments.yes or _agreed(id):
        signals.too_late()
        answers.forget(id)
        print(f"Your answer to {id} is removed.")
    else:
        print("Nothing is removed.")
    return 0


def left(arguments: SimpleNamespace) -> str:
    """What there is when it was stopped."""
    return "nothing is removed"


def _agreed(id: str) -> bool:
    """Asks on the terminal; raises ValueError where nobody can answer."""
    if not sys.stdin.isatty():
        raise ValueError("expected --yes, as there is no terminal to ask on; nothing is removed")
    try:
        said = input(f"Remove your answer to {id}? [y/N] ")
    except EOFError:
        said = ""
        print()
    return said.strip().lower() in ("y", "yes")
