"""Vectors of sentences: what each method learns from, scores, rows, the table."""

import numpy as np
import pytest
import torch

from benchmarks import runner
from benchmarks.studies import sentence_vectors
from benchmarks.studies.sentence_vectors import CAUSAL, METHODS, PLANS, Job, Reader
from tlcourse import corpora

PLAN = PLANS["tiny"]


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path, samples, one_process):
    """Size tiny, the bundled samples, results in a folder of their own."""
    monkeypatch.delenv("TLCOURSE_DATA", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(runner, "FOLDER", tmp_path / "runs")


@pytest.fixture
def start():
    return sentence_vectors.static(PLAN)


def test_the_first_vectors_are_made_once_and_have_length_one(start, monkeypatch):
    monkeypatch.setattr(sentence_vectors, "learnt_from", None)
    again = sentence_vectors.static(PLAN)
    assert again.words == start.words and np.array_equal(again.matrix, start.matrix)
    lengths = np.linalg.norm(start.matrix, axis=1)
    assert np.all(np.isclose(lengths, 1, atol=1e-5) | (lengths == 0))


def test_sentences_end_at_full_stops_and_headings_have_none(monkeypatch):
    lines = [
        " = A heading of a page = ",
        " The old king slept well . He woke up . It had rained all night . ",
        "",
    ]
    monkeypatch.setattr(sentence_vectors.word_vectors, "lines", lambda name: lines)
    assert sentence_vectors.sentences() == [
        [" The old king slept well", "It had rained all night"], [],
    ]  # fmt: skip


def test_ids_are_those_of_known_words_and_vectors_do_not_depend_on_the_batch(start):
    read = Reader(start, 4)
    known = start.words[:6]
    assert read([" ".join(known), "zyzzyva", ""]) == [[1, 2, 3, 4], [0], [0]]
    assert not read.matrix[0].any() and len(read.matrix) == len(start.words) + 1
    torch.manual_seed(0)
    encoder = sentence_vectors.SentenceEncoder(read.matrix).eval()
    texts = [" ".join(known), known[2], "zyzzyva"]
    found = read.encode(encoder, texts)
    for text, row in zip(texts, found, strict=True):
        np.testing.assert_allclose(read.encode(encoder, [text])[0], row, atol=1e-6)


def test_noise_drops_words_and_swaps_neighbours():
    generator = np.random.default_rng(0)
    ids = list(range(1, 2001))
    assert sentence_vectors.corrupted(ids, 0.0, generator) == ids
    noisy = sentence_vectors.corrupted(ids, 0.1, generator)
    assert len(noisy) == pytest.approx(1800, abs=50) and len(set(noisy)) == len(noisy)
    swapped = np.sum(np.diff(noisy) < 0)
    assert swapped == pytest.approx(90, abs=30)
    assert sentence_vectors.corrupted([7], 1.0, generator) == [7]


def test_a_decoder_writes_frequent_words_of_the_sentence_or_the_next(start, monkeypatch):
    part = [" ".join(start.words[i : i + 4]) for i in range(3)]
    monkeypatch.setattr(sentence_vectors, "sentences", lambda: [part, part[:1]])
    read = Reader(start, 12)
    same = sentence_vectors.neighbours(read, PLAN, 0)
    after = sentence_vectors.neighbours(read, PLAN, 1)
    assert len(same) == 4 and all(first == second for first, second in same)
    assert sorted(after) == [([1, 2, 3, 4], [2, 3, 4, 5]), ([2, 3, 4, 5], [3, 4, 5, 6])]


def test_pairs_have_the_labels_of_their_data_sets(start):
    read = Reader(start, 12)
    rows = corpora.load("snli")["validation"]
    found = sentence_vectors.inferences(read)
    assert len(found) == len(rows)
    assert [sentence_vectors.LABELS[row[2][0]] for row in found] == rows["label"][:]
    assert {row[2][0] for row in sentence_vectors.mrpc(read)} == {0, 1}


@pytest.mark.parametrize(
    "name",
    sorted(
        {*METHODS}
        - {"counts on 20M words, SIF", "GloVe, mean", "GloVe, SIF", sentence_vectors.MINILM}
    ),
)
def test_each_method_gives_a_vector_of_each_sentence(name, start):
    texts = ["A dull movie.", "zyzzyva", "It was a long and cold winter ."]
    encode = METHODS[name](PLAN, start, 0)
    found = encode(texts)
    assert len(found) == 3 and np.isfinite(found).all()
    again = METHODS[name](PLAN, start, 0)(texts)
    np.testing.assert_allclose(again, found, atol=1e-5)


def test_a_run_is_judged_on_all_tasks_and_kept():
    job = Job(PLAN, "counts, mean")
    result = job.run()
    assert result["stsb"]["pairs"] == len(corpora.load("stsb")["test"])
    assert result["trec"]["of"] == len(corpora.load("trec")["test"])
    assert result["sst-2"]["C"] in sentence_vectors.STRENGTHS
    assert job.run()["trec"] == result["trec"] and job.place().exists()
    assert job.told(result).startswith("STS-B ")


def test_methods_without_a_seed_run_once_and_those_without_data_are_left_out(monkeypatch):
    monkeypatch.setattr(sentence_vectors.glove, "load", lambda n: None)
    rows = sentence_vectors.jobs(PLAN)
    assert len(rows["counts, SIF"]) == len(rows[CAUSAL]) == 1 and len(rows["InferSent"]) == 3
    assert not [name for name in rows if "GloVe" in name or "20M" in name]
    every = [job for mine in rows.values() for job in mine]
    assert len({job.key() for job in every}) == len(every)


def test_rows_are_means_over_seeds_and_the_table_has_published_ones():
    def run(seed, correlation, wrong):
        score = {"spearman": correlation, "low": 0.1, "high": 0.5}
        task = {"wrong": list(range(wrong)), "of": 100}
        both = dict.fromkeys(("stsb", "stsb_bare"), score)
        return {"seed": seed, "seconds": 6.0, "width": 200, "trec": task, "sst-2": task} | both

    several = sentence_vectors._row([run(0, 0.2, 10), run(1, 0.4, 20)])
    assert several["scores"]["stsb"]["mean"] == pytest.approx(0.3) and several["seeds"] == [0, 1]
    assert several["scores"]["trec"]["values"] == [90, 80]
    assert several["scores"]["trec"]["interval"][0] < 80
    single = sentence_vectors._row([run(0, 0.2, 10)])
    assert single["scores"]["stsb"]["interval"] == [0.1, 0.5]
    assert single["scores"]["trec"]["interval"] == pytest.approx([82.6, 94.5], abs=0.1)
    study = {
        "job": "sentence_vectors", "data": "d", "machine": "m", "plan": {"labelled": 5000},
        "rows": [{"method": "InferSent"} | several, {"method": CAUSAL} | single],
        "published": [
            {"method": "GloVe", "stsb": 0.58, "trec": 83.0, "sst-2": None, "paper": "A, 2019"}
        ],
    }  # fmt: skip
    table = sentence_vectors.section(study)
    assert f"| {CAUSAL} | 200 | 6 | 0.20 (0.10-0.50) | 0.20 (0.10-0.50) | 90.0 (82.6-94.5)" in table
    assert "| GloVe (A, 2019) |  |  | 0.58 |  | 83.0 |  |" in table
    assert "5,000 training phrases" in table
