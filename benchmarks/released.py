"""At which learning rates a released model learns, scheme by scheme: the presets of `adapt`.

all-MiniLM-L6-v2 is adapted to TREC-6 by every scheme of `tlcourse adapt` that a two-sided model can
follow. Each tries RATES learning rates with 500 labels and one seed, judged on the dev split; full
fine-tuning, LoRA and the frozen body try theirs again with all labels. The test set is not read.
Finished runs are kept in `runs/released/`.
"""

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import torch

from benchmarks import clocks, jobs, transfer
from tlcourse import corpora
from tlcourse.adaptation import SCHEMES, Classifier, LanguageModelling, Recipe, adapt, wrong
from tlcourse.adaptation.presets import FROZEN, HEAD_RATE, MIN_STEPS, RELEASED_EPOCHS

MODEL = "all-MiniLM-L6-v2"
LABELS, SEED = 500, 0
EVERY = ("full fine-tuning", "LoRA, all layers", "frozen body")  # searched with all labels, too
LOWEST, RATES = 1e-4, 4  # learning rates, each FACTOR times the one before
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
class Job(jobs.Job):
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
            jobs.processor_clock(),
        )
        guesses = adapted.probabilities(dev["text"])
        missed = wrong(guesses, dev["label"], corpora.TREC_LABELS)
        return {"wrong": missed, "of": len(dev), "seconds": seconds}


def jobs_of(name: str, labels: int | str) -> list[Job]:
    """The runs of a scheme: one a learning rate, as long as the presets have it."""
    how = {"min_steps": MIN_STEPS, "head_learning_rate": None if name in FROZEN else HEAD_RATE}
    rates = [LOWEST * ABOVE.get(name, 1) * FACTOR**step for step in range(RATES)]
    return [Job(name, labels, SEED, Recipe(RELEASED_EPOCHS, rate, **how)) for rate in rates]


def measure() -> dict:
    """One row a scheme, a number of labels and a learning rate; which had the fewest errors."""
    asked = [job for name in NAMES for job in jobs_of(name, LABELS)]
    asked += [job for name in EVERY for job in jobs_of(name, "all")]
    found = jobs.run_all(asked)
    rows = [
        {
            "scheme": each["scheme"],
            "labels": each["labels"],
            "rate": each["recipe"]["learning_rate"],
            "error": jobs.error_of(each),
            "seconds": each["seconds"],
        }
        for each in found
    ]
    choices: dict[str, dict] = {}
    for (scheme, labels), same in groupby(rows, key=itemgetter("scheme", "labels")):
        best = min(same, key=itemgetter("error"))
        choices.setdefault(scheme, {})[str(labels)] = {"rate": best["rate"], "error": best["error"]}
    return {
        "job": "released",
        **jobs.provenance("TREC-6, one dev split out of train", runs=found, note=jobs.pooled()),
        "model": MODEL,
        "epochs": RELEASED_EPOCHS,
        "at_least": f"{MIN_STEPS} steps",
        "rows": rows,
        "choices": choices,
    }
