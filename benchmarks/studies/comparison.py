"""Rows of schemes on TREC-6's test set, and what is compared with what.

All schemes of a study are fitted on the same draws of labels and judged by one rule: a sign-flip
test over questions, Holm-corrected within the study, and an interval over draws.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from benchmarks import runner
from benchmarks.studies import transfer
from tlcourse import metrics
from tlcourse.adaptation import FULL

PRIMARY = ("LoRA, all layers", "all")  # named beforehand: against full fine-tuning
FEW = (FULL.name, "frozen body", "gradual unfreezing", "LoRA, all layers", "TAPT")
WHAT_IS = re.compile(r"What (is|are) ")  # 22 % of the training questions, 46 % of the test's


def row_of(mine: list[dict], labels: int) -> dict:
    """One scheme with one number of labels, over the draws of its results."""
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
        "seconds": _mean([result["seconds"] for result in mine]),
        "training_memory": first["training_memory"],
        "start_difference": _over(max, mine, "start_difference"),
        "declared_is_moved": _over(all, mine, "declared_is_moved"),
        "forgetting": _over(_mean, mine, "forgetting"),
    }


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _over(together: Callable, mine: list[dict], name: str) -> Any:
    """`together` of the results' values, or None where one has none."""
    values = [result[name] for result in mine]
    return None if None in values else together(values)


def asked_what(texts: Iterable[str]) -> list[int]:
    """The numbers of the questions that begin with "What is" or "What are"."""
    return [row for row, text in enumerate(texts) if WHAT_IS.match(text)]


def apart(row: Mapping, other: Mapping, questions: int) -> dict:
    """By how much two rows differ that have the same draws of labels.

    "points" are the mean difference and "points_interval" Student's over the draws, of which the
    other may have one alone; "p" is of a sign-flip test over questions on the mean over seeds.
    """
    result = metrics.sign_flip_test(row["test_wrong"], other["test_wrong"], questions)
    theirs = other["errors"] * (len(row["errors"]) if len(other["errors"]) == 1 else 1)
    points = [a - b for a, b in zip(row["errors"], theirs, strict=True)]
    mean, low, high = metrics.mean_interval(points)
    return {"points": mean, "points_interval": [low, high], "p": result.p_value}


def compare(
    rows: list[dict], counting: list[dict], questions: int
) -> tuple[list[dict], list[dict]]:
    """Each scheme `apart` from full fine-tuning with as many labels; FEW, too, from counting.

    All are one family, Holm-corrected; PRIMARY, named beforehand, is tested alone.
    """
    by = {(row["scheme"], row["labels"]): row for row in rows}
    simpler = {row["labels"]: row for row in counting}
    comparisons, against_counting = [], []
    for (scheme, labels), row in by.items():
        names = {"scheme": scheme, "labels": labels}
        if scheme != FULL.name:
            entry = apart(row, by[FULL.name, labels], questions)
            comparisons.append(names | {"against": FULL.name} | entry)
        if scheme in FEW and labels in simpler:
            entry = apart(row, simpler[labels], questions)
            against_counting.append(names | {"against": transfer.TFIDF} | entry)
    primary = (PRIMARY[0], transfer.ALL)
    named = [entry for entry in comparisons if (entry["scheme"], entry["labels"]) == primary]
    _correct(named, [entry for entry in comparisons if entry not in named] + against_counting)
    return comparisons, against_counting


def compare_pairs(rows: list[dict], pairs: Iterable[tuple[str, str]], questions: int) -> list[dict]:
    """Pairs of schemes `apart` on the same draws; the first pair, named beforehand, alone."""
    by = {row["scheme"]: row for row in rows}
    entries = [
        {"scheme": a, "labels": by[a]["labels"], "against": b} | apart(by[a], by[b], questions)
        for a, b in pairs
    ]
    _correct(entries[:1], entries[1:])
    return entries


def _correct(named: list[dict], family: list[dict]) -> None:
    """Gives each comparison its "p_holm"; those that were named beforehand keep their "p"."""
    for entry in named:
        entry["p_holm"] = entry["p"]
    runner.correct(family)
