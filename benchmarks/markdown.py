"""Parts of the sections of RESULTS.md: tables, and shares with their intervals in percent."""

from collections.abc import Iterable, Sequence


def section(*blocks: str) -> str:
    """Headings, paragraphs and tables, one below the other."""
    return "\n\n".join(blocks)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table whose first `left` columns are aligned left, the others right."""
    rule = "|" + "---|" * left + "---:|" * (len(head) - left)
    first, *lines = (f"| {' | '.join(cells)} |" for cells in (head, *rows))
    return "\n".join([first.replace("|  |", "| |"), rule, *lines])


def percent(interval: Sequence[float]) -> str:
    """A share and the ends of its interval, as "50.0 (40.0 to 60.0)"."""
    return "{:.1f} ({:.1f} to {:.1f})".format(*(100 * value for value in interval))


def points(interval: Sequence[float]) -> str:
    """A difference of shares and the ends of its interval, as "+4.0 (+3.0 to +5.0)"."""
    return "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * value for value in interval))
