"""Every scheme on TREC-6 from one checkpoint: errors, cost, forgetting, and who beats whom.

The catalogue fixes what the schemes are made of. With all labels the learning rate of each is
chosen on the dev split; with fewer there would be no dev split, and the recipe is the course's.
Composites, which train more than once, train as full fine-tuning does. Every scheme is fitted on
the same draws of labels, and each run reads the test set once. Finished runs are kept in
`runs/adaptation/`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from benchmarks import clocks, jobs, transfer
from benchmarks.composites import COMPOSITES, Task
from tlcourse import corpora, device, metrics, sizes
from tlcourse.adaptation import (
    FULL,
    SCHEMES,
    Classifier,
    Recipe,
    classification_loss,
    prepare,
    wrong,
)
from tlcourse.batching import pad
from tlcourse.bpe import PAD
from tlcourse.evaluation import evaluate
from tlcourse.memory import training_memory

MODEL, POOLING = "causal-small", "mean"
PRIMARY = ("gradual unfreezing", 100)  # named beforehand: against full fine-tuning
DRAWS = {50: 5, 100: 5, 200: 5, 500: 10, "all": 5}  # of so many labels, each with its own seed
EVERY_SCHEME = (100, "all")  # with so many labels; MAIN alone with the others
MAIN = (FULL.name, "frozen body", "gradual unfreezing", "LoRA", "TAPT")
LEARNING_RATES = (2.5e-4, 5e-4, 1e-3, 2e-3)  # and twice the last while none is better
CHOICE_SEED = 0
MIN_STEPS = 200  # with few labels: more epochs, until there are so many steps
HELD_OUT = {"tiny": 1, "small": 6, "full": 60}  # articles of WikiText-103's validation split


@dataclass(frozen=True)
class Job(jobs.Job):
    """One scheme, one draw of labels, one split to be judged on."""

    study = "adaptation"
    scheme: str
    labels: int | str
    seed: int
    split: str
    recipe: Recipe
    model: str = MODEL
    pooling: str = POOLING

    def work(self) -> dict:
        """Adapts and judges."""
        train, held_out = transfer.questions(self.labels, self.seed, self.split)
        every_text = transfer.questions("all", self.seed, self.split)[0]["text"][:]
        task = Task(
            model=self.model,
            pooling=self.pooling,
            texts=train["text"][:],
            labels=train["label"][:],
            every_text=every_text,
            recipe=self.recipe,
            seed=self.seed,
        )
        torch.manual_seed(self.seed)
        models, found = (_composite if self.scheme in COMPOSITES else _single)(task, self.scheme)
        guesses = sum(model.probabilities(held_out["text"]) for model in models)
        missed = wrong(guesses, held_out["label"], corpora.TREC_LABELS)
        found |= {"wrong": missed, "of": len(held_out)}
        if self.split == "test":
            after = sum(_nats(model) for model in models) / len(models)
            found["forgetting"] = after - _nats_before(task)
        return found


Found = tuple[list[Classifier], dict]


def _single(task: Task, name: str) -> Found:
    """One training by a scheme of the catalogue, and what `adapt` says of it."""
    task = replace(task, scheme=SCHEMES[name])
    start = task.start()
    memory = _memory(start.copy(), task)
    adapted, seconds = clocks.timed(lambda: task.fit(start), jobs.processor_clock())
    report = adapted.report
    return [adapted], {
        "seconds": seconds,
        "start_difference": report.start_difference,
        "declared_is_moved": set(report.declared) == set(report.moved),
        "trained_share": report.trained / report.parameters,
        "training_memory": memory,
    }


def _composite(task: Task, name: str) -> Found:
    """Several trainings, each of everything; they start elsewhere, or are several."""
    memory = _memory(task.start(), task)
    models, seconds = clocks.timed(lambda: COMPOSITES[name](task), jobs.processor_clock())
    return models, {
        "seconds": seconds,
        "start_difference": None,
        "declared_is_moved": None,
        "trained_share": 1.0,
        "training_memory": memory,
    }


_before: dict[str, float] = {}  # by model: the same for every job of a process


def _nats_before(task: Task) -> float:
    if task.model not in _before:
        _before[task.model] = _nats(task.start())
    return _before[task.model]


def _nats(model: Classifier) -> float:
    """Nats a token of the body on held-out text."""
    articles = list(corpora.articles(corpora.load("wikitext-103")["validation"]))
    articles = articles[: HELD_OUT[sizes.current().name]]
    found = evaluate(model.body, model.tokenizer, articles)
    return found.nats / found.targets


def _memory(classifier: Classifier, task: Task) -> int:
    """Bytes of one training step on 32 texts; takes that step, by the task's scheme."""
    compute, scheme = device.choose(), task.scheme
    tokens, mask = pad(classifier.encode(task.texts[:32]), PAD)
    labels = torch.zeros(len(tokens), dtype=torch.long)
    batch = tuple(part.to(compute.device) for part in (tokens, mask, labels))
    classifier.to(compute.device)
    _, optimizer, _ = prepare(classifier, batch[:2], scheme=scheme, recipe=task.recipe)
    term = scheme.extra_loss(classifier) if scheme.extra_loss else None

    def loss() -> torch.Tensor:
        with compute.autocast():
            return classification_loss(classifier, batch, term)[0]

    return training_memory(classifier.train(), [optimizer], loss).total


def measure() -> dict:
    """One row a scheme and number of labels, and each scheme against full fine-tuning."""
    tried = dict(zip(SCHEMES, jobs.in_parallel(tune, SCHEMES), strict=True))
    found = jobs.run_all(_jobs(tried))
    everything = len(transfer.questions("all", 0, "test")[0])
    rows = []
    for scheme, labels in _pairs():
        mine = [each for each in found if (each["scheme"], each["labels"]) == (scheme, labels)]
        rows.append(_row(mine, everything if labels == "all" else labels))
    return {
        "job": "adaptation",
        **jobs.provenance(
            "TREC-6, published split; forgetting on WikiText-103's validation articles",
            note=f"{jobs.pooled()}; seconds are the processor's",
        ),
        "model": MODEL,
        "dev_errors": tried,
        "rows": rows,
        "comparisons": compare(rows, found[0]["of"]),
        "primary": list(PRIMARY),
    }


def _pairs() -> list[tuple]:
    """Every scheme with every number of labels that it is judged with."""
    names = [*SCHEMES, *COMPOSITES]
    return [
        (name, labels) for labels in DRAWS for name in (names if labels in EVERY_SCHEME else MAIN)
    ]


def tune(scheme: str) -> dict[float, float]:
    """Dev errors in percent by learning rate.

    LEARNING_RATES, and further while none below the highest is better.
    """
    errors: dict[float, float] = {}
    tried = list(LEARNING_RATES)
    for learning_rate in tried:
        recipe = Recipe(learning_rate=learning_rate, min_steps=MIN_STEPS)
        found = Job(scheme, "all", CHOICE_SEED, "dev", recipe).run()
        errors[learning_rate] = error = jobs.error_of(found)
        if learning_rate == tried[-1] and error <= min(list(errors.values())[:-1]):
            tried.append(2 * learning_rate)
    return errors


def _jobs(tried: dict[str, dict[float, float]]) -> list[Job]:
    """The runs that read the test set; with all labels each at its best learning rate."""
    best = {name: min(errors, key=errors.__getitem__) for name, errors in tried.items()}
    asked = []
    for scheme, labels in _pairs():
        recipe = Recipe(min_steps=MIN_STEPS)
        if labels == "all":
            recipe = replace(recipe, learning_rate=best.get(scheme, best[FULL.name]))
        asked += [Job(scheme, labels, seed, "test", recipe) for seed in range(DRAWS[labels])]
    return asked


def _row(mine: list[dict], labels: int) -> dict:
    """One scheme with one number of labels, over its seeds."""
    first = mine[0]
    return {
        "scheme": first["scheme"],
        "labels": labels,
        "seeds": [result["seed"] for result in mine],
        "recipe": first["recipe"],
        **jobs.over_seeds([jobs.error_of(result) for result in mine]),
        "test_wrong": [result["wrong"] for result in mine],
        "trained_share": first["trained_share"],
        "seconds": sum(result["seconds"] for result in mine) / len(mine),
        "training_memory": first["training_memory"],
        "start_difference": _over(max, mine, "start_difference"),
        "declared_is_moved": _over(all, mine, "declared_is_moved"),
        "forgetting": sum(result["forgetting"] for result in mine) / len(mine),
    }


def _over(together: Callable, mine: list[dict], name: str) -> Any:
    """`together` of the seeds' values, or None where there are none."""
    values = [result[name] for result in mine]
    return None if None in values else together(values)


def apart(row: dict, other: dict, questions: int) -> dict:
    """By how much two rows differ that have the same draws of labels.

    "points" are the mean difference and "points_interval" Student's over the draws; "p" is of a
    sign-flip test over questions on the mean over seeds.
    """
    found = metrics.sign_flip_test(row["test_wrong"], other["test_wrong"], questions)
    points = [a - b for a, b in zip(row["errors"], other["errors"], strict=True)]
    mean, low, high = metrics.mean_interval(points)
    return {"points": mean, "points_interval": [low, high], "p": found.p_value}


def compare(rows: list[dict], questions: int) -> list[dict]:
    """Each scheme `apart` from full fine-tuning with as many labels.

    PRIMARY is tested alone; the others with as many labels are Holm-corrected together.
    """
    by = {(row["scheme"], row["labels"]): row for row in rows}
    comparisons = []
    for (scheme, labels), row in by.items():
        if scheme != FULL.name:
            names = {"scheme": scheme, "against": FULL.name, "labels": labels}
            comparisons.append(names | apart(row, by[FULL.name, labels], questions))
    for entry in comparisons:
        entry["p_holm"] = entry["p"]
    for labels in {entry["labels"] for entry in comparisons}:
        family = [
            entry
            for entry in comparisons
            if entry["labels"] == labels and (entry["scheme"], labels) != PRIMARY
        ]
        jobs.correct(family)
    return comparisons
