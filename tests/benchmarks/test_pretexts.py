"""Objectives in the same time: speeds, budgets, a job from end to end, rows and sections."""

from collections import Counter
from dataclasses import replace

import pytest
import torch

from benchmarks import runner
from benchmarks.speed import objectives as speeds
from benchmarks.studies import growth, pretexts, pretraining_runs
from tests.objectives.test_values import VALUES
from tlcourse import checkpoints, results
from tlcourse.objectives import BidirectionalLM, Denoising
from tlcourse.probing import fitting
from tlcourse.training import STATE

PLAN = pretexts.PLANS["tiny"]
STEP = 4 * 32  # tokens
NAMES = (speeds.STANDARD, pretexts.STATIC, "masked", "BART")
RATIOS = dict(zip(NAMES, (1.0, 0.6, 0.5, 2.0), strict=True))
SEEDS = (0, 1, 2)
STORED = [
    {"objective": name, "ratio": ratio, "targets_per_token": 0.25} for name, ratio in RATIOS.items()
]


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path, samples, one_process):
    """Size tiny, the bundled samples, results in a folder of their own."""
    monkeypatch.delenv("TLCOURSE_DATA", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(runner, "FOLDER", tmp_path / "runs")
    monkeypatch.setattr(pretexts, "SEEDS", SEEDS)
    monkeypatch.setattr(fitting, "LEAST_STEPS", 5)
    growth.sentences.cache_clear()
    yield
    growth.sentences.cache_clear()


def test_every_objective_is_timed_against_next_tokens():
    study = speeds.measure()
    by_name = {row["objective"]: row for row in study["rows"]}
    assert [row["ratio"] for row in study["rows"]][0] == 1.0
    for row in study["rows"]:
        assert 0 < row["ratio_lowest"] <= row["ratio_highest"] and row["ms"] > 0
        assert row["rounds"] == 2
    targets = {name: row["targets_per_token"] for name, row in by_name.items()}
    assert targets[speeds.STANDARD] == targets["BART"] == 1
    assert targets["MASS"] == 0.5 and targets["Quick Thoughts"] == 1 / 32
    assert 0.05 < targets["masked"] < 0.3 and 0.3 < targets["prefix LM"] < 0.7
    _, tokenizer = checkpoints.load(speeds.VOCABULARY)
    named = {type(value) for value in speeds.all_objectives(tokenizer).values()}
    assert named == {type(value) for value in VALUES} - {BidirectionalLM}, "its body is recurrent"
    assert sum(isinstance(v, Denoising) for v in speeds.all_objectives(tokenizer).values()) == 2
    text = speeds.section(study)
    assert "| next token | " in text and " | 1.00 (1.00-1.00) | 1.00 |" in text
    assert {*pretexts.TWO_WAYS, *pretexts.LEFT_OUT} <= {*by_name, pretexts.UNTRAINED}


def test_budgets_are_whole_steps_of_equal_time_and_seeds_come_one_after_the_other():
    jobs = pretexts.jobs(PLAN, STORED, SEEDS)
    names = [speeds.STANDARD, "masked", "BART", pretexts.UNTRAINED]  # without static masks
    assert [(job.seed, job.objective) for job in jobs] == [(s, n) for s in (0, 1, 2) for n in names]
    assert [job.tokens for job in jobs[:4]] == [4 * STEP, 8 * STEP, 2 * STEP, 0]
    slow = pretexts.jobs(PLAN, [STORED[0] | {"ratio": 99.0}], SEEDS)
    assert slow[0].tokens == STEP, "at least one step"
    keys = {job.key() for job in [*jobs, *pretexts.jobs(replace(PLAN, probed=9), STORED, SEEDS)]}
    assert len(keys) == 2 * len(jobs)
    whole = pretexts.PLANS["small"]
    assert max(job.tokens for job in pretexts.jobs(whole, STORED, SEEDS)) < whole.text


def test_a_job_pretrains_and_judges_the_body(monkeypatch):
    found = pretexts.Job("span corruption", 1, 3 * STEP, PLAN).run()
    assert found["tokens"] == 3 * STEP and found["loss"] > 5 and found["seconds"] > 0
    assert list(found["scores"]) == [pretexts.BOTH_SIDES]
    scores = found["scores"][pretexts.BOTH_SIDES]
    assert list(scores) == list(pretexts.JUDGED)
    for one in scores.values():
        assert 0 <= one["score"] <= 100 and one["of"] > 1 and one["seconds"] > 0
    monkeypatch.setattr(pretexts.Job, "work", None)
    again = pretexts.Job("span corruption", 1, 3 * STEP, PLAN).run()
    assert again["scores"] == found["scores"], "kept"


@pytest.fixture
def unjudged(monkeypatch):
    """No body is judged."""
    monkeypatch.setattr(pretexts, "judged", lambda place, labels, **_: {"trec": {"score": 1.0}})


@pytest.mark.parametrize(
    ("name", "tokens", "ways"),
    [
        ("hybrid", STEP, [pretexts.ONWARD, pretexts.BOTH_SIDES]),
        (speeds.STANDARD, STEP, [pretexts.ONWARD]),
        (pretexts.UNTRAINED, 0, [pretexts.ONWARD, pretexts.BOTH_SIDES]),
    ],
)
def test_a_body_is_judged_in_its_ways_of_reading(name, tokens, ways, unjudged):
    job = pretexts.Job(name, 1, tokens, PLAN)
    found = job.run()
    assert list(found["scores"]) == ways
    assert (found["loss"] is None) == (found["seconds"] == 0) == (name == pretexts.UNTRAINED)
    bodies = [checkpoints.load(job.folder() / way)[0] for way in ways]
    assert [body.config.causal for body in bodies] == [way == pretexts.ONWARD for way in ways]
    for body in bodies:
        assert body.embedding.weight.equal(bodies[0].embedding.weight)


def test_larger_models_are_judged_alike(monkeypatch):
    asked = {}

    def judged(place, labels, **options):
        asked[place] = (labels, options)
        return {"trec": {"score": 1.0}}

    monkeypatch.setattr(pretexts, "judged", judged)
    found = pretexts.Beside("masked-small", 1, PLAN).run()
    labels, options = asked["masked-small"]
    assert found["scores"] == {"trec": {"score": 1.0}} and labels == PLAN.labels_of()
    assert options["recipe"] == replace(PLAN.adaptation, learning_rate=1e-3)
    assert options["seed"] == 1 and options["probed"] == PLAN.probed


def test_a_job_that_was_stopped_goes_on(monkeypatch, unjudged):
    whole = pretexts.Job("replaced tokens", 0, 4 * STEP, PLAN).run()
    weights = checkpoints.load(_place())[0].state_dict()
    monkeypatch.setattr(runner, "FOLDER", runner.FOLDER / "other")

    class Stops(pretexts.Meter):
        def __call__(self, record):
            super().__call__(record)
            if record["step"] == 1 and self.steps == 2:
                raise KeyboardInterrupt

    monkeypatch.setattr(pretexts, "Meter", Stops)
    job = pretexts.Job("replaced tokens", 0, 4 * STEP, PLAN)
    with pytest.raises(KeyboardInterrupt):
        job.run()
    assert (job.folder() / STATE).exists()
    again = job.run()
    assert again["loss"] == whole["loss"] and again["seconds"] > 0
    found = checkpoints.load(_place())[0].state_dict()
    assert all(found[name].equal(weights[name]) for name in weights)


def _place():
    return pretexts.Job("replaced tokens", 0, 4 * STEP, PLAN).folder() / pretexts.BOTH_SIDES


def run(job: pretexts.Job | pretexts.Beside) -> dict:
    """What a job might find: scores that are 10 apart from seed to seed."""
    score = {"score": 50.0 + 10 * job.seed, "of": 1_500, "seconds": 3.0}
    if isinstance(job, pretexts.Beside):
        return {"scores": dict.fromkeys(pretexts.JUDGED, score)}
    ways = [pretexts.ONWARD, pretexts.BOTH_SIDES][: 1 + (job.objective == pretexts.UNTRAINED)]
    trained = job.tokens > 0
    return {
        "objective": job.objective,
        "seed": job.seed,
        "tokens": job.tokens,
        "loss": 4.0 + job.seed if trained else None,
        "seconds": 600.0 * trained,
        "scores": {way: dict.fromkeys(pretexts.JUDGED, score) for way in ways},
        "made_on": "2 threads",
    }


def test_the_study_has_a_row_an_objective_and_way_and_a_section(monkeypatch):
    asked: Counter = Counter()
    monkeypatch.setattr(results, "stored", lambda name: asked.update([name]) or {"rows": STORED})
    monkeypatch.setattr(pretraining_runs, "corpus", lambda tokens: asked.update([tokens]))
    monkeypatch.setattr(runner, "run_all", lambda jobs: [run(job) for job in jobs])
    study = pretexts.measure()
    assert asked == {"objective_speeds": 1, PLAN.text: 1}
    read = [(row["objective"], row["reads"]) for row in study["rows"]]
    assert read == [(name, "left to right") for name in (speeds.STANDARD, "masked", "BART")] + [
        (pretexts.UNTRAINED, "left to right"),
        (pretexts.UNTRAINED, "both sides"),
    ]
    row = study["rows"][1]
    assert row["tokens"] == 8 * STEP and row["targets"] == 2 * STEP
    assert row["loss"] == 5.0 and row["seconds"] == 600 and row["seeds"] == [0, 1, 2]
    trec = row["scores"]["trec"]
    assert trec["mean"] == 60 and trec["scores"] == [50, 60, 70] and trec["of"] == 1_500
    assert trec["interval"] == pytest.approx([60 - 24.84, 60 + 24.84], abs=0.01)
    assert study["machine"].startswith("2 threads, ")
    text = pretexts.section(study)
    cells = " | ".join(["60.0 (35.2-84.8)"] * 5)
    assert f"| masked | left to right | 0.00M | 0.00M | 5.00 | {cells} |" in text
    assert f"| not pretrained | both sides | 0.00M | 0.00M |  | {cells} |" in text
    assert "after 24 questions, of 1,500" in text and "at most 600 s" in text
    assert [each["model"] for each in study["beside"]] == list(pretexts.BESIDE)
    assert f"| masked-small |  |  |  |  | {cells} |" in text


def test_other_learning_rates_have_rows_of_their_own(monkeypatch):
    rates = {}

    def run_all(jobs):
        jobs = list(jobs)
        for job in jobs:
            recipe = job.recipe.pretraining
            rates[job.objective, recipe.learning_rate] = recipe.muon_learning_rate
        return [run(job) for job in jobs]

    monkeypatch.setattr(results, "stored", lambda name: {"rows": STORED})
    monkeypatch.setattr(pretraining_runs, "corpus", lambda tokens: None)
    monkeypatch.setattr(runner, "run_all", run_all)
    monkeypatch.setattr(pretexts, "RATED", ("masked", "BART"))
    study = pretexts.measure_rates()
    standard, muon = PLAN.pretraining.learning_rate, PLAN.pretraining.muon_learning_rate
    asked = {("BART", times * standard): times * muon for times in (0.25, 0.5, 1.0)}
    assert asked.items() <= rates.items()
    assert {name for name, _ in rates} == {"masked", "BART"}
    assert [row["times"] for row in study["rows"] if row["objective"] == "BART"] == [0.25, 0.5, 1]
    assert {tuple(row["seeds"]) for row in study["rows"]} == {(0,)}
    text = pretexts.rates_section(study)
    assert "| BART | left to right |" + 3 * " 4.00 | 50.0 | 50.0 |" in text
    assert "| loss, × 0.5 |" in text


def test_cosines_are_those_of_the_bodies_that_are_kept(monkeypatch, unjudged):
    monkeypatch.setattr(results, "stored", lambda name: {"rows": STORED})
    with pytest.raises(FileNotFoundError, match="benchmarks pretexts"):
        pretexts.measure_states()
    for job in pretexts.jobs(PLAN.at(0.5), STORED, SEEDS[:1]):
        if job.objective == "masked":
            job.run()
    for job in pretexts.jobs(PLAN, STORED, SEEDS[1:]):
        if job.objective == pretexts.UNTRAINED:
            job.run()
    study = pretexts.measure_states()
    ways = [pretexts.ONWARD, pretexts.BOTH_SIDES]
    known = [(row["times"], row["objective"], row["reads"], row["seeds"]) for row in study["rows"]]
    untrained = [(1.0, pretexts.UNTRAINED, way, [1, 2]) for way in ways]
    assert known == [(0.5, "masked", pretexts.BOTH_SIDES, [0]), *untrained]
    for row in study["rows"]:
        assert len(row["cosines"]) == len(row["seeds"])
    one, other = study["rows"][1]["cosines"]
    [third] = study["rows"][0]["cosines"]
    text = pretexts.states_section(study)
    assert f"| not pretrained | left to right |  |  | {one:.2f}, {other:.2f} |" in text
    assert f"| masked | both sides |  | {third:.2f} |  |" in text
    body, tokenizer = checkpoints.load(pretexts.jobs(PLAN, STORED, SEEDS)[7].folder() / ways[0])
    [text] = pretraining_runs.articles()
    states = body.hidden(torch.tensor([tokenizer.encode(text)[:32]]))[0].detach()
    pairs = torch.nn.functional.cosine_similarity(states[:, None], states[None], dim=-1)
    assert one == pytest.approx(pairs.mean().item(), abs=1e-5)
