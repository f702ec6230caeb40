"""Marvin & Linzen's pairs: from lines with two or three sentences to rows as BLiMP's."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tlcourse import corpora
from tlcourse.corpora import blimp, marvin_linzen

PAIR = {"test": "subj_rel", "case": "sing", "sents": ["the cat sings", "the cat sing"]}
THREE = ["no cat has ever sung", "the cat that no dog sees has ever sung", "most cats have"]


def rows(tmp_path: Path, *lines: object) -> list[dict]:
    path = tmp_path / "marvin_linzen.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return list(marvin_linzen.parse(path, "local mirror"))


def test_a_line_is_a_pair_and_one_of_polarity_items_two(tmp_path: Path) -> None:
    found = rows(tmp_path, PAIR, {"test": "npi_across_anim", "case": "past", "sents": THREE})
    assert [tuple(row.values()) for row in found] == [
        (THREE[0], THREE[2], "npi_across_anim", "npi_licensing", 0, "past"),
        (THREE[0], THREE[1], "npi_across_anim_intrusive", "npi_licensing", 0, "past"),
        (*PAIR["sents"], "subj_rel", "subject_verb_agreement", 0, "sing"),
    ]
    assert tuple(found[0]) == (*blimp.COLUMNS, "case")


def test_the_order_of_the_file_does_not_matter_and_the_first_pairs_are_a_fair_sample(tmp_path):
    lines = [
        PAIR | {"sents": [f"the {n} sings", f"the {n} sing"], "case": str(n // 500)}
        for n in range(1000)
    ]
    found = rows(tmp_path, *lines)
    assert found == rows(tmp_path, *reversed(lines))
    assert [row["pair"] for row in found] == list(range(1000))
    assert 35 < Counter(row["case"] for row in found[:100])["0"] < 65


@pytest.mark.parametrize(
    "line",
    [
        PAIR | {"test": "subj"},
        PAIR | {"test": "npi_across_anim_intrusive"},
        PAIR | {"sents": ["the cat sings"]},
        PAIR | {"sents": THREE},
        PAIR | {"test": "npi_across_anim"},
        PAIR | {"sents": "the cat sings"},
        PAIR | {"sents": ["the cat sings", " "]},
        PAIR | {"sents": ["the cat sings", 1]},
        PAIR | {"test": ["subj_rel"]},
        {"test": "subj_rel", "sents": PAIR["sents"]},
        [],
    ],
)
def test_other_lines_are_refused(line: object, tmp_path: Path) -> None:
    with pytest.raises(corpora.DataError, match=r"marvin_linzen\.jsonl, line 2: expected .*; rep"):
        rows(tmp_path, PAIR, line)


def test_the_sample_has_every_test_and_pairs_that_differ_in_little() -> None:
    data = corpora.load("marvin-linzen", source="sample")["test"]
    assert Counter(data["paradigm"]) == dict.fromkeys(marvin_linzen.PARADIGMS, 2)
    assert len(marvin_linzen.PARADIGMS) == 26 and len(marvin_linzen.FIRST_BAD) == 4
    for row in data:
        good, bad = row["good"].split(), row["bad"].split()
        different = sum(a != b for a, b in zip(good, bad, strict=True))
        assert different == (2 if "intrusive" in row["paradigm"] else 1)
        assert row["good"] == row["good"].lower() and row["good"][-1].isalpha()


def test_a_mirror_may_spell_the_folder_with_an_underscore(tmp_path, monkeypatch):
    monkeypatch.setenv("TLCOURSE_DATA", str(tmp_path))
    (tmp_path / "marvin_linzen").mkdir()
    rows(tmp_path / "marvin_linzen", PAIR)
    with pytest.raises(corpora.DataError, match=r"\(local mirror\): expected 173,948 rows, got 1;"):
        corpora.load("marvin-linzen")
