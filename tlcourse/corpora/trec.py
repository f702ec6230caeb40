"""TREC question classification (Li & Roth, 2002): rows, a dev split, duplicates."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import datasets
import numpy as np

from tlcourse.corpora.checks import DataError
from tlcourse.corpora.labelled import ordered

FINE = {
    "ABBR": "abb exp",
    "DESC": "def desc manner reason",
    "ENTY": "animal body color cremat currency dismed event food instru lang letter other plant "
    "product religion sport substance symbol techmeth termeq veh word",
    "HUM": "desc gr ind title",
    "LOC": "city country mount other state",
    "NUM": "code count date dist money ord other perc period speed temp volsize weight",
}
TREC_LABELS = tuple(FINE)
TREC_FINE_LABELS = tuple(f"{coarse}:{fine}" for coarse in FINE for fine in FINE[coarse].split())


def canonical(text: str) -> str:
    """A question with white space collapsed; byte 0xF0 (a slip in the file) is a space."""
    return " ".join(text.replace("\xf0", " ").split())


def row(fine: str, text: str, where: str) -> dict[str, str]:
    """A row of columns text, label (the coarse name) and fine; raises DataError, saying where."""
    if fine not in TREC_FINE_LABELS or not canonical(text):
        raise DataError(
            f"{where}: expected one of TREC's 50 labels, such as LOC:city, and a question, got "
            f"{fine!r} and {text!r}; replace the data by the published ones"
        )
    return {"text": canonical(text), "label": fine.split(":")[0], "fine": fine}


def parse(lines: Iterable[str], where: str) -> Iterator[dict[str, str]]:
    """Rows from the lines `COARSE:fine question ?` of the published files."""
    for number, line in enumerate(lines, start=1):
        fine, _, text = line.strip().partition(" ")
        yield row(fine, text, f"{where}, line {number}")


DEV_SEED = 2019  # one split for all runs


def trec_with_dev(
    data: datasets.DatasetDict, *, seed: int = DEV_SEED, fraction: float = 0.1
) -> datasets.DatasetDict:
    """TREC with a dev split carved out of train: the splits are train, dev and test.

    `fraction` of the rows of every coarse label go to dev; a repeated question stays on one side.
    The split depends on the questions and the seed, not on the order of the rows. Raises
    ValueError on a fraction that is not between 0 and 1.
    """
    if not 0 < fraction < 1:
        raise ValueError(f"expected a fraction between 0 and 1, got {fraction}")
    train = data["train"]
    texts, labels = train["text"][:], train["label"][:]
    groups = defaultdict(list)
    for index in ordered(train):
        groups[texts[index]].append(index)
    by_label = defaultdict(list)
    for group in groups.values():
        by_label[labels[group[0]]].append(group)
    generator = np.random.default_rng(seed)
    dev = set()
    for label in sorted(by_label):
        wanted = round(fraction * sum(map(len, by_label[label])))
        for place in generator.permutation(len(by_label[label])):
            group = by_label[label][place]
            if len(group) <= wanted:
                dev.update(group)
                wanted -= len(group)
    sides = {"train": [i for i in range(len(train)) if i not in dev], "dev": sorted(dev)}
    result = type(data)({side: train.select(rows) for side, rows in sides.items()})
    result["test"] = data["test"]
    return result


@dataclass(frozen=True)
class Duplicates:
    """What is not unique in TREC."""

    repeated_lines: int  # lines of train that say what an earlier one says, label included
    conflicting: dict[str, tuple[str, ...]]  # questions of train with more than one label
    in_test: tuple[str, ...]  # questions of test that stand in train as well


def duplicates_report(data: datasets.DatasetDict) -> Duplicates:
    """Repeated lines, conflicting labels, and test questions that were seen in training."""
    train, test = data["train"], data["test"]
    labels = defaultdict(set)
    for text, fine in zip(train["text"], train["fine"], strict=True):
        labels[text].add(fine)
    return Duplicates(
        repeated_lines=len(train) - sum(map(len, labels.values())),
        conflicting={text: tuple(sorted(of)) for text, of in labels.items() if len(of) > 1},
        in_test=tuple(text for text in test["text"] if text in labels),
    )
