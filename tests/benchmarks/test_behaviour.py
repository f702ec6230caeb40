"""Which sentence is likelier: pairs, the models trained for it, rows, the section."""

from types import SimpleNamespace

import pytest
import torch
from datasets import Dataset

from benchmarks import runner
from benchmarks.studies import behaviour, pretraining_runs
from benchmarks.studies.lstm import LSTM, Shape, train_lstm
from tests.evaluation.test_perplexity import PLAIN
from tlcourse import corpora, files, metrics
from tlcourse.corpora import blimp
from tlcourse.evaluation import BLIMP_PUBLISHED, sentence_scores
from tlcourse.objectives import causal_loss
from tlcourse.pretraining import PretrainingRecipe
from tlcourse.transformer import Config, count_parameters

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


def test_the_lstm_is_as_large_as_the_shipped_transformer():
    parameters = sum(each.numel() for each in LSTM(Shape()).parameters())
    assert parameters == pytest.approx(count_parameters(Config())["total"], rel=0.01)


def test_the_lstm_sees_only_the_past_and_scores_like_a_model():
    torch.manual_seed(0)
    model, tokens = LSTM(Shape(300, 8, 12, 2)), torch.randint(300, (2, 9))
    other = tokens.clone()
    other[:, 6] = (other[:, 6] + 1) % 300
    same = model.hidden(tokens) == model.hidden(other)
    assert same[:, :6].all() and not same[:, 6:].all()
    nats, targets = causal_loss(model, tokens)
    logits = model.logits(model.hidden(tokens[:, :-1])).log_softmax(-1)
    by_hand = -logits.gather(-1, tokens[:, 1:, None]).sum()
    assert targets == 16 and nats.item() == pytest.approx(by_hand.item(), rel=1e-5)


def test_the_lstm_learns_and_goes_on_where_it_was(sets, tmp_path):
    file, tokenizer = pretraining_runs.corpus(4096)
    recipe = PretrainingRecipe(batch_size=4, length=32, learning_rate=1e-2, warmup=2)
    given = {"recipe": recipe, "compute": PLAIN, "folder": tmp_path / "lstm"}
    models = [LSTM(Shape(8192, 16, 16, 1)) for _ in range(2)]
    history = train_lstm(models[0], file, 4096, **given)
    assert len(history) == 32 and history[-1]["loss"] < history[0]["loss"] - 0.3
    assert train_lstm(models[1], file, 4096, **given) == history
    scores = [sentence_scores(model, tokenizer, ["It rained."], compute=PLAIN) for model in models]
    assert scores[0] == scores[1]


def test_the_context_reaches_the_head_of_a_new_lstm():
    torch.manual_seed(0)
    model, tokens = LSTM(Shape()), torch.randint(8192, (2, 12))
    other = tokens.clone()
    other[:, 3] = (other[:, 3] + 1) % 8192
    states, others = model.hidden(tokens), model.hidden(other)
    for ahead, least in ((3, 0.3), (6, 0.1)):
        apart = (states - others)[:, ahead].norm(dim=-1) / states[:, ahead].norm(dim=-1)
        assert (apart > least).all()


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
