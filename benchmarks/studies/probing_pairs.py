"""What layers add to the embeddings, and reading both sides to reading one: probes in pairs.

Two probes are judged on the same test items, and the difference has an interval over sentences.
Tasks and data are those of `python -m benchmarks probing`, and so is the probe. The layer is LAYER
for every task, so that nothing is chosen on the sentences that judge.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import runner
from benchmarks.studies.probing import MODELS, MOST, TASKS, sentences, vectors
from tlcourse import probing, sizes

LAYER = 4  # of six
CAUSAL, MASKED = MODELS
PAIRS = {  # what it tells: the first reader's gain over the second
    "layers": ((CAUSAL, LAYER), (CAUSAL, 0)),
    "both sides": ((MASKED, LAYER), (CAUSAL, LAYER)),
}


@dataclass(frozen=True)
class Job(runner.Job):
    """One task, asked of two readers, each a model and a layer."""

    study = "probing_pairs"
    task: str
    pair: str
    reader: tuple[str, int]
    other: tuple[str, int]
    most: int
    model: str = CAUSAL  # in every pair

    def weights(self) -> str:
        """Those of both."""
        return runner.digest(self.reader[0]) + runner.digest(self.other[0])

    def told(self, result: dict) -> str:
        """What is printed of it."""
        return "{:+.3f} ({:+.3f} to {:+.3f})".format(*result["gain"])

    def work(self) -> dict:
        """Fits both probes, and judges them together, on the sentences that both models read."""
        judged = [self._judged(*each) for each in (self.reader, self.other)]
        both = np.intersect1d(*(places for _, places in judged))
        (one, places), (other, same) = (
            (probe.among(np.isin(where, both)), where[np.isin(where, both)])
            for probe, where in judged
        )
        if not np.array_equal(places, same):
            raise ValueError(f"expected the same items from both readers of {self.task}")
        return {"right": [one.accuracy, other.accuracy], "gain": list(one.above(other, places))}

    def _judged(self, model: str, layer: int) -> tuple[probing.Judgement, Any]:
        """How the probe of a reader does on each test item, and the sentence of each."""
        corpus, _, made = TASKS[self.task]
        known, new = (
            probing.examples(features, made(rows), layer=layer)
            for features, rows in zip(
                vectors(corpus, self.most, (model, 0)), sentences(corpus, self.most), strict=True
            )
        )
        probe = probing.linear_probe(known.features, known.labels)
        return probe.judge(new.features, new.labels), new.sentences


def measure() -> dict:
    """A row a task and pair."""
    most = MOST[sizes.current().name]
    rows = runner.run_all(
        Job(task, pair, *readers, most) for task in TASKS for pair, readers in PAIRS.items()
    )
    return {
        "job": "probing_pairs",
        **runner.provenance("as in probing.json", note=runner.pooled()),
        "kinds": {name: kind for name, (_, kind, _) in TASKS.items()},
        "layer": LAYER,
        "rows": [{key: row[key] for key in ("task", "pair", "right", "gain")} for row in rows],
    }
