"""Every scheme on TREC-6 from one checkpoint: errors, cost, forgetting, and who beats whom.

The catalogue of schemes fixes what they are made of; the rate of each was chosen on the dev split
among RATES, for either number of labels, with two seeds. Then every scheme is fitted on all
training questions, or on 100 of them, the same for every scheme, with five seeds, and reads the
test set once. Finished runs are kept in `runs/adaptation/`.
"""

import copy
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

import torch

from benchmarks import transfer
from tlcourse import checkpoints, corpora, device, files, metrics, pretraining, sizes
from tlcourse.adaptation.adapting import (
    FULL,
    Adaptation,
    Recipe,
    adapt,
    classification_loss,
    prepare,
)
from tlcourse.adaptation.classifier import PAD, Classifier, encode, predict, wrong
from tlcourse.adaptation.schemes import SCHEMES
from tlcourse.batching import pad
from tlcourse.bpe import Tokenizer
from tlcourse.memory import training_memory
from tlcourse.transformer import Transformer

MODEL, POOLING = "causal-small", "mean"
PRIMARY = ("gradual unfreezing", 100)  # named beforehand: against full fine-tuning
LABELS, SEEDS = (100, "all"), (0, 1, 2, 3, 4)
RATES, CHOICE_SEEDS = (2.5e-4, 5e-4, 1e-3), (0, 1)
MIN_STEPS = 200  # with few labels: more epochs, until there are so many steps
HELD_OUT = {"tiny": 1, "small": 6, "full": 60}  # articles of WikiText-103's validation split


@dataclass(frozen=True)
class Job:
    """One scheme, one draw of labels, one split to be judged on."""

    scheme: str
    labels: int | str
    seed: int
    split: str
    recipe: Recipe
    model: str = MODEL
    pooling: str = POOLING
    digest: str = ""  # of the checkpoint's weights

    def place(self) -> Path:
        """Where its result is kept."""
        return transfer.kept(self, "runs/adaptation")


def run(job: Job) -> dict:
    """Adapts and judges, or reads what an earlier run of this job left."""
    if job.place().exists():
        return files.read_json(job.place())
    torch.set_num_threads(1)
    compute = device.choose()
    train, held_out = transfer.questions(job.labels, job.seed, job.split)
    torch.manual_seed(job.seed)
    body, tokenizer = checkpoints.load(job.model)
    body.set_attention(compute.attention)
    classifier = Classifier(body, corpora.TREC_LABELS, job.pooling)
    before = _nats(classifier.body, tokenizer, compute)
    memory = _memory(copy.deepcopy(classifier), tokenizer, train["text"][:32], job)
    found: Adaptation = adapt(
        classifier, tokenizer, train["text"][:], train["label"][:], compute, job.recipe, job.seed,
        SCHEMES[job.scheme],
    )  # fmt: skip
    guesses = predict(classifier, tokenizer, held_out["text"][:], compute)
    result = asdict(job) | {
        "wrong": wrong(guesses, held_out["label"], corpora.TREC_LABELS),
        "of": len(held_out),
        "seconds": found.seconds,
        "start_difference": found.start_difference,
        "declared_is_moved": set(found.declared) == set(found.moved),
        "trained_share": found.trained / found.parameters,
        "training_memory": memory,
        "forgetting": _nats(classifier.body, tokenizer, compute) - before,
    }
    files.write_json(job.place(), result)
    share = len(result["wrong"]) / result["of"]
    print(
        f"{job.scheme}, {job.labels} labels, seed {job.seed}: {share:.1%} wrong on {job.split}, "
        f"{found.seconds:.0f} s, start {found.start_difference:.1e}, "
        f"forgets {result['forgetting']:+.2f}",
        flush=True,
    )
    return result


def _nats(body: Transformer, tokenizer: Tokenizer, compute: device.Compute) -> float:
    """Nats a token on held-out text."""
    articles = list(corpora.articles(corpora.load("wikitext-103")["validation"]))
    articles = articles[: HELD_OUT[sizes.current().name]]
    found = pretraining.evaluate(body, tokenizer, articles, compute)
    return found.nats / found.targets


def _memory(classifier: Classifier, tokenizer: Tokenizer, texts: list[str], job: Job) -> int:
    """Bytes of one training step on 32 texts; takes that step."""
    compute, scheme = device.choose(), SCHEMES[job.scheme]
    tokens, mask = pad(encode(texts, tokenizer, classifier.body.config.max_length), PAD)
    _, optimizer, _ = prepare(classifier, scheme, job.recipe, (tokens, mask))
    term = scheme.extra_loss(classifier) if scheme.extra_loss else None
    batch = tokens, mask, torch.zeros(len(texts), dtype=torch.long)

    def loss() -> torch.Tensor:
        with compute.autocast():
            return classification_loss(classifier, batch, term)[0]

    return training_memory(classifier.train(), [optimizer], loss).total


def measure() -> dict:
    """One row a scheme and number of labels, and each scheme against full fine-tuning."""
    pairs = [(name, labels) for labels in LABELS for name in SCHEMES]
    recipes = [Recipe(rate=rate, min_steps=MIN_STEPS) for rate in RATES]
    weights = transfer.digest(MODEL)
    with ProcessPoolExecutor(transfer.workers(), mp_context=get_context("spawn")) as pool:
        tried = list(
            pool.map(
                run,
                [
                    Job(*pair, seed, "dev", recipe, digest=weights)
                    for pair in pairs
                    for recipe in recipes
                    for seed in CHOICE_SEEDS
                ],
            )
        )
        choices = _choices(pairs, tried)
        found = list(
            pool.map(
                run,
                [
                    Job(*pair, seed, "test", choices[pair]["recipe"], digest=weights)
                    for pair in pairs
                    for seed in SEEDS
                ],
            )
        )
    count = len(SEEDS)
    rows = [
        _row(pair, found[place * count : (place + 1) * count], choices[pair])
        for place, pair in enumerate(pairs)
    ]
    return {
        "job": "adaptation",
        "size": sizes.current().name,
        "model": MODEL,
        "data": "TREC-6, published split; forgetting on WikiText-103's validation articles",
        "machine": device.describe(device.choose())
        + f", {transfer.workers()} runs at a time, one thread each",
        "versions": {"torch": torch.__version__},
        "rows": rows,
        "comparisons": compare(rows, found[0]["of"]),
        "primary": list(PRIMARY),
    }


def _choices(pairs: list[tuple], tried: list[dict]) -> dict[tuple, dict]:
    """For each scheme and number of labels the rate with the fewest dev errors."""
    choices, runs = {}, iter(tried)
    for pair in pairs:
        errors = {rate: [transfer.error_of(next(runs)) for _ in CHOICE_SEEDS] for rate in RATES}
        best = min(RATES, key=lambda rate: sum(errors[rate]))
        recipe = Recipe(rate=best, min_steps=MIN_STEPS)
        choices[pair] = {"recipe": recipe, "dev_errors": {str(r): e for r, e in errors.items()}}
    return choices


def _row(pair: tuple, mine: list[dict], choice: dict) -> dict:
    errors = [transfer.error_of(result) for result in mine]
    mean, low, high = metrics.mean_interval(errors)
    first = mine[0]
    return {
        "scheme": pair[0],
        "labels": 5452 if pair[1] == "all" else pair[1],
        "seeds": [result["seed"] for result in mine],
        "errors": errors,
        "mean": mean,
        "interval": [max(0.0, low), high],
        "test_wrong": [result["wrong"] for result in mine],
        "trained_share": first["trained_share"],
        "seconds": sum(result["seconds"] for result in mine) / len(mine),
        "training_memory": first["training_memory"],
        "start_difference": max(result["start_difference"] for result in mine),
        "declared_is_moved": all(result["declared_is_moved"] for result in mine),
        "forgetting": sum(result["forgetting"] for result in mine) / len(mine),
        "rate": choice["recipe"].rate,
        "dev_errors": choice["dev_errors"],
    }


def compare(rows: list[dict], questions: int) -> list[dict]:
    """Each scheme against full fine-tuning with as many labels.

    Sign-flip tests over questions on the mean over seeds, Holm-corrected over the whole table.
    """
    by = {(row["scheme"], row["labels"]): row for row in rows}
    comparisons = []
    for (scheme, labels), row in by.items():
        if scheme != FULL.name:
            other = by[FULL.name, labels]["test_wrong"]
            found = metrics.sign_flip_test(row["test_wrong"], other, questions)
            comparisons.append(
                {"scheme": scheme, "against": FULL.name, "labels": labels}
                | {"points": 100 * found.difference, "p": found.p_value}
            )
    for entry, p in zip(comparisons, metrics.holm([c["p"] for c in comparisons]), strict=True):
        entry["p_holm"] = p
    return comparisons
