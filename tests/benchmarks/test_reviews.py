"""Reviews are read once, without labels; what is fine-tuned then stands beside stored rows."""

import pytest

from benchmarks import runner
from benchmarks.studies import reviews, tasks
from tlcourse import checkpoints, corpora, results
from tlcourse.adaptation import Recipe
from tlcourse.pretraining import PretrainingRecipe


@pytest.fixture(autouse=True)
def small(samples, monkeypatch, little):
    monkeypatch.setattr(tasks, "MODEL", little)
    monkeypatch.setattr(reviews, "TOKENS", 640)
    monkeypatch.setattr(reviews, "READING", PretrainingRecipe(batch_size=4, length=32, warmup=1))
    monkeypatch.setattr(reviews, "HELD_OUT", 4)


def test_the_reading_moves_the_body_and_is_done_once(tmp_path, little, monkeypatch):
    place = reviews.read_reviews(tmp_path / "reviews")
    assert runner.digest(place) != runner.digest(little)
    monkeypatch.setattr(reviews, "pretrain", lambda *a, **more: pytest.fail("read again"))
    assert reviews.read_reviews(tmp_path / "reviews") == place
    assert reviews.perplexity(place) != reviews.perplexity(little)


def test_nothing_that_is_judged_is_read(tmp_path, monkeypatch):
    read = []
    write = reviews.write_tokens
    monkeypatch.setattr(
        reviews,
        "write_tokens",
        lambda path, rows: (read.extend(rows := list(rows)), write(path, rows)),
    )
    reviews.read_reviews(tmp_path / "reviews")
    tokenizer = checkpoints.load(tasks.MODEL)[1]
    judged = tasks.questions(tasks.Job("imdb", 8, reviews.READ, 0, Recipe()))[1]["text"]
    assert not {tokenizer.decode(ids[:-1]) for ids in read} & set(judged)
    assert len(read) == len(corpora.load("imdb")["train"])


def test_rows_stand_beside_what_was_stored_for_the_same_labels(uncarried, monkeypatch):
    errors = {"full fine-tuning": 30.0, "TF-IDF": 20.0}
    stored = [
        {"task": "imdb", "labels": labels, "scheme": scheme, "errors": [error] * 3}
        | {"wrong": [list(range(round(error / 100 * 40)))] * 3}
        for labels in reviews.LABELS
        for scheme, error in errors.items()
    ]
    monkeypatch.setattr(results, "stored", lambda name: {"rows": stored})
    monkeypatch.setattr(
        reviews.Job,
        "run",
        lambda job: {"wrong": list(range(10 + job.seed)), "of": 40, "recipe": {}},
    )
    found = reviews.measure()
    assert [row["labels"] for row in found["rows"]] == list(reviews.LABELS)
    assert found["rows"][0]["errors"] == [25.0, 27.5, 30.0]
    points = {entry["against"]: entry["points"] for entry in found["comparisons"][:2]}
    assert points == pytest.approx({"full fine-tuning": -2.5, "TF-IDF": 7.5})
    assert all(entry["p_holm"] >= entry["p"] for entry in found["comparisons"])


def test_a_job_learns_and_is_judged(little):
    found = reviews.Job(str(little), 8, 0, Recipe(epochs=1)).run()
    judged = tasks.questions(tasks.Job("imdb", 8, reviews.READ, 0, Recipe()))[1]
    assert found["of"] == len(judged) and set(found["wrong"]) <= set(range(len(judged)))
