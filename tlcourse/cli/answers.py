"""Exports your kept answers to a file, or imports them from one."""

from pathlib import Path
from types import SimpleNamespace

from tlcourse.cli.options import Argument

WAYS = ("export", "import")
OPTIONS = [
    Argument("way", "into FILE, or from it", WAYS, metavar="|".join(WAYS)),
    Argument("file", "a new one, or one exported", Path, metavar="FILE.zip"),
]


def run(arguments: SimpleNamespace) -> int:
    """Writes the file, or imports the answers in it and prints the outcome of each."""
    from tlcourse.exercises import answers

    work = answers.export if arguments.way == "export" else answers.load_from
    print(work(arguments.file))
    return 0


def left(arguments: SimpleNamespace) -> str:
    """Returns what is left behind when stopped: each file is written whole or not at all."""
    if arguments.way == "import":
        return (
            "each answer is imported whole or not at all; the same command again imports the rest"
        )
    written = arguments.file.exists()
    return f"{arguments.file} is written" if written else "nothing was written"
