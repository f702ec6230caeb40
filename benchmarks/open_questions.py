"""Two questions that the leaderboard leaves open: do gains add up, and what does TAPT feed on?

With all labels the LM loss and pooled concatenation each made fewer errors than full fine-tuning,
not clearly. All others pool by the mean. Here are three poolings, each without the LM loss and with
it, at the rate that dev chose there for full fine-tuning and for the LM loss. With 500 labels TAPT
made clearly fewer errors. Here it is beside the same pretraining on as many tokens of other texts:
statements, and questions, out of film reviews. Finished runs are kept in `runs/open_questions/`.
"""

from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context

import numpy as np
import torch

from benchmarks import adaptation, transfer
from benchmarks.adaptation import MIN_STEPS, MODEL, POOLING
from benchmarks.composites import (
    ELSEWHERE,
    QUESTION,
    STATEMENT,
    Task,
    pretrained,
    sentences_elsewhere,
)
from tlcourse import checkpoints, corpora, device, files, metrics, sizes
from tlcourse.adaptation.adapting import FULL, Recipe
from tlcourse.adaptation.classifier import predict, wrong
from tlcourse.adaptation.schemes import SCHEMES

LM = "with the LM loss"
POOLINGS = ("mean", "last token", "concatenation")
OWN, STATEMENTS, QUESTIONS = "TREC's questions", "statements of reviews", "questions of reviews"
RATE = 1e-3  # with all labels
DRAWS = {"all": 5, 500: 10}


@dataclass(frozen=True)
class Variant:
    """What is chosen otherwise than in full fine-tuning; `text` is what is read before it."""

    scheme: str = FULL.name
    pooling: str = POOLING
    text: str = ""


VARIANTS = {
    "all": {
        f"{scheme}, {pooling}": Variant(scheme, pooling)
        for pooling in POOLINGS
        for scheme in (FULL.name, LM)
    },
    500: {FULL.name: Variant()}
    | {text: Variant(text=text) for text in (OWN, STATEMENTS, QUESTIONS)},
}
# Holm-corrected among those with as many labels, the first apart: it was named beforehand.
COMPARED = {
    "all": (
        *((f"{LM}, {pooling}", f"{FULL.name}, {pooling}") for pooling in reversed(POOLINGS)),
        *(
            (f"{scheme}, {p}", f"{scheme}, mean")
            for scheme in (FULL.name, LM)
            for p in POOLINGS[1:]
        ),
    ),
    500: (
        (OWN, STATEMENTS),
        (OWN, QUESTIONS),
        (QUESTIONS, STATEMENTS),
        *((text, FULL.name) for text in VARIANTS[500] if text != FULL.name),
    ),
}
BEST = COMPARED["all"][0][0]  # whose models are also asked together


@dataclass(frozen=True)
class Job:
    """One variant on one draw of labels, judged on the test set."""

    variant: Variant
    labels: int | str
    seed: int
    recipe: Recipe
    digest: str = ""  # of the checkpoint's weights


def run(job: Job) -> dict:
    """Adapts and judges, or reads what an earlier run of this job left."""
    place = transfer.kept(job, "runs/open_questions")
    if place.exists():
        return files.read_json(place)
    torch.set_num_threads(1)
    compute = device.choose()
    train, test = transfer.questions(job.labels, job.seed, "test")
    every_text = transfer.questions("all", job.seed, "test")[0]["text"][:]
    torch.manual_seed(job.seed)
    _, tokenizer = checkpoints.load(MODEL)
    task = Task(
        MODEL, job.variant.pooling, tokenizer, train["text"][:], train["label"][:], every_text,
        compute, job.recipe, job.seed, SCHEMES[job.variant.scheme],
    )  # fmt: skip
    torch.manual_seed(job.seed)
    text = job.variant.text
    first = texts(text, every_text) if text else []
    classifier, seconds = adaptation.timed(
        lambda: task.fit(pretrained(task, first) if text else task.start())
    )
    answers = predict(classifier, tokenizer, test["text"][:], compute)
    missed = wrong(answers, test["label"], corpora.TREC_LABELS)
    result = asdict(job) | {"wrong": missed, "of": len(test), "seconds": seconds}
    result["probabilities"] = answers.tolist()
    files.write_json(place, result)
    print(
        f"{job.variant}, {job.labels} labels, seed {job.seed}: {len(missed) / len(test):.1%} wrong",
        flush=True,
    )
    return result


def texts(name: str, own: list[str]) -> list[str]:
    """What pretraining goes on with; for each question of the reviews a statement as long."""
    if name == OWN:
        return own
    questions = sentences_elsewhere(QUESTION)
    if name == QUESTIONS:
        return questions
    by_words = defaultdict(list)
    for statement in sentences_elsewhere(STATEMENT):
        by_words[len(statement.split())].append(statement)
    return [by_words[len(question.split())].pop(0) for question in questions]


def measure() -> dict:
    """One row a variant, what was compared, and what the models of BEST answer together."""
    weights = transfer.digest(MODEL)
    jobs = [
        Job(variant, labels, seed, recipe(labels), weights)
        for labels, variants in VARIANTS.items()
        for variant in variants.values()
        for seed in range(DRAWS[labels])
    ]
    with ProcessPoolExecutor(transfer.workers(), mp_context=get_context("spawn")) as pool:
        found = dict(zip(jobs, pool.map(run, jobs), strict=True))
    rows, comparisons = [], []
    for labels, variants in VARIANTS.items():
        by = {}
        for name, variant in variants.items():
            mine = [found[job] for job in jobs if (job.variant, job.labels) == (variant, labels)]
            by[name] = row(name, labels, mine)
            if name == BEST:
                by["together"] = together(name, labels, mine)
        rows += by.values()
        comparisons += compare(by, labels, mine[0]["of"])
    return {
        "job": "open_questions",
        "size": sizes.current().name,
        "model": MODEL,
        "data": f"TREC-6, published split; {OWN} are those of its training split, the others of "
        f"{ELSEWHERE}'s training reviews",
        "texts": {name: count(name) for name in (OWN, STATEMENTS, QUESTIONS)},
        "machine": device.describe(device.choose())
        + f", {transfer.workers()} runs at a time, one thread each; seconds are the processor's",
        "versions": {"torch": torch.__version__},
        "rows": rows,
        "comparisons": comparisons,
        "primary": [list(pairs[0]) for pairs in COMPARED.values()],
    }


def recipe(labels: int | str) -> Recipe:
    """That of the leaderboard."""
    rate = RATE if labels == "all" else Recipe().rate
    return Recipe(rate=rate, min_steps=MIN_STEPS)


def count(name: str) -> int:
    """How many texts there are to go on pretraining with."""
    return len(texts(name, transfer.questions("all", 0, "test")[0]["text"][:]))


def row(name: str, labels: int | str, mine: list[dict]) -> dict:
    """One variant over its draws."""
    seeds, found = [each["seed"] for each in mine], [each["wrong"] for each in mine]
    seconds = sum(each["seconds"] for each in mine) / len(mine)
    return transfer.row_of(name, labels, seeds, found, mine[0]["of"], seconds)


def together(name: str, labels: int | str, mine: list[dict]) -> dict:
    """The answer by the mean of the members' probabilities: one model, with Wilson's interval."""
    answers = torch.from_numpy(np.mean([each["probabilities"] for each in mine], axis=0))
    test = transfer.questions(labels, 0, "test")[1]
    missed = wrong(answers, test["label"], corpora.TREC_LABELS)
    seconds = sum(each["seconds"] for each in mine)
    name = f"{name}, {len(mine)} models together"
    return transfer.row_of(name, labels, [0], [missed], len(test), seconds)


def compare(by: dict[str, dict], labels: int | str, questions: int) -> list[dict]:
    """The pairs of COMPARED, `adaptation.apart` from each other."""
    entries = [
        {"variant": a, "against": b, "labels": by[a]["labels"]}
        | adaptation.apart(by[a], by[b], questions)
        for a, b in COMPARED[labels]
    ]
    first, *others = entries
    first["p_holm"] = first["p"]
    for entry, p in zip(others, metrics.holm([each["p"] for each in others]), strict=True):
        entry["p_holm"] = p
    return entries
