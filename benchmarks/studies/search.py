"""How each scheme trains best: what of the screens is confirmed on dev, and what is chosen.

The best two points of a main scheme are confirmed (of several that tie, those that ran first), each
by two runs of 10 epochs: one with seed and dev split of the screen, one with others (see
`schemes`). What is not confirmed keeps the best point of its screen (see `other_schemes`). The test
set is not read.
"""

from collections.abc import Sequence
from dataclasses import asdict

from benchmarks import runner
from benchmarks.studies.screen import best
from benchmarks.studies.space import SPACE
from benchmarks.studies.trials import Job

EPOCHS = 10
BEST = 2  # points that are confirmed
RUNS = ((0, 0), (1, 1))  # seed and dev split of each of their runs


def confirm(screened: dict[str, list[dict]], names: Sequence[str]) -> dict[str, list[dict]]:
    """The best points of each of `names`, the fewest dev errors over seeds and splits first."""
    asked = [
        (name, point, seed, fold)
        for name in names
        for point in sorted(screened[name], key=lambda each: each["error"])[:BEST]
        for seed, fold in RUNS
    ]
    found = runner.run_all(job_of(name, point, seed, fold) for name, point, seed, fold in asked)
    each = len(RUNS)
    confirmed: dict[str, list[dict]] = {}
    for (name, point, *_), mine in zip(asked[::each], runner.groups(found, each), strict=True):
        errors = runner.over_seeds([runner.error_of(result) for result in mine])
        curve = [sum(column) / each for column in zip(*(r["dev"] for r in mine), strict=True)]
        known = {key: point[key] for key in ("size", "rate")}
        confirmed.setdefault(name, []).append(known | errors | {"dev": curve})
    return {name: sorted(points, key=_mean) for name, points in confirmed.items()}


def _mean(point: dict) -> float:
    return point["mean"]


def job_of(name: str, point: dict, seed: int, fold: int) -> Job:
    """The run that confirms a point of a scheme's grid, with a seed on a dev split."""
    recipe = SPACE[name].recipe(point["size"], point["rate"], EPOCHS)
    return Job(name, "all", seed, "dev", recipe, size=point["size"], fold=fold)


def choices(screened: dict[str, list[dict]], confirmed: dict[str, list[dict]]) -> dict[str, dict]:
    """What each scheme that was screened trains with from here on."""
    found = {}
    for name, points in screened.items():
        entry, point = SPACE[name], confirmed[name][0] if name in confirmed else best(points)
        found[name] = {
            "size": point["size"],
            "recipe": asdict(entry.recipe(point["size"], point["rate"], EPOCHS)),
            "dev_error": point["mean"] if name in confirmed else point["error"],
        }
    return found
