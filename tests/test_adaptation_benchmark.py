"""The adaptation benchmark: one job from end to end, choices of rates, rows and comparisons."""

import pytest

from benchmarks import adaptation, composites
from benchmarks.composites import COMPOSITES
from tlcourse import corpora
from tlcourse.adaptation.adapting import FULL, Recipe
from tlcourse.adaptation.schemes import SCHEMES


def result(scheme, wrong, seed=0, **more):
    found = {"wrong": list(range(wrong)), "of": 500, "seed": seed, "seconds": 2.0 + seed}
    found |= {"start_difference": 0.0, "declared_is_moved": True, "trained_share": 0.5}
    return found | {"forgetting": 0.1 * seed, "training_memory": 7, "scheme": scheme} | more


def test_a_job_adapts_judges_and_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    load = corpora.load
    monkeypatch.setattr(corpora, "load", lambda name, source=None: load(name, "sample"))
    job = adaptation.Job("LoRA", 24, 0, "test", Recipe(epochs=1))
    found = adaptation.run(job)
    assert found["declared_is_moved"] and found["start_difference"] == 0.0
    assert 0 < found["trained_share"] < 0.05 and found["forgetting"] != 0
    assert found["training_memory"] > 4 * 6_836_224  # the weights alone
    monkeypatch.setattr(adaptation, "adapt", None)
    assert adaptation.run(job) == found
    assert job.place() != adaptation.Job("LoRA", 24, 1, "test", Recipe(epochs=1)).place()


def test_the_rate_with_the_fewest_dev_errors_is_taken_with_all_labels_only():
    chosen = {"LoRA": 2, FULL.name: 0}  # which of the rates is best
    tried = [
        result(name, 20 + 10 * abs(place - chosen.get(name, 1)))
        for name in SCHEMES
        for place, _ in enumerate(adaptation.RATES)
        for _ in adaptation.CHOICE_SEEDS
    ]
    pairs = [("LoRA", 100), ("LoRA", "all"), ("BitFit", "all"), ("ensemble", "all")]
    choices = adaptation._choices(pairs, tried)
    rates = [choices[pair]["recipe"].rate for pair in pairs]
    low, middle, high = adaptation.RATES
    assert rates == [Recipe().rate, high, middle, low]  # the ensemble takes that of full
    assert choices["LoRA", "all"]["dev_errors"][str(high)] == pytest.approx([4.0])
    assert choices["LoRA", 100]["dev_errors"] == {}


@pytest.mark.parametrize("name", COMPOSITES)
def test_each_composite_gives_models_that_answer(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    monkeypatch.setattr(composites, "TAPT_TOKENS", 4_000)
    load = corpora.load
    monkeypatch.setattr(corpora, "load", lambda name, source=None: load(name, "sample"))
    found = adaptation.run(adaptation.Job(name, 24, 0, "test", Recipe(epochs=1)))
    assert 0 <= len(found["wrong"]) <= found["of"] and found["forgetting"] != 0
    assert found["seconds"] > 0 and found["start_difference"] is None


def test_a_row_is_the_mean_over_seeds_and_keeps_which_questions_were_wrong():
    choice = {"recipe": Recipe(rate=1e-3), "dev_errors": {}}
    mine = [result("LoRA", wrong, seed) for seed, wrong in enumerate((15, 18, 21))]
    row = adaptation._row(("LoRA", "all"), mine, choice)
    assert (row["labels"], row["mean"], row["seconds"]) == (5452, pytest.approx(3.6), 3.0)
    assert row["interval"] == pytest.approx([3.6 - 4.303 * 0.34641, 3.6 + 4.303 * 0.34641], 1e-3)
    assert row["test_wrong"][2] == list(range(21)) and row["rate"] == 1e-3
    assert row["forgetting"] == pytest.approx(0.1)


def test_each_scheme_is_compared_with_full_fine_tuning_at_its_number_of_labels():
    choice = {"recipe": Recipe(), "dev_errors": {}}
    rows = [
        adaptation._row((scheme, labels), [result(scheme, wrong, seed) for seed in (0, 1)], choice)
        for labels in (100, "all")
        for scheme, wrong in ((FULL.name, 50), ("LoRA", 30))
    ]
    found = adaptation.compare(rows, 500)
    assert [(entry["scheme"], entry["labels"]) for entry in found] == [
        ("LoRA", 100),
        ("LoRA", 5452),
    ]
    for entry in found:
        assert entry["points"] == pytest.approx(-4.0)
        assert entry["p"] == pytest.approx(2 * 0.5**20) and entry["p_holm"] >= entry["p"]


def test_the_primary_comparison_is_one_of_the_table():
    scheme, _ = adaptation.PRIMARY
    assert adaptation.PRIMARY in adaptation._pairs() and scheme != FULL.name
