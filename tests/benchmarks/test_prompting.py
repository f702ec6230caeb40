"""Prompts against fine-tuning: draws, jobs, answers and rows of the study."""

import pytest
import torch

from benchmarks.studies import prompting
from tlcourse import released
from tlcourse.evaluation.prompting import CONTENT_FREE


def test_draws_are_nested_and_every_way_is_judged_on_the_same_rows(monkeypatch):
    few, many = (prompting.drawn("trec", labels, 1)["text"][:] for labels in (4, 20))
    assert many[:4] == few and len(many) == 20
    assert prompting.drawn("trec", 4, 2)["text"][:] != few
    assert prompting.judged("trec", 10)["text"][:] == prompting.judged("trec", 10)["text"][:]


def test_every_wording_has_a_word_for_every_label():
    for task, of in prompting.TASKS.items():
        labels = {*prompting.drawn(task, 100, 0)["label"]}
        assert all(labels <= {*each.words} for each in of.wordings.values())


@pytest.fixture
def answers(monkeypatch):
    """A model that always finds the first label likeliest, more so without content."""

    def scores(model, tokenizer, prompts, *, words):
        found = torch.zeros(len(prompts), len(words))
        found[:, 0] = 1.0
        found[-len(CONTENT_FREE) :, 0] = 2.0
        return found

    monkeypatch.setattr(prompting, "label_log_probabilities", scores)
    monkeypatch.setattr(prompting, "_model", lambda name: (None, None))


def test_a_prompted_model_answers_as_it_is_and_calibrated(answers):
    job = prompting.Job("trec", prompting.OURS, 4, "this asks for", 0, rows=10)
    result = job.work()
    assert result["of"] == 10
    plain, calibrated = (result["ways"][way] for way in (prompting.PLAIN, prompting.CALIBRATED))
    assert plain["guesses"] == {"ABBR": 10} and "ABBR" not in calibrated["guesses"]
    gold = prompting.judged("trec", 10)["label"][:]
    assert plain["wrong"] == [n for n, label in enumerate(gold) if label != "ABBR"]


def test_a_chat_models_weights_are_those_of_its_wheel():
    job = prompting.Job("trec", prompting.CHAT, 0, "this asks for", 0)
    assert job.weights() == released.wheel_of(prompting.CHAT).digest[:16]


def test_without_examples_there_is_one_run():
    jobs = prompting.jobs()
    assert len(jobs) == len({job.key() for job in jobs if job.model == prompting.CHAT}) + sum(
        job.model != prompting.CHAT for job in jobs
    )
    zero = [job for job in jobs if not job.labels]
    assert {job.seed for job in zero} == {0}
    assert len(zero) == 2 * sum(len(of.wordings) for of in prompting.TASKS.values())
    assert [job.seed for job in jobs] == sorted(job.seed for job in jobs)


def test_fine_tuning_answers_with_the_tasks_labels(monkeypatch, little):
    monkeypatch.setattr(prompting, "RECIPE", prompting.Recipe(min_steps=2))
    result = prompting.Job("sst-2", str(little), 4, None, 0, rows=6).work()
    assert result["of"] == 6 and set(result["ways"]) == {prompting.TUNED}
    assert set(result["ways"][prompting.TUNED]["guesses"]) <= {"negative", "positive"}


def run(wrong, seed):
    ways = {"prompt": {"wrong": list(range(wrong)), "guesses": {"NUM": 15, "HUM": 5}}}
    return {"ways": ways, "of": 20, "seed": seed, "seconds": 2.0}


def test_rows_have_accuracies_and_the_share_of_the_most_frequent_answer():
    key = "trec", "prompt", "causal-small", "this asks for", 4
    row = prompting._row(key, [run(4, 0), run(8, 1), run(12, 2)])
    assert row["accuracies"] == [80.0, 60.0, 40.0] and row["mean"] == 60.0
    assert row["interval"][0] < 40 and row["interval"][1] <= 100 and row["top"] == 75.0
    single = prompting._row(key, [run(4, 0)])
    assert single["interval"] == pytest.approx([58.4, 91.9], abs=0.1)  # Wilson's
    study = {"job": "prompting", "data": "data", "machine": "machine", "rows": [row]}
    study |= {"judged": 20, "draws": 3, "majority": {"trec": 30.0}}
    text = prompting.section(study)
    assert "trec (majority class 30 %):" in text
    assert "| prompt, causal-small, this asks for | 60.0 (10.3-100.0); 40 to 80 |" in text
