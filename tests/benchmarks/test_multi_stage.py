"""One trial of a scheme from end to end; schemes of more than one training, and what they read."""

from dataclasses import replace

import pytest
from datasets import Dataset

from benchmarks.studies import multi_stage, trials
from benchmarks.studies.initial_models import SCRATCH
from benchmarks.studies.multi_stage import MULTI_STAGE
from tlcourse import corpora
from tlcourse.adaptation import FULL, Recipe, adapting, more_signal


def test_a_job_adapts_judges_and_is_kept(samples, monkeypatch):
    job = trials.Job("LoRA", 24, 0, "test", Recipe(epochs=1), size=2)
    found = job.run()
    assert found["declared_is_moved"] and found["start_difference"] == 0.0
    assert 0 < found["trained_share"] < 0.05 and found["forgetting"] != 0
    assert found["training_memory"] > 4 * 6_836_224  # the weights alone
    monkeypatch.setattr(multi_stage, "adapt", None)
    assert job.run() == found
    assert found["dev"] == []  # the test set is read once
    assert job.place() != trials.Job("LoRA", 24, 1, "test", Recipe(epochs=1), size=2).place()
    assert job.place() != trials.Job("LoRA", 24, 0, "test", Recipe(epochs=1), size=4).place()


def test_on_dev_the_errors_are_taken_after_each_epoch(little, samples):
    found = trials.Job(FULL.name, "all", 0, "dev", Recipe(epochs=3), little, size=1e-2).run()
    assert len(found["dev"]) == 3
    assert found["dev"][-1] == pytest.approx(100 * len(found["wrong"]) / found["of"])
    other = trials.Job(FULL.name, "all", 0, "dev", Recipe(epochs=3), little, size=1e-2, fold=1)
    first, second = (
        trials.transfer.questions("all", 0, "dev", fold=fold)[1]["text"][:] for fold in (0, 1)
    )
    assert first != second and other.key() != trials.Job(**{**vars(other), "fold": 0}).key()
    scratch = trials.Job(SCRATCH, "all", 0, "dev", Recipe(epochs=1), little, size=1)
    assert scratch.weights() == "none" != other.weights()


@pytest.mark.parametrize("name", MULTI_STAGE)
def test_each_multi_stage_scheme_gives_models_that_answer(name, little, samples, monkeypatch):
    monkeypatch.setattr(multi_stage, "TAPT_TOKENS", 4_000)
    sentences = [" ".join(["It"] * length) for length in range(5, 22)] * 400
    monkeypatch.setattr(multi_stage, "sentences_elsewhere", lambda pattern: sentences)
    trainings = []

    def counted(*arguments, **more):
        adapted = adapting.adapt(*arguments, **more)
        trainings.append(adapted.report)
        return adapted

    for module in (multi_stage, more_signal):
        monkeypatch.setattr(module, "adapt", counted)
    found = trials.Job(name, 24, 0, "test", Recipe(epochs=1), little).run()
    assert 0 <= len(found["wrong"]) <= found["of"] and found["forgetting"] != 0
    assert found["seconds"] > 0 and found["start_difference"] is None
    for each in trainings:  # each starts as the model stood that it was given, and moves all of it
        assert each.start_difference == 0
        assert set(each.declared) == set(each.moved) and each.trained == each.parameters
    several = {"STILTs": 2, "self-training": 2, "ensemble": 3, "distilled ensemble": 4}
    assert len(trainings) == several.get(name, 1)


def test_tapt_reads_once_for_many_draws_of_labels(little, samples, monkeypatch):
    monkeypatch.setattr(multi_stage, "TAPT_TOKENS", 4_000)
    pretrained, read = multi_stage.pretrained, []
    monkeypatch.setattr(
        multi_stage, "pretrained", lambda task, texts: read.append(task) or pretrained(task, texts)
    )

    def run(labels, seed=0):
        return trials.Job("TAPT", labels, seed, "test", Recipe(epochs=2), little).work()

    first, again = run(24), run(24)
    assert first["wrong"] == again["wrong"] and first["forgetting"] == again["forgetting"] != 0
    more = run(36)
    assert len(read) == 1 and more["forgetting"] != first["forgetting"]
    _, seconds = multi_stage.reading("TAPT", read[0])  # part of the price of each
    assert min(each["seconds"] for each in (first, again, more)) > seconds > 0
    run(24, seed=1)
    run(24, seed=multi_stage.READINGS)
    assert [task.seed for task in read] == [0, 1]


def test_of_other_texts_tapt_reads_for_each_question_a_statement_as_long(monkeypatch):
    reviews = [
        "It was a very long film. What was this about? We left too soon. Nobody laughed at that.",
        "Who is the man at the door? The end came as a great relief. The end was one.",
    ]
    own = ["Who ?", "Who is the man at the door ?", "What did they say to the man at the door ?"]
    data = {"train": Dataset.from_dict({"text": reviews})}
    monkeypatch.setattr(corpora, "load", lambda name: data)
    task = multi_stage.Task("", "", own[:1], ["HUM"], own, Recipe(), 0)
    texts = multi_stage.TAPT
    assert texts["TAPT"](task) == own
    assert texts["TAPT on questions of reviews"](task) == [
        "What was this about ?",
        "Who is the man at the door ?",
    ]
    with pytest.raises(IndexError):  # the second of eight words, as the longest there are
        multi_stage.statements(task)
    reviews[0] += " This story has no end at all."
    data["train"] = Dataset.from_dict({"text": reviews})
    assert texts["TAPT on statements of reviews"](task) == [
        "We left too soon .",
        "This story has no end at all .",
        "The end came as a great relief .",
    ]


def test_once_every_question_has_a_label_there_are_others_in_reviews(monkeypatch):
    texts = [
        "Bad. What was this about? Who is The General?<br />Whose idea was it ?",
        'He asks "How did she avoid the curse?" Why? What is it then, what is it then?',
        "When will a film of more than twenty words in a row, one after another, be taken for a "
        "question by anyone at all who reads it? Is it a question? What was this about?",
    ]
    data = {"train": Dataset.from_dict({"text": texts})}
    monkeypatch.setattr(corpora, "load", lambda name: data)
    own = ["Who ?", "What is it ?", "Where ?"]
    task = multi_stage.Task("", "", own[:1], ["HUM"], own, Recipe(), 0)
    assert task.unlabelled() == own[1:]
    # Between quotes too; "Why?" is too short, the third review's first question too long.
    assert replace(task, texts=own).unlabelled() == [
        "What was this about ?",
        "Who is The General ?",
        "How did she avoid the curse ?",
        "What is it then, what is it then ?",
    ]
