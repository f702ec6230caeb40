"""A released model beside stored rows: what is chosen, what a run finds, what is compared."""

import datasets
import pytest

from benchmarks import runner
from benchmarks.studies import released, transfer
from tests.benchmarks.conftest import PAIRS
from tlcourse import corpora
from tlcourse.adaptation import FULL, Classifier, Recipe

pytestmark = pytest.mark.usefixtures("samples", "pairs")


def result(job, missed):
    fields = {"pooling": job.pooling, "recipe": vars(job.recipe)}
    return fields | {"wrong": list(range(missed)), "of": 100}


def test_sentences_that_are_the_same_are_alike(little, monkeypatch):
    classifier = Classifier.from_checkpoint(little, ["a", "b"])
    assert released.alike(classifier) == pytest.approx(100)
    turned = datasets.Dataset.from_dict(PAIRS | {"score": PAIRS["score"][::-1]})
    monkeypatch.setattr(corpora, "load", lambda name: {"validation": turned})
    assert released.alike(classifier) == pytest.approx(-100)


def test_a_run_on_the_test_set_says_what_is_left_of_the_skill(little):
    recipe = Recipe(epochs=1)
    runs = [
        released.Job("frozen body", 12, 0, split, "mean", recipe, little).run()
        for split in ("dev", "test")
    ]
    before = released.alike(Classifier.from_checkpoint(little, ["a", "b"]))
    assert "alike" not in runs[0]
    assert runs[1]["alike"] == pytest.approx(before, abs=1e-9)  # a frozen body forgets nothing
    assert all(run["memory"] > 0 and run["trained"] == 6 * 32 + 6 for run in runs)


def test_the_way_with_the_fewest_dev_errors_is_taken_for_all_labels_alone(monkeypatch):
    missed = {way: count for count, way in zip((9, 7, 5, 8), released.CANDIDATES, strict=True)}

    def run(job):
        return result(job, missed[job.pooling, job.recipe.epochs, job.recipe.learning_rate])

    monkeypatch.setattr(runner, "run_all", lambda jobs: [run(job) for job in jobs])
    tried = released.choose()
    assert [entry["dev_error"] for entry in tried] == [5, 7, 8, 9]
    job = released.test_job(FULL.name, "all", 0, tried[0])
    assert (job.pooling, job.recipe.epochs, job.recipe.learning_rate) == ("mean", 5, 1e-4)
    assert released.test_job(FULL.name, 100, 0, tried[0]).recipe.learning_rate == 5e-5


def row(scheme, labels, missed):
    found = transfer.row_of("released", labels, [0, 1, 2], [list(range(missed))] * 3, 500, 1.0)
    return found | {"scheme": scheme}


def test_full_fine_tuning_is_held_against_stored_rows_and_schemes_against_it():
    rows = [row(FULL.name, 100, 10), row("BitFit", 100, 20)]
    beside = {(name, 100): row(name, 100, 60) for name in ("ours", "TF-IDF")}
    beside |= {(name, 500): row(name, 500, 60) for name in ("ours", "TF-IDF")}
    found = released.compare(rows, beside, 500)
    assert [(c["scheme"], c["against"], c["points"]) for c in found] == [
        (FULL.name, "ours", pytest.approx(-10.0)),
        (FULL.name, "TF-IDF", pytest.approx(-10.0)),
        ("BitFit", FULL.name, pytest.approx(2.0)),
    ]
    assert found[0]["p"] == pytest.approx(2 * 0.5**50)
    assert all(each["p_holm"] >= each["p"] for each in found)
