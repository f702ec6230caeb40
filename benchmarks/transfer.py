"""Transfer on TREC-6: the shipped models, the same shape from scratch, and TF-IDF linear models.

What is to be chosen for a network is chosen on the dev split, with all labels; then everything is
frozen, the models are refitted on all training questions or on subsets of 100 and 500, and the test
set is read once. TF-IDF is chosen by cross-validation within the labels of each run. Runs go in
parallel, one thread each; finished ones are kept in `runs/transfer/`, so an interrupted benchmark
goes on where it was.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import torch

from tlcourse import checkpoints, corpora, device, files, metrics
from tlcourse.adaptation import baselines
from tlcourse.adaptation.classifier import POOLINGS, Classifier, Recipe, fine_tune, predict, wrong
from tlcourse.corpora.trec import label_subset, trec_with_dev
from tlcourse.transformer import Transformer

SEEDS = (0, 1, 2, 3, 4)
LABELS = (100, 500, "all")
SCRATCH, TFIDF = "from scratch", "TF-IDF"
# With few labels nothing is chosen: the steps of 12.5 epochs on 500 labels, set beforehand.
MIN_STEPS = 200


@dataclass(frozen=True)
class Job:
    """One training and its evaluation, on "dev" or "test"."""

    model: str
    labels: int | str
    seed: int
    pooling: str
    recipe: Recipe
    split: str
    digest: str  # of the checkpoint's weights: another checkpoint is another job


def digest(model: str) -> str:
    """Which weights a job starts from; the shape from scratch is that of causal-small."""
    if model == SCRATCH:
        return "none"
    weights = checkpoints.folder_of(model) / "model.safetensors"
    return hashlib.sha256(weights.read_bytes()).hexdigest()[:16]


def workers() -> int:
    """How many runs at a time: one a core, one a GPU."""
    return (os.cpu_count() or 1) if device.choose().device.type == "cpu" else 1


def kept(job: Job) -> Path:
    """Where a finished job's result is kept."""
    key = hashlib.sha256(json.dumps(asdict(job), sort_keys=True).encode()).hexdigest()[:16]
    return Path("runs/transfer") / f"{key}.json"


def run(job: Job) -> dict:
    """Trains and evaluates one classifier, or reads what an earlier run of this job left."""
    path = kept(job)
    if path.exists():
        return files.read_json(path)
    torch.set_num_threads(1)
    compute = device.choose()
    data = corpora.load("trec", source="local")
    data = trec_with_dev(data) if job.split == "dev" else data
    train = data["train"]
    if job.labels != "all":
        train = label_subset(train, job.labels, job.seed)
    torch.manual_seed(job.seed)
    body, tokenizer = checkpoints.load("causal-small" if job.model == SCRATCH else job.model)
    if job.model == SCRATCH:
        body = Transformer(body.config)
    body.set_attention(compute.attention)
    classifier = Classifier(body, corpora.TREC_LABELS, job.pooling)
    began = time.perf_counter()
    texts, labels = list(train["text"]), list(train["label"])
    fine_tune(classifier, tokenizer, texts, labels, compute, job.recipe, job.seed)
    seconds = time.perf_counter() - began
    held_out = data[job.split]
    guesses = predict(classifier, tokenizer, list(held_out["text"]), compute)
    errors = wrong(guesses, held_out["label"], corpora.TREC_LABELS)
    result = asdict(job) | {"wrong": errors, "of": len(held_out), "seconds": seconds}
    files.write_json(path, result)
    print(
        f"{job.model}, {job.labels} labels, seed {job.seed}, {job.pooling}: "
        f"{100 * len(errors) / len(held_out):.1f} % on {job.split}, {seconds:.0f} s",
        flush=True,
    )
    return result


def _error(result: dict) -> float:
    return 100 * len(result["wrong"]) / result["of"]


def candidates(model: str) -> Iterable[tuple[str, Recipe]]:
    """What is tried on dev for a model: poolings, then rates; from scratch longer training."""
    if model == SCRATCH:
        for rate, epochs in ((5e-4, 8), (1e-3, 8), (5e-4, 16)):
            yield "mean", Recipe(rate=rate, epochs=epochs)
    else:
        for pooling in POOLINGS:
            yield pooling, Recipe()
        yield "mean", Recipe(rate=1e-3)


def choose(models: Iterable[str], pool: ProcessPoolExecutor) -> dict[str, dict]:
    """For each model the pooling and recipe with the fewest dev errors (one seed)."""
    jobs = [
        Job(model, "all", 0, pooling, recipe, "dev", digest(model))
        for model in models
        for pooling, recipe in candidates(model)
    ]
    tried = list(pool.map(run, jobs))
    choices = {}
    for model in models:
        mine = [result for result in tried if result["model"] == model]
        best = min(mine, key=_error)
        choices[model] = {"pooling": best["pooling"], "recipe": best["recipe"]} | {
            "tried": [
                {k: r[k] for k in ("pooling", "recipe", "seconds")} | {"dev_error": _error(r)}
                for r in mine
            ]
        }
    return choices


def tfidf_rows() -> list[dict]:
    """The linear baseline, chosen by cross-validation within the labels that it may see."""
    data = corpora.load("trec", source="local")
    test, rows = data["test"], []
    for labels in LABELS:
        found, chosen, began = [], [], time.perf_counter()
        for seed in SEEDS if labels != "all" else SEEDS[:1]:  # all labels: nothing is random
            train = data["train"]
            if labels != "all":
                train = label_subset(train, labels, seed)
            choice = baselines.cross_validate(list(train["text"]), list(train["label"]))
            model = baselines.linear(choice.kind, choice.strength)
            guesses = model.fit(list(train["text"]), list(train["label"])).predict(test["text"][:])
            found.append([i for i, g in enumerate(guesses) if g != test[i]["label"]])
            chosen.append(asdict(choice))
        seconds = (time.perf_counter() - began) / len(found)
        seeds = list(SEEDS[: len(found)])
        rows.append(_row(TFIDF, labels, seeds, found, len(test), seconds) | {"choices": chosen})
    return rows


def _row(model, labels, seeds, found, of, seconds) -> dict:
    errors = [100 * len(numbers) / of for numbers in found]
    if len(errors) > 1:
        mean, low, high = metrics.mean_interval(errors)
    else:  # one deterministic fit: the interval is that of 500 questions
        low, high = (100 * share for share in metrics.wilson_interval(len(found[0]), of))
        mean = errors[0]
    return {
        "model": model,
        "labels": 5452 if labels == "all" else labels,
        "seeds": seeds,
        "errors": errors,
        "mean": mean,
        "interval": [max(0.0, low), high],
        "interval_kind": "Student t over seeds" if len(errors) > 1 else "Wilson over questions",
        "seconds": seconds,
        "test_wrong": found,
    }


def compare(rows: list[dict], questions: int) -> list[dict]:
    """Each shipped model against from scratch and TF-IDF at each number of labels, and both.

    Sign-flip tests over questions on the mean over seeds, Holm-corrected over the whole table.
    The primary comparison, named beforehand: causal-small against TF-IDF at all labels.
    """
    by = {(row["model"], row["labels"]): row for row in rows}
    shipped = [m for m in dict.fromkeys(row["model"] for row in rows) if m not in (SCRATCH, TFIDF)]
    comparisons = []
    for (model, labels), row in by.items():
        rivals = [SCRATCH, TFIDF, *shipped[shipped.index(model) + 1 :]] if model in shipped else []
        for other in rivals:
            found = metrics.sign_flip_test(
                row["test_wrong"], by[other, labels]["test_wrong"], questions
            )
            comparisons.append(
                {"model": model, "against": other, "labels": labels}
                | {"points": 100 * found.difference, "p": found.p_value}
            )
    for entry, p in zip(comparisons, metrics.holm([c["p"] for c in comparisons]), strict=True):
        entry["p_holm"] = p
    return comparisons


def measure() -> dict:
    """The whole benchmark; prints each run and the comparisons."""
    models = [*checkpoints.names(), SCRATCH]
    with ProcessPoolExecutor(workers(), mp_context=get_context("spawn")) as pool:
        choices = choose(models, pool)
        jobs = [
            Job(
                model, labels, seed, choices[model]["pooling"],
                replace(Recipe(**choices[model]["recipe"]), min_steps=MIN_STEPS),
                "test", digest(model),
            )
            for labels in LABELS for model in models for seed in SEEDS
        ]  # fmt: skip
        results = list(pool.map(run, jobs))
    rows = tfidf_rows()
    for labels in LABELS:
        for model in models:
            mine = [r for r in results if (r["model"], r["labels"]) == (model, labels)]
            seconds = sum(r["seconds"] for r in mine) / len(mine)
            found = [r["wrong"] for r in mine]
            row = _row(model, labels, list(SEEDS), found, mine[0]["of"], seconds)
            rows.append(row | {"pooling": mine[0]["pooling"], "recipe": mine[0]["recipe"]})
    return {
        "job": "transfer",
        "data": "TREC-6, published split of 5,452 and 500 questions",
        "note": (
            f"Mean over seeds with 95 % interval (Student t over {len(SEEDS)} seeds; TF-IDF at all "
            "labels is one deterministic fit, with Wilson's interval over 500 questions). Pooling "
            "and recipe of a network were chosen on dev with all labels, also for its runs on few; "
            "TF-IDF chose by cross-validation within its labels."
        ),
        "machine": device.describe(device.choose())
        + f", {workers()} runs at a time, one thread each",
        "versions": {"torch": torch.__version__},
        "training_seconds": sum(job["seconds"] for job in results)
        + sum(tried["seconds"] for each in choices.values() for tried in each["tried"]),
        "choices": choices,
        "rows": rows,
        "comparisons": compare(rows, results[0]["of"]),
    }
