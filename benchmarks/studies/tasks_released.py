"""More than TREC with a model that others released, beside the stored rows of `tasks`.

all-MiniLM-L6-v2 on the tasks of `tasks` but TREC, and on paraphrases (MRPC), with the same samples
of labels and the same judged texts: full fine-tuning by its preset, which only TREC's dev split
chose, and a linear head solved on frozen features. causal-small and TF-IDF stand beside it, on MRPC
from this study. STS-B is answered without any training: cosines of sentences' mean
states, or of TF-IDF vectors, against people's scores. Finished runs are kept in
`runs/tasks_released/`.

What this model has read is no clean transfer everywhere: its card lists SNLI, MultiNLI, Quora's
question pairs and SQuAD 2.0 among its training pairs, which are the tasks of RTE, MRPC and STS-B
in other texts; of SST-2 and IMDB it lists nothing.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy
from scipy.stats import spearmanr
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks import runner
from benchmarks.studies import tasks, transfer
from benchmarks.studies.comparison import apart
from benchmarks.studies.released import MODEL
from benchmarks.studies.transfer_released import OURS, alike
from benchmarks.table import error_cell, line, points_cell, source
from tlcourse import corpora, results
from tlcourse.adaptation import FULL, SCHEMES, Classifier, Recipe, preset

READ = {"rte": "NLI", "mrpc": "paraphrases of questions", "stsb": "NLI and paraphrases"}
LABELS = (100, 2_000)
PARAPHRASES = "mrpc"
MRPC = tasks.Kind("test", ("sentence1", "sentence2"), LABELS, tasks.SHORT)
NAMES = (FULL.name, tasks.SOLVED)


@dataclass(frozen=True)
class Job(tasks.Job):
    """One scheme on one draw of labels of one task."""

    study = "tasks_released"
    model: str = MODEL

    def kind(self) -> tasks.Kind:
        """What the task is."""
        return MRPC if self.task == PARAPHRASES else super().kind()


def recipe_for(scheme: str, task: str, labels: int) -> Recipe:
    """A scheme's preset; reviews, which are long, are seen as often as in `tasks`."""
    recipe = preset(SCHEMES.get(scheme, FULL), labels, released=True)
    if task != "imdb":
        return recipe
    shape = {key: getattr(tasks.LONG, key) for key in ("epochs", "batch_size", "min_steps")}
    return replace(recipe, **shape)


def asked() -> list[Job]:
    """The runs, three samples of labels for each row."""
    rows = [
        (task, labels, scheme, recipe_for(scheme, task, labels), MODEL)
        for task in ("sst-2", "rte", PARAPHRASES, "imdb")
        for labels in LABELS
        for scheme in NAMES
    ] + [
        (PARAPHRASES, labels, scheme, tasks.SHORT, OURS)
        for labels in LABELS
        for scheme in (FULL.name, tasks.TFIDF)
    ]
    return [
        Job(task, labels, scheme, seed, recipe, model)
        for task, labels, scheme, recipe, model in rows
        for seed in tasks.SEEDS
    ]


def sentence_pairs(split: str) -> dict[str, float]:
    """How well cosines go with people's scores on STS-B, by model: Spearman's correlation × 100."""
    found = {
        model: alike(Classifier.from_checkpoint(model, corpora.TREC_LABELS), split)
        for model in (MODEL, OURS)
    }
    rows = corpora.load("stsb")[split]
    counting = TfidfVectorizer(sublinear_tf=True).fit(rows["sentence1"][:] + rows["sentence2"][:])
    both = [counting.transform(rows[each][:]) for each in ("sentence1", "sentence2")]
    cosines = numpy.asarray(both[0].multiply(both[1]).sum(axis=1)).ravel()
    return found | {transfer.TFIDF: 100 * float(spearmanr(cosines, rows["score"][:]).statistic)}


def measure() -> dict:
    """One row a task, number of labels, scheme and model, beside the stored rows of `tasks`.

    Raises FileNotFoundError where the results of `tasks` are not stored.
    """
    kept = results.stored("tasks")["rows"]
    runs = asked()
    found = runner.run_all(runs)
    rows = [
        row | {"model": transfer.TFIDF if row["scheme"] == tasks.TFIDF else job.model}
        for row, job in zip(tasks.rows_of(runs, found), runs[:: len(tasks.SEEDS)], strict=True)
    ]
    return {
        "job": "tasks_released",
        **runner.provenance(
            "SST-2 validation, 1,000 reviews of IMDB's test, RTE validation, 1,000 pairs of "
            "MRPC's test, STS-B",
            runs=found,
            note=runner.pooled(),
        ),
        "model": MODEL,
        "read": READ,
        "sentence_pairs": {split: sentence_pairs(split) for split in ("validation", "test")},
        "rows": rows,
        "comparisons": compare(rows, kept),
    }


def compare(rows: list[dict], kept: list[dict]) -> list[dict]:
    """Each row of MODEL `apart` from TF-IDF and from full fine-tuning of ours; one Holm family."""
    beside = {(each["task"], each["labels"], each["scheme"]): each for each in kept}
    beside |= {
        (each["task"], each["labels"], each["scheme"]): each
        for each in rows
        if each["model"] != MODEL
    }
    comparisons = []
    for row in rows:
        for rival in (tasks.TFIDF, FULL.name) if row["model"] == MODEL else ():
            other = beside[row["task"], row["labels"], rival]
            pair = ({"test_wrong": e["wrong"], "errors": e["errors"]} for e in (row, other))
            names = {key: row[key] for key in ("task", "labels", "scheme")}
            against = rival if rival == tasks.TFIDF else OURS
            comparisons.append(names | {"against": against} | apart(*pair, row["judged"]))
    runner.correct(comparisons)
    return comparisons


def section(study: dict[str, Any]) -> str:
    """For RESULTS.md: a row a task, number of labels and way to learn."""
    beside = {(e["task"], e["labels"], e["scheme"], e["against"]): e for e in study["comparisons"]}
    rivals = list(dict.fromkeys(entry["against"] for entry in study["comparisons"]))
    read = ", ".join(f"{name}: {what}" for name, what in study["read"].items())
    lines = [
        f"The same tasks with {study['model']}, mean over three samples of labels with 95 % "
        "interval, and points against TF-IDF and full fine-tuning of ours on the same samples. "
        f"What it has read that is like a task: {read}. {source(study, 'lesson 06b')}",
        "",
        line("task", "labels", "", "error", *(f"against {rival}" for rival in rivals)),
        "|---|---:|---|---:|" + "---:|" * len(rivals),
    ]
    for row in study["rows"]:
        key = row["task"], row["labels"], row["scheme"]
        points = [points_cell(beside.get((*key, rival))) for rival in rivals]
        name = row["scheme"] if row["model"] == study["model"] else f"{row['model']}: {key[2]}"
        lines.append(line(key[0], f"{key[1]:,}", name, error_cell(row), *points))
    lines += [
        "",
        "Cosines of two sentences against people's scores, without any training (STS-B, rank "
        "correlation × 100):",
        "",
    ]
    for split, correlations in study["sentence_pairs"].items():
        shown = ", ".join(f"{name} {value:.1f}" for name, value in correlations.items())
        lines.append(f"- {split}: {shown}")
    return "\n".join(lines)
