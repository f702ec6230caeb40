"""Removes your kept answer to one exercise."""

import sys
from types import SimpleNamespace

from tlcourse import signals
from tlcourse.cli.options import Argument, Option

OPTIONS = [
    Argument("id", "of the exercise, as `tlcourse progress --all` lists it", metavar="ID"),
    Option("--yes", "do not ask", bool),
]


def run(arguments: SimpleNamespace) -> int:
    """Removes the answer after a question; one that is unreadable can be removed, too."""
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
    """Returns what is left behind by a command that was stopped."""
    return "nothing is removed"


def _agreed(id: str) -> bool:
    """True if the user agrees on the terminal; raises ValueError if there is no terminal."""
    if not sys.stdin.isatty():
        raise ValueError("expected --yes, as there is no terminal to ask on; nothing is removed")
    try:
        reply = input(f"Remove your answer to {id}? [y/N] ")
    except EOFError:
        reply = ""
        print()
    return reply.strip().lower() in ("y", "yes")
