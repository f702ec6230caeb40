"""Lines on a terminal: a little colour where it has it; the words are the same without."""

import os
import sys
from typing import TextIO

COLOURS = {"red": 31, "green": 32}


def painted(text: str, colour: str, stream: TextIO) -> str:
    """`text` in a colour, or as it is: in a file, with NO_COLOR, on a terminal without."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty()
    old = sys.platform == "win32" and not {"WT_SESSION", "TERM"} & set(os.environ)
    return text if plain or old else f"\x1b[{COLOURS[colour]}m{text}\x1b[0m"


def complain(text: str) -> None:
    """Says on the error stream that something went wrong."""
    print(f"{painted('tlcourse:', 'red', sys.stderr)} {text}", file=sys.stderr)


def report(line: str) -> None:
    """Prints a line that begins with [OK], which is green, or with [FAIL], which is red."""
    mark, rest = line.split("]", 1)
    print(painted(f"{mark}]", "green" if mark == "[OK" else "red", sys.stdout) + rest)
