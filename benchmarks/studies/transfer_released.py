"""Transfer on TREC-6 from a model that others released, beside the stored rows of `transfer`.

all-MiniLM-L6-v2 is adapted by the schemes of EVERY at every number of labels of `transfer`, and by
those of FEW with 100 and 500. With few labels each trains by its preset, which the dev split chose
(see `released`); with all labels, pooling, epochs and learning rate of full fine-tuning are chosen
on dev, as `transfer` chooses those of ours. Then the test set is read once a run. Draws of labels
and seeds are those of `transfer`, with which every row is compared.

What a scheme forgets is measured on what the model could do before: the cosine of two sentences'
mean states against people's scores of how alike they are (STS-B). Time and memory of a step are
those of one epoch of 2,000 questions, of this model and of causal-small. Finished runs are kept in
`runs/transfer_released/`.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from scipy.stats import spearmanr
from torch.nn import functional as F

from benchmarks import clocks, runner
from benchmarks.studies import transfer
from benchmarks.studies.comparison import apart
from benchmarks.studies.released import MODEL
from benchmarks.studies.trials import step_memory
from benchmarks.table import error_cell, line, points_cell, source
from tlcourse import corpora, results
from tlcourse.adaptation import (
    FULL,
    SCHEMES,
    Classifier,
    Recipe,
    adapt,
    by_length,
    preset,
)

OURS = "causal-small"
LORA = "LoRA, all layers"
EVERY = (FULL.name, LORA, "frozen body")
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
                start,
                texts,
                train["label"][:],
                scheme=scheme,
                recipe=self.recipe,
                seed=self.seed,
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
        by_length(classifier.encode(rows[each]), classifier.features, pad_id=classifier.pad)
        for each in ("sentence1", "sentence2")
    ]
    return 100 * float(spearmanr(F.cosine_similarity(*both).numpy(), rows["score"]).statistic)


def dev_job(candidate: tuple[str, int, float], seed: int) -> Job:
    """Full fine-tuning with all labels in one of the ways of CANDIDATES."""
    pooling, epochs, rate = candidate
    recipe = replace(preset(FULL, transfer.ALL, released=True), epochs=epochs, learning_rate=rate)
    return Job(FULL.name, "all", seed, "dev", pooling, recipe)


def choose() -> list[dict]:
    """What was tried on dev with all labels, the fewest errors first, means over two seeds."""
    seeds = transfer.CHOICE_SEEDS
    results = runner.run_all(dev_job(each, seed) for each in CANDIDATES for seed in seeds)
    tried = []
    for mine in runner.groups(results, len(seeds)):
        errors = [runner.error_of(result) for result in mine]
        entry = {key: mine[0][key] for key in ("pooling", "recipe")}
        tried.append(entry | {"dev_errors": errors, "dev_error": sum(errors) / len(errors)})
    return sorted(tried, key=lambda entry: entry["dev_error"])


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
    asked = [
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
        {"model": job.model, "scheme": job.scheme, "trained": found["trained"]}
        | {"milliseconds": 1_000 * found["seconds"] / job.recipe.steps(TIMED)}
        | {"mebibytes": found["memory"] / 2**20}
        for job, found in zip(asked, runner.run_all(asked), strict=True)
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
    found, seeds = [each["wrong"] for each in mine], [each["seed"] for each in mine]
    seconds = sum(each["seconds"] for each in mine) / len(mine)
    row = transfer.row_of(MODEL, first["labels"], seeds, found, first["of"], seconds)
    skills = [each["alike"] for each in mine]
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
            rivals = {model: each for (model, count), each in beside.items() if count == labels}
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
        lines.append(line(scheme, *(error_cell(row) if row else "" for row in rows)))
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
