"""Tables of schemes, made of the stored results of `python -m benchmarks NAME`."""

from collections.abc import Iterable, Mapping


def rows_at(stored: Mapping, labels: int, names: Iterable[str] | None = None) -> dict[str, dict]:
    """Returns the rows for this number of labels by scheme, fewest errors first.

    `names` are the schemes to return (None: all).
    """
    kept = None if names is None else set(names)
    rows = [
        row
        for row in stored["rows"]
        if row["labels"] == labels and (kept is None or row["scheme"] in kept)
    ]
    return {row["scheme"]: row for row in sorted(rows, key=lambda row: row["mean"])}


def best_points(screen: Mapping) -> dict[str, dict]:
    """Returns each scheme's row with the lowest dev error in `python -m benchmarks screen`."""
    best: dict[str, dict] = {}
    for row in screen["rows"]:
        best[row["scheme"]] = min(best.get(row["scheme"], row), row, key=lambda r: r["error"])
    return best


def by_rate(screen: Mapping, scheme: str) -> dict[float, tuple[float, float]]:
    """Returns a scheme's dev error and forgetting by learning rate, from `benchmarks screen`.

    The scheme's size is the one with which most learning rates were tried.
    """
    rows = [row for row in screen["rows"] if row["scheme"] == scheme]
    sizes = [row["size"] for row in rows]
    widest = max(dict.fromkeys(sizes), key=sizes.count, default=None)
    points = {
        row["rate"]: (row["error"], row["forgetting"]) for row in rows if row["size"] == widest
    }
    return dict(sorted(points.items()))


def split_errors(
    wrong: Iterable[Iterable[int]], questions: Iterable[int], of: int
) -> tuple[list[float], list[float]]:
    """Returns each run's error in percent on `questions`, and on the rest of all `of` questions.

    `wrong` holds the indices of the questions that each run misclassified.
    """
    some, runs = set(questions), [set(rows) for rows in wrong]
    return (
        [100 * len(some & missed) / len(some) for missed in runs],
        [100 * len(missed - some) / (of - len(some)) for missed in runs],
    )


def against_full(stored: Mapping, scheme: str, labels: int) -> dict | None:
    """Returns the comparison with full fine-tuning, or None if there is none.

    "points" and "points_interval" are over draws, "p_holm" is the corrected p-value.
    """
    return _entry(stored["comparisons"], scheme, labels)


def against_counting(stored: Mapping, scheme: str, labels: int) -> dict | None:
    """Returns the comparison with linear models on TF-IDF, in the form of `against_full`."""
    return _entry(stored.get("against_counting", []), scheme, labels)


def _entry(comparisons: Iterable[dict], scheme: str, labels: int) -> dict | None:
    for entry in comparisons:
        if (entry["scheme"], entry["labels"]) == (scheme, labels):
            return entry
    return None


def verdict(stored: Mapping, scheme: str, labels: int) -> str:
    """Returns how a scheme compares with full fine-tuning, see `verdict_of`; "" for itself."""
    return verdict_of(against_full(stored, scheme, labels))


def verdict_of(entry: Mapping | None) -> str:
    """Returns "fewer errors", "more errors", "no clear difference", or "" without a comparison.

    A difference is clear if both the corrected test over questions and the interval over draws
    show it.
    """
    if entry is None:
        return ""
    low, high = entry["points_interval"]
    if entry["p_holm"] >= 0.05 or low <= 0 <= high:
        return "no clear difference"
    return "fewer errors" if entry["points"] < 0 else "more errors"


def lines(stored: Mapping, labels: int, names: Iterable[str] | None = None) -> list[str]:
    """Returns the table as text: error, start difference, cost, forgetting, verdict per scheme.

    "-" stands for the start difference of a scheme that trains more than once, and for the
    forgetting of a model that was not pretrained.
    """
    head = f"{'error %':>10} {'start':>5} {'trained':>8} {'seconds':>8} {'MiB':>5} {'forgets':>8}"
    head += "  against full: points, p"
    result = [f"{labels:,} labels".ljust(21) + head]
    for name, row in rows_at(stored, labels, names).items():
        first, lost = row["start_difference"], row["forgetting"]
        lost = "-" if lost is None else f"{lost:+.2f}"
        line = (
            f"{name:21} {row['mean']:9.1f} {'-' if first is None else format(first, '.2g'):>5} "
            f"{row['trained_share']:8.2%} {row['seconds']:8.0f} "
            f"{row['training_memory'] / 2**20:5.0f} {lost:>8}"
        )
        entry = against_full(stored, name, labels)
        if entry is not None:
            low, high = entry["points_interval"]
            p = f"{entry['p_holm']:.3f}" if entry["p_holm"] >= 5e-4 else "<.001"
            line += f"  {entry['points']:+5.1f} ({low:+5.1f} to {high:+5.1f}) {p}"
            line += f"  {verdict(stored, name, labels)}"
        result.append(line)
    return result
