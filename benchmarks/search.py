"""How each scheme trains best, searched on dev with the same budget for each (see `space`).

*Screen*: one dev split, one seed, 5 epochs; learning rates at the middle size, further while the
best of them is the first or the last; then the other sizes at the best and at its neighbours.
*Confirm*: the best three points of each of MAIN over 3 seeds and 2 dev splits, 10 epochs. What is
not confirmed keeps the best point of its screen. The test set is not read.

With few labels there is no dev split: there the learning rate is the one that did best on 200
phrases of another task (SST-2), judged on others. Finished trials are kept in `runs/adaptation/`
and `runs/elsewhere/`; a stopped search goes on where it was.
"""

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from benchmarks import jobs
from benchmarks.adaptation import MIN_STEPS
from benchmarks.composites import Task
from benchmarks.space import MAIN, RATES, SPACE, task_at, task_model
from benchmarks.starts import body_of, weights_of
from benchmarks.trials import MODEL, POOLING, Job
from tlcourse import corpora
from tlcourse.adaptation import Classifier, Recipe, wrong

SCREEN_EPOCHS, EPOCHS = 5, 10
BEST, SEEDS, FOLDS = 3, (0, 1, 2), (0, 1)  # points that are confirmed, and how
FURTHER = 3  # learning rates at most beyond each end of the grid
OTHER, OTHER_LABELS, OTHER_JUDGED, OTHER_SEEDS = "sst-2", 200, 1_000, (0, 1)


@dataclass(frozen=True)
class Elsewhere(jobs.Job):
    """A scheme with few labels of another task, judged on other texts of its train split."""

    study = "elsewhere"
    scheme: str
    size: Any
    seed: int
    recipe: Recipe
    model: str = MODEL

    def weights(self) -> str:
        """None of any checkpoint for what starts from scratch."""
        return weights_of(task_model(self.scheme, self.model))

    def work(self) -> dict:
        """Adapts and judges."""
        train = corpora.load(OTHER)["train"].shuffle(seed=0)
        judged = train.select(range(min(OTHER_JUDGED, len(train) // 2)))
        rest = train.select(range(len(judged), len(train)))
        few = corpora.label_subset(rest, min(OTHER_LABELS, len(rest)), seed=self.seed)
        names = sorted(set(few["label"]))
        task = Task(
            model=self.model, pooling=POOLING, texts=few["text"][:], labels=few["label"][:],
            every_text=(), recipe=self.recipe, seed=self.seed,
        )  # fmt: skip
        torch.manual_seed(self.seed)
        task = task_at(self.scheme, task, self.size)
        start = Classifier(*body_of(task.model), names, pooling=POOLING)
        adapted = task.fit(start)
        missed = wrong(adapted.probabilities(judged["text"]), judged["label"], names)
        return {"wrong": missed, "of": len(judged)}


def trial(name: str, size: Any, rate: float) -> dict:
    """One point of a scheme's grid, as the screen asks for it."""
    recipe = SPACE[name].recipe(size, rate, SCREEN_EPOCHS)
    found = Job(name, "all", SEEDS[0], "dev", recipe, size=size, fold=FOLDS[0]).run()
    kept = {key: found[key] for key in ("dev", "seconds", "forgetting")}
    return {"scheme": name, "size": size, "rate": rate, "error": jobs.error_of(found)} | kept


def screen(name: str) -> list[dict]:
    """All points of a scheme's grid that were tried."""
    entry = SPACE[name]
    middle = entry.sizes[len(entry.sizes) // 2]
    points = [trial(name, middle, entry.lowest * 2**step) for step in range(RATES)]
    for _ in range(FURTHER):  # on, while the best is at an edge
        rates = sorted(point["rate"] for point in points)
        best = _best(points)["rate"]
        if best not in (rates[0], rates[-1]):
            break
        points.append(trial(name, middle, best * (2 if best == rates[-1] else 0.5)))
    best = _best(points)["rate"]
    for size in entry.sizes:
        if size != middle:
            points += [trial(name, size, best * factor) for factor in (0.5, 1, 2)]
    return points


def _best(points: Sequence[dict]) -> dict:
    return min(points, key=lambda point: point["error"])


def confirm(screened: dict[str, list[dict]]) -> dict[str, list[dict]]:
    """The best points of each of MAIN, the fewest dev errors over seeds and splits first."""
    asked = [
        (name, point, seed, fold)
        for name in MAIN
        for point in sorted(screened[name], key=lambda each: each["error"])[:BEST]
        for seed, fold in itertools.product(SEEDS, FOLDS)
    ]
    found = jobs.run_all(_job(name, point, seed, fold) for name, point, seed, fold in asked)
    each = len(SEEDS) * len(FOLDS)
    confirmed: dict[str, list[dict]] = {}
    for (name, point, *_), mine in zip(asked[::each], jobs.groups(found, each), strict=True):
        errors = jobs.over_seeds([jobs.error_of(result) for result in mine])
        curve = [sum(column) / each for column in zip(*(r["dev"] for r in mine), strict=True)]
        known = {key: point[key] for key in ("size", "rate")}
        confirmed.setdefault(name, []).append(known | errors | {"dev": curve})
    return {name: sorted(points, key=_mean) for name, points in confirmed.items()}


def _mean(point: dict) -> float:
    return point["mean"]


def _job(name: str, point: dict, seed: int, fold: int) -> Job:
    recipe = SPACE[name].recipe(point["size"], point["rate"], EPOCHS)
    return Job(name, "all", seed, "dev", recipe, size=point["size"], fold=fold)


def choices(screened: dict[str, list[dict]], confirmed: dict[str, list[dict]]) -> dict[str, dict]:
    """What each scheme trains with from here on."""
    found = {}
    for name, entry in SPACE.items():
        best = confirmed[name][0] if name in confirmed else _best(screened[name])
        found[name] = {
            "size": best["size"],
            "recipe": asdict(entry.recipe(best["size"], best["rate"], EPOCHS)),
            "dev_error": best["mean"] if name in confirmed else best["error"],
        }
    return found


def few() -> dict[str, dict]:
    """The recipes for few labels, chosen on another task at the middle size of each scheme."""
    points = []
    for name, entry in SPACE.items():
        size = entry.sizes[len(entry.sizes) // 2]
        for step in range(RATES):
            recipe = replace(
                entry.recipe(size, entry.lowest * 2**step, EPOCHS), min_steps=MIN_STEPS
            )
            points.append((name, size, recipe))
    results = jobs.run_all(
        Elsewhere(name, size, seed, recipe) for name, size, recipe in points for seed in OTHER_SEEDS
    )
    tried: dict[str, list[dict]] = {}
    for (name, size, recipe), mine in zip(
        points, jobs.groups(results, len(OTHER_SEEDS)), strict=True
    ):
        errors = jobs.over_seeds([jobs.error_of(result) for result in mine])
        tried.setdefault(name, []).append({"size": size, "recipe": asdict(recipe)} | errors)
    return {name: min(mine, key=_mean) | {"tried": mine} for name, mine in tried.items()}


def measure() -> dict:
    """One row a point of the screen; what was confirmed, and what is chosen."""
    names = [*MAIN, *(name for name in SPACE if name not in MAIN)]
    screened = dict(zip(names, jobs.in_parallel(screen, names), strict=True))
    confirmed = confirm(screened)
    return {
        "job": "search",
        **jobs.provenance("TREC-6, dev splits out of train; SST-2, train", note=jobs.pooled()),
        "model": MODEL,
        "what": {name: entry.what for name, entry in SPACE.items()},
        "rows": [point for points in screened.values() for point in points],
        "confirmed": confirmed,
        "choices": choices(screened, confirmed),
        "few": few(),
    }
