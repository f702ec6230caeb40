"""The four encoders: texts, shuffled words, bodies, rows, the table; their speeds."""

import pytest
import torch

from benchmarks import runner
from benchmarks.studies import encoders
from benchmarks.studies.encoders import BAG, ENCODERS, PLANS, PRETRAINED, SST, TFIDF, TREC, Job

PLAN = PLANS["tiny"]


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path, samples, one_process):
    """Size tiny, the bundled samples, results in a folder of their own."""
    monkeypatch.delenv("TLCOURSE_DATA", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(runner, "FOLDER", tmp_path / "runs")
    encoders.texts_of.cache_clear()
    yield
    encoders.texts_of.cache_clear()


def test_shuffling_keeps_the_words_and_is_the_same_each_time():
    texts = ["not good , bad", "one two three four five six", "alone"]
    found = encoders.shuffled(texts)
    assert [sorted(each.split()) for each in found] == [sorted(each.split()) for each in texts]
    assert found == encoders.shuffled(texts) != texts
    assert found[2] == "alone"


@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_body_has_embeddings_of_one_width(encoder):
    body = encoders.body_of(encoder, 16, vocabulary=300, longest=40)
    assert body.embedding.weight.shape == (300, 16)
    assert body.config.max_length == 40
    twice = 2 if encoder == encoders.CHAIN else 1
    assert body.hidden(torch.randint(300, (2, 9))).shape == (2, 9, twice * 16)


@pytest.mark.parametrize("encoder", [*ENCODERS, TFIDF])
@pytest.mark.parametrize("task", [SST, TREC])
def test_a_run_says_what_is_wrong_and_is_kept(encoder, task):
    job = Job(PLAN, task, encoder)
    result = job.run()
    assert result["of"] == len(encoders.texts_of(task, PLAN)[1])
    assert set(result["wrong"]) <= set(range(result["of"]))
    assert result["parameters"] > 0 and result["seconds"] > 0
    assert job.run()["wrong"] == result["wrong"] and job.place().exists()
    if encoder == BAG:
        assert result["shuffled"] == result["wrong"]  # the order has no effect


def test_the_study_has_a_row_for_each_task_and_encoder(monkeypatch):
    made = {"wrong": [0, 1], "shuffled": [0, 1, 2], "of": 10, "read": 40}
    made |= {"seconds": 2.0, "parameters": 1234}
    monkeypatch.setattr(Job, "work", lambda job: made)
    study = encoders.measure()
    rows = [(row["task"], row["encoder"]) for row in study["rows"]]
    expected = [(task, each) for task in (SST, TREC) for each in (TFIDF, *ENCODERS)]
    assert sorted(rows) == sorted([*expected, (SST, PRETRAINED), (TREC, PRETRAINED)])
    table = encoders.section(study)
    assert "| CNN | 20.0 (20.0-20.0) | 30.0 (30.0-30.0) | 1,234 | 2 |" in table
    assert "CNN on word2vec (Kim, 2014) 6.4" in table
