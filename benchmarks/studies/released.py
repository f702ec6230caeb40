"""A model that others released, on TREC-6: which learning rates it wants, and what it reaches.

`python -m benchmarks released`: all-MiniLM-L6-v2 is adapted by every scheme of `tlcourse adapt`
that a two-sided model can follow, for the presets. Each tries RATES learning rates with 500 labels
and one seed, judged on the dev split, and at most FURTHER more while the best is the first or the
last; full fine-tuning, LoRA and the frozen body try theirs again with all labels. The test set is
not read.

`python -m benchmarks transfer_released`: the model stands beside the stored rows of `transfer`,
adapted by the schemes of EVERY at every number of labels of `transfer`, and by those of FEW with
100 and 500. With few labels each trains by its preset; with all labels, pooling, epochs and
learning rate of full fine-tuning are chosen on dev, as `transfer` chooses those of ours. Then the
test set is read once a run. Draws of labels and seeds are those of `transfer`, with which every row
is compared. What a scheme forgets is measured on what the model could do before: the cosine of two
sentences' mean states against people's scores of how alike they are (STS-B). Time and memory of a
step are those of one epoch of 2,000 questions, of this model and of causal-small.

Finished runs are kept in `runs/transfer_released/`.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from scipy.stats import spearmanr
from torch.nn import functional as F

from benchmarks import clocks, runner
from benchmarks.markdown import error_cell, line, points_cell, source
from benchmarks.studies import grid_search, transfer
from benchmarks.studies.comparison import apart
from benchmarks.studies.trials import step_memory
from tlcourse import corpora, results
from tlcourse.adaptation import (
    FULL,
    SCHEMES,
    Classifier,
    LanguageModelling,
    Recipe,
    adapt,
    by_length,
    preset,
)
from tlcourse.adaptation.presets import FROZEN, HEAD_RATE, MIN_STEPS, RELEASED_EPOCHS

MODEL, OURS = "all-MiniLM-L6-v2", "causal-small"
LABELS, SEED = 500, 0  # of the search
EVERY = (FULL.name, "LoRA, all layers", "frozen body")  # searched with all labels, too
LOWEST, RATES, FURTHER = 1e-4, 4, 2  # learning rates, each twice the one before
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
    name for name, scheme in SCHEMES.items() if not isinstance(scheme.extra_loss, LanguageModelling)
)
FEW = ("gradual unfreezing", "BitFit")
FEW_LABELS = (100, 500)
CANDIDATES = (  # pooling, epochs and learning rate of full fine-tuning with all labels
    ("mean", 5, 5e-5),
    ("classification token", 5, 5e-5),
    ("mean", 5, 1e-4),
    ("mean", 10, 5e-5),
)
TIMED = 2_000  # labels, of an epoch that is timed


@dataclass(frozen=True)
class Job(runner.Job):
    """One scheme on one draw of labels, judged on "dev" or "test"."""

    study = "transfer_released"
    scheme: str
    labels: int | str
    seed: int
    split: str
    pooling: str
    recipe: Recipe
    model: str = MODEL

    def work(self) -> dict:
        """Adapts and judges; of a run on the test set, how much of the model's skill is left."""
        train, held_out = transfer.questions(self.labels, self.seed, self.split)
        start = Classifier.from_checkpoint(
            self.model, corpora.TREC_LABELS, pooling=self.pooling, seed=self.seed
        )
        scheme, texts = SCHEMES[self.scheme], train["text"][:]
        memory = step_memory(start.copy(), texts, scheme, self.recipe)
        adapted, seconds = clocks.timed(
            lambda: adapt(
                start, texts, train["label"][:], scheme=scheme, recipe=self.recipe, seed=self.seed
            ),
            runner.processor_clock(),
        )
        costs = {"seconds": seconds, "memory": memory, "trained": adapted.report.trained}
        skill = {"alike": alike(adapted)} if self.split == "test" else {}
        return transfer.judged(adapted, held_out) | costs | skill


@torch.no_grad()
def alike(classifier: Classifier, split: str = "validation") -> float:
    """Spearman's correlation of cosines with people's scores on STS-B, times 100.

    A sentence is what the classifier's pooling makes of its states, whatever head is on top.
    """
    rows = corpora.load("stsb")[split]
    classifier.eval()
    both = [
        by_length(classifier.encode(rows[column]), classifier.features, pad_id=classifier.pad)
        for column in ("sentence1", "sentence2")
    ]
    return 100 * float(spearmanr(F.cosine_similarity(*both).numpy(), rows["score"]).statistic)


def first_rates(name: str) -> list[float]:
    """The learning rates that a scheme tries whatever comes."""
    return [LOWEST * ABOVE.get(name, 1) * 2**step for step in range(RATES)]


def job_of(name: str, labels: int | str, rate: float) -> Job:
    """One run, as long as the presets have it."""
    head = None if name in FROZEN else HEAD_RATE
    recipe = Recipe(RELEASED_EPOCHS, rate, min_steps=MIN_STEPS, head_learning_rate=head)
    return Job(name, labels, SEED, "dev", "mean", recipe)


def points(searched: tuple[str, int | str]) -> list[dict]:
    """What was tried of a scheme with a number of labels."""
    name, labels = searched

    def point(rate: float) -> dict:
        result = job_of(name, labels, rate).run()
        kept = {key: result[key] for key in ("seconds", "made_on") if key in result}
        error = runner.error_of(result)
        return {"scheme": name, "labels": labels, "rate": rate, "error": error} | kept

    return grid_search.tried(point, first_rates(name), FURTHER)


def search() -> dict:
    """One row a scheme, a number of labels and a learning rate; which had the fewest errors."""
    searched = [(name, LABELS) for name in NAMES] + [(name, "all") for name in EVERY]
    grids = runner.in_parallel(points, searched)
    rows = [row for grid in grids for row in grid]
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


def dev_job(candidate: tuple[str, int, float], seed: int) -> Job:
    """Full fine-tuning with all labels in one of the ways of CANDIDATES."""
    pooling, epochs, rate = candidate
    recipe = replace(preset(FULL, transfer.ALL, released=True), epochs=epochs, learning_rate=rate)
    return Job(FULL.name, "all", seed, "dev", pooling, recipe)


def choose() -> list[dict]:
    """What was tried on dev with all labels, the fewest errors first, means over two seeds."""
    runs = runner.run_all(
        dev_job(way, seed) for way in CANDIDATES for seed in transfer.CHOICE_SEEDS
    )
    return sorted(transfer.on_dev(runs), key=lambda entry: entry["dev_error"])


def test_job(scheme: str, labels: int | str, seed: int, chosen: dict) -> Job:
    """The run whose test errors stand in the table; `chosen` is full fine-tuning's with all."""
    if (scheme, labels) == (FULL.name, "all"):
        recipe, pooling = Recipe(**chosen["recipe"]), chosen["pooling"]
    else:
        texts = transfer.ALL if labels == "all" else labels
        recipe, pooling = preset(SCHEMES[scheme], texts, released=True), "mean"
    return Job(scheme, labels, seed, "test", pooling, recipe)


def steps() -> list[dict]:
    """Seconds and memory of a step of each scheme of EVERY, of this model and of causal-small."""
    jobs = [
        Job(
            scheme,
            TIMED,
            0,
            "dev",
            "mean",
            replace(preset(SCHEMES[scheme], TIMED, released=model == MODEL), epochs=1, min_steps=0),
            model,
        )
        for model in (OURS, MODEL)
        for scheme in EVERY
    ]
    return [
        {"model": job.model, "scheme": job.scheme, "trained": run["trained"]}
        | {"milliseconds": 1_000 * run["seconds"] / job.recipe.steps(TIMED)}
        | {"mebibytes": run["memory"] / 2**20}
        for job, run in zip(jobs, runner.run_all(jobs), strict=True)
    ]


def measure() -> dict:
    """One row a scheme and number of labels, each beside the stored rows of `transfer`.

    Raises FileNotFoundError where the results of `transfer` are not stored.
    """
    beside = {(row["model"], row["labels"]): row for row in results.stored("transfer")["rows"]}
    tried = choose()
    pairs = [(scheme, labels) for labels in transfer.LABELS for scheme in EVERY]
    pairs += [(scheme, labels) for labels in FEW_LABELS for scheme in FEW]
    runs = runner.run_all(
        test_job(*pair, seed, tried[0]) for pair in pairs for seed in transfer.SEEDS
    )
    rows = [_row(mine) for mine in runner.groups(runs, len(transfer.SEEDS))]
    return {
        "job": "transfer_released",
        **runner.provenance(
            "TREC-6, published split of 5,452 and 500 questions; STS-B, validation",
            runs=runs,
            note=runner.pooled(),
        ),
        "note": (
            f"Mean over {len(transfer.SEEDS)} seeds with 95 % interval (Student t). With few "
            "labels each scheme trained by its preset, which 500 labels and the dev split chose; "
            "with all, full fine-tuning as dev chose among the ways tried."
        ),
        "model": MODEL,
        "tried": tried,
        "alike_before": {
            model: alike(Classifier.from_checkpoint(model, corpora.TREC_LABELS))
            for model in (MODEL, OURS)
        },
        "rows": rows,
        "steps": steps(),
        "comparisons": compare(rows, beside, runs[0]["of"]),
    }


def _row(mine: list[dict]) -> dict:
    """One scheme with one number of labels, over its seeds."""
    first = mine[0]
    missed, seeds = [run["wrong"] for run in mine], [run["seed"] for run in mine]
    seconds = sum(run["seconds"] for run in mine) / len(mine)
    row = transfer.row_of(MODEL, first["labels"], seeds, missed, first["of"], seconds)
    skills = [run["alike"] for run in mine]
    return row | {
        "scheme": first["scheme"],
        "pooling": first["pooling"],
        "recipe": first["recipe"],
        "trained": first["trained"],
        "alike": runner.over_seeds(skills),
    }


def compare(rows: list[dict], beside: dict[tuple, dict], questions: int) -> list[dict]:
    """Each scheme `apart` from full fine-tuning with as many labels; that from what `beside` holds.

    One family, Holm-corrected. The primary comparison, named beforehand: full fine-tuning with 100
    labels against causal-small.
    """
    by = {(row["scheme"], row["labels"]): row for row in rows}
    comparisons = []
    for (scheme, labels), row in by.items():
        if scheme == FULL.name:
            rivals = {model: other for (model, count), other in beside.items() if count == labels}
        else:
            rivals = {FULL.name: by[FULL.name, labels]}
        for name, other in rivals.items():
            entry = {"scheme": scheme, "labels": labels, "against": name}
            comparisons.append(entry | apart(row, other, questions))
    runner.correct(comparisons)
    return comparisons


def section(study: dict[str, Any]) -> str:
    """For RESULTS.md: what the model reaches, what a step costs, what its schemes forget."""
    by = {(row["scheme"], row["labels"]): row for row in study["rows"]}
    columns = sorted({labels for _, labels in by})
    lines = [
        "## A model that others released",
        "",
        f"{study['model']} on the same questions, draws of labels and seeds as above. "
        f"{study['note']} {source(study, 'lessons 04 and 05b')}",
        "",
        "Test error in percent:",
        "",
        line("", *(f"{labels:,} labels" for labels in columns)),
        "|---|" + "---:|" * len(columns),
    ]
    for scheme in dict.fromkeys(scheme for scheme, _ in by):
        rows = [by.get((scheme, labels)) for labels in columns]
        lines.append(line(scheme, *map(error_cell, rows)))
    lines += [
        "",
        "Points of error more than what each is held against, on the same draws, with 95 % "
        "interval over draws; p is of a sign-flip test over questions, Holm-corrected. *Alike* is "
        "how well cosines of sentences' mean states go with people's scores on STS-B after the "
        "training (rank correlation × 100); before it, "
        + ", ".join(f"{value:.1f} for {name}" for name, value in study["alike_before"].items())
        + ".",
        "",
        line("", "labels", "against", "points", "alike"),
        "|---|---:|---|---:|---:|",
    ]
    for entry in study["comparisons"]:
        row = by[entry["scheme"], entry["labels"]]
        cells = f"{entry['labels']:,}", entry["against"], points_cell(entry)
        lines.append(line(entry["scheme"], *cells, f"{row['alike']['mean']:.1f}"))
    lines += [
        "",
        "A training step of 32 questions, on one thread:",
        "",
        line("", "scheme", "parameters trained", "milliseconds", "MiB"),
        "|---|---|---:|---:|---:|",
    ]
    for step in study["steps"]:
        cells = f"{step['trained']:,}", f"{step['milliseconds']:.0f}", f"{step['mebibytes']:.0f}"
        lines.append(line(step["model"], step["scheme"], *cells))
    return "\n".join(lines)


STUDIES = {
    "released": runner.Measurement(search),
    "transfer_released": runner.Measurement(measure, section),
}
