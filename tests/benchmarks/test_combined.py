"""What is put together keeps its parts' choices, is run twice on dev, and the lowest is chosen."""

import pytest

from benchmarks import runner
from benchmarks.studies import combined, grid_search
from benchmarks.studies.multi_stage import Task
from benchmarks.studies.search_space import COMBINED, task_at
from benchmarks.studies.trials import Job
from tlcourse import results
from tlcourse.adaptation import GradualUnfreezing, LanguageModelling, Recipe

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
