"""Two questions that the leaderboard leaves open: do gains add up, and what does TAPT feed on?

With all labels the LM loss and pooled concatenation each made fewer errors than full fine-tuning,
not clearly. All others pool by the mean. Here are three poolings, each without the LM loss and with
it, at the rate that dev chose there for full fine-tuning. With 500 labels TAPT made clearly fewer
errors. Here it is beside the same pretraining on as many tokens of other texts: statements, and
questions, out of film reviews. What is in the leaderboard is taken from there, where the LM loss
has a rate of its own, and the rest runs on the same draws of labels: those of the leaderboard that
`adaptation` makes now, not of the earlier one that is stored. Finished runs are kept in
`runs/open_questions/`.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from benchmarks import adaptation, clocks, jobs, transfer
from benchmarks.composites import (
    ELSEWHERE,
    QUESTION,
    STATEMENT,
    Task,
    pretrained,
    sentences_elsewhere,
)
from benchmarks.trials import MODEL, POOLING
from tlcourse import corpora
from tlcourse.adaptation import FULL, SCHEMES, Recipe, leaderboard, wrong

LM = "with the LM loss"
POOLINGS = ("mean", "last token", "concatenation")
OWN, STATEMENTS, QUESTIONS = "TREC's questions", "statements of reviews", "questions of reviews"
KNOWN = {  # by number of labels: a variant's name here, and that of its row in the leaderboard
    "all": {
        f"{FULL.name}, mean": FULL.name,
        f"{LM}, mean": LM,
        f"{FULL.name}, concatenation": "pooled concatenation",
    },
    500: {FULL.name: FULL.name, OWN: "TAPT"},
}


@dataclass(frozen=True)
class Variant:
    """What is chosen otherwise than in full fine-tuning; `text` is what is read before, if any."""

    scheme: str = FULL.name
    pooling: str = POOLING
    text: str = ""


VARIANTS = {
    "all": {
        f"{scheme}, {pooling}": Variant(scheme, pooling)
        for pooling in POOLINGS
        for scheme in (FULL.name, LM)
        if f"{scheme}, {pooling}" not in KNOWN["all"]
    },
    500: {text: Variant(text=text) for text in (STATEMENTS, QUESTIONS)},
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
        *((text, FULL.name) for text in (OWN, STATEMENTS, QUESTIONS)),
    ),
}
BEST = COMPARED["all"][0][0]  # whose models are also asked together


@dataclass(frozen=True)
class Job(jobs.Job):
    """One variant on one draw of labels, judged on the test set."""

    study = "open_questions"
    model: ClassVar[str] = MODEL
    variant: Variant
    labels: int | str
    seed: int
    recipe: Recipe

    def work(self) -> dict:
        """Adapts and judges."""
        train, test = transfer.questions(self.labels, self.seed, "test")
        task = Task(
            model=self.model,
            pooling=self.variant.pooling,
            texts=train["text"][:],
            labels=train["label"][:],
            every_text=(),
            recipe=self.recipe,
            seed=self.seed,
            scheme=SCHEMES[self.variant.scheme],
        )
        torch.manual_seed(self.seed)
        text = self.variant.text
        first = texts(text) if text else ()
        classifier, seconds = clocks.timed(
            lambda: task.fit(pretrained(task, first) if text else task.start()),
            jobs.processor_clock(),
        )
        answers = classifier.probabilities(test["text"])
        missed = wrong(answers, test["label"], corpora.TREC_LABELS)
        found = {"wrong": missed, "of": len(test), "seconds": seconds}
        return found | {"probabilities": answers.tolist()}


def texts(name: str) -> list[str]:
    """What pretraining goes on with: the reviews' questions, or a statement for each of TREC's.

    A statement is as long as its question in words, or as near as QUESTION's and STATEMENT's
    bounds allow. Of the reviews' questions there are not so many: they are read more often.
    """
    if name == QUESTIONS:
        return sentences_elsewhere(QUESTION)
    by_words = defaultdict(list)
    for statement in sentences_elsewhere(STATEMENT):
        by_words[len(statement.split())].append(statement)
    lengths = [len(text.split()) for text in transfer.questions("all", 0, "test")[0]["text"]]
    bounds = min(by_words), max(by_words)
    return [by_words[min(max(length, bounds[0]), bounds[1])].pop(0) for length in lengths]


def measure() -> dict:
    """One row a variant, what was compared, and what the models of BEST answer together.

    Raises FileNotFoundError where there is no stored leaderboard.
    """
    board = jobs.stored("adaptation")
    asked = [
        Job(variant, labels, seed, jobs.recipe_of(of_the_board(board, FULL.name, labels)))
        for labels, variants in VARIANTS.items()
        for variant in variants.values()
        for seed in range(adaptation.DRAWS[labels])
    ]
    found = dict(zip(asked, jobs.run_all(asked), strict=True))
    of = next(iter(found.values()))["of"]
    rows, comparisons = [], []
    for labels, variants in VARIANTS.items():
        by = {
            name: known(board, scheme, labels, name, of) for name, scheme in KNOWN[labels].items()
        }
        for name, variant in variants.items():
            mine = [found[job] for job in asked if (job.variant, job.labels) == (variant, labels)]
            by[name] = row(name, labels, mine)
            if name == BEST:
                by["together"] = together(name, labels, mine)
        rows += by.values()
        comparisons += compare(by, labels, of)
    return {
        "job": "open_questions",
        **jobs.provenance(
            f"TREC-6, published split; texts of {ELSEWHERE}'s training reviews",
            note=f"{jobs.pooled()}; seconds are the processor's",
        ),
        "model": MODEL,
        "texts": {name: len(texts(name)) for name in (STATEMENTS, QUESTIONS)},
        "from_the_leaderboard": {str(labels): list(names) for labels, names in KNOWN.items()},
        "rows": rows,
        "comparisons": comparisons,
        "primary": [list(pairs[0]) for pairs in COMPARED.values()],
    }


def of_the_board(board: dict, scheme: str, labels: int | str) -> dict:
    """The leaderboard's row of a scheme; raises ValueError if it is not of the same draws."""
    row = leaderboard.rows_at(board, transfer.ALL if labels == "all" else labels)[scheme]
    seeds, draws = row["seeds"], adaptation.DRAWS[labels]
    if seeds != list(range(draws)):
        raise ValueError(f"expected {draws} draws of {scheme}, got those of the seeds {seeds}")
    return row


def known(board: dict, scheme: str, labels: int | str, name: str, of: int) -> dict:
    """A row of the leaderboard in the form of those here; `of` is the number of test questions."""
    row = of_the_board(board, scheme, labels)
    return transfer.row_of(name, labels, row["seeds"], row["test_wrong"], of, row["seconds"])


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
    jobs.correct(others)
    return entries
