import sys
from dataclasses import replace

import pytest

from benchmarks import __main__ as command
from tlcourse import files, sizes


@pytest.fixture
def smallest(monkeypatch):
    """A size at which measuring takes a moment; nothing is concluded from its times."""
    size = replace(
        sizes.TINY,
        bpe_race_bytes=2_000,
        bpe_race_vocabulary=280,
        bpe_training_bytes=4_000,
        bpe_vocabulary=300,
    )
    monkeypatch.setattr(sizes, "current", lambda: size)


def test_bpe_compares_equal_merges_with_each_peer(smallest, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("TLCOURSE_DATA", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(sys, "argv", ["benchmarks", "bpe", "--json", str(tmp_path / "bpe.json")])
    assert command.main() == 0
    result = files.read_json(tmp_path / "bpe.json")
    assert [row["peer"] for row in result["rows"]] == ["textbook", "counted"] + ["tokenizers"] * 2
    assert all(row["equal"] and row["ratio"] > 0 for row in result["rows"])
    assert [row["merges"] for row in result["rows"]] == [18, 18, 18, 38]
    assert result["machine"] and result["versions"]["tokenizers"]
    assert '"peer": "textbook"' in capsys.readouterr().out


def test_an_unknown_benchmark_lists_those_there_are(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmarks", "bert"])
    with pytest.raises(SystemExit):
        command.main()
    assert "'bpe', 'transfer'" in capsys.readouterr().err
