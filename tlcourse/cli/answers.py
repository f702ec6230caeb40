"""Carries your kept answers from one machine to another, in a file."""

import argparse
from pathlib import Path

from tlcourse.cli.parsing import Parser


def add_options(parser: Parser) -> None:
    """The options of `tlcourse answers`."""
    parser.add_argument("way", choices=("export", "import"), help="into the file, or from it")
    parser.add_argument("file", type=Path, metavar="FILE.zip", help="a new one, or one exported")


def run(arguments: argparse.Namespace) -> int:
    """Writes the file, or takes over the answers in it and says of each what became of it."""
    from tlcourse.exercises import answers

    if arguments.way == "import":
        for line in answers.load_from(arguments.file):
            print(line)
        return 0
    count = answers.export(arguments.file)
    print(f"{count} answer{'' if count == 1 else 's'} written to {arguments.file}")
    return 0
