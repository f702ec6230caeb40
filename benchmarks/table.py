"""Tables that a person can read in a terminal: the rows of a benchmark."""

from collections.abc import Iterable, Mapping

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
