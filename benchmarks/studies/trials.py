"""One trial of a scheme on TREC-6: adapted once, judged once, and what it cost.

On a dev split with all labels, errors are also taken after each epoch. Forgetting is the change in
nats per token on held-out articles. Finished trials are kept in `runs/adaptation/`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from datasets import Dataset
from ignite.engine import Engine, Events

from benchmarks import clocks, runner
from benchmarks.studies import transfer
from benchmarks.studies.initial_models import weights_of
from benchmarks.studies.multi_stage import MULTI_STAGE, TAPT, Task, reading
from benchmarks.studies.search_space import task_at, task_model
from tlcourse import corpora, device, sizes
from tlcourse.adaptation import (
    Classifier,
    Recipe,
    Scheme,
    classification_loss,
    misclassified,
    prepare,
)
from tlcourse.batching import pad
from tlcourse.evaluation import evaluate
from tlcourse.memory import training_memory

MODEL, POOLING = "causal-small", "mean"
HELD_OUT = {"tiny": 1, "small": 6, "full": 50}  # of WikiText-103's 60 validation articles


@dataclass(frozen=True)
class Job(runner.Job):
    """One scheme, one draw of labels, one split to be judged on."""

    study = "adaptation"
    scheme: str
    labels: int | str
    seed: int
    split: str
    recipe: Recipe
    model: str = MODEL
    pooling: str = POOLING
    size: Any = None  # the scheme's own number, see `search_space`
    fold: int = 0  # which dev split

    def weights(self) -> str:
        """None of any checkpoint for what starts from scratch."""
        return weights_of(task_model(self.scheme, self.model))

    def work(self) -> dict:
        """Adapts and judges."""
        train, held_out = transfer.questions(self.labels, self.seed, self.split, fold=self.fold)
        every_text = transfer.questions("all", self.seed, self.split)[0]["text"][:]
        texts, labels = train["text"][:], train["label"][:]
        task = Task(self.model, self.pooling, texts, labels, every_text, self.recipe, self.seed)
        torch.manual_seed(self.seed)
        if self.scheme in MULTI_STAGE:
            models, costs = _multi_stage(task, self.scheme)
        else:
            task = task_at(self.scheme, task, self.size)
            each_epoch = self.split == "dev" and self.labels == "all"
            models, costs = _single(task, held_out if each_epoch else None)
        guesses = sum(model.probabilities(held_out["text"]) for model in models)
        missed = misclassified(guesses, held_out["label"], corpora.TREC_LABELS)
        after = sum(_nats(model) for model in models) / len(models)
        forgetting = after - _nats_before(task) if task.model == self.model else None
        return costs | {"wrong": missed, "of": len(held_out), "forgetting": forgetting}


Fitted = tuple[list[Classifier], dict]


def _single(task: Task, dev: Dataset | None) -> Fitted:
    """One training by the task's scheme, what `adapt` says of it, and dev after each epoch."""
    start, curve = task.start(), []
    memory = step_memory(start.copy(), task.texts, task.scheme, task.recipe)
    steps = -(-len(task.texts) // task.recipe.batch_size)
    handlers = [] if dev is None else [errors_each_epoch(dev, curve, steps)]
    adapted, seconds = clocks.timed(
        lambda: task.fit(start, handlers=handlers), runner.processor_clock()
    )
    report = adapted.report
    return [adapted], {
        "seconds": seconds,
        "start_difference": report.start_difference,
        "declared_is_moved": set(report.declared) == set(report.moved),
        "trained_share": report.trained / report.parameters,
        "training_memory": memory,
        "dev": curve,
    }


def errors_each_epoch(dev: Dataset, curve: list[float], steps: int) -> Callable[[Engine], None]:
    """A handler for `adapt` that puts the errors in percent on `dev` into `curve`.

    An epoch has so many `steps`.
    """

    def attach(trainer: Engine) -> None:
        @trainer.on(Events.ITERATION_COMPLETED(every=steps))
        def judge() -> None:
            curve.append(runner.error_of(transfer.judged(trainer.model, dev)))
            trainer.model.train()

    return attach


def _multi_stage(task: Task, name: str) -> Fitted:
    """One training or several, each of everything."""
    memory = step_memory(task.start(), task.texts, task.scheme, task.recipe)
    earlier = reading(name, task)[1] if name in TAPT else 0.0  # kept, and paid for all the same
    models, seconds = clocks.timed(lambda: MULTI_STAGE[name](task), runner.processor_clock())
    return models, {
        "seconds": earlier + seconds,
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
    read = evaluate(model.body, model.tokenizer, articles)
    return read.nats / read.targets


def step_memory(classifier: Classifier, texts: list[str], scheme: Scheme, recipe: Recipe) -> int:
    """Bytes of one training step on the first 32 texts; takes that step, by the scheme."""
    compute = device.choose()
    tokens, mask = pad(classifier.encode(texts[:32]), classifier.pad)
    labels = torch.zeros(len(tokens), dtype=torch.long)
    batch = tuple(part.to(compute.device) for part in (tokens, mask, labels))
    classifier.to(compute.device)
    _, optimizer, _ = prepare(classifier, batch[:2], scheme=scheme, recipe=recipe)
    term = scheme.extra_loss(classifier) if scheme.extra_loss else None

    def loss() -> torch.Tensor:
        with compute.autocast():
            return classification_loss(classifier, batch, term)[0]

    return training_memory(classifier.train(), [optimizer], loss).total
