"""How each scheme on TREC-6 trains: grids of learning rates and sizes, judged on dev splits.

Every scheme has the same budget (see `search_space`). The test set is not read. Finished trials are
kept in `runs/adaptation/`; a stopped search goes on where it was. `python -m benchmarks screen` is
the grids with all labels; the studies of `trec` train by what was best in them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from benchmarks import markdown, runner
from benchmarks.markdown import signed, source, wilson_cell
from benchmarks.studies.search_space import SPACE
from benchmarks.studies.trials import MODEL, Job
from tlcourse.adaptation import leaderboard
from tlcourse.adaptation.presets import MIN_STEPS

GRID_EPOCHS, SEED, FOLD = 5, 0, 0  # of a point of the grid with all labels
FURTHER = 3  # learning rates at most beyond those that every scheme tries
EPOCHS = 10  # of everything that comes after the grid
BEST = 2  # points that are confirmed
CONFIRMED = ((0, 0), (1, 1))  # seed and dev split of each run that confirms a point
FEW, FEW_SEEDS = 200, (100, 101, 102)  # labels, and draws of them that no test has
KEPT = ("of", "dev", "seconds", "forgetting", "made_on")  # of a run


def tried(
    trial: Callable[[float], dict], rates: Sequence[float], further: int = FURTHER
) -> list[dict]:
    """`trial` of each learning rate, and of at most `further` more while the best is at an edge.

    A trial is a dictionary with its "rate" and "error"; each further rate is twice the highest or
    half the lowest so far.
    """
    points = [trial(rate) for rate in rates]
    for _ in range(further):
        known = sorted(point["rate"] for point in points)
        rate = best(points)["rate"]
        if rate not in (known[0], known[-1]):
            break
        points.append(trial(rate * (2 if rate == known[-1] else 0.5)))
    return points


def best(points: Sequence[dict]) -> dict:
    """The point with the lowest error; of several the first."""
    return min(points, key=lambda point: point["error"])


def grid_point(name: str, size: Any, rate: float) -> dict:
    """One point of a scheme's grid with all labels."""
    recipe = SPACE[name].recipe(size, rate, GRID_EPOCHS)
    result = Job(name, "all", SEED, "dev", recipe, size=size, fold=FOLD).run()
    kept = {key: result[key] for key in KEPT if key in result}
    return {"scheme": name, "size": size, "rate": rate, "error": runner.error_of(result)} | kept


def grid(name: str) -> list[dict]:
    """The points of a scheme's grid with all labels.

    Six learning rates at the middle size, and further ones while the best is at an edge; then the
    other sizes at the best of them and at its neighbours, and further ones likewise.
    """
    entry = SPACE[name]
    points = tried(partial(grid_point, name, entry.middle), entry.rates())
    rate = best(points)["rate"]
    for size in entry.sizes:
        if size != entry.middle:
            points += tried(
                partial(grid_point, name, size), [rate * factor for factor in (0.5, 1, 2)]
            )
    return points


def few_point(name: str, rate: float) -> dict:
    """A scheme at its middle size with FEW labels: means over draws, the recipe beside them."""
    entry = SPACE[name]
    recipe = replace(entry.recipe(entry.middle, rate, EPOCHS), min_steps=MIN_STEPS)
    results = [Job(name, FEW, seed, "dev", recipe, size=entry.middle).run() for seed in FEW_SEEDS]
    errors = [runner.error_of(result) for result in results]
    forgetting = [result["forgetting"] for result in results]
    return {
        "scheme": name,
        "size": entry.middle,
        "rate": rate,
        "recipe": asdict(recipe),
        "errors": errors,
        "error": sum(errors) / len(errors),
        "forgetting": None if None in forgetting else sum(forgetting) / len(forgetting),
    }


def few_grid(name: str) -> list[dict]:
    """The learning rates of a scheme with FEW labels.

    The dev split has more labels than these runs learn from: it makes the comparison of schemes
    fair, and nobody with so few labels has it.
    """
    return tried(partial(few_point, name), SPACE[name].rates())


def search(grid: Callable[[str], list[dict]], names: Sequence[str]) -> dict[str, list[dict]]:
    """`grid` of each scheme, several schemes at a time."""
    return dict(zip(names, runner.in_parallel(grid, names), strict=True))


def confirm(grids: dict[str, list[dict]]) -> dict[str, list[dict]]:
    """The best points of each grid (of ties those that ran first), by two runs of EPOCHS each.

    One has the seed and the dev split of the grid, the other has others. The lowest mean error is
    first; "dev" is the mean error after each epoch.
    """
    points = [
        (name, point)
        for name, tried_points in grids.items()
        for point in sorted(tried_points, key=lambda point: point["error"])[:BEST]
    ]
    results = runner.run_all(
        confirming(name, point, seed, fold) for name, point in points for seed, fold in CONFIRMED
    )
    confirmed: dict[str, list[dict]] = {}
    for (name, point), runs in zip(points, runner.groups(results, len(CONFIRMED)), strict=True):
        curves = zip(*(run["dev"] for run in runs), strict=True)
        entry = {"size": point["size"], "rate": point["rate"]}
        entry |= runner.over_seeds([runner.error_of(run) for run in runs])
        entry["dev"] = [sum(errors) / len(errors) for errors in curves]
        confirmed.setdefault(name, []).append(entry)
    return {
        name: sorted(entries, key=lambda entry: entry["mean"])
        for name, entries in confirmed.items()
    }


def confirming(name: str, point: dict, seed: int, fold: int) -> Job:
    """The run that confirms a point of a scheme's grid, with a seed, on a dev split."""
    recipe = SPACE[name].recipe(point["size"], point["rate"], EPOCHS)
    return Job(name, "all", seed, "dev", recipe, size=point["size"], fold=fold)


def choices(points: Mapping[str, dict]) -> dict[str, dict]:
    """How each scheme trains from here on, by the point of its grid that was chosen.

    "dev_error" of a point that nobody confirmed is that of a single run, the lowest of many.
    """
    return {
        name: {
            "size": point["size"],
            "recipe": asdict(SPACE[name].recipe(point["size"], point["rate"], EPOCHS)),
            "dev_error": point["mean"] if "mean" in point else point["error"],
        }
        for name, point in points.items()
    }


def measure() -> dict:
    """One row a point that was tried with all labels."""
    rows = [row for points in search(grid, list(SPACE)).values() for row in points]
    return {
        "job": "screen",
        **runner.provenance("TREC-6, one dev split out of train", runs=rows, note=runner.pooled()),
        "model": MODEL,
        "epochs": GRID_EPOCHS,
        "what": {name: entry.what for name, entry in SPACE.items()},
        "rows": rows,
    }


def section(study: dict[str, Any]) -> str:
    """For RESULTS.md: the best point of each scheme's grid."""
    best_points = leaderboard.best_points(study)
    count = next(iter(best_points.values()))["of"]
    rows = []
    for name, row in best_points.items():
        runs = sum(other["scheme"] == name for other in study["rows"])
        own = f"{study['what'][name]} {row['size']:g}" if study["what"][name] else ""
        error, lost = wilson_cell(row["error"], count), signed(row["forgetting"])
        rows.append([name, runs, f"{row['rate']:g}", own, error, lost])
    head = ["", "runs", "learning rate", "own number", "dev error", "forgets"]
    return markdown.section(
        "## One search for all schemes",
        "Of each scheme the best point of its grid: six learning rates, each twice the one before,"
        " up to three more where the best was the first or the last, with three values of the"
        f" scheme's own number, if it has one. Error on {count} dev questions in percent with 95 % "
        f"interval, one run of {study['epochs']} epochs a point (from scratch: times its own "
        "number); the best of many runs looks better than it is. "
        + source(study, "lessons 05, 05b"),
        markdown.table(head, rows, left=(0, 3)),
    )
