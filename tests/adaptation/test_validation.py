"""What is odd about texts and labels is a line; and what a comparison with counting says."""

import csv

import pytest

from tests.adaptation.made import ROWS
from tlcourse.adaptation import Classifier, tables, validation
from tlcourse.adaptation.comparing import verdict
from tlcourse.bpe import Tokenizer
from tlcourse.transformer import Config, Transformer


def examples(path, rows) -> tables.Examples:
    with open(path, "w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([("text", "label"), *rows])
    return tables.examples(path)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("Who sang ?", "song")], "1 label has one text: song"),
        ([("Who sang ?", "a"), ("Who went ?", "b")], "2 labels have one text each: a, b"),
        ([("Here ?", "Place")] * 2, "labels that differ in case only: Place, place"),
        (
            [("Who ran ? " * 256, "person")],
            "1 of 6 texts of my.csv is longer than 48 tokens: read in windows; of 1 not more than",
        ),
        (
            [("Here ?", "pl\u200bace")] * 2,
            r"the labels 'place' and 'pl\u200bace' look alike, but one has U+200B ZERO WIDTH SPACE",
        ),
        (
            [("Here ?", "caf\xe9"), ("Ann ?", "caf\xe9"), *[("So ?", "cafe\u0301")] * 2],
            r"the labels 'cafe\u0301' and 'caf\xe9' look alike, but one has U+0301 COMBINING ACUTE",
        ),
        (
            [(f" {ROWS[0][0].upper()}", "song")] * 2,
            f"1 text has different labels in my.csv, the first {ROWS[0][1]} in line 2, song in",
        ),
        ([("Who ran ? " * 256, "person")] * 2, "2 of 7 texts of my.csv are longer than 48 tokens"),
        ([], None),
    ],
)
def test_what_is_odd_about_texts_and_labels_is_a_line(tmp_path, rows, said):
    train = examples(tmp_path / "my.csv", [*ROWS, *rows])
    tokenizer = Tokenizer.train([text for text, _ in ROWS], 300)
    reader = Classifier(Transformer(Config(300, 16, 1, 2, 32, 48)), tokenizer, list(train.counts))
    lines = [*validation.odd_labels(train.counts), *validation.contradictions(train)]
    lines += validation.long_texts(reader, train.texts, train.path.name)
    assert len(lines) == (said is not None) and all(line.startswith(said) for line in lines)


def test_texts_of_the_test_that_were_learnt_are_counted(tmp_path):
    train = examples(tmp_path / "my.csv", ROWS)
    again = [ROWS[0], (f"  {ROWS[1][0].upper()} ", ROWS[1][1]), ("Where is Ann ?", "person")]
    (line,) = validation.repeated(train, examples(tmp_path / "test.csv", again))
    assert line.startswith("2 of 3 test texts also occur in my.csv")
    assert not [
        *validation.repeated(
            train, examples(tmp_path / "test.csv", again[2:] + again[2:] + [("So ?", "x")])
        )
    ]


def test_the_verdict_says_what_to_use_and_what_may_be_chance():
    few, many = list(range(2)), list(range(12))
    better = verdict(few, many, 100)
    assert better == "counting words gets 12.0 % wrong, the model 2.0 %: the model is better"
    assert verdict([1], [2, 3], 16).endswith(
        "the model is better (with 16 test texts, this may be chance)"
    )
    worse = verdict(many, few, 100)
    assert "wrong, the model 12.0 %: counting is better; use it, because it is smaller and" in worse
    assert "counting is better (with 16 test texts, this may be chance); use" in verdict(
        [1, 2], [3], 16
    )
    alike = verdict([1], [2], 16)
    assert "6.2 % wrong, the model 6.2 %: counting is as good; use it, because" in alike
    assert alike.endswith(
        "label more texts, from which the model may learn more than counting does"
    )
