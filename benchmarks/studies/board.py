"""What studies of schemes on TREC-6 share: the runs that read the test set, and one table of them.

A scheme trains as it was chosen to on dev, before the test set was read. All are fitted on the same
draws of labels, held against full fine-tuning and judged by one rule.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks import runner
from benchmarks.studies import transfer
from benchmarks.studies.space import SPACE
from benchmarks.studies.trials import Job
from tlcourse import metrics
from tlcourse.adaptation import FULL

PRIMARY = ("LoRA, all layers", "all")  # named beforehand: against full fine-tuning
FEW = (FULL.name, "frozen body", "gradual unfreezing", "LoRA, all layers", "TAPT")
DATA = "TREC-6, published split; forgetting on WikiText-103's validation articles"
CLOCK = "seconds are the processor's"
WHAT_IS = re.compile(r"What (is|are) ")  # 22 % of the training questions, 46 % of the test's


def table(found: list[dict], pairs: list[tuple], draws: dict, choices: dict[str, dict]) -> dict:
    """Results of runs as rows, one a scheme and number of labels, and what is held against what.

    `draws` says how many there are of each number of labels; "dev_error" is that of the choice by
    which a scheme trains with all labels.
    """
    test = transfer.questions("all", 0, "test")[1]
    rows = []
    for scheme, labels in pairs:
        mine = [each for each in found if (each["scheme"], each["labels"]) == (scheme, labels)]
        dev = choices.get(scheme, {}).get("dev_error") if labels == "all" else None
        rows.append(_row(mine, transfer.ALL if labels == "all" else labels) | {"dev_error": dev})
    counting = transfer.tfidf_rows(draws)
    comparisons, beside = compare(rows, counting, len(test))
    return {
        "what_is": asked_what(test["text"]),
        "rows": rows,
        "counting": counting,
        "comparisons": comparisons,
        "against_counting": beside,
    }


def asked_what(texts: Iterable[str]) -> list[int]:
    """The numbers of the questions that begin with "What is" or "What are"."""
    return [row for row, text in enumerate(texts) if WHAT_IS.match(text)]


def tests(pairs: Iterable[tuple], draws: dict, choices: dict, few: dict) -> list[Job]:
    """The runs that read the test set, each as its scheme's choice says, with few labels as `few`.

    `pairs` are schemes with numbers of labels, `draws` says how many of each number. Composites
    train as full fine-tuning does.
    """
    asked = []
    for scheme, labels in pairs:
        like = scheme if scheme in SPACE else FULL.name
        choice = (choices if labels == "all" else few)[like]
        recipe, size = runner.recipe_of(choice), choice["size"] if scheme in SPACE else None
        asked += [
            Job(scheme, labels, seed, "test", recipe, size=size) for seed in range(draws[labels])
        ]
    return asked


def _row(mine: list[dict], labels: int) -> dict:
    """One scheme with one number of labels, over its seeds."""
    first = mine[0]
    return {
        "scheme": first["scheme"],
        "labels": labels,
        "seeds": [result["seed"] for result in mine],
        "recipe": first["recipe"],
        "size": first["size"],
        **runner.over_seeds([runner.error_of(result) for result in mine]),
        "test_wrong": [result["wrong"] for result in mine],
        "trained_share": first["trained_share"],
        "seconds": sum(result["seconds"] for result in mine) / len(mine),
        "training_memory": first["training_memory"],
        "start_difference": _over(max, mine, "start_difference"),
        "declared_is_moved": _over(all, mine, "declared_is_moved"),
        "forgetting": _over(_mean, mine, "forgetting"),
    }


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _over(together: Callable, mine: list[dict], name: str) -> Any:
    """`together` of the seeds' values, or None where there are none."""
    values = [result[name] for result in mine]
    return None if None in values else together(values)


def apart(row: dict, other: dict, questions: int) -> dict:
    """By how much two rows differ that have the same draws of labels.

    "points" are the mean difference and "points_interval" Student's over the draws, of which the
    other may have one alone; "p" is of a sign-flip test over questions on the mean over seeds.
    """
    found = metrics.sign_flip_test(row["test_wrong"], other["test_wrong"], questions)
    theirs = other["errors"] * (len(row["errors"]) if len(other["errors"]) == 1 else 1)
    points = [a - b for a, b in zip(row["errors"], theirs, strict=True)]
    mean, low, high = metrics.mean_interval(points)
    return {"points": mean, "points_interval": [low, high], "p": found.p_value}


def compare(
    rows: list[dict], counting: list[dict], questions: int
) -> tuple[list[dict], list[dict]]:
    """Each scheme `apart` from full fine-tuning with as many labels; FEW, too, from counting.

    All are one family, Holm-corrected; PRIMARY, named beforehand, is tested alone.
    """
    by = {(row["scheme"], row["labels"]): row for row in rows}
    simpler = {row["labels"]: row for row in counting}
    comparisons, beside = [], []
    for (scheme, labels), row in by.items():
        names = {"scheme": scheme, "labels": labels}
        if scheme != FULL.name:
            found = apart(row, by[FULL.name, labels], questions)
            comparisons.append(names | {"against": FULL.name} | found)
        if scheme in FEW and labels in simpler:
            found = apart(row, simpler[labels], questions)
            beside.append(names | {"against": transfer.TFIDF} | found)
    primary = (PRIMARY[0], transfer.ALL)
    family = [each for each in comparisons if (each["scheme"], each["labels"]) != primary]
    runner.correct(family + beside)
    for entry in comparisons:
        entry.setdefault("p_holm", entry["p"])
    return comparisons, beside
