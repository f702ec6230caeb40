"""Studies of schemes on TREC-6: rows, comparisons, what is trained how, and on which draws."""

import pytest
from datasets import Dataset

from benchmarks.studies import comparison, grid_search, transfer, trials
from benchmarks.studies.comparison import PRIMARY
from benchmarks.studies.initial_models import SCRATCH
from benchmarks.studies.search_space import MAIN, SPACE
from benchmarks.studies.trec import (
    FEW_SCHEMES,
    LM,
    OTHERS,
    OWN,
    QUESTIONS,
    STATEMENTS,
    STUDIES,
    Choices,
    Study,
)
from tlcourse import results
from tlcourse.adaptation import FULL, Recipe, leaderboard

OTHER = "gradual unfreezing"


def result(scheme, wrong, seed=0, **more):
    fixed = {"of": 500, "seconds": 2.0 + seed, "forgetting": 0.1 * seed, "training_memory": 7}
    fixed |= {"start_difference": 0.0, "declared_is_moved": True, "trained_share": 0.5}
    fixed |= {"recipe": {"learning_rate": 5e-4}, "size": None, "labels": 100, "dev": [40.0, 9.0]}
    return fixed | {"scheme": scheme, "wrong": list(range(wrong)), "seed": seed} | more


def test_a_row_is_the_mean_over_seeds_and_keeps_which_questions_were_wrong():
    mine = [result("LoRA", wrong, seed) for seed, wrong in enumerate((15, 18, 21))]
    row = comparison.row_of(mine, 5452)
    assert (row["labels"], row["mean"], row["seconds"]) == (5452, pytest.approx(3.6), 3.0)
    assert row["interval"] == pytest.approx([3.6 - 4.303 * 0.34641, 3.6 + 4.303 * 0.34641], 1e-3)
    assert row["test_wrong"][2] == list(range(21))
    assert row["forgetting"] == pytest.approx(0.1)


def test_each_scheme_is_compared_with_full_fine_tuning_on_the_same_draws():
    wrong = {FULL.name: (50, 80), "LoRA": (30, 58), "BitFit": (50, 80), PRIMARY[0]: (30, 58)}
    rows = [
        comparison.row_of([result(scheme, n, seed) for seed, n in enumerate(counts)], labels)
        for labels in (100, 5452)
        for scheme, counts in wrong.items()
    ]
    counting = [{"labels": 5452, "errors": [12.0], "test_wrong": [list(range(60))]}]
    comparisons, against_counting = comparison.compare(rows, counting, 500)
    entries = {(e["scheme"], e["labels"]): e for e in comparisons}
    assert list(entries)[:3] == [("LoRA", 100), ("BitFit", 100), (PRIMARY[0], 100)]
    # 4.0 and 4.4 points apart: the mean 4.2, Student's t for one degree of freedom 12.706.
    assert entries["LoRA", 100]["points"] == pytest.approx(-4.2)
    assert entries["LoRA", 100]["points_interval"] == pytest.approx(
        [-4.2 - 12.706 * 0.2, -4.2 + 12.706 * 0.2], 1e-3
    )
    assert entries["BitFit", 100]["points"] == 0 and entries["BitFit", 100]["p"] == 1
    times = {key: each["p_holm"] / each["p"] for key, each in entries.items()}
    assert times[PRIMARY[0], 5452] == 1  # named beforehand, alone
    # One family: six rows, less one, and two that are compared with counting, too.
    assert times["LoRA", 100] == times[PRIMARY[0], 100] == 7
    assert [entry["scheme"] for entry in against_counting] == [FULL.name, PRIMARY[0]]
    # 10 and 16 % against the one 12 %: +1; 6.0 and 11.6 %: -3.2.
    assert [entry["points"] for entry in against_counting] == pytest.approx([1.0, -3.2])


def test_the_primary_comparison_is_one_of_the_table():
    assert PRIMARY[0] in MAIN and PRIMARY[0] != FULL.name


def test_each_runs_as_it_was_chosen_and_what_trains_more_than_once_as_full_fine_tuning():
    recipe = {"learning_rate": 1e-3, "epochs": 10}
    choices = {name: {"size": None, "recipe": recipe, "dev_error": 9.0} for name in SPACE}
    choices["LoRA"] = {"size": 8, "recipe": recipe | {"learning_rate": 8e-3}, "dev_error": 8}
    few = {"learning_rate": 2e-3, "epochs": 10, "min_steps": 300}
    draws = {500: 10, "all": 5}
    pairs = [(name, labels) for name in ("LoRA", FULL.name, "ensemble") for labels in draws]
    study = Study("a study", pairs, draws, recipe=None, section=None, seconds=None)
    jobs = study.jobs(Choices(choices, {name: {"size": 2, "recipe": few} for name in SPACE}))
    chosen = {(job.scheme, job.labels): job for job in jobs}
    assert list(chosen) == pairs
    assert chosen["LoRA", "all"].recipe == Recipe(epochs=10, learning_rate=8e-3)
    assert chosen["LoRA", "all"].size == 8 and chosen["LoRA", 500].size == 2
    assert chosen["ensemble", "all"].recipe == chosen[FULL.name, "all"].recipe
    assert chosen["ensemble", "all"].size is None
    assert chosen["ensemble", 500].recipe.learning_rate == 2e-3
    assert chosen["ensemble", 500].recipe.min_steps == 300
    seeds = [job.seed for job in jobs if (job.scheme, job.labels) == ("ensemble", 500)]
    assert seeds == list(range(10))
    assert {job.split for job in jobs} == {"test"}


@pytest.fixture
def answered(uncarried, monkeypatch):
    """Gives jobs so many wrong answers as a function says; returns all that are run, in order."""
    test = Dataset.from_dict({"text": ["What is a test ?", *["Who is it ?"] * 499]})
    monkeypatch.setattr(transfer, "questions", lambda *_, fold=0: (None, test))
    monkeypatch.setattr(transfer, "tfidf_rows", lambda draws: [])

    def answer(wrong):
        jobs = []

        def run(job):
            jobs.append(job)
            seconds = 7.0 if job.labels == 2000 else 2.0 + job.seed  # of one epoch
            of = 500 if job.split == "test" else 546
            known = {"labels": job.labels, "size": job.size, "recipe": vars(job.recipe)}
            return result(job.scheme, round(wrong(job)), job.seed, of=of, seconds=seconds, **known)

        monkeypatch.setattr(trials.Job, "run", run)
        return jobs

    return answer


def steps_from_best(job):
    """How far a job is from its scheme's best learning rate, the third of its grid."""
    return abs(job.recipe.learning_rate / SPACE[job.scheme].lowest - 4)


def on_test(jobs):
    """The jobs that read the test set, which run one after the other, and all that ran before."""
    first = [job.split for job in jobs].index("test")
    mine = [job for job in jobs if job.split == "test"]
    assert jobs[first : first + len(mine)] == mine  # everything was chosen before
    return mine, jobs[:first]


def draws_of(jobs):
    """The seeds of every scheme with every number of labels."""
    draws = {}
    for job in jobs:
        draws.setdefault((job.scheme, job.labels), []).append(job.seed)
    return draws


def points(measured, comparisons="comparisons"):
    return {(e["scheme"], e["labels"]): e["points"] for e in measured[comparisons]}


def with_all_labels(job):
    return {OTHER: 20, FULL.name: 25}.get(job.scheme, 30) + job.seed + steps_from_best(job)


def test_the_main_schemes_are_searched_frozen_and_tested(answered, monkeypatch):
    jobs = answered(with_all_labels)
    counting = [{"labels": 5452, "errors": [9.0], "test_wrong": [list(range(45))]}]
    monkeypatch.setattr(transfer, "tfidf_rows", lambda draws: {5: counting}[draws["all"]])
    measured = STUDIES["schemes"].measure()
    rows = {row["scheme"]: row for row in measured["rows"]}
    assert list(rows) == list(MAIN)
    assert rows[OTHER]["mean"] == pytest.approx(100 * (20 + 2) / 500)
    assert len(rows[OTHER]["errors"]) == 5
    assert rows[OTHER]["dev_error"] == pytest.approx(100 * 20.5 / 546)  # two seeds
    assert rows[OTHER]["dev_apart"] == pytest.approx([100, 100 * 19.5 / 499])
    mine, _ = on_test(jobs)
    assert len(mine) == 5 * len(MAIN)
    assert {row["seconds"] for row in rows.values()} == {7.0}  # of one epoch, all on one machine
    for job in mine:  # as dev chose, ten epochs or that many times as many, on all labels
        assert job.recipe.learning_rate == 4 * SPACE[job.scheme].lowest
        assert (job.recipe.epochs, job.labels) == (10, "all")
    against = points(measured)
    assert against[OTHER, 5452] == pytest.approx(-1.0) and (FULL.name, 5452) not in against
    assert tuple(measured["primary"]) in against and measured["what_is"] == [0]
    lines = {line.split("  ")[0]: line for line in leaderboard.lines(measured, transfer.ALL)}
    assert "  +0.20 " in lines[OTHER]


def test_the_other_schemes_are_searched_alike_and_stand_beside_full_fine_tuning(
    answered, monkeypatch
):
    jobs = answered(with_all_labels)
    full = {"size": 0.003, "recipe": {"learning_rate": 5e-4, "epochs": 10}, "dev_error": 9.6}
    monkeypatch.setattr(results, "stored", lambda name: {"choices": {FULL.name: full}})
    measured = STUDIES["other_schemes"].measure()
    names = [row["scheme"] for row in measured["rows"]]
    assert set(names) - {FULL.name} == set(SPACE) - set(MAIN) == set(OTHERS)
    mine, _ = on_test(jobs)
    assert len(mine) == 5 * len(names)
    for job in mine:
        rate = 5e-4 if job.scheme == FULL.name else 4 * SPACE[job.scheme].lowest
        epochs = 10 * job.size if job.scheme == SCRATCH else 10
        assert (job.recipe.learning_rate, job.recipe.epochs) == (rate, epochs)
    assert {row["seconds"] for row in measured["rows"]} == {7.0}  # of one epoch
    assert {each["scheme"] for each in measured["comparisons"]} == set(OTHERS)


def test_few_labels_are_searched_on_dev_and_every_scheme_gets_the_same_draws(answered, monkeypatch):
    def wrong(job):
        if job.split == "dev":
            return 10 + 10 * (steps_from_best(job) > 0)
        return {FULL.name: 60, OTHER: 50}.get(job.scheme, 70) - job.labels // 10 + job.seed % 2

    jobs, study = answered(wrong), STUDIES["few_labels"]
    counting = [
        {"labels": labels, "errors": [16.0] * 20, "test_wrong": [list(range(80))] * 20}
        for labels in study.draws
    ]
    monkeypatch.setattr(transfer, "tfidf_rows", lambda draws: counting)
    measured = study.measure()
    assert OTHER in FEW_SCHEMES and set(measured["choices"]) == set(FEW_SCHEMES)
    mine, _ = on_test(jobs)
    for job in mine:
        assert job.recipe.learning_rate == 4 * SPACE[job.scheme].lowest
        assert job.recipe.min_steps == grid_search.MIN_STEPS
    assert set(map(tuple, draws_of(mine).values())) == {tuple(range(20))}
    assert set(draws_of(mine)) == {(row["scheme"], row["labels"]) for row in measured["rows"]}
    assert points(measured)[OTHER, 200] == pytest.approx(-2.0)
    against_counting = points(measured, "against_counting")[FULL.name, 500]
    assert against_counting == pytest.approx(100 * (60 - 50 + 0.5) / 500 - 16)


def with_more_signal(job):
    """Of 500; another scheme's 70. The LM loss is best at the third learning rate of its grid."""
    wrong = {FULL.name: 60, OWN: 50, QUESTIONS: 65}.get(job.scheme, 70) + job.seed % 2
    return wrong + (job.scheme == LM and steps_from_best(job) > 0)


def choice_of(study, scheme=FULL.name):
    return results.stored(study)["choices"][scheme]["recipe"]


def test_tapt_trains_as_full_fine_tuning_does_on_the_same_draws(answered):
    jobs, study = answered(with_more_signal), STUDIES["tapt"]
    measured = study.measure()
    mine, before = on_test(jobs)
    assert not before and [job.seed for job in mine] == sorted(job.seed for job in mine)
    assert draws_of(mine) == {
        (name, labels): list(range(count))
        for name in (FULL.name, "TAPT")
        for labels, count in study.draws.items()
    }
    for job in mine:
        assert vars(job.recipe) == choice_of("schemes" if job.labels == "all" else "few_labels")
    assert {row["seconds"] for row in measured["rows"]} == {None}  # of several machines
    assert points(measured) == pytest.approx(
        {("TAPT", labels): -2.0 for labels in (100, 200, 500, 5452)}
    )


def test_texts_that_tapt_reads_are_compared_on_the_draws_of_tapt(answered):
    jobs = answered(with_more_signal)
    measured = STUDIES["tapt_texts"].measure()
    few = choice_of("few_labels")
    assert all(vars(job.recipe) == few and job.split == "test" for job in jobs)
    names = (FULL.name, OWN, STATEMENTS, QUESTIONS)
    assert draws_of(jobs) == {(name, 500): list(range(10)) for name in names}
    assert {row["seconds"] for row in measured["rows"]} == {None}
    entries = {(e["scheme"], e["against"]): e for e in measured["comparisons"]}
    named = entries.pop((OWN, STATEMENTS))  # beforehand: not corrected
    assert named["points"] == pytest.approx(-4.0) and named["p_holm"] == named["p"]
    assert measured["primary"] == [OWN, STATEMENTS]
    assert entries[QUESTIONS, STATEMENTS]["points"] == pytest.approx(-1.0)
    assert entries[QUESTIONS, FULL.name]["points"] == pytest.approx(1.0)
    assert entries[OWN, QUESTIONS]["p_holm"] == 4 * entries[OWN, QUESTIONS]["p"]
    assert (OWN, FULL.name) not in entries  # that is what `tapt` tests


def test_more_signal_trains_as_full_fine_tuning_does_but_for_the_lm_loss(answered):
    jobs, study = answered(with_more_signal), STUDIES["more_signal"]
    measured = study.measure()
    mine, before = on_test(jobs)
    for job in mine:
        if job.labels == "all":
            expected = choice_of("schemes", LM if job.scheme == LM else FULL.name)
        else:
            lm = {"learning_rate": 4 * SPACE[LM].lowest} if job.scheme == LM else {}
            expected = choice_of("few_labels") | lm
        assert vars(job.recipe) == expected
    assert draws_of(mine) == {pair: list(range(study.draws[pair[1]])) for pair in study.pairs}
    assert len(measured["rows"]) == len(study.pairs) == len(draws_of(mine))
    assert {(job.scheme, job.labels) for job in before} == {(LM, grid_search.FEW)}
    timed = jobs[len(before) + len(mine) :]  # on dev, a draw that no test has
    names = {*(name for name, labels in study.pairs if labels == 100), "TAPT"}
    assert {(job.scheme, job.labels) for job in timed} == {(name, 100) for name in names}
    assert {(job.split, job.seed) for job in timed} == {("dev", 100)}
    assert measured["seconds"] == dict.fromkeys(names, 102.0)
    assert {row["seconds"] for row in measured["rows"]} == {None}  # of several machines
    assert points(measured)["self-training", 100] == pytest.approx(2.0)
    assert {scheme for scheme, _ in points(measured)} == {s for s, _ in study.pairs} - {FULL.name}
