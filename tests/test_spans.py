"""Scores of spans: as seqeval and torchmetrics compute them, see `make_spans_cases.py`."""

import json
import random
import re
from pathlib import Path

import pytest

from tlcourse import spans

CASES = json.loads(Path(__file__).with_name("spans_cases.json").read_text(encoding="utf-8"))
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def test_entity_scores_are_those_of_seqeval() -> None:
    for gold, predicted, precision, recall, f1 in CASES["tags"]:
        score = spans.entity_score(gold, predicted)
        assert (score.precision, score.recall, score.f1) == pytest.approx((precision, recall, f1))


def test_answers_are_scored_as_torchmetrics_scores_them() -> None:
    for answer, gold, exact, f1 in CASES["answers"]:
        assert spans.exact_match(answer, gold) == exact, (answer, gold)
        assert spans.answer_f1(answer, gold) == pytest.approx(f1, abs=1e-5), (answer, gold)


def test_entities_are_those_that_a_pattern_finds() -> None:
    draw = random.Random(1)
    for _ in range(300):
        tags = spans.to_bio(draw.choices(TAGS, k=draw.randint(1, 12)))
        line = "".join(tag[:3].ljust(3, ".") for tag in tags)
        found = [
            (match["kind"], match.start() // 3, match.end() // 3)
            for match in re.finditer(r"B-(?P<kind>[PL])(I-(?P=kind))*", line)
        ]
        assert [(e.kind[0], e.start, e.end) for e in spans.entities(tags)] == found


@pytest.mark.parametrize(
    ("tags", "fixed"),
    [
        ("I-PER I-PER O I-LOC", "B-PER I-PER O B-LOC"),  # IOB1, or predictions without a beginning
        ("I-PER B-PER I-LOC", "B-PER B-PER B-LOC"),
        ("B-PER I-PER B-PER", "B-PER I-PER B-PER"),
        ("", ""),
    ],
)
def test_an_entity_begins_with_b(tags: str, fixed: str) -> None:
    assert spans.to_bio(tags.split()) == fixed.split()


def test_no_answer_is_right_only_where_there_is_none() -> None:
    assert spans.exact_match("", []) == spans.answer_f1("", [""]) == 1.0
    assert spans.exact_match("the", []) == 1.0  # as in SQuAD, where articles do not count
    assert spans.answer_f1("Paris", []) == spans.answer_f1("", ["Paris"]) == 0.0


def test_scores_of_one_kind_and_of_nothing() -> None:
    gold, guess = [["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]]
    assert spans.entity_score(gold, guess, kind="PER").f1 == 1.0
    assert spans.entity_score(gold, guess, kind="LOC").recall == 0.0
    nothing = spans.entity_score([["O"]], [["O"]])
    assert (nothing.precision, nothing.recall, nothing.f1) == (0.0, 0.0, 0.0)


def test_the_interval_shrinks_with_more_sentences() -> None:
    gold, guess = [["B-PER"], ["B-PER"]], [["B-PER"], ["O"]]
    few, many = (spans.entity_score(gold * n, guess * n).interval() for n in (10, 1000))
    assert few.low < many.low < many.mean < many.high < few.high
    assert many.mean == pytest.approx(2 / 3)
    alike = spans.entity_score(gold[:1] * 5, guess[:1] * 5).interval()
    assert (alike.low, alike.high) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("gold", "guess", "words"),
    [
        ([["O"]], [], "tags of the same sentences, got 1 and 0"),
        ([["O", "O"]], [["O"]], "2 tags for sentence 0, got 1"),
        ([["O"]], [["NOUN"]], "O, B-TYPE and I-TYPE, got 'NOUN' at 0"),
    ],
)
def test_what_cannot_be_scored_is_named(gold: list, guess: list, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        spans.entity_score(gold, guess)
