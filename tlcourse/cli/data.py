"""Lists the data sets, where each comes from, and whether it is as expected."""

from types import SimpleNamespace

from tlcourse.cli.console import report
from tlcourse.cli.options import Argument

OPTIONS = [Argument("name", "one data set (default: all)", required=False)]


def run(arguments: SimpleNamespace) -> int:
    """Describes one data set or all; a data set that is not as expected gets a line."""
    from tlcourse import corpora
    from tlcourse.corpora import catalogue

    names = [catalogue.get(arguments.name).name] if arguments.name else catalogue.CORPORA
    failed = False
    for name in names:
        try:
            print(corpora.describe(name))
        except corpora.DataError as error:
            failed = True
            report(f"[FAIL] {error}")
    return int(failed)


def left(arguments: SimpleNamespace) -> str:
    """Returns what is left behind by a command that was stopped."""
    return "nothing was changed; data sets that are not listed above were not looked at"
