"""The benchmark of more tasks than TREC: a job from end to end, what is judged, likeness."""

import pytest

from benchmarks.studies import tasks
from tlcourse import corpora
from tlcourse.adaptation import SCHEMES, Recipe

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
