"""TAPT, what it reads, and more labels, losses and models: what is trained how, on which draws."""

import pytest
from datasets import Dataset

from benchmarks import runner
from benchmarks.studies import few_search, more_signal, tapt, tapt_texts, transfer, trials
from benchmarks.studies.more_signal import LM
from benchmarks.studies.space import SPACE
from tlcourse.adaptation import FULL

WRONG = {FULL.name: 60, "TAPT": 50, "TAPT on questions of reviews": 65}  # of 500; 70 by others


def run(job):
    """A scheme is best at the third learning rate of its grid."""
    wrong = WRONG.get(job.scheme, 70) + job.seed % 2
    if job.scheme == LM:
        wrong += job.recipe.learning_rate != 4 * SPACE[job.scheme].lowest
    found = {"scheme": job.scheme, "labels": job.labels, "seed": job.seed, "size": job.size}
    found |= {"wrong": list(range(wrong)), "of": 500, "recipe": vars(job.recipe)}
    found |= {"seconds": 2.0 + job.seed, "forgetting": 0.1, "training_memory": 7}
    return found | dict.fromkeys(("trained_share", "start_difference", "declared_is_moved"))


@pytest.fixture
def asked(monkeypatch):
    """All jobs that are asked for, in order."""
    asked = []
    monkeypatch.setattr(trials.Job, "run", lambda job: asked.append(job) or run(job))
    monkeypatch.setattr(runner, "in_parallel", lambda work, items: [work(item) for item in items])
    test = Dataset.from_dict({"text": ["Who is it ?"] * 500})
    monkeypatch.setattr(transfer, "questions", lambda *_, fold=0: (None, test))
    monkeypatch.setattr(transfer, "tfidf_rows", lambda draws: [])
    return asked


def points(measured):
    return {(e["scheme"], e["labels"]): e["points"] for e in measured["comparisons"]}


def test_tapt_trains_as_full_fine_tuning_does_on_the_same_draws(asked):
    measured = tapt.measure()
    tested = [job for job in asked if job.split == "test"]
    assert asked == tested and [job.seed for job in asked] == sorted(job.seed for job in asked)
    few, every = (runner.stored(name)["choices"][FULL.name] for name in ("few_labels", "schemes"))
    for name in tapt.NAMES:
        mine = [job for job in tested if job.scheme == name]
        seeds = {labels: [j.seed for j in mine if j.labels == labels] for labels in tapt.DRAWS}
        assert seeds == {labels: list(range(draws)) for labels, draws in tapt.DRAWS.items()}
        for job in mine:
            assert vars(job.recipe) == (every if job.labels == "all" else few)["recipe"]
    assert {row["seconds"] for row in measured["rows"]} == {None}  # of several machines
    assert points(measured) == pytest.approx(
        {("TAPT", labels): -2.0 for labels in (100, 200, 500, 5452)}
    )


def test_texts_that_tapt_reads_are_compared_on_the_draws_of_tapt(asked):
    measured = tapt_texts.measure()
    few = runner.stored("few_labels")["choices"][FULL.name]["recipe"]
    assert all(vars(job.recipe) == few and job.split == "test" for job in asked)
    seeds = {name: [job.seed for job in asked if job.scheme == name] for name in WRONG}
    assert set(map(tuple, seeds.values())) == {tuple(range(tapt_texts.DRAWS[500]))}
    assert {row["seconds"] for row in measured["rows"]} == {None}
    found = {(e["scheme"], e["against"]): e for e in measured["comparisons"]}
    own, statements, questions = tapt_texts.OWN, tapt_texts.STATEMENTS, tapt_texts.QUESTIONS
    named = found.pop((own, statements))  # beforehand: not corrected
    assert named["points"] == pytest.approx(-4.0) and named["p_holm"] == named["p"]
    assert measured["primary"] == [own, statements]
    assert found[questions, statements]["points"] == pytest.approx(-1.0)
    assert found[questions, FULL.name]["points"] == pytest.approx(1.0)
    assert found[own, questions]["p_holm"] == 4 * found[own, questions]["p"]
    assert (own, FULL.name) not in found  # that is what `tapt` tests


def test_each_trains_as_full_fine_tuning_does_on_its_draws_but_for_the_lm_loss(asked):
    measured = more_signal.measure()
    tested = [job for job in asked if job.split == "test"]
    first = asked.index(tested[0])
    assert asked[first : first + len(tested)] == tested  # everything was chosen before
    few, every = runner.stored("few_labels")["choices"], runner.stored("schemes")["choices"]
    for job in tested:
        if job.labels == "all":
            expected = every[LM if job.scheme == LM else FULL.name]["recipe"]
        else:
            expected = few[FULL.name]["recipe"]
            if job.scheme == LM:
                expected = expected | {"learning_rate": 4 * SPACE[LM].lowest}
        assert vars(job.recipe) == expected
    draws = {}
    for job in tested:
        draws.setdefault((job.scheme, job.labels), []).append(job.seed)
    for (scheme, labels), seeds in draws.items():
        assert scheme in more_signal.NAMES[labels]
        assert seeds == list(range(more_signal.DRAWS[labels]))
    assert sum(map(len, more_signal.NAMES.values())) == len(draws) == len(measured["rows"])
    searched = {(job.scheme, job.labels) for job in asked[:first]}
    assert searched == {(LM, few_search.LABELS)}
    timed = asked[first + len(tested) :]  # on dev, a draw that no test has
    names = {*more_signal.NAMES[100], "TAPT"}
    assert {(job.scheme, job.labels) for job in timed} == {(name, 100) for name in names}
    assert {(job.split, job.seed) for job in timed} == {("dev", 100)}
    assert measured["seconds"] == dict.fromkeys(names, 102.0)
    assert {row["seconds"] for row in measured["rows"]} == {None}  # of several machines
    found = points(measured)
    assert found["self-training", 100] == pytest.approx(2.0)
    assert {scheme for scheme, _ in found} == {scheme for scheme, _ in draws} - {FULL.name}
