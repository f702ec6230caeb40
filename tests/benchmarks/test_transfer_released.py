"""A released model beside stored rows: what is chosen, what a run finds, what is compared."""

import datasets
import pytest

from benchmarks import runner
from benchmarks.studies import tasks_released, transfer, transfer_released
from tlcourse import corpora
from tlcourse.adaptation import FULL, Classifier, Recipe

ONE = "The cat sat on the mat."
PAIRS = {
    "sentence1": [ONE, ONE, ONE],
    "sentence2": [ONE, "The cat sat on the mat today.", "Prices of oil fell in March 1986."],
    "score": [5.0, 3.2, 0.0],
}


@pytest.fixture(autouse=True)
def samples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    load = corpora.load
    rows = datasets.DatasetDict(validation=datasets.Dataset.from_dict(PAIRS))

    def loaded(name, source=None):
        return rows if name == "stsb" else load(name, source="sample")

    monkeypatch.setattr(corpora, "load", loaded)


def result(job, missed):
    fields = {"pooling": job.pooling, "recipe": vars(job.recipe)}
    return fields | {"wrong": list(range(missed)), "of": 100}


def test_sentences_that_are_the_same_are_alike(little, monkeypatch):
    classifier = Classifier.from_checkpoint(little, ["a", "b"])
    assert transfer_released.alike(classifier) == pytest.approx(100)
    turned = datasets.Dataset.from_dict(PAIRS | {"score": PAIRS["score"][::-1]})
    monkeypatch.setattr(corpora, "load", lambda name: {"validation": turned})
    assert transfer_released.alike(classifier) == pytest.approx(-100)


def test_a_run_on_the_test_set_says_what_is_left_of_the_skill(little):
    recipe = Recipe(epochs=1)
    runs = [
        transfer_released.Job("frozen body", 12, 0, split, "mean", recipe, little).run()
        for split in ("dev", "test")
    ]
    before = transfer_released.alike(Classifier.from_checkpoint(little, ["a", "b"]))
    assert "alike" not in runs[0]
    assert runs[1]["alike"] == pytest.approx(before, abs=1e-9)  # a frozen body forgets nothing
    assert all(run["memory"] > 0 and run["trained"] == 6 * 32 + 6 for run in runs)


def test_the_way_with_the_fewest_dev_errors_is_taken_for_all_labels_alone(monkeypatch):
    missed = {
        way: count for count, way in zip((9, 7, 5, 8), transfer_released.CANDIDATES, strict=True)
    }

    def run(job):
        return result(job, missed[job.pooling, job.recipe.epochs, job.recipe.learning_rate])

    monkeypatch.setattr(runner, "run_all", lambda jobs: [run(job) for job in jobs])
    tried = transfer_released.choose()
    assert [entry["dev_error"] for entry in tried] == [5, 7, 8, 9]
    job = transfer_released.test_job(FULL.name, "all", 0, tried[0])
    assert (job.pooling, job.recipe.epochs, job.recipe.learning_rate) == ("mean", 5, 1e-4)
    assert transfer_released.test_job(FULL.name, 100, 0, tried[0]).recipe.learning_rate == 5e-5


def row(scheme, labels, missed):
    found = transfer.row_of("released", labels, [0, 1, 2], [list(range(missed))] * 3, 500, 1.0)
    return found | {"scheme": scheme}


def test_full_fine_tuning_is_held_against_stored_rows_and_schemes_against_it():
    rows = [row(FULL.name, 100, 10), row("BitFit", 100, 20)]
    beside = {(name, 100): row(name, 100, 60) for name in ("ours", "TF-IDF")}
    beside |= {(name, 500): row(name, 500, 60) for name in ("ours", "TF-IDF")}
    found = transfer_released.compare(rows, beside, 500)
    assert [(c["scheme"], c["against"], c["points"]) for c in found] == [
        (FULL.name, "ours", pytest.approx(-10.0)),
        (FULL.name, "TF-IDF", pytest.approx(-10.0)),
        ("BitFit", FULL.name, pytest.approx(2.0)),
    ]
    assert found[0]["p"] == pytest.approx(2 * 0.5**50)
    assert all(each["p_holm"] >= each["p"] for each in found)


def test_other_tasks_keep_their_samples_and_reviews_the_recipe_s_length():
    asked = tasks_released.asked()
    assert {job.task for job in asked} == {"sst-2", "rte", "mrpc", "imdb"}
    reviews = next(job.recipe for job in asked if job.task == "imdb")
    short = next(job.recipe for job in asked if job.task == "sst-2")
    assert (reviews.epochs, reviews.batch_size, reviews.min_steps) == (3, 16, 100)
    assert reviews.learning_rate == short.learning_rate == 5e-5


def test_paraphrases_are_held_against_rows_of_this_study_and_others_against_stored_ones():
    def made(task, scheme, model, missed):
        wrong = [list(range(missed))] * 3
        errors = [float(missed)] * 3
        return {"task": task, "labels": 100, "scheme": scheme, "model": model, "judged": 100} | {
            "wrong": wrong, "errors": errors,
        }  # fmt: skip

    name = tasks_released.MODEL
    rows = [made("rte", FULL.name, name, 40), made("mrpc", FULL.name, name, 20)]
    rows += [made("mrpc", scheme, "other", 33) for scheme in (FULL.name, "TF-IDF")]
    kept = [made("rte", scheme, "stored", 50) for scheme in (FULL.name, "TF-IDF")]
    found = tasks_released.compare(rows, kept)
    assert [(c["task"], c["against"], c["points"]) for c in found] == [
        ("rte", "TF-IDF", -10.0),
        ("rte", "causal-small", -10.0),
        ("mrpc", "TF-IDF", -13.0),
        ("mrpc", "causal-small", -13.0),
    ]


def test_cosines_stand_beside_counting_words(little, monkeypatch):
    monkeypatch.setattr(tasks_released, "MODEL", little)
    found = tasks_released.sentence_pairs("validation")
    assert list(found) == [little, "causal-small", "TF-IDF"]
    assert found["TF-IDF"] == pytest.approx(100)
