"""`tlcourse run`: what it refuses; that it runs is in `tests/lessons`."""

import pytest

from tlcourse.cli import main


@pytest.mark.parametrize("by", ["argument", "variable"])
def test_an_unknown_size_is_one_line_that_lists_the_sizes(one_lesson, capsys, monkeypatch, by):
    if by == "variable":
        monkeypatch.setenv("TLCOURSE_SIZE", "huge")
    assert main(["run", "00", *(["--size", "huge"] if by == "argument" else [])]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert "tiny, small, full" in said
