"""TREC's canonical form, dev split, nested subsets and duplicates."""

from collections import Counter
from pathlib import Path

import datasets
import pytest

from tests.corpora import made
from tlcourse import corpora
from tlcourse.corpora import trec


def split_of(rows: list[tuple[str, str]]) -> datasets.Dataset:
    fine, text = zip(*rows, strict=True)
    return datasets.Dataset.from_dict(
        {"text": text, "label": [name.split(":")[0] for name in fine], "fine": fine}
    )


@pytest.fixture(scope="module")
def data() -> datasets.DatasetDict:
    """TREC's counts, with a hundred questions asked twice."""
    train = made.questions("train")
    train[1000:1100] = train[1100:1200]
    return datasets.DatasetDict(train=split_of(train), test=split_of(made.questions("test")))


def test_labels_are_in_alphabetical_order() -> None:
    assert corpora.TREC_LABELS == ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
    assert len(corpora.TREC_FINE_LABELS) == 50


def test_the_slip_of_the_published_file_is_a_space(tmp_path: Path) -> None:
    path = tmp_path / "train_5500.label"
    path.write_bytes(b"LOC:city What  is a sister\xf0city ? \n")
    assert list(trec.parse(path, "local mirror")) == [
        {"text": "What is a sister city ?", "label": "LOC", "fine": "LOC:city"}
    ]


def test_the_dev_split_is_stratified_and_complete(data: datasets.DatasetDict) -> None:
    parts = corpora.trec_with_dev(data)
    assert list(parts) == ["train", "dev", "test"]
    assert parts["test"] is data["test"]
    together = Counter(parts["train"]["text"][:] + parts["dev"]["text"][:])
    assert together == Counter(data["train"]["text"])
    all_labels, dev = Counter(data["train"]["label"]), Counter(parts["dev"]["label"])
    assert dev == {label: round(count / 10) for label, count in all_labels.items()}


def test_repeated_questions_stay_on_one_side(data: datasets.DatasetDict) -> None:
    for seed in range(3):
        parts = corpora.trec_with_dev(data, seed=seed, fraction=0.4)
        assert not set(parts["train"]["text"]) & set(parts["dev"]["text"])


def test_the_dev_split_depends_on_the_seed_only(data: datasets.DatasetDict) -> None:
    def dev(train: datasets.Dataset, **how: int) -> set[str]:
        return set(
            corpora.trec_with_dev({"train": train, "test": data["test"]}, **how)["dev"]["text"]
        )

    first = dev(data["train"])
    assert dev(data["train"]) == dev(data["train"].shuffle(seed=1)) == first
    assert dev(data["train"], seed=1) != first


@pytest.mark.parametrize("fraction", [0, 1, -0.1])
def test_a_fraction_that_leaves_nothing(data: datasets.DatasetDict, fraction: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        corpora.trec_with_dev(data, fraction=fraction)


def test_subsets_are_nested_and_stratified(data: datasets.DatasetDict) -> None:
    train = data["train"]
    everything = Counter(train["label"])
    smaller: Counter[str] = Counter()
    for n in (6, 20, 100, 500, len(train)):
        subset = corpora.label_subset(train, n, seed=3)
        texts, labels = Counter(subset["text"]), Counter(subset["label"])
        assert len(subset) == n and not smaller - texts
        assert set(labels) == set(corpora.TREC_LABELS)
        if n >= 100:
            for label in labels:
                assert abs(labels[label] - n * everything[label] / len(train)) <= 1.5
        smaller = texts


def test_subsets_differ_between_seeds_but_not_between_calls(data: datasets.DatasetDict) -> None:
    def texts(seed: int, train: datasets.Dataset) -> list[str]:
        return sorted(corpora.label_subset(train, 100, seed=seed)["text"])

    assert texts(0, data["train"]) == texts(0, data["train"].shuffle(seed=1))
    assert len(set(texts(0, data["train"])) & set(texts(1, data["train"]))) < 50


@pytest.mark.parametrize("n", [0, 5, 5453])
def test_a_subset_that_cannot_be(data: datasets.DatasetDict, n: int) -> None:
    with pytest.raises(ValueError, match=rf"from 6 \(one a label\) to 5452, got {n}"):
        corpora.label_subset(data["train"], n, seed=0)


def test_duplicates_are_reported() -> None:
    repeated = [("LOC:city", "a"), ("LOC:city", "a"), ("LOC:other", "a")]
    train = split_of([*repeated, ("NUM:date", "b"), ("HUM:ind", "c")])
    test = split_of([("NUM:date", "b"), ("NUM:date", "d")])
    report = corpora.duplicates_report({"train": train, "test": test})
    assert report.repeated_lines == 1
    assert report.conflicting == {"a": ("LOC:city", "LOC:other")}
    assert report.in_test == ("b",)
