"""TREC question classification (Li & Roth, 2002), its dev split and its duplicates.

Columns: text, label (the coarse name), fine (such as LOC:city).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tlcourse.corpora.checks import HUB, WHAT_TO_DO, Counted, DataError, Facts, lines_of
from tlcourse.corpora.corpus import Corpus, Place, converted
from tlcourse.corpora.subsets import ordered

if TYPE_CHECKING:
    import datasets

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
    """A question with white space collapsed; byte 0xF0 (a typo in the file) is a space."""
    return " ".join(text.replace("\xf0", " ").split())


def row(values: tuple, where: str) -> dict[str, str]:
    """A row from its text, coarse and fine label; raises DataError that names `where`."""
    text, coarse, fine = values
    if fine not in TREC_FINE_LABELS or not canonical(text):
        raise DataError(
            f"{where}: expected one of TREC's 50 labels, such as LOC:city, and a question, got "
            f"{fine!r} and {text!r}; replace the data by the published ones"
        )
    label = fine.split(":")[0]
    if coarse != label:
        raise DataError(
            f"{where}: expected {label} as the coarse label of {fine}, got {coarse}; "
            + WHAT_TO_DO[HUB]
        )
    return {"text": canonical(text), "label": label, "fine": fine}


def parse(path: Path, source: str) -> Iterator[dict[str, str]]:
    """Rows of a file with the lines `COARSE:fine question ?`."""
    for number, line in enumerate(lines_of(path, source, encoding="latin-1"), start=1):
        fine, _, text = line.strip().partition(" ")
        yield row((text, fine.split(":")[0], fine), f"{path.name}, line {number}")


def count(text: str, label: str, fine: str) -> Counted:
    """The words, the text to digest and the labels of a row."""
    return Counted(len(text.split()), f"{fine}\t{text}", (label,), fine)


FACTS = {
    "train": Facts(
        rows=5_452,
        words=55_636,
        labels={"ABBR": 86, "DESC": 1162, "ENTY": 1250, "HUM": 1223, "LOC": 835, "NUM": 896},
        fine_labels=50,
        digest="ac1f4c287d9023bdf658059c171fba7640bdc86890007ad41635962da5209732",
    ),
    "test": Facts(
        rows=500,
        words=3_758,
        labels={"ABBR": 9, "DESC": 138, "ENTY": 94, "HUM": 65, "LOC": 81, "NUM": 113},
        fine_labels=42,
        digest="3a6414b3a55aaf2ed5d66249fc9ff574028f07f069b136b7e198d30bcdc8aa02",
    ),
}
FILES = {"train": "train_5500.label", "test": "TREC_10.label"}

CORPUS = Corpus(
    "trec",
    FILES,
    FACTS,
    {"text": "text", "label": "coarse_label", "fine": "fine_label"},
    parse,
    count,
    row,
    ids=("coarse_label", "fine_label"),
    labels=TREC_LABELS,
    places=(
        converted("CogComp/trec", "default", *FILES),
        Place("SetFit/TREC-QC", {split: (file,) for split, file in FILES.items()}),
    ),
    sample="data/samples/trec",
    lesson=0,
)

DEV_SEED = 2019  # one split for all runs


def trec_with_dev(
    data: datasets.DatasetDict, *, seed: int = DEV_SEED, fraction: float = 0.1
) -> datasets.DatasetDict:
    """TREC with a dev split taken from train: the splits are train, dev and test.

    `fraction` of the rows of every coarse label go to dev; all copies of a repeated question are on
    one side. The split depends on the questions and the seed, not on the order of the rows. Raises
    ValueError if the fraction is not between 0 and 1.
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
        missing = round(fraction * sum(map(len, by_label[label])))
        for index in generator.permutation(len(by_label[label])):
            group = by_label[label][index]
            if len(group) <= missing:
                dev.update(group)
                missing -= len(group)
    sides = {"train": [i for i in range(len(train)) if i not in dev], "dev": sorted(dev)}
    result = type(data)({side: train.select(rows) for side, rows in sides.items()})
    result["test"] = data["test"]
    return result


@dataclass(frozen=True)
class Duplicates:
    """The questions that are not unique in TREC."""

    repeated_lines: int  # lines of train that equal an earlier one, label included
    conflicting: dict[str, tuple[str, ...]]  # questions of train with more than one label
    in_test: tuple[str, ...]  # questions of test that are in train as well


def duplicates_report(data: datasets.DatasetDict) -> Duplicates:
    """Repeated lines, conflicting labels, and test questions that are in train as well."""
    train, test = data["train"], data["test"]
    labels = defaultdict(set)
    for text, fine in zip(train["text"], train["fine"], strict=True):
        labels[text].add(fine)
    return Duplicates(
        repeated_lines=len(train) - sum(map(len, labels.values())),
        conflicting={text: tuple(sorted(fine)) for text, fine in labels.items() if len(fine) > 1},
        in_test=tuple(text for text in test["text"] if text in labels),
    )
