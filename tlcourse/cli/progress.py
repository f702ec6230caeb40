"""Shows which exercises are solved and tried, their minutes, and what is next."""

import argparse

from tlcourse.cli.parsing import Parser


def add_options(parser: Parser) -> None:
    """`tlcourse progress` has no options."""


def run(arguments: argparse.Namespace) -> int:
    """Prints the table."""
    from tlcourse.exercises import answers, messages, table

    messages.show(table.of(answers.states()))
    return 0
