"""The 2019 tutorial's own recipes on TREC-6, with a model of our size, beside what it published.

Ruder, Peters, Swayamdipta & Wolf (2019) adapted 50M parameters with a linear layer on the
classification token: Adam, 10 steps up to 6.5e-5 and then linearly to 0, 16 questions a step, 3
epochs, a tenth of train held out. Here our model is adapted in each of their ways, the head as fast
as the rest, and full fine-tuning at the rate that suits our size, too. Ours is AdamW without decay.
Dev error is taken after each epoch, and the test set is read once. What it published are single
runs of 500 questions: they stand beside ours with Wilson's intervals, and are not to be beaten.
Copies of its notebook misspell the line that thaws a block; "never thawed" is what they do. Whether
its run of gradual unfreezing did is not known.

Then its picture of restarts: the same few labels, twenty seeds, with another labelled task first
and without, at three rates. A run has failed if it makes as many errors as the commonest label.

Finished runs are kept in `runs/tutorial/` and `runs/restarts/`.
"""

from collections import Counter
from dataclasses import dataclass, replace

import torch

from benchmarks import runner
from benchmarks.studies import multi_stage, transfer
from benchmarks.studies.multi_stage import Task
from benchmarks.studies.trials import errors_each_epoch
from tlcourse import corpora, metrics
from tlcourse.adaptation import (
    Adapters,
    Classifier,
    GradualUnfreezing,
    Group,
    LanguageModelling,
    Recipe,
    Scheme,
    adapt,
)
from tlcourse.corpora import label_subset, trec_with_dev
from tlcourse.training import warmup_stable_decay

MODEL, POOLING = "causal-small", "classification token"
SEEDS, RESTARTS = range(5), range(20)
THEIRS = Recipe(learning_rate=6.5e-5, batch_size=16, epochs=3, weight_decay=0.0)
OUR_RATE = 5e-4
FEW, FEW_RATES = 200, (5e-4, 1e-3, 2e-3)
OURS = "full fine-tuning, our rate"
WAYS = (
    "full fine-tuning, its rate",
    OURS,
    "adapters",
    "gradual unfreezing",
    "never thawed",
    "multi-task",
)
PUBLISHED = {  # % wrong: on dev after each epoch, on test; so many of its parameters moved
    "full fine-tuning, its rate": ((9.2, 5.9, 5.7), 3.6, 1.0),
    "adapters": ((9.2, 7.5, 7.5), 4.0, 0.25),
    "gradual unfreezing": ((7.7, 6.8, 7.3), 5.2, None),
    "multi-task": ((9.4, None, None, None, None, 5.3), 3.4, 1.0),
}


@dataclass(frozen=True)
class TenStepsUp:
    """Linear up over 10 steps, then linear to 0; the same for all groups."""

    def __call__(self, steps, groups):
        """One factor a step."""
        return warmup_stable_decay(steps, min(10, steps - 1), 1.0)


@dataclass(frozen=True)
class Alike:
    """What is moved: "all", "added" or only what "surrounds" the blocks, embeddings and head too.

    All at `factor` times the rate.
    """

    moved: str = "all"
    factor: float = 1.0

    def __call__(self, classifier, added):
        """One group."""
        names = [
            name
            for name, _ in classifier.named_parameters()
            if self.moved == "all"
            or not name.startswith(("body.blocks", "body.norm"))
            or (self.moved == "added" and name in added)
        ]
        return {self.moved: Group(tuple(names), self.factor)}


@dataclass(frozen=True)
class BlocksUnderTheRest:
    """A group for each block, and one for all that is around them, which moves first."""

    def __call__(self, classifier, added):
        """Groups from the first block on."""
        around = Alike("surrounds")(classifier, added)["surrounds"]
        count, blocks = len(classifier.body.blocks), {}
        for name, _ in classifier.named_parameters():
            if name not in around.names:
                place = name.split(".")[2] if ".blocks." in name else str(count - 1)
                blocks.setdefault(f"block {place}", []).append(name)
        return {name: Group(tuple(names)) for name, names in blocks.items()} | {"around": around}


def scheme_and_recipe(way: str, blocks: int) -> tuple[Scheme, Recipe]:
    """One of WAYS for a body of so many blocks."""
    up, all_alike = TenStepsUp(), Alike()
    # Their interval is the steps over the blocks and one: all move in the last of them.
    thaw = GradualUnfreezing(shape=up, share=blocks / (blocks + 1))
    schemes = {
        "adapters": Scheme(edit=Adapters(32), groups=Alike("added", 10.0), schedule=up),
        "gradual unfreezing": Scheme(groups=BlocksUnderTheRest(), schedule=thaw),
        "never thawed": Scheme(groups=Alike("surrounds"), schedule=up),
        "multi-task": Scheme(groups=all_alike, schedule=up, extra_loss=LanguageModelling(0.5)),
    }
    changes = {"multi-task": {"epochs": 6}, OURS: {"learning_rate": OUR_RATE}}
    scheme = schemes.get(way, Scheme(groups=all_alike, schedule=up))
    return scheme, replace(THEIRS, **changes.get(way, {}))


@dataclass(frozen=True)
class Job(runner.Job):
    """One way with one seed: dev after each epoch, and the test set once."""

    study = "tutorial"
    way: str
    seed: int
    model: str = MODEL

    def work(self) -> dict:
        """Adapts and judges."""
        data = trec_with_dev(corpora.load("trec", source="local"))
        train, dev, test = (data[name] for name in ("train", "dev", "test"))
        torch.manual_seed(self.seed)
        start = Classifier.from_checkpoint(
            self.model, corpora.TREC_LABELS, pooling=POOLING, seed=self.seed
        )
        scheme, recipe = scheme_and_recipe(self.way, len(start.body.blocks))
        curve, steps = [], -(-len(train) // recipe.batch_size)
        adapted = adapt(
            start,
            train["text"],
            train["label"],
            scheme=scheme,
            recipe=recipe,
            seed=self.seed,
            handlers=[errors_each_epoch(dev, curve, steps)],
        )
        report = adapted.report
        share = report.trained / report.parameters
        costs = {"dev": curve, "share": share, "seconds": report.seconds}
        return transfer.judged(adapted, test) | costs


@dataclass(frozen=True)
class Restart(runner.Job):
    """The same few labels with another seed, after an intermediate task or without."""

    study = "restarts"
    intermediate: bool
    learning_rate: float
    seed: int
    model: str = MODEL

    def work(self) -> dict:
        """Adapts and judges on dev."""
        data = trec_with_dev(corpora.load("trec", source="local"))
        few = label_subset(data["train"], FEW, seed=0)
        recipe = Recipe(learning_rate=self.learning_rate, min_steps=100)
        texts, labels = few["text"][:], few["label"][:]
        task = Task(self.model, POOLING, texts, labels, (), recipe, self.seed)
        torch.manual_seed(self.seed)
        model = multi_stage.stilts(task)[0] if self.intermediate else task.fit(task.start())
        return transfer.judged(model, data["dev"])


def measure() -> dict:
    """A row a way with what was published beside it, and the restarts."""
    runs = runner.run_all(Job(way, seed) for way in WAYS for seed in SEEDS)
    groups = runner.groups(runs, len(SEEDS))
    rows = [row(way, mine) for way, mine in zip(WAYS, groups, strict=True)]
    return {
        "job": "tutorial",
        **runner.provenance("TREC-6, published split, a tenth of train held out"),
        "model": MODEL,
        "pooling": POOLING,
        "rows": rows,
        "restarts": restarts(),
    }


def row(way: str, mine: list[dict]) -> dict:
    """A way over its seeds; the published run under "published"."""
    of = mine[0]["of"]
    entry = {
        "way": way,
        "share": mine[0]["share"],
        "dev": [
            sum(errors) / len(errors) for errors in zip(*(run["dev"] for run in mine), strict=True)
        ],
        **runner.over_seeds([runner.error_of(run) for run in mine]),
        "test_wrong": [run["wrong"] for run in mine],
        "seconds": sum(run["seconds"] for run in mine) / len(mine),
        "published": None,
    }
    if way in PUBLISHED:
        dev, test, share = PUBLISHED[way]
        low, high = metrics.wilson_interval(round(test * of / 100), of)
        entry["published"] = {"dev": dev, "test": test, "share": share}
        entry["published"]["interval"] = [100 * low, 100 * high]
    return entry


def restarts() -> dict:
    """Dev errors of all seeds by rate, and how many did no better than the commonest label."""
    dev = trec_with_dev(corpora.load("trec", source="local"))["dev"]
    commonest = Counter(dev["label"]).most_common(1)[0][1]
    failed = 100 * (len(dev) - commonest) / len(dev)
    kinds = [(first, rate) for first in (False, True) for rate in FEW_RATES]
    runs = runner.run_all(Restart(*kind, seed) for kind in kinds for seed in RESTARTS)
    groups = runner.groups(runs, len(RESTARTS))
    rows = []
    for (intermediate, rate), mine in zip(kinds, groups, strict=True):
        errors = [runner.error_of(run) for run in mine]
        lost = sum(error >= failed for error in errors)
        rows.append({"intermediate": intermediate, "learning_rate": rate, "errors": errors})
        rows[-1]["failed"] = lost
    return {
        "labels": FEW,
        "commonest": failed,
        "on_the_way": multi_stage.INTERMEDIATE,
        "rows": rows,
    }
