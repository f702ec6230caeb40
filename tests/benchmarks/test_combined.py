"""What is put together is chosen on dev; then teachers, their mean answer, and students."""

import pytest

from benchmarks import runner
from benchmarks.studies import combined, grid_search, multi_stage
from benchmarks.studies.multi_stage import Task
from benchmarks.studies.search_space import COMBINED, task_at
from benchmarks.studies.trials import Job
from tlcourse import corpora, results
from tlcourse.adaptation import FULL, GradualUnfreezing, LanguageModelling, Recipe

ALONE = {"size": 0.75, "recipe": {"learning_rate": 2e-3, "epochs": 10, "head_learning_rate": 3e-3}}


def test_the_way_with_the_lowest_mean_on_dev_is_chosen(uncarried, monkeypatch):
    asked = []

    def run(job):
        asked.append(job)
        wrong = 10 - 2 * (job.pooling == "concatenation") - job.seed + 2 * (job.scheme != "LoRA")
        return {"wrong": list(range(wrong)), "of": 200, "forgetting": 1.0 + job.seed}

    monkeypatch.setattr(Job, "run", run)
    monkeypatch.setattr(results, "stored", lambda name: {"choices": {combined.BASE: ALONE}})
    measured = combined.measure()
    assert [row["what"] for row in measured["rows"]] == list(combined.WAYS)
    assert {(job.seed, job.fold) for job in asked} == set(grid_search.CONFIRMED)
    assert {job.split for job in asked} == {"dev"}  # the test set is not read
    assert measured["chosen"]["what"] == "pooled concatenation"
    assert measured["chosen"]["pooling"] == "concatenation"
    assert measured["chosen"]["size"] == 0.75
    assert runner.recipe_of(measured["chosen"]) == runner.recipe_of(ALONE)
    rows = {row["what"]: row for row in measured["rows"]}
    assert rows["pooled concatenation"]["mean"] == pytest.approx(100 * 9.5 / 200)
    assert rows["gradual unfreezing"]["forgetting"] == 1.5
    assert asked[2].recipe.epochs == 2 * asked[0].recipe.epochs


def test_what_is_put_together_is_what_the_parts_searches_chose(little):
    choices = results.stored("schemes")["choices"]
    alone = choices[combined.BASE]
    task = Task(little, "mean", ["Who ?"], ["HUM"], ["Who ?"], Recipe(), 0)
    scheme = task_at(combined.BOTH, task, COMBINED[combined.BOTH].sizes[0]).scheme
    assert scheme.schedule == GradualUnfreezing(share=alone["size"])
    assert scheme.extra_loss == LanguageModelling(choices["with the LM loss"]["size"])
    assert COMBINED[combined.BOTH].lowest == alone["recipe"]["learning_rate"]


@pytest.fixture
def two_teachers(samples, one_process, monkeypatch):
    monkeypatch.setattr(combined, "TEACHERS", (0, 1))


def test_a_student_learns_what_its_teachers_answered(little, two_teachers, monkeypatch):
    known = (FULL.name, 1e-2, "concatenation", Recipe(epochs=1, batch_size=8))
    first, second = (combined.Teacher(*known, seed, little).run() for seed in (0, 1))
    assert first["answers"] != second["answers"] and len(first["test"]) == first["of"]
    assert all(sum(row) == pytest.approx(1, abs=1e-4) for row in first["answers"])
    asked = {}

    def adapt(classifier, texts, targets, **more):
        asked["texts"], asked["targets"], asked["scheme"] = texts, targets, more["scheme"]
        return classifier

    monkeypatch.setattr(multi_stage, "adapt", adapt)
    combined.Student(*known, 0, little).run()
    train = corpora.load("trec")["train"]["text"][:]
    assert asked["texts"][: len(train)] == train and asked["scheme"] == FULL
    assert asked["targets"].shape[0] == len(asked["texts"])
    mean = [sum(pair) / 2 for pair in zip(first["answers"][0], second["answers"][0], strict=True)]
    assert asked["targets"][0].tolist() == pytest.approx(mean)


def test_rows_are_of_one_model_of_all_together_and_of_students(two_teachers, monkeypatch):
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
    measured = combined.measure_distilled()
    assert measured["chosen"]["scheme"] == "LoRA" == asked[0].scheme
    assert {job.pooling for job in asked} == {"last token"}
    assert {job.recipe for job in asked} == {Recipe(learning_rate=1e-3, epochs=10)}
    assert [job.role for job in asked] == ["teacher", "teacher", *["student"] * 3]
    single, together, students = measured["rows"]
    assert single["errors"] == [0.0, 100 * (len(test) - 1) / len(test)]
    assert together["errors"] == [0.0] and together["interval"][1] > 0  # the sure one decides
    assert students["mean"] == 0 and len(students["errors"]) == 3
    assert measured["comparisons"][0]["points"] == -single["mean"]
