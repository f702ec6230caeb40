"""ULMFiT's study: paces, stages of equal time, rows, comparisons, the spread, the table."""

import pytest

from benchmarks import runner
from benchmarks.studies import ulmfit
from benchmarks.studies.ulmfit import (
    IMDB,
    LSTM,
    PLAIN,
    PLANS,
    READ,
    ROWS,
    SCRATCH,
    TFIDF,
    TRANSFORMER,
    TREC,
    WHOLE,
    Stages,
)

PACES = {
    LSTM: {"pretraining": 2e-4, TREC: 0.05, IMDB: 0.25},
    TRANSFORMER: {"pretraining": 4e-4, TREC: 0.10, IMDB: 0.50},
}


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path, samples, one_process):
    """Size tiny, the bundled samples, results in a folder of their own."""
    monkeypatch.delenv("TLCOURSE_DATA", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(runner, "FOLDER", tmp_path / "runs")


def test_a_study_at_size_tiny_has_every_row_and_runs_once():
    study = ulmfit.measure()
    assert {one["body"] for one in study["pretraining"]} == {LSTM, TRANSFORMER}
    assert all(one["held_out"]["bits_per_byte"] > 1 for one in study["pretraining"])
    assert [(one["body"], one["task"]) for one in study["readings"]] == [
        (body, task) for body in (LSTM, TRANSFORMER) for task in (TREC, IMDB)
    ]
    rows = {(row["task"], row["body"], row["row"]): row for row in study["rows"]}
    assert set(rows) == {
        *((task, body, row) for task in (TREC, IMDB) for body in PACES for row in ROWS),
        *((task, "", TFIDF) for task in (TREC, IMDB)),
    }
    assert all(len(row["errors"]) == 2 and row["of"] == 10 for row in rows.values())
    assert len(study["comparisons"]) == 2 * (1 + 2 * 3)
    assert [(one["body"], one["way"]) for one in study["spread"]] == list(ulmfit.SPREAD)
    table = ulmfit.section(study)
    assert f"| {LSTM}, {WHOLE} |" in table and "| TF-IDF |" in table
    kept = sorted((runner.FOLDER / "ulmfit").glob("*.json"))
    again = ulmfit.measure()
    assert again["rows"] == study["rows"] and again["paces"] == study["paces"]
    assert sorted((runner.FOLDER / "ulmfit").glob("*.json")) == kept


def test_a_body_whose_steps_take_twice_as_long_makes_half_as_many():
    plan = PLANS["small"]
    stages = Stages(plan, PACES)
    tokens = {body: one.tokens for body, one in stages.pretrained.items()}
    assert tokens[LSTM] == pytest.approx(2 * tokens[TRANSFORMER], rel=0.01)
    assert tokens[LSTM] * 2e-4 == pytest.approx(plan.pretraining, rel=0.01)
    for task in (TREC, IMDB):
        steps = [stages.run(body, task, READ, 0).steps for body in (LSTM, TRANSFORMER)]
        assert steps[0] == pytest.approx(2 * steps[1], abs=1)
        assert steps[0] * PACES[LSTM][task] == pytest.approx(plan.adapting[task == IMDB], rel=0.01)


def test_rows_differ_in_what_they_begin_with():
    stages = Stages(PLANS["small"], PACES)
    runs = {row: stages.run(LSTM, TREC, row, 0) for row in (*ROWS, PLAIN)}
    assert [bool(run.reading) for run in runs.values()] == [False, False, True, True, False]
    assert len({run.key() for run in runs.values()}) == 5
    spread = stages.spread()
    assert {run.draw for runs in spread.values() for run in runs} == {0}
    assert [run.seed for run in spread[LSTM, PLAIN]] == list(range(20))
    assert {run.draw for run in stages.tables()[TREC, LSTM, SCRATCH]} == {0, 1, 2}


def test_the_rate_with_the_fewest_errors_on_dev_is_chosen():
    def run(row, rate, wrong):
        return {"start": {"body": LSTM}, "row": row, "rate": rate, "wrong": range(wrong), "of": 10}

    found = [run(READ, 1e-3, 5), run(READ, 2e-3, 2), run(READ, 2e-3, 6), run(READ, 4e-3, 4)]
    points = ulmfit.tried([*found, run(WHOLE, 1e-3, 9), run(WHOLE, 2e-3, 10)])
    assert [point["dev_error"] for point in points] == [50.0, 40.0, 40.0, 90.0, 100.0]
    assert ulmfit.choose(points) == {(LSTM, READ): 2e-3, (LSTM, WHOLE): 1e-3}


def test_rates_are_tried_on_dev_for_every_row_and_ways_of_the_spread():
    stages = Stages(PLANS["tiny"], PACES)
    searched = stages.searched()
    assert {run.split for run in searched} == {"dev"} and {run.task for run in searched} == {TREC}
    rows = {(run.start.body, run.row) for run in searched}
    assert rows == {(body, row) for body in PACES for row in (*ROWS, PLAIN)}
    stages.rates = {(LSTM, WHOLE): 0.02}
    assert stages.run(LSTM, IMDB, WHOLE, 0).rate == 0.02


def test_runs_that_answer_the_commonest_label_have_failed():
    held_out = {"label": ["a", "a", "a", "b"]}
    made = [ulmfit.facts(wrong, held_out, 1.0) | {"steps": 5} for wrong in ([3], [], [0, 3])]
    found = ulmfit.spread_of(made)
    assert found["commonest"] == 25.0 and found["failed"] == 2
    assert found["errors"] == [25.0, 0.0, 50.0] and found["deviation"] == pytest.approx(25.0)
