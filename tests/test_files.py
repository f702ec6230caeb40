"""Files appear whole or not at all, and what a kill leaves behind is found."""

import pytest

from tlcourse import files


def test_a_block_that_fails_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "a.txt"
    files.write_text(path, "old")
    with pytest.raises(RuntimeError), files.atomic(path) as temporary:
        temporary.write_text("half", encoding="utf-8")
        raise RuntimeError
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path):
    below = tmp_path / "corpus"
    below.mkdir()
    kept = [tmp_path / "a.part", tmp_path / ".hidden", below / ".env.part", below / "tokens.bin"]
    for path in kept:
        path.write_text("mine", encoding="utf-8")
    with files.atomic(below / "tokens.bin") as temporary:
        copy = temporary.read_bytes()
        left = temporary.with_name(temporary.name.replace("tokens", "others"))
        left.write_bytes(copy)
    files.remove_leftovers(tmp_path)
    assert not left.exists()
    assert all(path.exists() for path in kept)
    files.remove_leftovers(tmp_path / "not there")
