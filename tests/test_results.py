"""Stored results: read where they are, and what is said where there are none."""

import pytest

from tlcourse import files, results


def test_a_stored_result_is_read_by_its_name():
    assert results.read("schemes") == results.stored("schemes")
    assert results.read("schemes")["job"] == "schemes" and results.read("schemes")["rows"]


def test_a_copy_without_the_table_says_how_to_make_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(files, "root", lambda: tmp_path)
    assert results.read("schemes")["rows"] == results.read("tasks")["rows"] == []
    printed = capsys.readouterr().out
    assert all(f"python -m benchmarks {name}`" in printed for name in ("schemes", "tasks"))
    with pytest.raises(FileNotFoundError, match="`python -m benchmarks tasks --json .*tasks.json`"):
        results.stored("tasks")
