"""A lesson's headline numbers, each printed beside the one that the stored run gave.

    headline("bpe.speedup", 85.2, "times", data="WikiText-2", tolerance=0.5)

prints

    bpe.speedup: 85.2 times (size small, WikiText-2)
        stored: 88.1 times (size small, WikiText-2, 2 CPU threads (x86_64, AVX2), float32)
        -> expected at this size

The last line says "same" when both print alike, "expected at this size" when they differ by no
more than the tolerance, "look here" when they differ by more. Numbers of another size or of other
data are not compared. `tlcourse run NN --commit-outputs`, and nothing else, stores numbers: it
names a file in TLCOURSE_HEADLINES, the lesson writes its numbers there, and they enter
`benchmarks/results/headlines.json` when the whole lesson has run.
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
    """Prints `value` beside the stored one and says whether they agree.

    `name` is `topic.what`; `data` names what was measured on ("WikiText-2", "bundled sample");
    `tolerance` is relative to the stored value: 0.1 allows 10 %. Counts need none, timings much.
    Raises ValueError for a name without a topic or a value that is not a finite number.
    """
    if "." not in name:
        raise ValueError(f"expected a name like 'topic.what', got {name!r}")
    if not abs(value) < float("inf"):
        raise ValueError(
            f"expected a finite number for {name}, got {value!r}; nothing was measured"
        )
    value = value if isinstance(value, int) else float(value)
    mine: Record = {"value": value, "unit": unit, "size": sizes.current().name, "data": data}
    print(f"{name}: {_amount(mine)} ({_where(mine)})")
    stored = _collect(name, mine) or _read(files.root() / STORE).get(name)
    if stored is None:
        print("    stored: nothing yet")
        return
    print(f"    stored: {_amount(stored)} ({_where(stored)})")
    print(f"    -> {verdict(mine, stored, tolerance)}")


def verdict(mine: Record, stored: Record, tolerance: float) -> str:
    """How a record compares with the stored one, in the words that lessons use."""
    for what in ("size", "data"):
        if mine[what] != stored[what]:
            return f"not compared: the stored run had {what} {stored[what]}, this one {mine[what]}"
    if _amount(mine) == _amount(stored):
        return "same"
    near = abs(mine["value"] - stored["value"]) <= tolerance * abs(stored["value"])
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


def _collect(name: str, mine: Record) -> Record | None:
    """Writes a record for `store`, where the run asks for it, and returns it."""
    if not os.environ.get(COLLECT):
        return None
    from tlcourse import device  # imports torch, which most runs of a lesson can do without

    record = mine | {"hardware": device.describe(device.choose())}
    with open(os.environ[COLLECT], "a", encoding="utf-8") as file:
        file.write(json.dumps({name: record}) + "\n")
    return record


def _read(path: Path) -> dict[str, Record]:
    return files.read_json(path) if path.exists() else {}


def _amount(record: Record) -> str:
    """Counts in full, other numbers with three digits that count."""
    value = record["value"]
    whole = isinstance(value, int) or abs(value) >= 100
    text = f"{value:,.0f}" if whole else f"{value:.3g}"
    return f"{text} {record['unit']}".strip()


def _where(record: Record) -> str:
    parts = [f"size {record['size']}", record["data"], record.get("hardware", "")]
    return ", ".join(part for part in parts if part)
