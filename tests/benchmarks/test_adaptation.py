"""The adaptation benchmark: one job from end to end, choices of rates, rows and comparisons."""

from dataclasses import replace

import pytest
from datasets import Dataset

from benchmarks import adaptation, composites
from benchmarks.adaptation import PRIMARY
from benchmarks.composites import COMPOSITES
from tlcourse import corpora
from tlcourse.adaptation import FULL, SCHEMES, Recipe, adapting, more_signal


def result(scheme, wrong, seed=0, **more):
    found = {"wrong": list(range(wrong)), "of": 500, "seed": seed, "seconds": 2.0 + seed}
    found |= {"start_difference": 0.0, "declared_is_moved": True, "trained_share": 0.5}
    return (
        found
        | {"forgetting": 0.1 * seed, "training_memory": 7, "scheme": scheme, "labels": 100}
        | {"recipe": {"learning_rate": 5e-4}}
        | more
    )


def test_a_job_adapts_judges_and_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    load = corpora.load
    monkeypatch.setattr(corpora, "load", lambda name, source=None: load(name, source="sample"))
    job = adaptation.Job("LoRA", 24, 0, "test", Recipe(epochs=1))
    found = job.run()
    assert found["declared_is_moved"] and found["start_difference"] == 0.0
    assert 0 < found["trained_share"] < 0.05 and found["forgetting"] != 0
    assert found["training_memory"] > 4 * 6_836_224  # the weights alone
    monkeypatch.setattr(composites, "adapt", None)
    assert job.run() == found
    assert job.place() != adaptation.Job("LoRA", 24, 1, "test", Recipe(epochs=1)).place()


@pytest.mark.parametrize("name", COMPOSITES)
def test_each_composite_gives_models_that_answer(name, little, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    monkeypatch.setattr(composites, "TAPT_TOKENS", 4_000)
    load = corpora.load
    monkeypatch.setattr(corpora, "load", lambda name, source=None: load(name, source="sample"))
    trainings = []

    def adapt(*arguments, **more):
        adapted = adapting.adapt(*arguments, **more)
        trainings.append(adapted.report)
        return adapted

    for module in (composites, more_signal):
        monkeypatch.setattr(module, "adapt", adapt)
    found = adaptation.Job(name, 24, 0, "test", Recipe(epochs=1), little).run()
    assert 0 <= len(found["wrong"]) <= found["of"] and found["forgetting"] != 0
    assert found["seconds"] > 0 and found["start_difference"] is None
    for each in trainings:  # each starts as the model stood that it was given, and moves all of it
        assert each.start_difference == 0
        assert set(each.declared) == set(each.moved) and each.trained == each.parameters
    several = {"STILTs": 2, "self-training": 2, "ensemble": 3, "distilled ensemble": 4}
    assert len(trainings) == several.get(name, 1)


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
    task = composites.Task("", "", own[:1], ["HUM"], own, Recipe(), 0)
    assert task.unlabelled() == own[1:]
    # Between quotes too; "Why?" is too short, the third review's first question too long.
    assert replace(task, texts=own).unlabelled() == [
        "What was this about ?",
        "Who is The General ?",
        "How did she avoid the curse ?",
        "What is it then, what is it then ?",
    ]


def test_a_row_is_the_mean_over_seeds_and_keeps_which_questions_were_wrong():
    mine = [result("LoRA", wrong, seed) for seed, wrong in enumerate((15, 18, 21))]
    row = adaptation._row(mine, 5452)
    assert (row["labels"], row["mean"], row["seconds"]) == (5452, pytest.approx(3.6), 3.0)
    assert row["interval"] == pytest.approx([3.6 - 4.303 * 0.34641, 3.6 + 4.303 * 0.34641], 1e-3)
    assert row["test_wrong"][2] == list(range(21))
    assert row["forgetting"] == pytest.approx(0.1)


def test_each_scheme_is_held_against_full_fine_tuning_on_the_same_draws():
    wrong = {FULL.name: (50, 80), "LoRA": (30, 58), "BitFit": (50, 80), PRIMARY[0]: (30, 58)}
    rows = [
        adaptation._row([result(scheme, count, seed) for seed, count in enumerate(counts)], 100)
        for scheme, counts in wrong.items()
    ]
    found = {entry["scheme"]: entry for entry in adaptation.compare(rows, 500)}
    assert list(found) == ["LoRA", "BitFit", PRIMARY[0]]
    # 4.0 and 4.4 points apart: the mean 4.2, Student's t for one degree of freedom 12.706.
    assert found["LoRA"]["points"] == pytest.approx(-4.2)
    assert found["LoRA"]["points_interval"] == pytest.approx(
        [-4.2 - 12.706 * 0.2, -4.2 + 12.706 * 0.2], 1e-3
    )
    assert found["BitFit"]["points"] == 0 and found["BitFit"]["p"] == 1
    assert found["LoRA"]["p_holm"] == 2 * found["LoRA"]["p"]  # one of two
    assert found[PRIMARY[0]]["p_holm"] == found[PRIMARY[0]]["p"]  # named beforehand, alone


def test_each_number_of_labels_is_a_family_of_its_own():
    wrong = {FULL.name: (50, 80), "LoRA": (30, 58), "BitFit": (44, 71), PRIMARY[0]: (30, 58)}
    rows = [
        adaptation._row([result(scheme, n, seed) for seed, n in enumerate(counts)], labels)
        for labels in (100, 500)
        for scheme, counts in wrong.items()
    ]
    found = {(each["scheme"], each["labels"]): each for each in adaptation.compare(rows, 500)}
    times = {key: each["p_holm"] / each["p"] for key, each in found.items()}
    # With 500 labels the primary scheme is one of the family.
    assert times["LoRA", 100] == 2 and times["LoRA", 500] == 3
    assert times[PRIMARY] == 1


def test_rates_go_on_while_none_below_the_highest_is_better(monkeypatch):
    dev = {2.5e-4: 90, 5e-4: 80, 1e-3: 85, 2e-3: 70, 4e-3: 60, 8e-3: 60, 1.6e-2: 61}
    monkeypatch.setattr(
        adaptation.Job,
        "run",
        lambda job: {"wrong": list(range(dev[job.recipe.learning_rate])), "of": 100},
    )
    tried = adaptation.tune("LoRA")
    assert tried == {rate: float(count) for rate, count in dev.items()}
    dev[2e-3] = 81
    assert list(adaptation.tune("LoRA")) == list(adaptation.LEARNING_RATES)


def test_with_all_labels_each_runs_at_its_best_rate_and_composites_at_that_of_full():
    tried = {name: {5e-4: 10.0, 1e-3: 12.0} for name in SCHEMES}
    tried["LoRA"] = {5e-4: 10.0, 1e-3: 9.0}
    jobs = adaptation._jobs(tried)
    rate = {(job.scheme, job.labels): job.recipe.learning_rate for job in jobs}
    assert rate["LoRA", "all"] == 1e-3 and rate[FULL.name, "all"] == 5e-4
    assert rate["ensemble", "all"] == 5e-4 and rate["LoRA", 100] == Recipe().learning_rate
    seeds = [job.seed for job in jobs if (job.scheme, job.labels) == ("TAPT", 500)]
    assert seeds == list(range(adaptation.DRAWS[500])) and ("BitFit", 500) not in rate
    assert {labels for name, labels in rate if name == "self-training"} == {100, "all"}


def test_the_primary_comparison_is_one_of_the_table():
    assert PRIMARY in adaptation._pairs() and PRIMARY[0] != FULL.name
