"""When does it come? Probes, agreement, loss and transfer against the tokens that a model has read.

One run for each objective, causal and masked, from the same random weights; kept after each
doubling of the tokens, from 0 (a random encoder) on. Both read an eighth of the windows of one
text, the same and none twice.
After the warm-up the learning rate stays where it is, so that no kept model has been decayed: each
would do better if it were, and they can be compared with each other.

Each is asked for parts of speech (linear probe, beside its control task) and trees (distance
probe), both on UD English EWT in the layer that does best on its validation sentences; for
agreement without an attractor and with one; and for its loss, in its own objective, on held-out
text. Then each is fine-tuned on 500 TREC questions by one recipe. `correlations` says how well the
ranks of a score fit those of the accuracy on TREC's dev split, beside the rank of the tokens read.

A run that was stopped goes on from the state it saved last; kept models and what was found of them
lie in `runs/growth/`.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from scipy.stats import spearmanr

from benchmarks import runner
from benchmarks.studies import pretraining_runs, snapshots
from tlcourse import checkpoints, probing, sizes
from tlcourse.batching import TokenFile
from tlcourse.bpe import Tokenizer
from tlcourse.pretraining import PretrainingRecipe
from tlcourse.transformer import Config

OBJECTIVES = ("causal", "masked")
# What is held against transfer, and whether more of it is better.
SCORES = {"part of speech": 1, "selectivity": 1, "trees": 1, "agreement, 0 attractors": 1}
SCORES |= {"agreement, 1 attractor": 1, "loss": -1, "tokens": 1}


@dataclass(frozen=True)
class Scale:
    """What is trained and asked at a size."""

    text: int = 25_000_000  # tokens in the file
    tokens: int = 3_125_000  # of them that a run reads
    doublings: int = 5  # so the first model that has read something is kept after 0.1M
    recipe: PretrainingRecipe = PretrainingRecipe(decay=0.0)
    shape: Config = Config()
    learnt: int = 2_000  # sentences that probes learn from
    judged: int = 1_000  # and as many to choose a layer by, and to judge on
    pairs: int = 400  # of each number of attractors
    articles: int = 10
    labels: int = 500  # of fine-tuning
    seeds: tuple[int, ...] = (0,)


TINY = Scale(
    4_096, 1_024, 1, PretrainingRecipe(batch_size=4, length=32, decay=0.0),
    Config(8192, 32, 1, 2, 64, 256), 12, 8, 4, 1, 24, (0,),
)  # fmt: skip
SCALES = {"tiny": TINY, "small": Scale(), "full": Scale()}


@dataclass(frozen=True)
class Run(pretraining_runs.Run):
    """One pretraining; its start is kept as well, as of 0 tokens."""

    study = "growth"
    of: int = 0  # tokens in the file from which it reads

    def text(self) -> tuple[TokenFile, Tokenizer]:
        """More than it reads."""
        return pretraining_runs.corpus(self.of)

    def run(self) -> dict:
        """Saves the model that has read nothing, then trains to the end from where it was."""
        start = self.checkpoint(0)
        if not start.exists():
            card = f"A run of a study: {self.name}.\n"
            checkpoints.save(start, self.model_at_start(), self.text()[1], card=card)
        return super().run()


@dataclass(frozen=True)
class Job(runner.Job):
    """All that one kept model is asked, but for transfer."""

    study = "growth"
    model: str
    objective: str
    tokens: int  # that it has read
    learnt: int
    judged: int
    pairs: int
    articles: int

    def told(self, result: dict) -> str:
        """Its parts of speech."""
        return f"parts of speech {100 * result['part of speech'][0]:.1f} % right"

    def work(self) -> dict:
        """Probes, pairs and loss: accuracies as [value, low, high], with their 95 % intervals."""
        model, tokenizer = checkpoints.load(self.model)
        read = [
            (probing.extract(model, tokenizer, [(each.text, each.spans) for each in rows]), rows)
            for rows in snapshots.sentences(self.learnt, self.judged)
        ]
        found = snapshots.tags(*read) | snapshots.trees(*read)
        found |= snapshots.agreement(model, tokenizer, self.pairs)
        return found | {"loss": snapshots.loss(model, tokenizer, self.articles)}


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> dict:
    """Spearman's, with an approximate 95 % interval (Bonett & Wright, 2000) as of separate models.

    Where the ranks agree in full the interval would have no width: its end is then that of the
    nearest correlation that so many points can have, two neighbours changing places. None for fewer
    than five points, or where all are equal.
    """
    points = len(one)
    if points < 5 or len(set(one)) == 1 or len(set(other)) == 1:
        return {"rho": None, "interval": None, "points": points}
    rho = float(spearmanr(one, other).statistic)
    most = 1 - 12 / (points * (points**2 - 1))
    near = min(max(rho, -most), most)
    width = 1.96 * math.sqrt((1 + near**2 / 2) / (points - 3))
    low, high = (math.tanh(math.atanh(near) + sign * width) for sign in (-1, 1))
    return {"rho": rho, "interval": [min(low, rho), max(high, rho)], "points": points}


def correlations(rows: Sequence[dict]) -> list[dict]:
    """For each objective and score how its ranks fit those of the accuracy on TREC's dev split."""
    found = []
    for objective in OBJECTIVES:
        mine = [row for row in rows if row["objective"] == objective]
        right = [-row["dev error"] for row in mine]
        for score, sign in SCORES.items():
            values = [row[score] for row in mine]
            values = [sign * (each[0] if isinstance(each, list) else each) for each in values]
            found.append({"objective": objective, "score": score} | rank_correlation(values, right))
    return found


def runs(scale: Scale) -> list[Run]:
    """The two runs: budgets that are doubled, in whole steps."""
    step = scale.recipe.batch_size * scale.recipe.length
    halved = [scale.tokens >> times for times in reversed(range(scale.doublings + 1))]
    kept = tuple(tokens // step * step for tokens in halved)
    return [
        Run(
            objective, replace(scale.recipe, objective=objective), kept, config=scale.shape,
            of=scale.text,
        )
        for objective in OBJECTIVES
    ]  # fmt: skip


def measure() -> dict:
    """A row an objective and number of tokens; the loss curves and the correlations beside them."""
    scale = SCALES[sizes.current().name]
    both = runs(scale)
    both[0].text()  # once, before both want it
    histories = [found["history"] for found in runner.run_all(both)]
    kept = [(run, tokens) for run in both for tokens in (0, *run.kept)]
    asked = (scale.learnt, scale.judged, scale.pairs, scale.articles)
    rows = runner.run_all(
        Job(str(run.checkpoint(tokens)), run.recipe.objective, tokens, *asked)
        for run, tokens in kept
    )
    places = [run.checkpoint(tokens) for run, tokens in kept]
    for row, found in zip(
        rows, pretraining_runs.judge(places, [scale.labels], scale.seeds), strict=True
    ):
        del row["model"]
        row |= {"dev error": found["mean"], "dev errors": found["dev_errors"]}
    told = f"UD English EWT, {scale.learnt:,} sentences, {scale.judged:,} of dev and of test; "
    told += f"{snapshots.TEXT} validation, {scale.articles} articles; TREC-6, dev, {scale.labels} "
    told += "labels"
    return {
        "job": "growth",
        **runner.provenance(f"{', '.join(pretraining_runs.names())}; {told}", note=runner.pooled()),
        "recipes": {run.name: asdict(run.recipe) for run in both},
        "curves": {
            run.name: pretraining_runs.curve(history, run.recipe)
            for run, history in zip(both, histories, strict=True)
        },
        "correlations": correlations(rows),
        "rows": rows,
    }
