"""Word vectors against people: texts, occurrences, states by layer, gensim, rows, the table."""

import numpy as np
import pytest

from benchmarks import runner
from benchmarks.studies import word_vectors
from benchmarks.studies.word_vectors import CAUSAL, COUNTS, PLANS, SKIPGRAM, WIKITEXT, Job
from tlcourse import checkpoints, corpora, probing, words

PLAN = PLANS["tiny"]


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path, samples, one_process):
    """Size tiny, the bundled samples, results in a folder of their own."""
    monkeypatch.delenv("TLCOURSE_DATA", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(runner, "FOLDER", tmp_path / "runs")


def test_the_beginning_ends_before_the_line_that_is_too_long(monkeypatch):
    monkeypatch.setattr(word_vectors, "lines", lambda name: iter(["a b", "c d 7", "e"]))
    assert [list(word_vectors.beginning("any", count)) for count in (1, 2, 3, 4)] == [
        [], ["a b"], ["a b"], ["a b", "c d 7"],
    ]  # fmt: skip


def test_sentences_are_the_lines_without_what_the_vocabulary_lacks():
    text = words.read(["the old king", "the king", "a"], min_count=2)
    assert word_vectors.sentences(text) == [["the", "king"], ["the", "king"]]


def test_passages_are_around_the_first_occurrences(monkeypatch):
    far = " ".join(["x"] * 40)
    monkeypatch.setattr(word_vectors, "lines", lambda name: [f"{far} King {far}", "king king king"])
    parts, places, owners = word_vectors.occurrences({"king"}, 3)
    assert owners == ["king"] * 3
    assert [part[place].lower() for part, place in zip(parts, places, strict=True)] == owners
    assert [len(part) for part in parts] == [31, 3, 3] and places == [15, 0, 1]


def test_a_vector_in_context_is_the_mean_of_the_words_states(monkeypatch):
    monkeypatch.setattr(word_vectors, "wanted", lambda: {"river", "old"})
    lines = ["the old river", "an old river , very old"]
    monkeypatch.setattr(word_vectors, "lines", lambda name: lines)
    layers = word_vectors.in_context(PLAN)
    model, tokenizer = checkpoints.load(CAUSAL)
    assert len(layers) == len(model.blocks) + 1
    assert layers[0].words == ("old", "river")
    states = probing.extract(model, tokenizer, [line.split() for line in lines])
    mean = states.layers[3][[1, 4]].astype(float).sum(axis=0)  # two occurrences of "old" at most
    np.testing.assert_allclose(layers[3]["old"], mean, rtol=1e-4, atol=1e-4)


def test_gensim_learns_from_the_same_words():
    pytest.importorskip("gensim")
    text = word_vectors.read(WIKITEXT, PLAN)
    vectors = word_vectors.gensims(text, SKIPGRAM, PLAN, 1, 0)
    assert set(vectors.index_to_key) == set(text.vocabulary.words)
    again = word_vectors.gensims(text, SKIPGRAM, PLAN, 1, 0)
    assert np.array_equal(vectors.vectors, again.vectors)


def test_a_run_is_judged_on_all_sets_and_kept():
    job = Job(PLAN, COUNTS, WIKITEXT)
    result = job.run()
    (layer,) = result["layers"]
    assert set(layer) == {*word_vectors.JUDGEMENTS, word_vectors.ANALOGIES}
    assert layer["MEN"]["pairs"] == len(corpora.load("men")["test"])
    assert job.run()["layers"][0]["MEN"] == layer["MEN"] and job.place().exists()
    assert "MEN" in job.told(result)


def test_rows_are_means_over_seeds_and_the_table_has_three_layers_of_a_model():
    def run(seed, *correlations):
        score = {"low": 0.1, "high": 0.5, "covered": 9, "pairs": 10}
        answers = dict.fromkeys(("all", "semantic", "syntactic"), 0.25) | {"covered": 4}
        layers = [
            {name: score | {"spearman": value} for name in word_vectors.JUDGEMENTS}
            | {word_vectors.ANALOGIES: answers}
            for value in correlations
        ]
        return {"seed": seed, "layers": layers}

    timed = {"seconds": 6.0, "words": 2_000_000, "vocabulary": 9}
    several = word_vectors._row([run(0, 0.2) | timed, run(1, 0.4) | timed])
    score = several["layers"][0]["scores"]["MEN"]
    assert score["mean"] == pytest.approx(0.3) and several["seeds"] == [0, 1]
    assert score["interval"][0] < 0.2 and score["interval"][1] > 0.4  # Student's, of two
    model = word_vectors._row([run(0, 0.1, 0.2, 0.3, 0.4, 0.5)])
    assert model["layers"][1]["scores"]["MEN"]["interval"] == [0.1, 0.5]  # over the pairs
    rows = [
        {"text": WIKITEXT, "method": SKIPGRAM, "by": "gensim"} | several,
        {"text": "", "method": CAUSAL, "by": ""} | model,
    ]
    study = {"job": "word_vectors", "data": "d", "machine": "m", "rows": rows}
    table = word_vectors.section(study | {"plan": {"width": 100, "occurrences": 10}})
    assert "| skip-gram | wikitext-2, 2.0M words | gensim | 6 | 0.300 (" in table
    for layer, value in (("embeddings", 0.1), ("layer 2", 0.3), ("layer 4", 0.5)):
        assert f"| {CAUSAL}, {layer} |  |  |  | {value:.3f} (0.100-0.500)" in table
    assert "MEN 9 of 10" in table


def test_methods_of_a_text_have_its_seeds_and_counting_has_none(monkeypatch):
    monkeypatch.setattr(word_vectors.glove, "load", lambda n: None)
    rows = word_vectors.jobs(PLANS["small"], [WIKITEXT, word_vectors.STANDIN])
    assert len(rows[WIKITEXT, COUNTS, "tlcourse"]) == 1
    assert [job.seed for job in rows[WIKITEXT, SKIPGRAM, "gensim"]] == [0, 1, 2]
    every = [job for mine in rows.values() for job in mine]
    assert len({job.key() for job in every}) == len(every)
    assert word_vectors.epochs(Job(PLANS["small"], SKIPGRAM, WIKITEXT)) == 5
    assert word_vectors.epochs(Job(PLANS["small"], SKIPGRAM, word_vectors.STANDIN)) == 1
