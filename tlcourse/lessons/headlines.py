"""Compares a lesson's headline numbers with those of the stored run.

    headline("bpe.speedup", 85.2, "times", data="WikiText-2", tolerance=0.5)

prints one line if the two agree, which means that they print alike or differ by no more than the
tolerance:

    ✓ bpe.speedup: 85.2 times (stored run: 88.1 times)

If they differ by more, it says "look here" and where each number comes from. Numbers of another
size or on other data are not compared. Only `tlcourse run NN --commit-outputs` stores numbers: it
names a file in TLCOURSE_HEADLINES, to which the lesson writes its numbers, and copies them into
`benchmarks/results/headlines.json` after the whole lesson has run.
"""

import json
import os
from pathlib import Path

from tlcourse import files, sizes

STORE = "benchmarks/results/headlines.json"
COLLECT = "TLCOURSE_HEADLINES"

Record = dict[str, str | int | float]


def headline(
    name: str, value: float, unit: str = "", *, data: str = "", tolerance: float = 0.0
) -> None:
    """Prints `value` and whether it agrees with the stored one.

    `name` is `topic.what`; `data` names the data ("WikiText-2", "bundled sample"); `tolerance` is
    relative to the stored value: 0.1 allows 10 %. Counts need none, timings a large one.
    Raises ValueError for a name without a topic or a value that is not a finite number.
    """
    if "." not in name:
        raise ValueError(f"expected a name like 'topic.what', got {name!r}")
    if not abs(value) < float("inf"):
        raise ValueError(
            f"expected a finite number for {name}, got {value!r}; nothing was measured"
        )
    value = value if isinstance(value, int) else float(value)
    record: Record = {"value": value, "unit": unit, "size": sizes.current().name, "data": data}
    stored = _collect(name, record) or _read(files.root() / STORE).get(name)
    print(
        f"{name}: {_amount(record)}"
        if stored is None
        else compared(name, record, stored, tolerance)
    )


def compared(name: str, record: Record, stored: Record, tolerance: float) -> str:
    """What `headline` prints of a record and the stored one: one line, unless they disagree."""
    mine, theirs = _amount(record), _amount(stored)
    for key in ("size", "data"):
        if record[key] != stored[key]:
            return f"{name}: {mine} (not compared: the stored run had {key} {stored[key]})"
    if mine == theirs:
        return f"✓ {name}: {mine}"
    if abs(record["value"] - stored["value"]) <= tolerance * abs(stored["value"]):
        return f"✓ {name}: {mine} (stored run: {theirs})"
    return (
        f"✗ {name}: {mine}, but the stored run had {theirs}: look here\n"
        f"    this run: {_where(record)}\n"
        f"    stored run: {_where(stored)}\n"
        "    Lesson 00, section 0.5, explains what this means."
    )


def store(collected: Path) -> list[str]:
    """Adds what a lesson collected to the stored numbers; returns one line for each that changed.

    The file `collected` need not exist: a lesson may have no headline.
    """
    path = files.root() / STORE
    old, new = _read(path), {}
    if collected.exists():
        for line in collected.read_text(encoding="utf-8").splitlines():
            new |= json.loads(line)
    if new:
        files.write_json(path, dict(sorted((old | new).items())))
    before = {name: _amount(record) for name, record in old.items()}
    return [
        f"{name}: {before.get(name, 'nothing')} -> {_amount(record)}"
        for name, record in new.items()
        if before.get(name) != _amount(record)
    ]


def _collect(name: str, record: Record) -> Record | None:
    """Writes a record for `store` if TLCOURSE_HEADLINES is set, and returns it; else None."""
    if not os.environ.get(COLLECT):
        return None
    from tlcourse import device  # imports torch, which most runs of a lesson do not need

    record = record | {"hardware": device.describe(device.choose())}
    with open(os.environ[COLLECT], "a", encoding="utf-8") as file:
        file.write(json.dumps({name: record}) + "\n")
    return record


def _read(path: Path) -> dict[str, Record]:
    return files.read_json(path) if path.exists() else {}


def _amount(record: Record) -> str:
    """The value and unit of a record: counts in full, other numbers with three digits."""
    value = record["value"]
    whole = isinstance(value, int) or abs(value) >= 100
    text = f"{value:,.0f}" if whole else f"{value:.3g}"
    return f"{text} {record['unit']}".strip()


def _where(record: Record) -> str:
    parts = [f"size {record['size']}", record["data"], record.get("hardware", "")]
    return ", ".join(part for part in parts if part)
