"""Which sentence is likelier: pairs, the models trained for it, rows, the section."""

from types import SimpleNamespace

import pytest
import torch
from datasets import Dataset

from benchmarks import runner
from benchmarks.studies import behaviour, pretraining_runs
from tlcourse import corpora, files, metrics
from tlcourse.corpora import blimp
from tlcourse.evaluation import BLIMP_PUBLISHED

NOUNS = ("the dog", "the boys", "a hat", "the trees", "my house")


def agreement_pairs(count: int, *, attractors: int = 1, seed: int = 0, nonsense: bool = False):
    """As many pairs as wanted with so many nouns before the verb."""
    start = " near ".join([NOUNS[0], *NOUNS[1 : 1 + attractors]])
    verbs = ("glorp", "glorps") if nonsense else ("bark", "barks")
    return [
        SimpleNamespace(
            good=SimpleNamespace(text=f"{start} {verbs[1]} {number} times."),
            bad=SimpleNamespace(text=f"{start} {verbs[0]} {number} times."),
        )
        for number in range(count)
    ]


@pytest.fixture
def sets(monkeypatch, tmp_path, rehearsed, one_process):
    """Size tiny, the sample, results in a folder of their own, a few pairs in place of others."""
    monkeypatch.setattr(runner, "FOLDER", tmp_path)
    pairs = [
        (f"it rains {n} .", f"it rain {n} .", paradigm, "agreement", n)
        for n in range(9)
        for paradigm in ("b", "a")
    ]
    rows = [dict(zip(blimp.COLUMNS, pair, strict=True)) for pair in pairs]
    tests, load = {"test": Dataset.from_list(rows)}, corpora.load
    monkeypatch.setattr(
        corpora, "load", lambda name: tests if name == "marvin-linzen" else load(name)
    )
    grammar = SimpleNamespace(agreement_pairs=agreement_pairs)
    monkeypatch.setattr(corpora, "treebank", grammar, raising=False)


@pytest.fixture
def found(sets, little, monkeypatch):
    """The study at tiny, with a small model in place of the two that are shipped."""
    two_sided = str(pretraining_runs.other_way(pretraining_runs.Path(little), causal=False))
    monkeypatch.setattr(behaviour, "SHIPPED", (little, two_sided))
    monkeypatch.setattr(behaviour, "MODELS", (little, two_sided, *behaviour.MODELS[2:]))
    return behaviour.measure()


def test_every_model_is_asked_everything_and_what_was_done_is_not_done_again(
    found, monkeypatch, tmp_path
):
    causal, masked, *peers = behaviour.MODELS
    assert peers == ["Transformer", "LSTM", "5-gram model"]
    groups = {"BLiMP": 8 + 1, "Marvin & Linzen": 2 + 1, "attractors": 5 + 1}
    groups["attractors, nonsense"] = 5 + 1
    rows = {(row["model"], row["set"], row["group"]): row for row in found["rows"]}
    assert len(rows) == len(found["rows"]) == 5 * sum(groups.values())
    for (model, name, group), row in rows.items():
        assert row["accuracy"] == row["right"] / row["pairs"]
        assert row["right"] + row["ties"] <= row["pairs"]
        assert row["interval"] == list(metrics.wilson_interval(row["right"], row["pairs"]))
        mine = [each for (m, n, g), each in rows.items() if (m, n) == (model, name) and g != "all"]
        if group == "all":
            assert row["pairs"] == sum(each["pairs"] for each in mine)
            assert row["right"] == sum(each["right"] for each in mine)
    assert rows[causal, "Marvin & Linzen", "a"]["pairs"] == 4
    assert rows[masked, "attractors", "4"]["pairs"] == 4
    by = {each["model"]: each for each in found["models"]}
    for name, each in by.items():
        assert each["blimp"]["accuracy"] == pytest.approx(rows[name, "BLiMP", "all"]["accuracy"])
        assert ("wikitext-103 validation" in each) == (name != masked)
    assert all(by[name]["facts"]["tokens"] == 4096 for name in peers)
    assert by["5-gram model"]["wikitext-103 validation"]["window"] == 5
    assert by["LSTM"]["facts"]["learning_rate"] in behaviour.LEARNING_RATES
    assert found["published"]["blimp"] == BLIMP_PUBLISHED and found["machine"]
    texts = [path.name for path in (tmp_path / "studies").glob("corpus-*")]
    assert texts == ["corpus-0.004096M"], "all that are trained here read the same text"
    files.write_json(tmp_path / "behaviour.json", found)
    assert files.read_json(tmp_path / "behaviour.json")["rows"] == found["rows"]
    monkeypatch.setattr(behaviour, "_subject", None)
    assert behaviour.measure()["rows"] == found["rows"]


def test_other_pairs_are_another_job(sets):
    jobs_of = [behaviour.Job("causal-small", 4096, asked) for asked in ("one", "two")]
    assert jobs_of[0].key() != jobs_of[1].key()
    before = behaviour.all_pairs()
    assert before == behaviour.all_pairs()
    assert ("it rains 3 .", "it rain 3 .", "a") in before["Marvin & Linzen"]
    assert ("it rains 4 .", "it rain 4 .", "a") not in before["Marvin & Linzen"]
    assert [len(before["attractors"]), before["attractors"][-1][2]] == [20, "4"]
    assert before["attractors, nonsense"][0][:2] == (
        "the dog glorps 0 times.",
        "the dog glorp 0 times.",
    )


def test_the_lstm_goes_on_where_it_was(sets):
    file, _ = pretraining_runs.corpus(4096)
    model, history = behaviour._trained(file, 4096, 8e-3)
    assert len(history) > 1 and history[-1]["loss"] < history[0]["loss"]
    again, same = behaviour._trained(file, 4096, 8e-3)
    assert same == history
    for name, tensor in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor)


def test_the_section_is_a_row_a_model_and_one_a_construction():
    kinds = {"BLiMP": ["all"], "Marvin & Linzen": ["simple_agrmt", "all"]}
    kinds |= {name: ["0", "1", "all"] for name in ("attractors", "attractors, nonsense")}
    right = {"causal": 0.75, "two-sided": 0.5}
    rows = [
        {"model": model, "set": kind, "group": group, "accuracy": share, "pairs": 400}
        | {"interval": [share - 0.01, share + 0.01]}
        for model, share in right.items()
        for kind, groups in kinds.items()
        for group in groups
    ]
    models = [{"model": model, "facts": {"tokens": 4_000_000}} for model in right]
    models[0]["wikitext-103 validation"] = {"word_perplexity": 123.4}
    published = {"source": "a paper, table 3", "blimp": {"a model": 61.2, "people": 96.4}}
    given = {"rows": rows, "models": models, "published": published}
    lines = behaviour.section(given | {"data": "Pairs", "machine": "2 threads"}).splitlines()
    assert lines[6:8] == [
        "| causal | 4,000,000 | 123 | 75.0 (74.0 to 76.0) | 75.0 (74.0 to 76.0) |",
        "| two-sided | 4,000,000 |  | 50.0 (49.0 to 51.0) | 50.0 (49.0 to 51.0) |",
    ]
    assert lines[9].endswith("(a paper, table 3): 61.2 (a model), 96.4 (people).")
    assert lines[13] == "| construction | pairs | causal | two-sided |"
    assert lines[15:] == [
        "| simple agrmt | 400 | 75.0 | 50.0 |",
        "| agreement, 0 | 400 | 75.0 | 50.0 |",
        "| agreement, 1 | 400 | 75.0 | 50.0 |",
        "| agreement, nonsense, 0 | 400 | 75.0 | 50.0 |",
        "| agreement, nonsense, 1 | 400 | 75.0 | 50.0 |",
    ]
