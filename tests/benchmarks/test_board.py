"""Schemes on TREC-6: one job from end to end, rows, comparisons, and the studies made of them."""

from dataclasses import replace

import pytest
from datasets import Dataset

from benchmarks import runner
from benchmarks.studies import (
    board,
    composites,
    few_labels,
    few_search,
    other_schemes,
    schemes,
    transfer,
    trials,
)
from benchmarks.studies.board import PRIMARY
from benchmarks.studies.composites import COMPOSITES
from benchmarks.studies.space import MAIN, SPACE
from benchmarks.studies.starts import SCRATCH
from tlcourse import corpora
from tlcourse.adaptation import FULL, Recipe, adapting, leaderboard, more_signal

OTHER = "gradual unfreezing"


def result(scheme, wrong, seed=0, **more):
    found = {"wrong": list(range(wrong)), "of": 500, "seed": seed, "seconds": 2.0 + seed}
    found |= {"start_difference": 0.0, "declared_is_moved": True, "trained_share": 0.5}
    return (
        found
        | {"forgetting": 0.1 * seed, "training_memory": 7, "scheme": scheme, "labels": 100}
        | {"recipe": {"learning_rate": 5e-4}, "size": None}
        | more
    )


def test_a_job_adapts_judges_and_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    load = corpora.load
    monkeypatch.setattr(corpora, "load", lambda name, source=None: load(name, source="sample"))
    job = trials.Job("LoRA", 24, 0, "test", Recipe(epochs=1), size=2)
    found = job.run()
    assert found["declared_is_moved"] and found["start_difference"] == 0.0
    assert 0 < found["trained_share"] < 0.05 and found["forgetting"] != 0
    assert found["training_memory"] > 4 * 6_836_224  # the weights alone
    monkeypatch.setattr(composites, "adapt", None)
    assert job.run() == found
    assert found["dev"] == []  # the test set is read once
    assert job.place() != trials.Job("LoRA", 24, 1, "test", Recipe(epochs=1), size=2).place()
    assert job.place() != trials.Job("LoRA", 24, 0, "test", Recipe(epochs=1), size=4).place()


def test_on_dev_the_errors_are_taken_after_each_epoch(little, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    load = corpora.load
    monkeypatch.setattr(corpora, "load", lambda name, source=None: load(name, source="sample"))
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


@pytest.mark.parametrize("name", COMPOSITES)
def test_each_composite_gives_models_that_answer(name, little, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    monkeypatch.setattr(composites, "TAPT_TOKENS", 4_000)
    load = corpora.load
    monkeypatch.setattr(corpora, "load", lambda name, source=None: load(name, source="sample"))
    sentences = [" ".join(["It"] * length) for length in range(5, 22)] * 400
    monkeypatch.setattr(composites, "sentences_elsewhere", lambda pattern: sentences)
    trainings = []

    def adapt(*arguments, **more):
        adapted = adapting.adapt(*arguments, **more)
        trainings.append(adapted.report)
        return adapted

    for module in (composites, more_signal):
        monkeypatch.setattr(module, "adapt", adapt)
    found = trials.Job(name, 24, 0, "test", Recipe(epochs=1), little).run()
    assert 0 <= len(found["wrong"]) <= found["of"] and found["forgetting"] != 0
    assert found["seconds"] > 0 and found["start_difference"] is None
    for each in trainings:  # each starts as the model stood that it was given, and moves all of it
        assert each.start_difference == 0
        assert set(each.declared) == set(each.moved) and each.trained == each.parameters
    several = {"STILTs": 2, "self-training": 2, "ensemble": 3, "distilled ensemble": 4}
    assert len(trainings) == several.get(name, 1)


def test_tapt_reads_once_for_many_draws_of_labels(little, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    monkeypatch.setattr(composites, "TAPT_TOKENS", 4_000)
    load = corpora.load
    monkeypatch.setattr(corpora, "load", lambda name, source=None: load(name, source="sample"))
    pretrained, read = composites.pretrained, []
    monkeypatch.setattr(
        composites, "pretrained", lambda task, texts: read.append(task) or pretrained(task, texts)
    )

    def run(labels, seed=0):
        return trials.Job("TAPT", labels, seed, "test", Recipe(epochs=2), little).work()

    first, again = run(24), run(24)
    assert first["wrong"] == again["wrong"] and first["forgetting"] == again["forgetting"] != 0
    more = run(36)
    assert len(read) == 1 and more["forgetting"] != first["forgetting"]
    _, seconds = composites.reading("TAPT", read[0])  # part of the price of each
    assert min(each["seconds"] for each in (first, again, more)) > seconds > 0
    run(24, seed=1)
    run(24, seed=composites.READINGS)
    assert [task.seed for task in read] == [0, 1]


def test_of_other_texts_tapt_reads_for_each_question_a_statement_as_long(monkeypatch):
    reviews = [
        "It was a very long film. What was this about? We left too soon. Nobody laughed at that.",
        "Who is the man at the door? The end came as a great relief. The end was one.",
    ]
    own = ["Who ?", "Who is the man at the door ?", "What did they say to the man at the door ?"]
    data = {"train": Dataset.from_dict({"text": reviews})}
    monkeypatch.setattr(corpora, "load", lambda name: data)
    task = composites.Task("", "", own[:1], ["HUM"], own, Recipe(), 0)
    texts = composites.TAPT
    assert texts["TAPT"](task) == own
    assert texts["TAPT on questions of reviews"](task) == [
        "What was this about ?",
        "Who is the man at the door ?",
    ]
    with pytest.raises(IndexError):  # the second of eight words, as the longest there are
        composites.statements(task)
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
    row = board._row(mine, 5452)
    assert (row["labels"], row["mean"], row["seconds"]) == (5452, pytest.approx(3.6), 3.0)
    assert row["interval"] == pytest.approx([3.6 - 4.303 * 0.34641, 3.6 + 4.303 * 0.34641], 1e-3)
    assert row["test_wrong"][2] == list(range(21))
    assert row["forgetting"] == pytest.approx(0.1)


def test_each_scheme_is_held_against_full_fine_tuning_on_the_same_draws():
    wrong = {FULL.name: (50, 80), "LoRA": (30, 58), "BitFit": (50, 80), PRIMARY[0]: (30, 58)}
    rows = [
        board._row([result(scheme, n, seed) for seed, n in enumerate(counts)], labels)
        for labels in (100, 5452)
        for scheme, counts in wrong.items()
    ]
    counting = [{"labels": 5452, "errors": [12.0], "test_wrong": [list(range(60))]}]
    comparisons, beside = board.compare(rows, counting, 500)
    found = {(e["scheme"], e["labels"]): e for e in comparisons}
    assert list(found)[:3] == [("LoRA", 100), ("BitFit", 100), (PRIMARY[0], 100)]
    # 4.0 and 4.4 points apart: the mean 4.2, Student's t for one degree of freedom 12.706.
    assert found["LoRA", 100]["points"] == pytest.approx(-4.2)
    assert found["LoRA", 100]["points_interval"] == pytest.approx(
        [-4.2 - 12.706 * 0.2, -4.2 + 12.706 * 0.2], 1e-3
    )
    assert found["BitFit", 100]["points"] == 0 and found["BitFit", 100]["p"] == 1
    times = {key: each["p_holm"] / each["p"] for key, each in found.items()}
    assert times[PRIMARY[0], 5452] == 1  # named beforehand, alone
    # One family: six rows, less one, and two that are held against counting, too.
    assert times["LoRA", 100] == times[PRIMARY[0], 100] == 7
    assert [entry["scheme"] for entry in beside] == [FULL.name, PRIMARY[0]]
    # 10 and 16 % against the one 12 %: +1; 6.0 and 11.6 %: -3.2.
    assert [entry["points"] for entry in beside] == pytest.approx([1.0, -3.2])


def stored(size=None):
    choices = {
        name: {"size": size, "recipe": {"learning_rate": 1e-3, "epochs": 10}, "dev_error": 9.0}
        for name in SPACE
    }
    choices["LoRA"] = {"size": 8, "recipe": {"learning_rate": 8e-3, "epochs": 10}, "dev_error": 8}
    recipe = {"learning_rate": 2e-3, "epochs": 10, "min_steps": 300}
    few = {name: {"size": 2, "recipe": recipe} for name in SPACE}
    return choices, few


def test_each_runs_as_it_was_chosen_and_composites_as_full_fine_tuning():
    draws = {500: 10, "all": 5}
    pairs = [(name, labels) for name in ("LoRA", FULL.name, "ensemble") for labels in draws]
    asked = board.tests(pairs, draws, *stored())
    chosen = {(job.scheme, job.labels): job for job in asked}
    assert list(chosen) == pairs
    assert chosen["LoRA", "all"].recipe == Recipe(epochs=10, learning_rate=8e-3)
    assert chosen["LoRA", "all"].size == 8 and chosen["LoRA", 500].size == 2
    assert chosen["ensemble", "all"].recipe == chosen[FULL.name, "all"].recipe
    assert chosen["ensemble", "all"].size is None
    few = chosen["ensemble", 500].recipe
    assert (few.learning_rate, few.min_steps) == (2e-3, 300)
    seeds = [job.seed for job in asked if (job.scheme, job.labels) == ("ensemble", 500)]
    assert seeds == list(range(10))
    assert {job.split for job in asked} == {"test"}


def test_the_primary_comparison_is_one_of_the_table():
    assert PRIMARY[0] in MAIN and PRIMARY[0] != FULL.name


@pytest.fixture
def searched(monkeypatch):
    """All jobs that are asked for; each scheme is best at the third learning rate of its grid."""
    asked = []

    def run(job):
        asked.append(job)
        wrong = {OTHER: 20, FULL.name: 25}.get(job.scheme, 30) + job.seed
        seconds = {"seconds": 7.0} if job.labels == schemes.TIMED else {}
        wrong += abs(job.recipe.learning_rate / SPACE[job.scheme].lowest - 4)
        of = 500 if job.split == "test" else 546
        again = result(job.scheme, round(wrong), job.seed, of=of, dev=[40.0, 9.0])
        return again | {"labels": job.labels, "size": job.size} | seconds

    monkeypatch.setattr(trials.Job, "run", run)
    monkeypatch.setattr(runner, "in_parallel", lambda work, items: [work(item) for item in items])
    counting = [{"labels": 5452, "errors": [9.0], "test_wrong": [list(range(45))]}]
    monkeypatch.setattr(
        transfer, "tfidf_rows", lambda draws: counting if draws == {"all": 5} else []
    )
    test = Dataset.from_dict({"text": ["What is a test ?", *["Who is it ?"] * 499]})
    monkeypatch.setattr(transfer, "questions", lambda *_, fold=0: (None, test))
    return asked


def test_the_main_schemes_are_searched_frozen_and_tested(searched):
    measured, asked = schemes.measure(), searched
    assert [row["scheme"] for row in measured["rows"]] == list(MAIN)
    rows = {row["scheme"]: row for row in measured["rows"]}
    count = len(schemes.SEEDS)
    mean = 100 * (20 + sum(schemes.SEEDS) / count) / 500
    assert rows[OTHER]["mean"] == pytest.approx(mean) and len(rows[OTHER]["errors"]) == count
    assert rows[OTHER]["dev_error"] == pytest.approx(100 * 20.5 / 546)  # two seeds
    assert rows[OTHER]["dev_apart"] == pytest.approx([100, 100 * 19.5 / 499])
    tested = [job for job in asked if job.split == "test"]
    assert len(tested) == count * len(MAIN)
    assert "dev" not in {job.split for job in asked[asked.index(tested[0]) :][: len(tested)]}
    assert {row["seconds"] for row in rows.values()} == {7.0}  # of one epoch, all on one machine
    for job in tested:  # as dev chose, ten epochs or that many times as many, on all labels
        assert job.recipe.learning_rate == 4 * SPACE[job.scheme].lowest
        assert (job.recipe.epochs, job.labels) == (10, "all")
    against = {each["scheme"]: each["points"] for each in measured["comparisons"]}
    assert against[OTHER] == pytest.approx(-1.0) and FULL.name not in against
    assert measured["primary"][0] in against and measured["what_is"] == [0]
    told = {line.split("  ")[0]: line for line in leaderboard.lines(measured, transfer.ALL)}
    assert "  +0.20 " in told[OTHER]


def test_the_other_schemes_are_searched_alike_and_stand_beside_full_fine_tuning(
    searched, monkeypatch
):
    full = {"size": 0.003, "recipe": {"learning_rate": 5e-4, "epochs": 10}, "dev_error": 9.6}
    monkeypatch.setattr(runner, "stored", lambda name: {"choices": {FULL.name: full}})
    measured = other_schemes.measure()
    names = [row["scheme"] for row in measured["rows"]]
    assert set(names) - {FULL.name} == set(SPACE) - set(MAIN) == set(other_schemes.NAMES)
    tested = [job for job in searched if job.split == "test"]
    assert len(tested) == len(schemes.SEEDS) * len(names)
    first = searched.index(tested[0])
    assert searched[first : first + len(tested)] == tested  # everything was chosen before
    for job in tested:
        rate = 5e-4 if job.scheme == FULL.name else 4 * SPACE[job.scheme].lowest
        epochs = 10 * job.size if job.scheme == SCRATCH else 10
        assert (job.recipe.learning_rate, job.recipe.epochs) == (rate, epochs)
    assert {row["seconds"] for row in measured["rows"]} == {7.0}  # of one epoch
    assert {each["scheme"] for each in measured["comparisons"]} == set(other_schemes.NAMES)


def test_few_labels_are_searched_on_dev_and_every_scheme_gets_the_same_draws(monkeypatch):
    asked = []

    def run(job):
        asked.append(job)
        if job.split == "dev":
            return result(job.scheme, 10 if job.recipe.learning_rate == best[job.scheme] else 20)
        wrong = {FULL.name: 60, OTHER: 50}.get(job.scheme, 70) - job.labels // 10 + job.seed % 2
        return result(job.scheme, wrong, job.seed) | {"labels": job.labels}

    best = {name: 4 * SPACE[name].lowest for name in few_labels.NAMES}
    monkeypatch.setattr(trials.Job, "run", run)
    monkeypatch.setattr(runner, "in_parallel", lambda work, items: [work(item) for item in items])
    counting = [
        {"labels": labels, "errors": [16.0] * 20, "test_wrong": [list(range(80))] * 20}
        for labels in few_labels.DRAWS
    ]
    monkeypatch.setattr(transfer, "tfidf_rows", lambda draws: counting)
    test = Dataset.from_dict({"text": ["Who is it ?"] * 500})
    monkeypatch.setattr(transfer, "questions", lambda *_, fold=0: (None, test))
    measured = few_labels.measure()
    assert OTHER in few_labels.NAMES and set(measured["choices"]) == set(few_labels.NAMES)
    tested, draws = [job for job in asked if job.split == "test"], {}
    assert asked[-len(tested) :] == tested  # everything was chosen before
    for job in tested:
        assert job.recipe.learning_rate == best[job.scheme]
        assert job.recipe.min_steps == few_search.MIN_STEPS
        draws.setdefault((job.scheme, job.labels), []).append(job.seed)
    assert set(map(tuple, draws.values())) == {tuple(range(20))}
    assert set(draws) == {(row["scheme"], row["labels"]) for row in measured["rows"]}
    against = {(e["scheme"], e["labels"]): e["points"] for e in measured["comparisons"]}
    assert against[OTHER, 200] == pytest.approx(-2.0)
    beside = {(e["scheme"], e["labels"]): e["points"] for e in measured["against_counting"]}
    assert beside[FULL.name, 500] == pytest.approx(100 * (60 - 50 + 0.5) / 500 - 16)
