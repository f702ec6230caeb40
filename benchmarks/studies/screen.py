"""All schemes on dev: each tries as many learning rates, then its own sizes (`space`).

One dev split, one seed, 5 epochs: six learning rates at the middle size; then the other sizes at
the best of them and at its neighbours; with every size at most three more, while the best learning
rate is the first or the last. The test set is not read. Finished trials are kept in
`runs/adaptation/`; a stopped screen goes on where it was; `schemes` and `other_schemes` go on from
it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from benchmarks import runner
from benchmarks.studies.space import RATES, SPACE
from benchmarks.studies.trials import MODEL, Job

EPOCHS, SEED, FOLD = 5, 0, 0
KEPT = ("of", "dev", "seconds", "forgetting", "made_on")  # of a run
FURTHER = 3  # learning rates at most beyond those that every scheme tries


def trial(name: str, size: Any, rate: float) -> dict:
    """One point of a scheme's grid."""
    recipe = SPACE[name].recipe(size, rate, EPOCHS)
    found = Job(name, "all", SEED, "dev", recipe, size=size, fold=FOLD).run()
    kept = {key: found[key] for key in KEPT if key in found}
    return {"scheme": name, "size": size, "rate": rate, "error": runner.error_of(found)} | kept


def screen(name: str) -> list[dict]:
    """All points of a scheme's grid that were tried."""
    entry = SPACE[name]
    middle = entry.sizes[len(entry.sizes) // 2]
    points = row(partial(trial, name, middle), [entry.lowest * 2**step for step in range(RATES)])
    rate = best(points)["rate"]
    for size in entry.sizes:
        if size != middle:
            points += row(partial(trial, name, size), [rate * factor for factor in (0.5, 1, 2)])
    return points


def row(tried: Callable[[float], dict], rates: Sequence[float]) -> list[dict]:
    """`tried` of those learning rates, and of further ones while the best is at an edge."""
    points = [tried(rate) for rate in rates]
    for _ in range(FURTHER):
        known = sorted(point["rate"] for point in points)
        rate = best(points)["rate"]
        if rate not in (known[0], known[-1]):
            break
        points.append(tried(rate * (2 if rate == known[-1] else 0.5)))
    return points


def best(points: Sequence[dict]) -> dict:
    """The point with the lowest error, of several the first."""
    return min(points, key=lambda point: point["error"])


def all_of(names: Sequence[str]) -> dict[str, list[dict]]:
    """The grids of several schemes, several schemes at a time."""
    return dict(zip(names, runner.in_parallel(screen, names), strict=True))


def measure() -> dict:
    """One row a point that was tried."""
    rows = [point for points in all_of(list(SPACE)).values() for point in points]
    return {
        "job": "screen",
        **runner.provenance("TREC-6, one dev split out of train", runs=rows, note=runner.pooled()),
        "model": MODEL,
        "epochs": EPOCHS,
        "what": {name: entry.what for name, entry in SPACE.items()},
        "rows": rows,
    }
