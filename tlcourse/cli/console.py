"""Lines on a terminal, in colour if it has colours."""

import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


def console(stream: TextIO) -> "Console":
    """Returns a console of rich that prints text as it stands and leaves a closed pipe to `main`.

    It honours NO_COLOR and TERM, and knows the terminals of Windows.
    """
    from rich.console import Console  # a tenth of a second, of which most commands need none

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            raise  # the BrokenPipeError that is being handled

    return Plain(
        file=stream, force_jupyter=False, highlight=False, markup=False, emoji=False, soft_wrap=True
    )


def complain(text: str) -> None:
    """Prints a line on the error stream that says what went wrong."""
    _print("tlcourse:", "red", f" {text}", sys.stderr)


def report(line: str) -> None:
    """Prints a line that begins with [OK], which is green, or with [FAIL], which is red."""
    mark, rest = line.split("]", 1)
    _print(f"{mark}]", "green" if mark == "[OK" else "red", rest, sys.stdout)


def _print(mark: str, colour: str, rest: str, stream: TextIO) -> None:
    from rich.text import Text

    console(stream).print(Text.assemble((mark, colour), rest))
