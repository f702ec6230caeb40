"""Tasks beyond classification: the rules, scores, jobs and rows of the study."""

import pytest

from benchmarks.studies import beyond
from tlcourse import corpora
from tlcourse.adaptation import Recipe

pytestmark = pytest.mark.usefixtures("samples")
CHOICES = {task: dict.fromkeys((beyond.MASKED, beyond.MINILM), 1e-3) for task in beyond.KINDS}


@pytest.mark.parametrize("task", beyond.KINDS)
@pytest.mark.parametrize("way", [beyond.RULE, beyond.SCRATCH, beyond.MASKED])
def test_a_job_learns_and_is_judged(task, way, little):
    recipe = Recipe(epochs=1, batch_size=16)
    found = beyond.Job(task, 16, way, 0, recipe, model=little).run()
    name, score = next(iter(found["scores"].items()))
    assert found["learnt_from"] == 16 and found["of"] > 1
    assert name in ("F1", "Spearman", "accuracy") and -100 <= score <= 100
    low, high = found["interval"]
    assert low <= score <= high


def test_from_scratch_has_other_weights_than_the_checkpoint(little, monkeypatch):
    seen = []

    def adapt(start, *given, **more):
        seen.append(start)
        return start

    monkeypatch.setattr(beyond, "adapt", adapt)
    for way in (beyond.SCRATCH, beyond.MASKED):
        beyond.Job("stsb", 16, way, 0, Recipe(), model=little).work()
    one, other = (start.body.embedding.weight for start in seen)
    kept = beyond.Similarity.from_checkpoint(little).body.embedding.weight
    assert not one.equal(other) and other.equal(kept)


def test_what_is_searched_is_not_what_is_judged():
    for task, kind in beyond.KINDS.items():
        tested, searched = kind.data(16, False).judged, kind.data(16, True).judged
        assert tested != searched, task
    train, judged = beyond.paragraphs()
    _, searched = beyond.paragraphs(search=True)
    assert not set(judged["paragraph"]) & (set(train["paragraph"]) | set(searched["paragraph"]))


def test_the_rules():
    given = beyond.Given(
        [["Ann", "sang"], ["Ann"]], [["B-PER", "O"], ["B-PER"]], [["Ann", "Bo"]], []
    )
    assert beyond.KINDS["wikiann"].rule(given) == [["B-PER", "O"]]
    paragraph = "The tower is high. A clock switches on the lamp"
    asked = beyond.Given([], [], [("What switches on the lamp?", paragraph)], [])
    assert beyond.KINDS["xquad"].rule(asked) == ["A clock switches on the lamp"]
    pairs = beyond.Given([], [], [("a red dog", "a red dog"), ("a red dog", "one green cat")], [])
    assert beyond.KINDS["stsb"].rule(pairs) == pytest.approx([1.0, 0.0])
    same, other = ("a red dog", "a red dog"), ("a red dog", "one green cat")
    labels = ["entailment", "not_entailment"]
    for answers in (labels, labels[::-1]):
        pairs = beyond.Given([same, other], answers, [other, same], [])
        assert beyond.KINDS["rte"].rule(pairs) == answers[::-1]


def test_each_seed_runs_every_way_once_and_the_rule_only_the_first():
    jobs = beyond.jobs(CHOICES)
    for (task, examples), seeds in beyond.BUDGETS.items():
        runs = [(job.way, job.seed) for job in jobs if (job.task, job.examples) == (task, examples)]
        ways = beyond.ways_of(task)
        later = [(way, seed) for seed in seeds[1:] for way in ways if way != beyond.RULE]
        assert sorted(runs) == sorted([(way, seeds[0]) for way in ways] + later)
    assert len({job.key() for job in jobs if job.model != beyond.MINILM}) == sum(
        job.model != beyond.MINILM for job in jobs
    )


def run(score, seed):
    scores = {"F1": score, "recall": score / 2}
    found = {"scores": scores, "interval": [score - 5, score + 5], "seed": seed, "seconds": 3.0}
    return found | {"learnt_from": 500, "of": 100}


def test_a_row_has_the_interval_over_seeds_or_of_its_only_run():
    three = beyond._row("wikiann", 500, "x", [run(50.0, 0), run(60.0, 1), run(70.0, 2)])
    assert three["mean"] == 60 and three["scores"] == [50, 60, 70]
    assert three["interval"] == pytest.approx([60 - 24.84, 60 + 24.84], abs=0.01)
    assert three["each"] == {"F1": 60.0, "recall": 30.0}
    one = beyond._row("wikiann", None, "x", [run(50.0, 0)])
    assert one["interval"] == [45.0, 55.0] and one["mean"] == 50


def test_the_section_has_a_column_a_task():
    rows = [
        beyond._row(task, examples, way, [run(50.0, 0)])
        for task, examples in beyond.BUDGETS
        for way in beyond.ways_of(task)
    ]
    study = {"job": "tasks_beyond", "data": "data", "machine": "machine", "rows": rows}
    study |= {"judged": {"stsb": "rank"}, "published": beyond.PUBLISHED}
    text = beyond.section(study)
    assert "| from scratch | 50.0 (45.0-55.0) |" in text
    assert text.count("wikiann, 500 examples") == 4
    assert "(data; machine" not in text and "`python -m benchmarks tasks_beyond`" in text


def test_rows_of_one_paragraph_are_on_one_side():
    rows = corpora.load("xquad", source="sample")["validation"]
    rest, part = corpora.split_by(rows, "paragraph", share=0.25, seed=1)
    assert len(rest) + len(part) == len(rows)
    assert len(set(part["paragraph"])) == 2
    assert not set(rest["paragraph"]) & set(part["paragraph"])
    again = corpora.split_by(
        rows.select(range(len(rows) - 1, -1, -1)), "paragraph", share=0.25, seed=1
    )
    assert set(again[1]["question"]) == set(part["question"])
    other = corpora.split_by(rows, "paragraph", share=0.25, seed=2)[1]
    assert set(other["paragraph"]) != set(part["paragraph"])
    for share in (0.0, 1.0):
        with pytest.raises(ValueError, match="a share that leaves some of the 8 values"):
            corpora.split_by(rows, "paragraph", share=share)
    with pytest.raises(ValueError, match="expected a column out of"):
        corpora.split_by(rows, "text")
