"""The study of what the leaderboard leaves open: jobs, texts that are read first, comparisons."""

import pytest
from datasets import Dataset

from benchmarks import adaptation, composites, open_questions, transfer
from benchmarks.open_questions import BEST, COMPARED, KNOWN, QUESTIONS, STATEMENTS, VARIANTS
from tlcourse import corpora
from tlcourse.adaptation import Recipe


@pytest.mark.parametrize("variant", [VARIANTS["all"][BEST], VARIANTS[500][QUESTIONS]])
def test_a_job_adapts_judges_and_is_kept(variant, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    monkeypatch.setattr(composites, "TAPT_TOKENS", 4_000)
    monkeypatch.setattr(open_questions, "texts", lambda name: ["Is it a question ?"] * 200)
    load = corpora.load
    monkeypatch.setattr(corpora, "load", lambda name, source=None: load(name, source="sample"))
    job = open_questions.Job(variant, 24, 0, Recipe(epochs=1))
    found = job.run()
    assert len(found["probabilities"]) == found["of"] and found["seconds"] > 0
    monkeypatch.setattr(open_questions, "Task", None)
    assert job.run() == found
    one = open_questions.together(BEST, "all", [found])
    assert one["test_wrong"] == [found["wrong"]]  # the mean of one is that one


def test_each_question_of_the_task_has_a_statement_as_long(monkeypatch):
    reviews = [
        "It was a very long film. What was this about? We left too soon. Nobody laughed at that.",
        "Who is the man at the door? The end came as a great relief. The end was one.",
    ]
    own = ["Who ?", "Who is the man at the door ?", "What did they say to the man at the door ?"]
    data = {"train": Dataset.from_dict({"text": reviews})}
    monkeypatch.setattr(corpora, "load", lambda name: data)
    trec = Dataset.from_dict({"text": own})
    monkeypatch.setattr(transfer, "questions", lambda labels, seed, split: (trec, trec))
    assert open_questions.texts(QUESTIONS) == [
        "What was this about ?",
        "Who is the man at the door ?",
    ]
    with pytest.raises(IndexError):  # the second of eight words, as the longest there are
        open_questions.texts(STATEMENTS)
    reviews[0] += " This story has no end at all."
    data["train"] = Dataset.from_dict({"text": reviews})
    assert open_questions.texts(STATEMENTS) == [
        "We left too soon .",
        "This story has no end at all .",
        "The end came as a great relief .",
    ]


def test_the_comparison_named_beforehand_is_not_corrected_and_the_others_are():
    by = {
        name: open_questions.row(
            name,
            "all",
            [{"seed": s, "wrong": [*range(n + s)], "of": 500, "seconds": 1.0} for s in (0, 1)],
        )
        for name, n in zip([*KNOWN["all"], *VARIANTS["all"]], (29, 21, 23, 24, 20, 18), strict=True)
    }
    first, *others = open_questions.compare(by, "all", 500)
    assert (first["variant"], first["against"]) == COMPARED["all"][0]
    assert first["variant"] == BEST == "with the LM loss, concatenation"
    assert first["labels"] == by[BEST]["labels"] == 5452
    assert first["points"] == pytest.approx(-1.0) and first["p_holm"] == first["p"]
    assert all(entry["p_holm"] > entry["p"] for entry in others if entry["p"] < 0.5)
    assert len(others) == 6 and all(each["points"] < 0 for each in others)


def test_rows_of_the_leaderboard_are_taken_over_if_they_are_of_the_same_draws():
    draws = adaptation.DRAWS[500]
    stored = {"scheme": "TAPT", "labels": 500, "seeds": [*range(draws)], "seconds": 7.0}
    stored |= {"mean": 3.0, "test_wrong": [[*range(15 + seed)] for seed in range(draws)]}
    found = open_questions.known({"rows": [stored]}, "TAPT", 500, "own", 500)
    assert (found["model"], found["labels"], found["seconds"]) == ("own", 500, 7.0)
    assert found["errors"][:2] == [3.0, 3.2] and found["test_wrong"] == stored["test_wrong"]
    with pytest.raises(ValueError, match=f"expected {draws} draws of TAPT"):
        open_questions.known({"rows": [stored | {"seeds": [0]}]}, "TAPT", 500, "own", 500)
