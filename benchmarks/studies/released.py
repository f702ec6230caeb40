"""At which learning rates a released model learns, scheme by scheme: the presets of `adapt`.

all-MiniLM-L6-v2 is adapted to TREC-6 by every scheme of `tlcourse adapt` that a two-sided model can
follow. Each tries RATES learning rates with 500 labels and one seed, judged on the dev split, and
at most FURTHER more while the best is the first or the last; full fine-tuning, LoRA and the frozen
body try theirs again with all labels. The test set is not read. Finished runs are kept in
`runs/released/`.
"""

from dataclasses import dataclass
from operator import itemgetter

import torch

from benchmarks import clocks, runner
from benchmarks.studies import transfer
from tlcourse import corpora
from tlcourse.adaptation import SCHEMES, Classifier, LanguageModelling, Recipe, adapt, wrong
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
        guesses = adapted.probabilities(dev["text"])
        missed = wrong(guesses, dev["label"], corpora.TREC_LABELS)
        return {"wrong": missed, "of": len(dev), "seconds": seconds}


def first_rates(name: str) -> list[float]:
    """The learning rates that a scheme tries whatever comes."""
    return [LOWEST * ABOVE.get(name, 1) * FACTOR**step for step in range(RATES)]


def job_of(name: str, labels: int | str, rate: float) -> Job:
    """One run, as long as the presets have it."""
    head = None if name in FROZEN else HEAD_RATE
    recipe = Recipe(RELEASED_EPOCHS, rate, min_steps=MIN_STEPS, head_learning_rate=head)
    return Job(name, labels, SEED, recipe)


def further(points: list[dict]) -> float | None:
    """The learning rate beside the best one, where that is the first or the last; else None."""
    rates, best = sorted(point["rate"] for point in points), min(points, key=itemgetter("error"))
    if best["rate"] == rates[-1]:
        return rates[-1] * FACTOR
    return rates[0] / FACTOR if best["rate"] == rates[0] else None


def point(result: dict) -> dict:
    """What a row keeps of a run."""
    return {
        "scheme": result["scheme"],
        "labels": result["labels"],
        "rate": result["recipe"]["learning_rate"],
        "error": runner.error_of(result),
        "seconds": result["seconds"],
    }


def measure() -> dict:
    """One row a scheme, a number of labels and a learning rate; which had the fewest errors."""
    searched = [(name, LABELS) for name in NAMES] + [(name, "all") for name in EVERY]
    asked = [job_of(*each, rate) for each in searched for rate in first_rates(each[0])]
    found: list[dict] = []
    for _ in range(FURTHER + 1):
        found += runner.run_all(asked)
        rows = [point(result) for result in found]
        mine = {each: [r for r in rows if (r["scheme"], r["labels"]) == each] for each in searched}
        asked = [job_of(*each, rate) for each in searched if (rate := further(mine[each]))]
    choices: dict[str, dict] = {}
    for (scheme, labels), points in mine.items():
        best = min(points, key=itemgetter("error"))
        choices.setdefault(scheme, {})[str(labels)] = {"rate": best["rate"], "error": best["error"]}
    return {
        "job": "released",
        **runner.provenance("TREC-6, one dev split out of train", runs=found, note=runner.pooled()),
        "model": MODEL,
        "epochs": RELEASED_EPOCHS,
        "at_least": f"{MIN_STEPS} steps",
        "rows": sum(mine.values(), []),
        "choices": choices,
    }
