"""The bundled samples keep the formats of the data sets that they stand in for."""

import codecs
import csv
import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from tlcourse import corpora

SAMPLES = Path(__file__).parent.parent / "data" / "samples"
TREC_FILES = {"train_5500.label": 200, "TREC_10.label": 100}
WIKITEXT_FILES = ("wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens")
FINE_LABELS = {
    "ABBR": "abb exp",
    "DESC": "def desc manner reason",
    "ENTY": "animal body color cremat currency dismed event food instru lang letter other plant "
    "product religion sport substance symbol techmeth termeq veh word",
    "HUM": "desc gr ind title",
    "LOC": "city country mount other state",
    "NUM": "code count date dist money ord other perc period speed temp volsize weight",
}


def questions(name):
    """The `(coarse, fine, question)` triples of one sample file."""
    text = (SAMPLES / "trec" / name).read_text(encoding="latin-1")
    rows = [re.fullmatch(r"([A-Z]+):([a-z]+) (.+ [?.])", line) for line in text.splitlines()]
    assert text.endswith("\n") and all(rows)
    return [row.groups() for row in rows]


def all_questions():
    return [row for name in TREC_FILES for row in questions(name)]


def words(text):
    return " ".join(re.findall(r"\w+", text.lower()))


def test_split_sizes():
    assert {name: len(questions(name)) for name in TREC_FILES} == TREC_FILES


def test_labels_are_those_of_trec():
    known = {(coarse, fine) for coarse, names in FINE_LABELS.items() for fine in names.split()}
    assert len(known) == 50
    assert {(coarse, fine) for coarse, fine, _ in all_questions()} == known


def test_every_coarse_label_has_enough_questions():
    train = Counter(coarse for coarse, _, _ in questions("train_5500.label"))
    test = Counter(coarse for coarse, _, _ in questions("TREC_10.label"))
    assert min(train[label] for label in FINE_LABELS) >= 12
    assert min(test[label] for label in FINE_LABELS) >= 6


def test_no_question_is_repeated():
    seen = Counter(words(text) for _, _, text in all_questions())
    assert [text for text, count in seen.items() if count > 1] == []


@pytest.mark.real_data
@pytest.mark.skipif("TLCOURSE_DATA" not in os.environ, reason="needs a local mirror")
def test_no_question_is_one_of_trec():
    folder = Path(os.environ["TLCOURSE_DATA"]) / "trec"
    real = [(folder / name).read_text(encoding="latin-1").splitlines() for name in TREC_FILES]
    known = {words(line.split(" ", 1)[1]) for lines in real for line in lines}
    assert len(known) > 5_000
    assert [text for _, _, text in all_questions() if words(text) in known] == []


def test_questions_are_tokenised_like_trec():
    for _, _, text in all_questions():
        assert text.isascii() and text == " ".join(text.split())
        assert not re.search(r"\w(''|[,?!:;\"]|'s\b)", text), text


@pytest.mark.parametrize("vectorizer", [CountVectorizer, TfidfVectorizer])
def test_bag_of_words_is_neither_lost_nor_perfect(vectorizer):
    """Five-fold cross-validated error of logistic regression on words: 10 to 35 %."""
    coarse, _, texts = zip(*all_questions(), strict=True)
    model = make_pipeline(vectorizer(), LogisticRegression(C=10, max_iter=2000))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    error = 1 - cross_val_score(model, texts, coarse, cv=folds).mean()
    assert 0.10 <= error <= 0.35


def wikitext_lines(name):
    text = (SAMPLES / "wikitext" / name).read_bytes().decode("utf-8")
    assert text.endswith("\n") and "\r" not in text
    return text.split("\n")[:-1]


@pytest.mark.parametrize("name", WIKITEXT_FILES)
def test_wikitext_lines(name):
    for line in wikitext_lines(name):
        assert line == " " or re.fullmatch(r" \S.*\S ", line), line
        assert "  " not in line and line.count(" = ") in (0, 2, 4), line
        assert not re.search(r"\w[,;:!?)]|\w-\w|\d\.\d|\w's\b|[(]\w", line), line


def test_wikitext_sizes():
    sizes = [(SAMPLES / "wikitext" / name).stat().st_size for name in WIKITEXT_FILES]
    assert sum(sizes) >= 40_000 and min(sizes) >= 3_500 and sizes[0] >= 30_000


def test_wikitext_articles_are_distinct():
    lines = [line for name in WIKITEXT_FILES for line in wikitext_lines(name)]
    titles = [line for line in lines if re.fullmatch(r" = [^=]+ = ", line)]
    assert len(titles) >= 25 and len(set(titles)) == len(titles)
    paragraphs = [line for line in lines if line != " " and not line.startswith(" =")]
    assert len(set(paragraphs)) == len(paragraphs)


def pairs():
    files = sorted((SAMPLES / "blimp" / "data").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in open(file, encoding="utf-8")]


def test_pairs_have_the_fields_and_numbers_of_blimp():
    rows = pairs()
    assert Counter(row["UID"] for row in rows) == dict.fromkeys({row["UID"] for row in rows}, 6)
    assert len(rows) == 48 and len({row["linguistics_term"] for row in rows}) == 8
    assert [int(row["pairID"]) for row in rows] == [*range(6)] * 8
    named = {"field", "simple_LM_method", "one_prefix_method", "two_prefix_method"}
    for row in rows:
        assert named < set(row)
        good, bad = row["sentence_good"].split(), row["sentence_bad"].split()
        assert good != bad and (sorted(good) == sorted(bad)) <= row["lexically_identical"]
        assert len(set(good) ^ set(bad)) <= 4  # a minimal pair


def test_no_sentence_occurs_twice():
    sentences = [row[key] for row in pairs() for key in ("sentence_good", "sentence_bad")]
    assert len(set(sentences)) == 96


LABELLED = {
    "sst-2": {"train.tsv": 120, "dev.tsv": 60},
    "imdb": {"train.jsonl": 60, "test.jsonl": 40},
    "rte": {"train.tsv": 60, "dev.tsv": 40},
    "mrpc": {"msr_paraphrase_train.txt": 50, "msr_paraphrase_test.txt": 30},
}
COLUMNS = {
    "sst-2": ["sentence", "label"],
    "rte": ["index", "sentence1", "sentence2", "label"],
    "mrpc": ["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"],
}
TEXTS = {
    "sst-2": ["sentence"],
    "imdb": ["text"],
    "rte": ["sentence1", "sentence2"],
    "mrpc": ["#1 String", "#2 String"],
}
SCORED = {"sts-train.csv": 40, "sts-dev.csv": 20, "sts-test.csv": 20}


def published_rows(name, file):
    """The rows of a sample's file, read without the package."""
    with open(SAMPLES / name / file, encoding="utf-8-sig", newline="") as lines:
        text = lines.read()
    assert text.endswith("\n") and "\r" not in text
    if file.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    rows = csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    assert rows.fieldnames == COLUMNS[name]
    return list(rows)


def texts_of(name, rows):
    return [tuple(row[key] for key in TEXTS[name]) for row in rows]


@pytest.mark.parametrize("name", LABELLED)
def test_labelled_samples_are_balanced_and_nothing_is_repeated(name):
    seen = []
    for file, size in LABELLED[name].items():
        rows = published_rows(name, file)
        counts = Counter(row["Quality" if name == "mrpc" else "label"] for row in rows)
        assert len(rows) == size and len(counts) == 2 and set(counts.values()) == {size // 2}
        seen += [words(" ".join(texts)) for texts in texts_of(name, rows)]
    assert len(set(seen)) == len(seen) == sum(LABELLED[name].values())
    data = corpora.load(name, source="sample")
    assert [rows.num_rows for rows in data.values()] == list(LABELLED[name].values())


@pytest.mark.parametrize("file", LABELLED["sst-2"])
def test_phrases_are_tokenised_like_sst_2(file):
    rows = published_rows("sst-2", file)
    assert {row["label"] for row in rows} == {"0", "1"}
    for row in rows:
        text = row["sentence"]
        assert text.isascii() and text == text.lower() == " ".join(text.split())
        assert not re.search(r"\w([,.?!:;]|'s\b|n't\b(?<! n't)|'ve\b|'d\b)", text), text
    starts = Counter(" ".join(row["sentence"].split()[:2]) for row in rows)
    assert max(starts.values()) <= len(rows) / 15  # no template


@pytest.mark.parametrize("file", LABELLED["imdb"])
def test_reviews_have_the_fields_of_imdb(file):
    rows = published_rows("imdb", file)
    for row in rows:
        label, _, rating = re.fullmatch(r"(neg|pos)/(\d+)_(\d+)", row["id"]).groups()
        assert set(row) == {"id", "label", "rating", "text"} and row["label"] == label
        assert row["rating"] == int(rating)
        assert 7 <= row["rating"] <= 10 if label == "pos" else 1 <= row["rating"] <= 4
        assert 3 <= len(re.findall(r"[.!?]+(?=\s|<|\"|$)", row["text"])) <= 8
    assert len({row["id"] for row in rows}) == len(rows)


def test_some_reviews_have_the_line_breaks_of_imdb():
    rows = [row for file in LABELLED["imdb"] for row in published_rows("imdb", file)]
    assert sum("<br /><br />" in row["text"] for row in rows) >= 3
    train = corpora.load("imdb", source="sample")["train"]
    assert not any("<br" in text for text in train["text"])


@pytest.mark.parametrize("file", LABELLED["rte"])
def test_pairs_have_the_columns_of_rte(file):
    rows = published_rows("rte", file)
    assert [row["index"] for row in rows] == [str(number) for number in range(len(rows))]
    assert {row["label"] for row in rows} == {"entailment", "not_entailment"}
    assert all(len(row["sentence1"]) > len(row["sentence2"]) > 10 for row in rows)


@pytest.mark.parametrize("file", LABELLED["mrpc"])
def test_paraphrases_have_the_columns_of_mrpc(file):
    rows = published_rows("mrpc", file)
    assert {row["Quality"] for row in rows} == {"0", "1"}
    numbers = [row[key] for row in rows for key in ("#1 ID", "#2 ID")]
    assert all(map(str.isdigit, numbers)) and len(set(numbers)) == len(numbers)
    assert (SAMPLES / "mrpc" / file).read_bytes().startswith(codecs.BOM_UTF8)


def test_scored_pairs_have_the_columns_of_the_sts_benchmark():
    seen = []
    for file, size in SCORED.items():
        text = (SAMPLES / "stsb" / file).read_bytes().decode("ascii")
        rows = [line.split("\t") for line in text.removesuffix("\n").split("\n")]
        assert len(rows) == size and {len(row) for row in rows} == {7, 9}  # some name sources
        assert {row[0] for row in rows} == {"main-captions", "main-forums", "main-news"}
        assert all(re.fullmatch(r"[0-4]\.\d{3}|5\.000", row[4]) for row in rows)
        assert {round(float(row[4])) for row in rows} == {*range(6)}
        seen += [words(" ".join(row[5:7])) for row in rows]
    assert len(set(seen)) == len(seen)
