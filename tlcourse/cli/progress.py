"""Shows which exercises are solved and tried, their minutes, and what is next."""

from types import SimpleNamespace

from tlcourse.cli.console import complain
from tlcourse.cli.options import Option

OPTIONS: list[Option] = []


def run(arguments: SimpleNamespace) -> int:
    """Prints the table, and a line on the error stream for each answer that is unreadable."""
    from tlcourse.exercises import answers, messages, table

    kept = answers.states()
    messages.show(table.of(kept))
    for line in answers.unreadable(kept).values():
        complain(line)
    return 0
