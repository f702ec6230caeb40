"""Labelled texts and pairs, and scored pairs: canonical form, damaged files, subsets of a split."""

import json
import lzma
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


def test_paraphrases_have_a_mark_before_their_header_and_another_name_for_the_label(tmp_path):
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


def test_words_are_in_lower_case_and_line_ends_may_be_windows(tmp_path: Path) -> None:
    judged = "FBI\tfingerprint\t6.94\r\ntiger\ttiger\t10.00\r\n"
    assert rows_of("wordsim-353", tmp_path / "EN-WS-353-ALL.txt", judged) == [
        {"word1": "fbi", "word2": "fingerprint", "score": 6.94},
        {"word1": "tiger", "word2": "tiger", "score": 10.0},
    ]
    text = ": family\nman woman King Queen\n: gram8-plural\ncat cats mouse mice\n"
    found = rows_of("google-analogies", tmp_path / "questions-words.txt", text)
    assert [[*row.values()] for row in found] == [
        ["family", "man", "woman", "king", "queen"],
        ["gram8-plural", "cat", "cats", "mouse", "mice"],
    ]


def test_tokens_of_wikiann_have_their_language_before_them(tmp_path: Path) -> None:
    text = "en:Ann\tB-PER\nen:en:x\tO\n\nen:Lund\tB-LOC\n"
    assert rows_of("wikiann", tmp_path / "en.dev", text) == [
        {"tokens": ["Ann", "en:x"], "tags": ["B-PER", "O"]},
        {"tokens": ["Lund"], "tags": ["B-LOC"]},
    ]


def test_questions_keep_the_place_of_their_first_answer(tmp_path: Path) -> None:
    answers = [{"text": "ran", "answer_start": 4}, {"text": "Ann", "answer_start": 0}]
    asked = {"id": "a", "question": "What?", "answers": answers}
    content = {"data": [{"paragraphs": [{"context": "Ann ran.", "qas": [asked]}]}]}
    assert rows_of("xquad", tmp_path / "xquad.en.json", json.dumps(content)) == [
        {"question": "What?", "paragraph": "Ann ran.", "answer": "ran", "start": 4}
    ]


def test_choices_are_numbered_from_one(tmp_path: Path) -> None:
    text = (
        '<?xml version="1.0"?><!DOCTYPE copa-corpus SYSTEM "copa.dtd"><copa-corpus><item id="1" '
        'asks-for="effect" most-plausible-alternative="2"><p>It\n rained.</p><a1>A &amp; b</a1>'
        "<a2>C</a2></item></copa-corpus>"
    )
    assert rows_of("copa", tmp_path / "copa-dev.xml", text) == [
        {
            "premise": "It rained.",
            "asks_for": "effect",
            "choice1": "A & b",
            "choice2": "C",
            "label": "2",
        }
    ]


def test_hypotheses_are_read_from_json(tmp_path: Path) -> None:
    line = {"premise": "Ann  ran.", "hypothesis": "Ann moved. ", "label": "entailment"}
    expected = {"premise": "Ann ran.", "hypothesis": "Ann moved.", "label": "entailment"}
    for name in ("snli", "mnli"):
        assert rows_of(name, tmp_path / "dev.jsonl", json.dumps(line)) == [expected]


def test_candidates_lose_the_order_that_tells_which_is_right(tmp_path: Path) -> None:
    text = (
        "Zoe rang Ann as  [MASK]  was late. \n[MASK]\n Zoe , Ann \n Zoe \n\n"
        "Zoe rang the man as [MASK] was ill.\n[MASK]\nThe man,Zoe\nThe man\n"
    )
    assert [tuple(row.values()) for row in rows_of("wsc273", tmp_path / "wsc273.txt", text)] == [
        ("Zoe rang Ann as [MASK] was late.", "Ann", "Zoe", "2"),
        ("Zoe rang the man as [MASK] was ill.", "The man", "Zoe", "1"),
    ]


def test_translations_stand_in_a_file_of_their_own_packed_or_not(tmp_path: Path) -> None:
    english = tmp_path / "tatoeba.deu-eng.eng"
    german = "Anna\xa0l\u00e4uft.\nHalt!\n"
    expected = [
        {"german": "Anna l\u00e4uft.", "english": "Ann runs."},
        {"german": "Halt!", "english": "Stop!"},
    ]
    content = b"Ann  runs.\nStop!\n"
    (tmp_path / f"{english.name}.xz").write_bytes(lzma.compress(content))
    assert rows_of("tatoeba", tmp_path / "tatoeba.deu-eng.deu", german) == expected
    english.write_bytes(content.replace(b"Stop!\n", b""))
    with pytest.raises(corpora.DataError, match=r"as many lines as .*\.eng has, got 2 and 1; rep"):
        rows_of("tatoeba", tmp_path / "tatoeba.deu-eng.deu", german)
    english.write_bytes(content.replace(b"Stop!", b" "))
    with pytest.raises(corpora.DataError, match=r"eng\.deu, line 2: expected a German and an Engl"):
        rows_of("tatoeba", tmp_path / "tatoeba.deu-eng.deu", german)


@pytest.mark.parametrize(
    ("name", "file", "text", "message"),
    [
        ("tatoeba", "tatoeba.deu-eng.deu", "Halt!\n", r"expected tatoeba\.deu-eng\.eng beside it"),
        ("snli", "dev.jsonl", '{"premise": "a", "hypothesis": "b", "label": "-"}', "labels entail"),
        ("mnli", "dev.jsonl", '{"premise": "a", "label": "neutral"}', "line 1: .*'hypothesis'"),
        ("wsc273", "wsc273.txt", "[MASK] a\n[MASK]\nb,c\n", "line 1: expected five lines"),
        ("wsc273", "wsc273.txt", "[MASK] a\n[MASK]\nb,c\nd\n\n", "line 1: expected five lines"),
        ("wsc273", "wsc273.txt", "[MASK] a\n[MASK]\nb,c\nb\nd\n", "line 1: expected five lines"),
        ("wsc273", "wsc273.txt", "[MASK] a\nshe\nb,c\nb\n\n", "line 1: expected five lines"),
        ("wsc273", "wsc273.txt", "[MASK] a\n[MASK]\nb,c,d\nb\n\n", "a text with one .MASK"),
        ("wsc273", "wsc273.txt", "[MASK] a\n[MASK]\nb,b\nb\n\n", "two different candidates"),
        ("wsc273", "wsc273.txt", "she a\n[MASK]\nb,c\nb\n\n", "a text with one .MASK"),
        ("wikiann", "en.dev", "Ann\tB-PER\n", "line 1: expected 'en:' and a token, a tab"),
        ("wikiann", "en.dev", "en:Ann\tI-PER\n", "at its end: expected a tag for every token"),
        ("xquad", "xquad.en.json", '{"data": [{}]}', "expected JSON in SQuAD's form, got KeyError"),
        ("xquad", "xquad.en.json", "[", "expected JSON in SQuAD's form, got JSONDecodeError"),
        ("copa", "copa-test.xml", "<copa-corpus><item>", "expected XML, got"),
        ("copa", "copa-test.xml", "<c><item/></c>", "item 1: expected a premise, cause or effect"),
        ("mrpc", "msr_paraphrase_test.txt", "#1 String\t#2 String\na\tb\n", "line 2: .*Quality"),
        ("stsb", "sts-dev.csv", "a\tb\t2016\t1\t5.1\tone\ttwo\n", "line 1: .*score from 0 to 5"),
        ("stsb", "sts-dev.csv", "a\tb\t2016\t1\t4\tone\n", "line 1: expected sentence1"),
        ("simlex-999", "EN-SIMLEX-999.txt", "old\tnew\t10.1\n", "line 1: .*score from 0 to 10"),
        ("men", "EN-MEN-TR-3k.txt", "sun\tsunlight\t50.0\nsun\t49.0\n", "line 2: .*from 0 to 50"),
        ("google-analogies", "questions-words.txt", "man woman king queen\n", "one of the 14 sec"),
        ("google-analogies", "questions-words.txt", ": plural\na b c d\n", "line 2: .*14 sections"),
        ("google-analogies", "questions-words.txt", ": family\na b c\n", "line 2: .*four words"),
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
def test_damaged_files(name, file, text, message, packed, tmp_path, monkeypatch):
    monkeypatch.setenv("TLCOURSE_DATA", str(tmp_path))
    (tmp_path / name).mkdir()
    content = text.encode("utf-8")
    path = tmp_path / name / (f"{file}.xz" if packed else file)
    path.write_bytes(lzma.compress(content) if packed else content)
    with pytest.raises(corpora.DataError, match=message) as error:
        corpora.load(name)
    assert "\n" not in str(error.value)


def test_a_subset_of_pairs_has_their_columns_and_labels() -> None:
    rows = datasets.Dataset.from_list(made.examples("rte", "validation"))
    subset = corpora.label_subset(rows, 20, seed=0)
    assert subset.column_names == rows.column_names and len(subset) == 20
    assert set(subset["label"]) == set(rows["label"])
