"""The speeds of training word vectors beside gensim's, at the smallest size."""

import os

import pytest

from benchmarks.speed import word_vectors
from benchmarks.table import table


def test_every_method_is_timed_against_gensim(monkeypatch):
    pytest.importorskip("gensim", reason="needs the extra: .[test]")
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    monkeypatch.delenv("TLCOURSE_DATA", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    result = word_vectors.measure()
    threads = {1, os.cpu_count()}
    rows = [(row["job"], row["peer"].split(",")[0]) for row in result["rows"]]
    methods = ("skip-gram", "CBOW", "fastText")
    assert rows == [(name, "gensim") for name in methods for _ in threads]
    for row in result["rows"]:
        rates = row["words_per_second_peer"], row["words_per_second"]
        assert min(rates) > 0
        assert row["ratio"] == pytest.approx(rates[1] / rates[0], rel=0.01)
    assert result["words"] == word_vectors.WORDS["tiny"] and result["versions"]["gensim"]
    assert "times as fast" in table(result["rows"], word_vectors.COLUMNS)
    assert word_vectors.section(result).count("| skip-gram | gensim, ") == len(threads)
