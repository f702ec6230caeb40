"""The study of frozen states: texts, language models, vectors of words, rows, the table."""

from dataclasses import replace

import pytest
import torch

from benchmarks import runner
from benchmarks.studies import cove, elmo
from benchmarks.studies.elmo import CHARACTERS, MODELS, PLANS, SEEDS, VECTORS, WORDS, Job
from tlcourse import corpora
from tlcourse.recurrent import BORDER

PLAN = PLANS["tiny"]


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path, samples, one_process):
    """Size tiny, the bundled samples, results in a folder of their own."""
    monkeypatch.delenv("TLCOURSE_DATA", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(runner, "FOLDER", tmp_path / "runs")


def test_a_slice_is_lines_with_a_border_behind_each(monkeypatch):
    monkeypatch.setattr(elmo.corpora, "articles", lambda name: iter(["a b\n\n c", "d"]))
    name, text = elmo.beginning(6)
    assert name == "wikitext-2"
    assert [*text] == ["a", "b", BORDER, "c", BORDER, "d"]
    assert elmo.as_text(["a", "b", BORDER, "c", BORDER]) == "a b\nc \n"


def test_contexts_leave_out_the_word_itself():
    states = torch.arange(2 * 3 * 4.0).view(2, 3, 4)
    found = elmo.contexts(states)
    assert found.shape == (1, 3, 4)
    top = states[1]
    torch.testing.assert_close(found[0, 1], torch.cat([top[0, :2], top[2, 2:]]))
    torch.testing.assert_close(found[0, 0], torch.cat([torch.zeros(2), top[1, 2:]]))


@pytest.mark.parametrize("kind", [WORDS, CHARACTERS])
def test_a_language_model_is_trained_once(kind):
    job = elmo.Pretraining(kind, PLAN.models)
    result = job.run()
    assert result["nats"] > 0 and result["seconds"] > 0 and result["unigram"] > 0
    model, facts = job.trained()
    assert facts == {} and job.run() == result
    again = elmo.Pretraining(kind, PLAN.models).trained()[0]
    for name, tensor in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor), name


def test_a_translation_model_is_trained_once_and_attends_to_words_alone():
    job = cove.Translation(16, epochs=1)
    result = job.run()
    assert result["nats"] > 0 and result["unigram"] > 0 and result["seconds"] > 0
    model, facts = job.trained()
    assert facts == {} and job.run() == result
    english, german = job.rows(model.eval())
    source, mask, target, _ = cove.padded(english, german, range(3))
    with torch.no_grad():
        logits = model(source, mask, target)
        wider = [torch.nn.functional.pad(each, (0, 2)) for each in (source, mask)]
        torch.testing.assert_close(model(*wider, target), logits)
        target[:, 4:] = 1
        torch.testing.assert_close(model(source, mask, target)[:, :4], logits[:, :4])


SENTENCES = [["The", "old", "Fnord", "!"], ["Paris"]]


@pytest.mark.parametrize("name", [name for name in VECTORS if name not in MODELS[2:]])
def test_every_word_has_a_vector_in_each_layer(name):
    found = VECTORS[name](PLAN, SENTENCES)
    assert [each.shape[1] for each in found] == [4, 1]
    assert len({(len(each), each.shape[2]) for each in found}) == 1


def test_static_vectors_know_no_new_word_and_no_case():
    the, unknown = (elmo.static(PLAN, [[word]])[0] for word in ("the", "Fnordxyz"))
    torch.testing.assert_close(elmo.static(PLAN, [["The"]])[0], the)
    assert not unknown.any() and the.any()


def test_rows_are_means_over_seeds_and_the_best_stands_first():
    jobs = [Job(name, PLAN) for name in (elmo.STATIC, elmo.MIX)]
    rows = [elmo.row(job.run()) for job in jobs]
    assert rows[1]["like"] == "ELMo" and rows[1]["layers"] == 3 and len(rows[1]["F1"]) == len(SEEDS)
    assert sum(rows[1]["shares"]) == pytest.approx(1)
    assert len({job.key() for job in jobs}) == 2
    rows[0] |= {"mean": 12.0, "interval": [11.0, 13.0]}
    model = {"kind": WORDS, "nats": 5.0, "unigram": 6.0}
    study = {"job": "elmo", "data": "d", "machine": "m", "rows": rows, "language_models": [model]}
    more = {
        "plan": {"models": {"words": 1_000}},
        "published": {"WNUT-17, other": (40.0, "Someone (2017)")},
    }
    table = elmo.section(study | more)
    lines = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert lines[0].startswith("| skip-gram | static vectors | 1 × 8 | 12.0 (11.0-13.0) |")
    assert lines[1].startswith("| biLM, mix | ELMo | 3 × 16 |")
    assert "words 5.00 nats a target (6.00 from frequencies)" in table
    assert "WNUT-17, other: 40.0 (Someone (2017))" in table


def test_a_row_follows_its_language_model():
    other = replace(PLAN, models=replace(PLAN.models, width=32))
    for name, kind in ((elmo.MIX, WORDS), (elmo.STRINGS, CHARACTERS)):
        assert Job(name, PLAN).weights() == elmo.Pretraining(kind, PLAN.models).key()
        assert Job(name, PLAN).weights() != Job(name, other).weights()
    translation = Job(elmo.COVE, other).weights()
    assert translation == cove.Translation(32).key() != Job(elmo.COVE, PLAN).weights()
    assert Job(elmo.CAUSAL, PLAN).weights() == runner.digest(elmo.CAUSAL)
    assert set(corpora.load("wnut17")) >= {"train", "test"}
