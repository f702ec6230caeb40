"""Parts of the sections of RESULTS.md: tables, their cells, and what a section rests on."""

from collections.abc import Container, Iterable, Mapping, Sequence

from tlcourse.metrics import wilson_interval


def section(*blocks: str) -> str:
    """Headings, paragraphs and tables, one below the other."""
    return "\n\n".join(blocks)


def table(
    head: Sequence[str], rows: Iterable[Sequence[str | int]], left: Container[int] = (0,)
) -> str:
    """A table whose columns are aligned right, except for those whose numbers are in `left`."""
    rule = "|" + "".join("---|" if n in left else "---:|" for n in range(len(head)))
    first, *lines = (line(*cells) for cells in (head, *rows))
    if not head[0]:
        first = "| |" + first.removeprefix("|  |")
    return "\n".join([first, rule, *lines])


def percent(interval: Sequence[float]) -> str:
    """A share and the ends of its interval, as "50.0 (40.0 to 60.0)"."""
    return "{:.1f} ({:.1f} to {:.1f})".format(*(100 * value for value in interval))


def points(interval: Sequence[float]) -> str:
    """A difference of shares and the ends of its interval, as "+4.0 (+3.0 to +5.0)"."""
    return "{:+.1f} ({:+.1f} to {:+.1f})".format(*(100 * value for value in interval))


def line(*cells: str | int) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"


def error_cell(row: Mapping | None) -> str:
    """The mean of a row, and its interval if it has one; nothing for None."""
    if row is None:
        return ""
    if row["interval"] is None:
        return f"{row['mean']:.1f}"
    return "{:.1f} ({:.1f}-{:.1f})".format(row["mean"], *row["interval"])


def wilson_cell(error: float, of: int) -> str:
    """An error in percent of so many questions, and Wilson's interval."""
    interval = wilson_interval(round(error * of / 100), of)
    return error_cell({"mean": error, "interval": [100 * end for end in interval]})


def points_cell(entry: Mapping | None) -> str:
    """By how many points two rows differ, the interval and the corrected p; nothing for None."""
    if entry is None:
        return ""
    low, high = entry["points_interval"]
    p = "< 0.001" if entry["p_holm"] < 5e-4 else f"= {entry['p_holm']:.3f}"
    return f"{entry['points']:+.1f} ({low:+.1f} to {high:+.1f}), p {p}"


def signed(number: float | None) -> str:
    """A number with its sign; nothing for None."""
    return "" if number is None else f"{number:+.2f}"


def source(study: Mapping, lessons: str) -> str:
    """What a section of RESULTS.md rests on: data, machine, command and lessons."""
    command = f"`python -m benchmarks {study['job']}`"
    return f"{study['data']}; {study['machine']} ({command}; {lessons})."


def over(seeds: Sequence[int]) -> str:
    """What a score is: "mean over 3 seeds with 95 % interval", or "of one seed"."""
    if len(seeds) == 1:
        return "of one seed"
    return f"mean over {len(seeds)} seeds with 95 % interval"
