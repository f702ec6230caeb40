"""The stored leaderboard of schemes, made by `python -m benchmarks adaptation`."""

from collections.abc import Iterable, Mapping

from tlcourse import files

PLACE = "benchmarks/results/adaptation.json"


def read() -> dict:
    """The stored results: "rows", "comparisons" against full fine-tuning, where they come from.

    Empty rows and a printed line where this copy of the course has none.
    """
    try:
        return files.read_json(files.find(PLACE))
    except FileNotFoundError:
        print("No stored table in this copy: `python -m benchmarks adaptation` makes one.")
        return {"rows": [], "comparisons": [], "machine": "nowhere", "primary": [None, None]}


def rows_at(stored: Mapping, labels: int, names: Iterable[str] | None = None) -> dict[str, dict]:
    """The rows with so many labels by scheme, fewest errors first; `names` keeps those alone."""
    kept = None if names is None else set(names)
    found = [
        row
        for row in stored["rows"]
        if row["labels"] == labels and (kept is None or row["scheme"] in kept)
    ]
    return {row["scheme"]: row for row in sorted(found, key=lambda row: row["mean"])}


def verdict(stored: Mapping, scheme: str, labels: int) -> str:
    """What the test against full fine-tuning says: fewer errors, more, or no clear difference."""
    for entry in stored["comparisons"]:
        if (entry["scheme"], entry["labels"]) == (scheme, labels):
            if entry["p_holm"] >= 0.05:
                return "no clear difference"
            said = "fewer errors" if entry["points"] < 0 else "more errors"
            p = entry["p_holm"]
            return said + (" (p < 0.001)" if p < 1e-3 else f" (p = {p:.2g})")
    return ""


def lines(stored: Mapping, labels: int, names: Iterable[str] | None = None) -> list[str]:
    """The table as text: error, share trained, seconds, memory of a step, forgetting, verdict."""
    head = f"{'error % (95 %)':>18}  {'trained':>8} {'seconds':>8} {'MiB':>6} {'forgets':>8}  against full"
    result = [f"{labels:,} labels".ljust(22) + head]
    for name, row in rows_at(stored, labels, names).items():
        low, high = row["interval"]
        result.append(
            f"{name:22} {row['mean']:5.1f} ({low:4.1f}-{high:4.1f})"
            f"  {row['trained_share']:8.2%} {row['seconds']:8.0f} "
            f"{row['training_memory'] / 2**20:6.0f} {row['forgetting']:+8.2f}"
            f"  {verdict(stored, name, labels)}"
        )
    return result
