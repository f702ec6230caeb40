"""At which learning rates a released model learns, scheme by scheme: the presets of `adapt`.

all-MiniLM-L6-v2 is adapted to TREC-6 by every scheme of `tlcourse adapt` that a two-sided model can
follow. Each tries RATES learning rates with 500 labels and one seed, judged on the dev split, and
at most FURTHER more while the best is the first or the last; full fine-tuning, LoRA and the frozen
body try theirs again with all labels. The test set is not read. Finished runs are kept in
`runs/released/`.
"""

from dataclasses import dataclass

import torch

from benchmarks import clocks, runner
from benchmarks.studies import grid_search, transfer
from tlcourse import corpora
from tlcourse.adaptation import SCHEMES, Classifier, LanguageModelling, Recipe, adapt
from tlcourse.adaptation.presets import FROZEN, HEAD_RATE, MIN_STEPS, RELEASED_EPOCHS

MODEL = "all-MiniLM-L6-v2"
LABELS, SEED = 500, 0
EVERY = ("full fine-tuning", "LoRA, all layers", "frozen body")  # searched with all labels, too
LOWEST, RATES, FURTHER = 1e-4, 4, 2  # learning rates, each FACTOR times the one before
FACTOR = 2
ABOVE = {  # how many times higher the schemes begin that change little
    "frozen body": 16,
    "mix of layers": 16,
    "top 2 layers": 2,
    "Houlsby adapters": 2,
    "Pfeiffer adapters": 2,
    "LoRA": 2,
    "LoRA, all layers": 2,
    "BitFit": 4,
    "prefix tuning": 8,
}
NAMES = tuple(
    name for name, each in SCHEMES.items() if not isinstance(each.extra_loss, LanguageModelling)
)


@dataclass(frozen=True)
class Job(runner.Job):
    """One scheme at one learning rate."""

    study = "released"
    scheme: str
    labels: int | str
    seed: int
    recipe: Recipe
    model: str = MODEL

    def work(self) -> dict:
        """Adapts, and judges on the dev split."""
        train, dev = transfer.questions(self.labels, self.seed, "dev")
        start = Classifier.from_checkpoint(self.model, corpora.TREC_LABELS, seed=self.seed)
        torch.manual_seed(self.seed)
        adapted, seconds = clocks.timed(
            lambda: adapt(
                start,
                train["text"][:],
                train["label"][:],
                scheme=SCHEMES[self.scheme],
                recipe=self.recipe,
                seed=self.seed,
            ),
            runner.processor_clock(),
        )
        return transfer.judged(adapted, dev) | {"seconds": seconds}


def first_rates(name: str) -> list[float]:
    """The learning rates that a scheme tries whatever comes."""
    return [LOWEST * ABOVE.get(name, 1) * FACTOR**step for step in range(RATES)]


def job_of(name: str, labels: int | str, rate: float) -> Job:
    """One run, as long as the presets have it."""
    head = None if name in FROZEN else HEAD_RATE
    recipe = Recipe(RELEASED_EPOCHS, rate, min_steps=MIN_STEPS, head_learning_rate=head)
    return Job(name, labels, SEED, recipe)


def points(searched: tuple[str, int | str]) -> list[dict]:
    """What was tried of a scheme with a number of labels."""
    name, labels = searched

    def point(rate: float) -> dict:
        result = job_of(name, labels, rate).run()
        kept = {key: result[key] for key in ("seconds", "made_on") if key in result}
        error = runner.error_of(result)
        return {"scheme": name, "labels": labels, "rate": rate, "error": error} | kept

    return grid_search.tried(point, first_rates(name), FURTHER)


def measure() -> dict:
    """One row a scheme, a number of labels and a learning rate; which had the fewest errors."""
    searched = [(name, LABELS) for name in NAMES] + [(name, "all") for name in EVERY]
    grids = runner.in_parallel(points, searched)
    rows = sum(grids, [])
    choices: dict[str, dict] = {}
    for (scheme, labels), tried in zip(searched, grids, strict=True):
        best = grid_search.best(tried)
        choices.setdefault(scheme, {})[str(labels)] = {"rate": best["rate"], "error": best["error"]}
    return {
        "job": "released",
        **runner.provenance("TREC-6, one dev split out of train", runs=rows, note=runner.pooled()),
        "model": MODEL,
        "epochs": RELEASED_EPOCHS,
        "at_least": f"{MIN_STEPS} steps",
        "rows": [{key: row[key] for key in row if key != "made_on"} for row in rows],
        "choices": choices,
    }
