"""Tables of schemes, made of the stored results of `python -m benchmarks NAME`."""

from collections.abc import Iterable, Mapping


def rows_at(stored: Mapping, labels: int, names: Iterable[str] | None = None) -> dict[str, dict]:
    """The rows with so many labels by scheme, fewest errors first; `names` keeps those alone."""
    kept = None if names is None else set(names)
    found = [
        row
        for row in stored["rows"]
        if row["labels"] == labels and (kept is None or row["scheme"] in kept)
    ]
    return {row["scheme"]: row for row in sorted(found, key=lambda row: row["mean"])}


def best_points(screen: Mapping) -> dict[str, dict]:
    """Of each scheme in `python -m benchmarks screen` the row with the lowest dev error."""
    found: dict[str, dict] = {}
    for row in screen["rows"]:
        found[row["scheme"]] = min(found.get(row["scheme"], row), row, key=lambda r: r["error"])
    return found


def by_rate(screen: Mapping, scheme: str) -> dict[float, tuple[float, float]]:
    """A scheme's dev error and forgetting by learning rate, in `python -m benchmarks screen`.

    At the value of its own number with which most learning rates were tried.
    """
    rows = [row for row in screen["rows"] if row["scheme"] == scheme]
    sizes = [row["size"] for row in rows]
    widest = max(dict.fromkeys(sizes), key=sizes.count, default=None)
    found = {
        row["rate"]: (row["error"], row["forgetting"]) for row in rows if row["size"] == widest
    }
    return dict(sorted(found.items()))


def split_errors(
    wrong: Iterable[Iterable[int]], questions: Iterable[int], of: int
) -> tuple[list[float], list[float]]:
    """Errors in percent, one a run: on some of the judged questions, and on the rest of `of`.

    `wrong` are the numbers of the questions that each run missed, `questions` those of some.
    """
    some, runs = set(questions), [set(each) for each in wrong]
    return (
        [100 * len(some & missed) / len(some) for missed in runs],
        [100 * len(missed - some) / (of - len(some)) for missed in runs],
    )


def against_full(stored: Mapping, scheme: str, labels: int) -> dict | None:
    """The comparison with full fine-tuning: "points" and "points_interval" over draws, "p_holm"."""
    return _entry(stored["comparisons"], scheme, labels)


def against_counting(stored: Mapping, scheme: str, labels: int) -> dict | None:
    """The comparison with linear models on TF-IDF, as `against_full`."""
    return _entry(stored.get("against_counting", []), scheme, labels)


def _entry(comparisons: Iterable[dict], scheme: str, labels: int) -> dict | None:
    for entry in comparisons:
        if (entry["scheme"], entry["labels"]) == (scheme, labels):
            return entry
    return None


def verdict(stored: Mapping, scheme: str, labels: int) -> str:
    """Fewer errors than full fine-tuning, more, or no clear difference; "" for itself."""
    return verdict_of(against_full(stored, scheme, labels))


def verdict_of(entry: Mapping | None) -> str:
    """Fewer errors, more, or no clear difference; "" where nothing was compared.

    Clear is what both the corrected test over questions and the interval over draws say.
    """
    if entry is None:
        return ""
    low, high = entry["points_interval"]
    if entry["p_holm"] >= 0.05 or low <= 0 <= high:
        return "no clear difference"
    return "fewer errors" if entry["points"] < 0 else "more errors"


def lines(stored: Mapping, labels: int, names: Iterable[str] | None = None) -> list[str]:
    """The table as text: error, start difference, cost, forgetting, verdict; a line a scheme.

    "-" is a start difference of who trains more than once, or forgetting of who knew nothing.
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
