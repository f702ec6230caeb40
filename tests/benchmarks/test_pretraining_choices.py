"""What else decides how useful a body is: jobs, recipes, texts, each kind of job, rows, tables."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import runner
from benchmarks.studies import pretexts, pretraining_choices, pretraining_runs
from benchmarks.studies.pretexts import UNTRAINED
from benchmarks.studies.pretraining_choices import LABELS, PAIRS, PLANS, SHAPES, Job
from tlcourse import checkpoints, pretraining
from tlcourse.batching import Mixture
from tlcourse.bpe import EOS
from tlcourse.training import STATE

PLAN = PLANS["tiny"]
BASE = Job(0, PLAN, 4, (32, 1, 2))
SCORES = {task: {"score": 1.0, "of": 9} for task in pretraining_choices.JUDGED}


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path, samples, one_process):
    """Size tiny, the bundled samples, results in a folder of their own."""
    monkeypatch.delenv("TLCOURSE_DATA", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(runner, "FOLDER", tmp_path / "runs")
    monkeypatch.setattr(pretraining_choices, "SEEDS", (0, 1, 2))


@pytest.fixture
def unjudged(monkeypatch):
    """No body is fine-tuned."""
    monkeypatch.setattr(pretexts, "judged", lambda place, labels, **_: SCORES)


def test_tables_share_the_standard_and_seeds_come_one_after_the_other():
    plan = PLANS["small"]
    asked = pretraining_choices.questions(plan, SHAPES["small"])
    base = asked["size"]["width 128, 4 layers, 4 heads"]
    assert all(UNTRAINED in bodies for bodies in asked.values())
    assert all(base in bodies.values() for bodies in asked.values())
    assert {name: len(bodies) for name, bodies in asked.items()} == {
        "repeats": 5, "batch": 4, "size": 5, "mixture": 5, "supervision": 4,
    }  # fmt: skip
    assert asked["repeats"]["64 x 31,232 tokens"].passes == 64
    assert asked["batch"]["8 windows, 1,952 steps"].batch == 8
    every = pretraining_choices.jobs(asked)
    assert len(every) == 45 == len({job.key() for job in every})
    assert [job.seed for job in every] == [0] * 15 + [1] * 15 + [2] * 15


def test_learning_rates_follow_the_root_of_the_batch_and_the_warm_up_its_share():
    plan = PLANS["small"]
    standard, large = (Job(1, plan, batch, (128, 4, 4)).pretraining() for batch in (32, 128))
    assert standard == replace(plan.pretraining, seed=1)
    assert large.learning_rate == 2 * standard.learning_rate
    assert large.muon_learning_rate == 2 * standard.muon_learning_rate
    steps = [plan.tokens // (recipe.batch_size * recipe.length) for recipe in (standard, large)]
    shares = [r.warmup / count for r, count in zip((standard, large), steps, strict=True)]
    assert shares[0] == pytest.approx(shares[1], rel=0.05)


@pytest.mark.parametrize("passes", [1, 4, 16])
def test_each_window_of_a_text_is_read_as_often_as_the_row_says(passes):
    file, windows = replace(BASE, passes=passes).file(), PLAN.tokens // 32
    assert file.per_epoch(32) * passes == windows
    whole = BASE.file().ids
    assert np.array_equal(file.ids, whole[: len(file)]), "the first tokens of the same text"


def test_reviews_have_their_share_of_the_windows():
    mixed = replace(BASE, reviews=0.25).file()
    assert isinstance(mixed, Mixture)
    owners = Counter(mixed.source(number)[0] for number in range(PLAN.tokens // 32))
    assert owners == {"articles": 48, "reviews": 16}
    alone = replace(BASE, reviews=1.0).file()
    assert alone.digest() == mixed.files["reviews"].digest() != BASE.file().digest()


def test_pairs_are_texts_of_their_own():
    tokenizer = pretraining_choices.vocabulary()
    pairs, labels = pretraining_choices.nli()
    ids = replace(BASE, text=PAIRS).file().ids
    assert (ids == EOS).sum() == len(pairs) == len(labels) and len(set(labels)) == 3
    first = tokenizer.decode(ids[: int((ids == EOS).argmax())].tolist())
    assert first.split() == " ".join(pairs[0]).split()


def test_a_job_pretrains_and_is_judged(monkeypatch):
    found = replace(BASE, seed=1).run()
    assert found["tokens"] == PLAN.tokens and found["seconds"] > 0
    assert 5 < found["loss"] < math.log(8192) + 0.5 and found["held out"] > 5
    assert list(found["scores"]) == list(pretraining_choices.JUDGED)
    for one in found["scores"].values():
        assert 0 <= one["score"] <= 100 and one["of"] > 1
    monkeypatch.setattr(Job, "work", None)
    assert replace(BASE, seed=1).run()["scores"] == found["scores"], "kept"


def test_random_weights_know_nothing_and_have_read_nothing(unjudged):
    job = replace(BASE, objective=UNTRAINED)
    found = job.run()
    assert found["loss"] is None and found["tokens"] == found["seconds"] == 0
    assert found["held out"] == pytest.approx(math.log(8192), abs=0.3)
    assert not checkpoints.load(job.folder() / "body")[0].config.causal


def test_labels_train_the_body_as_many_tokens_and_can_be_interrupted(monkeypatch, unjudged):
    job = replace(BASE, text=PAIRS, objective=LABELS)
    whole = job.run()
    assert whole["tokens"] == pytest.approx(PLAN.tokens, rel=0.2)
    assert 0.3 < whole["loss"] < 2 and "held out" not in whole
    weights = checkpoints.load(job.folder() / "body")[0].state_dict()
    untrained = replace(BASE, objective=UNTRAINED)
    untrained.run()
    start = checkpoints.load(untrained.folder() / "body")[0].state_dict()
    matrix = "blocks.0.down.weight"
    assert not weights[matrix].equal(start[matrix])
    monkeypatch.setattr(runner, "FOLDER", runner.FOLDER / "other")

    class Stops(pretexts.Meter):
        def __call__(self, record):
            super().__call__(record)
            if record["step"] == 1 and self.steps == 2:
                raise KeyboardInterrupt

    monkeypatch.setattr(pretexts, "Meter", Stops)
    with pytest.raises(KeyboardInterrupt):
        job.run()
    assert (job.folder() / STATE).exists()
    assert job.run()["loss"] == whole["loss"]
    again = checkpoints.load(job.folder() / "body")[0].state_dict()
    assert all(again[name].equal(weights[name]) for name in weights)


def test_every_kind_of_body_is_pretrained_with_its_recipe(monkeypatch, unjudged):
    calls = []
    pretrain = pretraining.pretrain

    def spy(model, file, tokens, **more):
        calls.append((model.config, more["recipe"], tokens))
        return pretrain(model, file, tokens, **more)

    monkeypatch.setattr(pretraining, "pretrain", spy)
    replace(BASE, batch=16, shape=(16, 2, 1), reviews=0.5).run()
    ((config, recipe, tokens),) = calls
    assert (config.width, config.layers, config.heads, config.feed_forward) == (16, 2, 1, 64)
    assert recipe.batch_size == 16 and tokens == PLAN.tokens


def run(job: Job) -> dict:
    """What a job might find: scores that are 10 apart from seed to seed."""
    score = {"score": 50.0 + 10 * job.seed, "of": 1_500, "seconds": 3.0}
    trained = job.objective != UNTRAINED
    found = {
        "seed": job.seed,
        "tokens": job.recipe.tokens * trained,
        "loss": 4.0 + job.seed if trained else None,
        "seconds": 80.0 * trained,
        "scores": dict.fromkeys(pretraining_choices.JUDGED, score),
        "made_on": "2 threads",
    }
    return found if job.objective == LABELS else found | {"held out": 6.0 + job.passes}


@pytest.fixture
def answered(monkeypatch):
    """No job runs."""
    monkeypatch.setattr(runner, "run_all", lambda jobs: [run(job) for job in jobs])


def test_the_study_has_a_row_for_each_body_of_a_question(answered):
    study = pretraining_choices.measure()
    assert [row["question"] for row in study["rows"]] == (
        ["repeats"] * 5 + ["batch"] * 4 + ["size"] * 3 + ["mixture"] * 5 + ["supervision"] * 4
    )
    by_body = {row["body"]: row for row in study["rows"]}
    row = by_body["4 x 512 tokens"]
    assert row["tokens"] == 2_048 and row["loss"] == 5.0 and row["held out"] == 10.0
    assert row["seeds"] == [0, 1, 2] and row["scores"]["trec"]["scores"] == [50, 60, 70]
    assert by_body["labels of premises and hypotheses"]["held out"] is None
    text = pretraining_choices.section(study)
    cells = " | ".join(["60.0 (35.2-84.8)"] * 3)
    assert f"| 4 x 512 tokens | 0.00M | 80 | 5.00 | 10.00 | {cells} |" in text
    assert f"| labels of premises and hypotheses | 0.00M | 80 | 5.00 |  | {cells} |" in text
    assert f"| {UNTRAINED} | 0.00M | 0 |  | 7.00 | {cells} |" in text
    assert text.count("\n### ") == 5 and "after 24 questions, of 1,500" in text
    assert "mean over 3 seeds" in text and "lesson 10b" in text


def test_a_single_seed_has_no_interval(answered, monkeypatch):
    monkeypatch.setattr(pretraining_choices, "SEEDS", (0,))
    text = pretraining_choices.section(pretraining_choices.measure())
    assert "| 4 x 512 tokens | 0.00M | 80 | 4.00 | 10.00 | 50.0 | 50.0 | 50.0 |" in text


def test_the_texts_are_written_before_the_jobs_run(answered):
    pretraining_choices.measure()
    folder, pairs = runner.FOLDER / Job.study, len(pretraining_choices.nli()[0])
    files = {path.name for path in folder.iterdir()}
    assert files == {f"pairs-{pairs}.bin", "reviews-0.00208M.bin"}
    assert (runner.FOLDER / pretraining_runs.Run.study / "corpus-0.00208M").is_dir()
