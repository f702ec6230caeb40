"""Files appear whole or not at all, and what a kill leaves behind is found."""

from pathlib import Path

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


def test_a_bundled_file_is_found_from_any_folder_and_one_of_that_name_here_comes_first(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    name = "data/examples/cafe.csv"
    assert files.here_or_bundled(name) == files.bundled(name)
    for other in ("data/examples", "data/examples/none.csv"):
        assert files.here_or_bundled(other) == Path(other)
    files.write_text(tmp_path / name, "mine")
    assert files.here_or_bundled(Path(name)) == Path(name)


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


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    folder = tmp_path / "above" / "mine"
    with pytest.raises(RuntimeError), files.new_folder(folder) as temporary:
        files.write_text(temporary / "a.txt", "half")
        raise RuntimeError
    assert list(folder.parent.iterdir()) == []
    folder.mkdir()  # an empty one may be there
    with files.new_folder(folder) as temporary:
        files.write_text(temporary / "a.txt", "whole")
        assert list(folder.iterdir()) == []
    assert list(folder.parent.iterdir()) == [folder]
    assert (folder / "a.txt").read_text(encoding="utf-8") == "whole"


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_is_there_is_never_written_over(tmp_path, kind):
    path = tmp_path / "mine" / "a.txt"
    files.write_text(path, "old")
    occupied = path.parent if kind == "folder" else path
    with pytest.raises(FileExistsError, match="expected a new folder, but .* is there already"):
        files.refuse_occupied(occupied)
    with pytest.raises(FileExistsError), files.new_folder(occupied):
        raise AssertionError("the block ran")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.rglob("*")) == [path.parent, path]


def test_asking_whether_a_folder_can_be_written_makes_nothing(tmp_path):
    files.refuse_occupied(tmp_path / "above" / "mine")
    assert list(tmp_path.iterdir()) == []
    files.write_text(tmp_path / "a.txt", "a file")
    with pytest.raises(OSError, match="expected a folder that can be written to, got .*a.txt "):
        files.refuse_occupied(tmp_path / "a.txt" / "mine")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("failing", [1, 2])
def test_a_folder_comes_back_when_its_successor_cannot_take_its_place(
    tmp_path, monkeypatch, failing
):
    folder, calls, rename = tmp_path / "mine", [], Path.rename
    files.write_text(folder / "a.txt", "old")

    def sometimes(self, target):
        calls.append(self)
        if len(calls) == failing:
            raise KeyboardInterrupt
        return rename(self, target)

    with pytest.raises(KeyboardInterrupt), files.new_folder(folder, overwrite=True) as temporary:
        files.write_text(temporary / "a.txt", "new")
        monkeypatch.setattr(Path, "rename", sometimes)
    assert (folder / "a.txt").read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [folder]


def test_a_folder_that_is_filled_meanwhile_stays(tmp_path):
    folder = tmp_path / "mine"
    with pytest.raises(OSError), files.new_folder(folder) as temporary:
        files.write_text(temporary / "a.txt", "new")
        files.write_text(folder / "a.txt", "another's")
    assert (folder / "a.txt").read_text(encoding="utf-8") == "another's"
    assert list(tmp_path.iterdir()) == [folder]
