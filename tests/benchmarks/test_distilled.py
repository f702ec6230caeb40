"""Teachers, their mean answer, and students: trained for real on the samples, and held together."""

import pytest

from benchmarks import runner
from benchmarks.studies import distilled
from tlcourse import corpora, results
from tlcourse.adaptation import FULL, Recipe


@pytest.fixture(autouse=True)
def two_teachers(samples, one_process, monkeypatch):
    monkeypatch.setattr(distilled, "TEACHERS", (0, 1))


def test_a_student_learns_what_its_teachers_answered(little, monkeypatch):
    known = (FULL.name, 1e-2, "concatenation", Recipe(epochs=1, batch_size=8))
    first, second = (distilled.Teacher(*known, seed, little).run() for seed in (0, 1))
    assert first["answers"] != second["answers"] and len(first["test"]) == first["of"]
    assert all(sum(row) == pytest.approx(1, abs=1e-4) for row in first["answers"])
    asked = {}

    def distil(classifier, texts, teachers, **more):
        asked["texts"], asked["teachers"], asked["scheme"] = texts, teachers, more["scheme"]
        return classifier

    monkeypatch.setattr(distilled, "distil", distil)
    distilled.Student(*known, 0, little).run()
    train = corpora.load("trec")["train"]["text"][:]
    assert asked["texts"][: len(train)] == train and asked["scheme"] == FULL
    assert [each.shape[0] for each in asked["teachers"]] == [len(asked["texts"])] * 2
    assert asked["teachers"][1].tolist()[0] == pytest.approx(second["answers"][0])


def test_rows_are_of_one_model_of_all_together_and_of_students(monkeypatch):
    chosen = {"scheme": "LoRA", "size": 8, "pooling": "last token"}
    chosen |= {"recipe": {"learning_rate": 1e-3, "epochs": 10}}
    monkeypatch.setattr(results, "stored", lambda name: {"chosen": chosen})
    test = corpora.load("trec")["test"]
    sure = [[float(name == label) for name in corpora.TREC_LABELS] for label in test["label"]]
    doubtful = [[0.2] * 6 for _ in sure]
    asked = []

    def run(job):
        asked.append(job)
        right = job.seed == 0 or job.role == "student"
        missed = [] if right else list(range(1, len(test)))
        return {"wrong": missed, "of": len(test), "test": sure if right else doubtful}

    monkeypatch.setattr(runner, "run_all", lambda each: [run(job) for job in each])
    measured = distilled.measure()
    assert measured["chosen"]["scheme"] == "LoRA" == asked[0].scheme
    assert {job.pooling for job in asked} == {"last token"}
    assert {job.recipe for job in asked} == {Recipe(learning_rate=1e-3, epochs=10)}
    assert [job.role for job in asked] == ["teacher", "teacher", *["student"] * 3]
    single, together, students = measured["rows"]
    assert single["errors"] == [0.0, 100 * (len(test) - 1) / len(test)]
    assert together["errors"] == [0.0] and together["interval"][1] > 0  # the sure one decides
    assert students["mean"] == 0 and len(students["errors"]) == 3
    assert measured["comparisons"][0]["points"] == -single["mean"]
