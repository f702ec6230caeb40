"""Labelled texts and pairs, and scored pairs: canonical form, damaged files, subsets of a split."""

import json
import lzma
from collections import Counter
from pathlib import Path

import datasets
import pytest

from tests.corpora import made
from tlcourse import corpora
from tlcourse.corpora import catalogue


def rows_of(name: str, path: Path, text: str) -> list[dict[str, str]]:
    path.write_bytes(text.encode("utf-8"))
    return list(catalogue.get(name).parse(path, "local mirror"))


def test_phrases_lose_the_space_at_their_end_and_line_ends_may_be_windows(tmp_path: Path) -> None:
    text = 'sentence\tlabel\r\nan " odd  clich\xe9 \t0\r\nit \'s "fine\t1\r\n'
    assert rows_of("sst-2", tmp_path / "train.tsv", text) == [
        {"text": 'an " odd clich\xe9', "label": "negative"},
        {"text": "it 's \"fine", "label": "positive"},
    ]


def test_line_breaks_of_reviews_are_spaces(tmp_path: Path) -> None:
    review = {"id": "pos/0_9", "label": "pos", "rating": 9, "text": "Good.<br /><br />I  cried.\n"}
    assert rows_of("imdb", tmp_path / "test.jsonl", json.dumps(review)) == [
        {"text": "Good. I cried.", "label": "positive"}
    ]


def test_pairs_keep_their_quotes(tmp_path: Path) -> None:
    text = 'index\tsentence1\tsentence2\tlabel\n0\t"A" came.\tB "came.\tnot_entailment\n'
    assert rows_of("rte", tmp_path / "dev.tsv", text) == [
        {"premise": '"A" came.', "hypothesis": 'B "came.', "label": "not_entailment"}
    ]


def test_paraphrases_have_a_mark_before_their_header_and_another_name_for_the_label(
    tmp_path: Path,
) -> None:
    text = '\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t7\t8\t"A" came.\tB came.\r\n'
    assert rows_of("mrpc", tmp_path / "msr_paraphrase_test.txt", text) == [
        {"sentence1": '"A" came.', "sentence2": "B came.", "label": "equivalent"}
    ]


def test_scores_are_numbers_and_what_names_the_sources_is_not_read(tmp_path: Path) -> None:
    lines = [
        'main-news\theadlines\t2016\t0012\t4\tA  came.\t"B" came.\thttp://a\thttp://b',
        "main-news\theadlines\t2016\t0013\t0.250\tA came.\tNobody came.",
    ]
    assert rows_of("stsb", tmp_path / "sts-dev.csv", "\n".join(lines)) == [
        {"sentence1": "A came.", "sentence2": '"B" came.', "score": 4.0},
        {"sentence1": "A came.", "sentence2": "Nobody came.", "score": 0.25},
    ]


@pytest.mark.parametrize(
    ("name", "file", "text", "message"),
    [
        ("mrpc", "msr_paraphrase_test.txt", "#1 String\t#2 String\na\tb\n", "line 2: .*Quality"),
        ("stsb", "sts-dev.csv", "a\tb\t2016\t1\t5.1\tone\ttwo\n", "line 1: .*score from 0 to 5"),
        ("stsb", "sts-dev.csv", "a\tb\t2016\t1\tnan\tone\ttwo\n", "line 1: .*score from 0 to 5"),
        ("stsb", "sts-dev.csv", "a\tb\t2016\t1\t4\tone\n", "line 1: expected sentence1"),
        ("stsb", "sts-dev.csv", "\n", "line 1: expected sentence1"),
        ("sst-2", "dev.tsv", "text\tlabel\nfine\t1\n", r"dev\.tsv(.xz)?, line 2: .*'sentence'"),
        ("sst-2", "dev.tsv", "sentence\tlabel\nfine\n", "line 2: expected a line with the fields"),
        ("sst-2", "dev.tsv", "sentence\tlabel\na\t1\nfine\t-1\n", "line 3: .*labels 0, 1, got"),
        ("sst-2", "dev.tsv", "sentence\tlabel\n \t1\n", "line 2: expected text and one of"),
        ("sst-2", "dev.tsv", "", "expected 872 rows, got 0"),
        ("imdb", "test.jsonl", "{", r"test\.jsonl(.xz)?, line 1: expected a line"),
        ("imdb", "test.jsonl", '{"text": "a", "label": "unsup"}', "labels neg, pos, got.*unsup"),
        ("imdb", "test.jsonl", '{"text": 1, "label": "pos"}', "line 1: expected text and"),
        ("imdb", "test.jsonl", "[]", "line 1: expected a line.*TypeError"),
        ("rte", "train.tsv", "sentence1\tsentence2\tlabel\na\tb\t1\n", "labels entailment, not_"),
        ("rte", "train.tsv", "sentence1\tsentence2\tlabel\na\t\tentailment\n", "premise, hypoth"),
    ],
)
@pytest.mark.parametrize("packed", [True, False])
def test_damaged_files(
    name: str,
    file: str,
    text: str,
    message: str,
    packed: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TLCOURSE_DATA", str(tmp_path))
    (tmp_path / name).mkdir()
    content = text.encode("utf-8")
    path = tmp_path / name / (f"{file}.xz" if packed else file)
    path.write_bytes(lzma.compress(content) if packed else content)
    with pytest.raises(corpora.DataError, match=message) as error:
        corpora.load(name)
    assert "\n" not in str(error.value)


def test_made_up_pairs_fail_at_the_digest_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLCOURSE_DATA", str(tmp_path))
    (tmp_path / "rte").mkdir()
    rows = [tuple(row.values()) for row in made.examples("rte", "validation")]
    table = [("sentence1", "sentence2", "label"), *rows]
    path = tmp_path / "rte" / "dev.tsv"
    path.write_text("\n".join(map("\t".join, table)), encoding="utf-8")
    with pytest.raises(corpora.DataError, match=r"rte validation \(local mirror\).* sha256, got"):
        corpora.load("rte")
    path.write_text("\n".join(map("\t".join, table[:-1])), encoding="utf-8")
    with pytest.raises(corpora.DataError, match="expected 277 rows, got 276"):
        corpora.load("rte")
    table[-1] = (*table[-1][:2], table[1][2])
    path.write_text("\n".join(map("\t".join, table)), encoding="utf-8")
    with pytest.raises(corpora.DataError, match="'entailment': 146, .*'entailment': 147"):
        corpora.load("rte")


def test_a_split_without_labels_is_no_split() -> None:
    """GLUE keeps the labels of its test splits; only a mirror has SST-2's."""
    assert all("test" not in place.files for place in catalogue.get("sst-2").places)
    with pytest.raises(corpora.DataError, match=r"out of train, validation, got 'test'.*bundled"):
        corpora.load("sst-2", source="sample")["test"]


@pytest.mark.parametrize("name", made.LABELLED)
def test_subsets_of_any_set_are_balanced_nested_and_seeded(name: str) -> None:
    split = "validation" if "validation" in catalogue.get(name).files else "test"
    rows = made.examples(name, split)
    train = datasets.Dataset.from_list(rows[:: len(rows) // 277])
    everything = Counter(train["label"])

    def drawn(n: int, seed: int, of: datasets.Dataset) -> set[tuple]:
        return {tuple(row.values()) for row in corpora.label_subset(of, n, seed=seed)}

    subset = corpora.label_subset(train, 200, seed=0)
    assert subset.column_names == train.column_names and len(drawn(200, 0, train)) == 200
    for label, count in Counter(subset["label"]).items():
        assert abs(count - 200 * everything[label] / len(train)) <= 1
    assert drawn(20, 0, train) < drawn(200, 0, train)
    assert drawn(200, 0, train) == drawn(200, 0, train.shuffle(seed=1)) != drawn(200, 1, train)
    with pytest.raises(ValueError, match=rf"from 2 \(one a label\) to {len(train)}, got 1"):
        corpora.label_subset(train, 1, seed=0)
