"""More tasks than TREC: a job from end to end, likeness, reviews read first, a released model."""

import pytest

from benchmarks import runner
from benchmarks.studies import released, tasks
from tlcourse import checkpoints, corpora, results
from tlcourse.adaptation import FULL, SCHEMES, Recipe
from tlcourse.pretraining import PretrainingRecipe

pytestmark = pytest.mark.usefixtures("samples")


@pytest.mark.parametrize("scheme", ["frozen body", tasks.SOLVED, tasks.TFIDF])
@pytest.mark.parametrize("task", tasks.TASKS)
def test_a_job_is_judged_on_the_same_texts_whatever_it_learnt_from(
    task, scheme, little, monkeypatch
):
    monkeypatch.setattr(tasks.Job, "model", little)
    jobs = [tasks.Job(task, 24, scheme, seed, Recipe(epochs=1)) for seed in (0, 1)]
    (train, judged), (other, again) = (tasks.questions(job) for job in jobs)
    assert judged[:] == again[:] and train[:] != other[:]
    found = jobs[0].run()
    assert found["of"] == len(judged) and set(found["wrong"]) <= set(range(len(judged)))


def test_pairs_are_pairs_and_the_schemes_are_of_the_catalogue():
    rows = corpora.load("rte")["train"]
    first = tasks.texts_of(rows, tasks.TASKS["rte"])[0]
    assert first == (rows[0]["premise"], rows[0]["hypothesis"])
    assert set(tasks.NAMES) <= set(SCHEMES)


def test_counting_words_of_cut_texts_does_not_read_what_the_body_cannot():
    said = {"good": "a fine film " * 5, "bad": "a dull film " * 5}
    texts, labels = list(said.values()) * 10, list(said) * 10
    job = tasks.Job("imdb", 20, tasks.CUT, 0, Recipe())
    asked = ["the " * 400 + text for text in said.values()]
    assert tasks.OTHERS[tasks.TFIDF](job, texts, labels, asked) == ["good", "bad"]
    alike = tasks.OTHERS[tasks.CUT](job, texts, labels, asked)
    assert alike[0] == alike[1]


@pytest.mark.parametrize("scheme", [tasks.CUT_BODY, tasks.POOLED, "full fine-tuning"])
def test_only_a_cut_text_is_read_at_once_and_only_pooled_ones_are_concatenated(scheme, monkeypatch):
    seen = []

    def adapt(start, texts, labels, **more):
        seen.append((start.pooling, [len(ids) for ids in start.encode(texts)]))
        return start

    monkeypatch.setattr(tasks, "adapt", adapt)
    texts, labels = ["the film " * 400, "a dull film"], ["good", "bad"]
    find = tasks.OTHERS.get(scheme, tasks._adapted)
    find(tasks.Job("imdb", 2, scheme, 0, Recipe()), texts, labels, ["a film"])
    (pooling, (first, _)) = seen[0]
    longest = tasks.checkpoints.load(tasks.MODEL)[0].config.max_length
    assert (first <= longest) == (scheme == tasks.CUT_BODY)
    assert (pooling == "concatenation") == (scheme == tasks.POOLED)


def test_a_solved_head_learns_its_texts():
    rows = corpora.load("trec")["train"]
    texts, labels = rows["text"][:40], rows["label"][:40]
    job = tasks.Job("trec", 40, tasks.SOLVED, 0, Recipe())
    found = tasks.OTHERS[tasks.SOLVED](job, texts, labels, texts)
    commonest = max(labels.count(label) for label in labels)
    assert sum(a == b for a, b in zip(found, labels, strict=True)) > commonest + 10


def test_text_that_the_body_never_saw_the_like_of_costs_more_nats():
    found = tasks.likeness()
    assert set(found) == {*tasks.TASKS, "wikitext-103"}
    assert 2 < found["rte"] < found["sst-2"] < 9


def test_only_the_first_tokens_are_asked_for():
    text = "The town lies in the north of the country, near the border, and has a church."
    assert tasks.nats_a_token([text]) == tasks.nats_a_token([text + " Zebra quickly.", "Short."])


@pytest.fixture
def reading(samples, monkeypatch, little):
    monkeypatch.setattr(tasks, "MODEL", little)
    monkeypatch.setattr(tasks, "TOKENS", 640)
    monkeypatch.setattr(tasks, "READING", PretrainingRecipe(batch_size=4, length=32, warmup=1))
    monkeypatch.setattr(tasks, "HELD_OUT", 4)


def test_the_reading_moves_the_body_and_is_done_once(reading, tmp_path, little, monkeypatch):
    place = tasks.read_reviews(tmp_path / "reviews")
    assert runner.digest(place) != runner.digest(little)
    monkeypatch.setattr(tasks, "pretrain", lambda *a, **more: pytest.fail("read again"))
    assert tasks.read_reviews(tmp_path / "reviews") == place
    assert tasks.perplexity(place) != tasks.perplexity(little)


def test_nothing_that_is_judged_is_read(reading, tmp_path, monkeypatch):
    read = []
    write = tasks.write_tokens
    monkeypatch.setattr(
        tasks,
        "write_tokens",
        lambda path, rows: (read.extend(rows := list(rows)), write(path, rows)),
    )
    tasks.read_reviews(tmp_path / "reviews")
    tokenizer = checkpoints.load(tasks.MODEL)[1]
    judged = tasks.questions(tasks.Job("imdb", 8, tasks.READ, 0, Recipe()))[1]["text"]
    assert not {tokenizer.decode(ids[:-1]) for ids in read} & set(judged)
    assert len(read) == len(corpora.load("imdb")["train"])


def test_rows_stand_beside_what_was_stored_for_the_same_labels(reading, uncarried, monkeypatch):
    errors = {"full fine-tuning": 30.0, "TF-IDF": 20.0}
    stored = [
        {"task": "imdb", "labels": labels, "scheme": scheme, "errors": [error] * 3}
        | {"wrong": [list(range(round(error / 100 * 40)))] * 3}
        for labels in tasks.REVIEW_LABELS
        for scheme, error in errors.items()
    ]
    monkeypatch.setattr(results, "stored", lambda name: {"rows": stored})
    monkeypatch.setattr(
        tasks.Reviews,
        "run",
        lambda job: {"wrong": list(range(10 + job.seed)), "of": 40, "recipe": {}},
    )
    found = tasks.measure_reviews()
    assert [row["labels"] for row in found["rows"]] == list(tasks.REVIEW_LABELS)
    assert found["rows"][0]["errors"] == [25.0, 27.5, 30.0]
    points = {entry["against"]: entry["points"] for entry in found["comparisons"][:2]}
    assert points == pytest.approx({"full fine-tuning": -2.5, "TF-IDF": 7.5})
    assert all(entry["p_holm"] >= entry["p"] for entry in found["comparisons"])


def test_a_body_that_has_read_reviews_learns_and_is_judged(samples, little):
    job = tasks.Reviews("imdb", 8, tasks.READ, 0, Recipe(epochs=1), str(little))
    found = job.run()
    judged = tasks.questions(tasks.Job("imdb", 8, tasks.READ, 0, Recipe()))[1]
    assert found["of"] == len(judged) and set(found["wrong"]) <= set(range(len(judged)))


def test_other_tasks_keep_their_samples_and_reviews_the_recipe_s_length():
    asked = tasks.released_jobs()
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
            "wrong": wrong,
            "errors": errors,
        }

    name = released.MODEL
    rows = [made("rte", FULL.name, name, 40), made("mrpc", FULL.name, name, 20)]
    rows += [made("mrpc", scheme, "other", 33) for scheme in (FULL.name, "TF-IDF")]
    kept = [made("rte", scheme, "stored", 50) for scheme in (FULL.name, "TF-IDF")]
    found = tasks.compare(rows, kept)
    assert [(c["task"], c["against"], c["points"]) for c in found] == [
        ("rte", "TF-IDF", -10.0),
        ("rte", "causal-small", -10.0),
        ("mrpc", "TF-IDF", -13.0),
        ("mrpc", "causal-small", -13.0),
    ]


def test_cosines_stand_beside_counting_words(little, pairs):
    found = tasks.sentence_pairs("validation", (little, "causal-small"))
    assert list(found) == [little, "causal-small", "TF-IDF"]
    assert found["TF-IDF"] == pytest.approx(100)
