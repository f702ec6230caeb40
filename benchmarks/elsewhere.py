"""How each scheme trains with few labels, which leave no dev split: chosen on another task.

Six learning rates at the middle size of each scheme (see `space`), and further ones while the best
is the first or the last; on 200 phrases of SST-2, judged on others of its train split, two draws
each. Finished runs are kept in `runs/elsewhere/`; a stopped study goes on where it was.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import torch

from benchmarks import jobs, screen
from benchmarks.adaptation import MIN_STEPS
from benchmarks.composites import Task
from benchmarks.search import EPOCHS
from benchmarks.space import RATES, SPACE, task_at, task_model
from benchmarks.starts import body_of, weights_of
from benchmarks.trials import MODEL, POOLING
from tlcourse import corpora
from tlcourse.adaptation import Classifier, Recipe, wrong

DATA, LABELS, JUDGED, SEEDS = "sst-2", 200, 1_000, (0, 1)


@dataclass(frozen=True)
class Job(jobs.Job):
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
        train = corpora.load(DATA)["train"].shuffle(seed=0)
        judged = train.select(range(min(JUDGED, len(train) // 2)))
        rest = train.select(range(len(judged), len(train)))
        few = corpora.label_subset(rest, min(LABELS, len(rest)), seed=self.seed)
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


def trial(name: str, rate: float) -> dict:
    """A scheme at its middle size with a learning rate: its error in percent, mean over draws."""
    entry = SPACE[name]
    size = entry.sizes[len(entry.sizes) // 2]
    recipe = replace(entry.recipe(size, rate, EPOCHS), min_steps=MIN_STEPS)
    errors = [jobs.error_of(Job(name, size, seed, recipe).run()) for seed in SEEDS]
    known = {"scheme": name, "size": size, "rate": rate, "recipe": asdict(recipe)}
    return known | {"errors": errors, "error": sum(errors) / len(errors)}


def rates(name: str) -> list[dict]:
    """All learning rates of a scheme that were tried."""
    lowest = SPACE[name].lowest
    return screen.row(partial(trial, name), [lowest * 2**step for step in range(RATES)])


def all_of(names: Sequence[str]) -> dict[str, list[dict]]:
    """What was tried of several schemes, several schemes at a time."""
    return dict(zip(names, jobs.in_parallel(rates, names), strict=True))


def measure() -> dict:
    """One row a learning rate of a scheme; the best of each scheme is chosen."""
    tried = all_of(list(SPACE))
    return {
        "job": "elsewhere",
        **jobs.provenance(f"SST-2, train, {LABELS} labels", note=jobs.pooled()),
        "model": MODEL,
        "rows": [row for rows in tried.values() for row in rows],
        "choices": {name: screen.best(rows) for name, rows in tried.items()},
    }
