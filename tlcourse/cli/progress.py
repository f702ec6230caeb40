"""Shows which exercises are solved and tried, their minutes, and what is next."""

import argparse

from tlcourse.cli.parsing import Parser
from tlcourse.cli.saying import complain


def add_options(parser: Parser) -> None:
    """`tlcourse progress` has no options."""


def run(arguments: argparse.Namespace) -> int:
    """Prints the table; what of it could not be read is a line beside it."""
    from tlcourse.exercises import answers, messages, table

    kept = answers.states()
    messages.show(table.of(kept))
    for line in answers.unreadable(kept).values():
        complain(line)
    return 0


def left(arguments: argparse.Namespace) -> str:
    """What there is when it was stopped."""
    return "nothing was changed"
