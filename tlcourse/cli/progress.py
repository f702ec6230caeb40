"""Shows which exercises you have solved or tried, and which one comes next."""

from types import SimpleNamespace

from tlcourse.cli.console import complain
from tlcourse.cli.options import Option

OPTIONS = [Option("--all", "list every exercise, not only those of this lesson and the next", bool)]


def run(arguments: SimpleNamespace) -> int:
    """Prints the table, and a line on the error stream for each answer that is unreadable."""
    from tlcourse.exercises import answers, messages, table

    kept = answers.states()
    messages.show(table.of(kept, every=arguments.all))
    for line in answers.unreadable(kept).values():
        complain(line)
    return 0
