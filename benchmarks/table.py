"""Tables that a person can read: rows of a benchmark in a terminal, cells of RESULTS.md."""

from collections.abc import Iterable, Mapping

from tlcourse.metrics import wilson_interval

COLUMNS = {  # key of a row, and what stands above its column
    "job": "job",
    "vocabulary": "vocabulary",
    "vocabulary_size": "vocabulary",
    "body": "body",
    "precision": "precision",
    "peer": "peer",
    "form": "form",
    "ratio": "times as fast",
    "range": "in rounds",
    "memory_ratio": "memory",
    "tokens_per_second": "tokens/s",
    "questions_per_second": "questions/s",
    "peak_share": "of peak",
    "memory_mib": "MiB",
    "milliseconds": "milliseconds",
    "fastest": "",
}
WORDS = {"times as fast", "in rounds", "memory", "tokens/s", "questions/s", "of peak", "MiB"}


def table(rows: Iterable[Mapping], columns: Mapping[str, str] = COLUMNS) -> str:
    """Aligned columns of what the rows hold out of `columns`, in that order; numbers to the right.

    `columns` gives the title of a column by the key of a row.
    """
    cells = [{key: _cell(key, row) for key in columns} for row in rows]
    used = [key for key in columns if any(cell[key] for cell in cells)]
    head = {key: columns[key] for key in used}
    widths = {key: max(len(cell[key]) for cell in [head, *cells]) for key in used}
    lines = []
    for cell in [head, {key: "-" * widths[key] for key in used}, *cells]:
        parts = [
            cell[key].rjust(widths[key]) if columns[key] in WORDS else cell[key].ljust(widths[key])
            for key in used
        ]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def _cell(key: str, row: Mapping) -> str:
    """One entry as text; "" where the row has none."""
    if key == "range" and "ratio_lowest" in row:
        return f"{row['ratio_lowest']:.2f}-{row['ratio_highest']:.2f}"
    value = row.get(key)
    if value is None:
        return ""
    if key == "fastest":
        return "its fastest" if value else ""
    if key == "peak_share":
        return f"{value:.0%}"
    if key == "milliseconds":
        return ", ".join(f"{name} {part:g}" for name, part in value.items())
    if isinstance(value, float):
        return f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def line(*cells: str | int) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"


def error_cell(row: Mapping) -> str:
    """The mean of a row, and its interval."""
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
