"""Removes your kept answer to one exercise."""

import argparse
import sys

from tlcourse import signals
from tlcourse.cli.parsing import Parser, UsageError


def add_options(parser: Parser) -> None:
    """The options of `tlcourse reset`."""
    parser.add_argument("id", metavar="ID", help="of the exercise, as `tlcourse progress` lists it")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(arguments: argparse.Namespace) -> int:
    """Asks and removes; what is kept of a file that cannot be read is removed, too."""
    from tlcourse.exercises import answers, task

    try:
        id = task.get(arguments.id).id
    except task.Unknown as error:
        raise UsageError(str(error)) from error
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


def left(arguments: argparse.Namespace) -> str:
    """What there is when it was stopped."""
    return "nothing is removed"


def _agreed(id: str) -> bool:
    """Asks on the terminal; raises UsageError where nobody can answer."""
    if not sys.stdin.isatty():
        raise UsageError("expected --yes, as there is no terminal to ask on; nothing is removed")
    try:
        said = input(f"Remove your answer to {id}? [y/N] ")
    except EOFError:
        said = ""
        print()
    return said.strip().lower() in ("y", "yes")
