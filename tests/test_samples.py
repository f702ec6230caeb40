"""The bundled samples keep the formats of the data sets that they stand in for."""

import csv
import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

from tlcourse import corpora

SAMPLES = Path(__file__).parent.parent / "data" / "samples"
TREC_FILES = ("train_5500.label", "TREC_10.label")
WIKITEXT_FILES = ("wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens")


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


def test_questions_are_tokenised_like_trec_and_every_label_has_enough_different_ones():
    for name, (size, least) in {"train_5500.label": (200, 12), "TREC_10.label": (100, 6)}.items():
        counts = Counter(coarse for coarse, _, _ in questions(name))
        assert counts.total() == size and set(counts) == set(corpora.TREC_LABELS)
        assert min(counts.values()) >= least
    found = {f"{coarse}:{fine}" for coarse, fine, _ in all_questions()}
    assert found == set(corpora.TREC_FINE_LABELS) and len(found) == 50
    seen = Counter(words(text) for _, _, text in all_questions())
    assert [text for text, count in seen.items() if count > 1] == []
    for _, _, text in all_questions():
        assert text.isascii() and text == " ".join(text.split())
        assert not re.search(r"\w(''|[,?!:;\"]|'s\b)", text), text


def test_bag_of_words_is_neither_lost_nor_perfect():
    """Five-fold cross-validated error of logistic regression on words: 10 to 35 %."""
    coarse, _, texts = zip(*all_questions(), strict=True)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10, max_iter=2000))
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


def test_wikitext_articles_are_distinct_and_long_enough():
    sizes = [(SAMPLES / "wikitext" / name).stat().st_size for name in WIKITEXT_FILES]
    assert sum(sizes) >= 40_000 and min(sizes) >= 3_500 and sizes[0] >= 30_000
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
    sentences = [row[key] for row in rows for key in ("sentence_good", "sentence_bad")]
    assert len(set(sentences)) == 96


LABELLED = {
    "sst-2": {"train.tsv": 120, "dev.tsv": 60},
    "imdb": {"train.jsonl": 60, "test.jsonl": 40},
    "rte": {"train.tsv": 60, "dev.tsv": 40},
    "mrpc": {"msr_paraphrase_train.txt": 50, "msr_paraphrase_test.txt": 30},
    "snli": {"dev.jsonl": 60},
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
    "snli": ["premise", "hypothesis"],
}


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
        kinds = len(corpora.labels_of(name))
        assert len(rows) == size and len(counts) == kinds
        assert set(counts.values()) == {size // kinds}
        seen += [words(" ".join(texts)) for texts in texts_of(name, rows)]
    assert len(set(seen)) == len(seen) == sum(LABELLED[name].values())
    data = corpora.load(name, source="sample")
    assert [rows.num_rows for rows in data.values()] == list(LABELLED[name].values())


def test_each_caption_has_a_hypothesis_of_each_kind():
    labels = {}
    for row in published_rows("snli", "dev.jsonl"):
        labels.setdefault(row["premise"], []).append(row["label"])
    assert len(labels) == 20
    assert all(
        sorted(each) == ["contradiction", "entailment", "neutral"] for each in labels.values()
    )


def test_winograd_schemas_are_pairs_with_the_same_candidates_and_other_answers():
    data = corpora.load("wsc273", source="sample")["test"]
    schemas = [tuple(row.values()) for row in data]
    assert len(schemas) == 32
    pairs = zip(schemas[::2], schemas[1::2], strict=True)
    for (one, *candidates, answer), (other, *same, opposite) in pairs:
        assert candidates == same and answer != opposite and one != other
        before, after = one.split("[MASK]"), other.split("[MASK]")
        assert before[0] == after[0] and before[1] != after[1]


def test_sentences_and_their_translations_are_as_many_and_distinct():
    files = [SAMPLES / "tatoeba" / f"tatoeba.deu-eng.{end}" for end in ("deu", "eng")]
    german, english = (file.read_text("utf-8").splitlines() for file in files)
    assert len(german) == len(english) == len(set(german)) == len(set(english)) == 60


def test_pairs_of_words_and_selections_of_them_are_as_in_wordsim():
    splits = corpora.load("wordsim-353", source="sample")
    every, similar, related = (
        {frozenset(pair) for pair in zip(rows["word1"][:], rows["word2"][:], strict=True)}
        for rows in splits.values()
    )
    assert [*splits] == ["test", "similarity", "relatedness"]
    assert similar | related == every and len(similar & related) == 10


def test_analogies_combine_three_pairs_of_each_section():
    rows = corpora.load("google-analogies", source="sample")["test"]
    sections = Counter(rows["section"][:])
    assert sections == dict.fromkeys(corpora.labels_of("google-analogies"), 6)
    questions = [tuple(row.values()) for row in rows]
    for section in sections:
        pairs = {each[1:3] for each in questions if each[0] == section}
        made = {(section, *one, *two) for one in pairs for two in pairs - {one}}
        assert made == {each for each in questions if each[0] == section} and len(pairs) == 3


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


@pytest.mark.real_data
@pytest.mark.skipif("TLCOURSE_DATA" not in os.environ, reason="needs a local mirror")
def test_no_question_is_one_of_trec():
    folder = Path(os.environ["TLCOURSE_DATA"]) / "trec"
    real = [(folder / name).read_text(encoding="latin-1").splitlines() for name in TREC_FILES]
    known = {words(line.split(" ", 1)[1]) for lines in real for line in lines}
    assert len(known) > 5_000
    assert [text for _, _, text in all_questions() if words(text) in known] == []
