"""A lesson's headline numbers, each printed beside that of the stored run.

    headline("bpe.speedup", 85.2, "times", data="WikiText-2", tolerance=0.5)

prints

    bpe.speedup: 85.2 times (size small, WikiText-2)
        stored: 88.1 times (size small, WikiText-2, 2 CPU threads (x86_64, AVX2), float32)
        -> expected at this size

The last line says "same" if both print alike, "expected at this size" if they differ by no more
than the tolerance, "look here" if they differ by more. Numbers of another size or other data are
not compared. Only `tlcourse run NN --commit-outputs` stores numbers: it names a file in
TLCOURSE_HEADLINES, to which the lesson writes its numbers, and copies them into
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
    """Prints `value` beside the stored one and the verdict.

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
    print(f"{name}: {_amount(record)} ({_where(record)})")
    stored = _collect(name, record) or _read(files.root() / STORE).get(name)
    if stored is None:
        print("    stored: nothing yet")
        return
    print(f"    stored: {_amount(stored)} ({_where(stored)})")
    print(f"    -> {verdict(record, stored, tolerance)}")


def verdict(record: Record, stored: Record, tolerance: float) -> str:
    """The result of comparing a record with the stored one, as lessons print it."""
    for key in ("size", "data"):
        if record[key] != stored[key]:
            return f"not compared: the stored run had {key} {stored[key]}, this one {record[key]}"
    if _amount(record) == _amount(stored):
        return "same"
    near = abs(record["value"] - stored["value"]) <= tolerance * abs(stored["value"])
    return "expected at this size" if near else "look here"


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
