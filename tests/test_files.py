"""Files appear whole or not at all, and what a kill leaves behind is found."""

import errno
import os
import subprocess
import sys
import types
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
    folder = tmp_path / "run"
    with (
        files.atomic(folder / "below" / "tokens.bin") as another_s,
        files.atomic(folder / "a") as one,
    ):
        left = one.with_name(one.name.replace(".a.", ".others."))
        left.write_bytes(b"half")
        kept = [folder / name for name in ("a.part", ".hidden", ".env.part", "tokens.bin")]
        for path in kept:
            path.write_text("mine", encoding="utf-8")
        one.rename(folder / "a.tmp")
        files.remove_leftovers(folder)
        (folder / "a.tmp").rename(one)
        assert not left.exists() and another_s.exists()
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


def held_by_another(path: Path) -> subprocess.Popen:
    """A process that has locked `path` and waits until it is killed."""
    code = f"""
import time
from tlcourse import files
with files.locked({str(path)!r}, "refused"):
    print("locked", flush=True)
    time.sleep(600)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, encoding="utf-8")
    assert child.stdout.readline() == "locked\n"
    return child


def test_one_process_at_a_time_has_a_lock_and_a_killed_one_leaves_none(tmp_path):
    path, entered = tmp_path / "run" / ".lock", []
    with held_by_another(path) as child:
        try:
            with pytest.raises(BlockingIOError, match="^in use$"), files.locked(path, "in use"):
                raise AssertionError("the block ran")
        finally:
            child.kill()
    assert path.exists()  # left by the kill, and locked by nobody
    with files.locked(path, "in use"):
        entered.append(path.exists())
    assert entered == [True] and not path.exists()


def test_a_lock_leaves_nothing_but_what_the_block_wrote(tmp_path):
    path = tmp_path / "above" / "run" / ".lock"
    with pytest.raises(RuntimeError), files.locked(path, "in use"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    with files.locked(path, "in use"):
        files.write_text(path.with_name("a.txt"), "mine")
    assert [found.name for found in path.parent.iterdir()] == ["a.txt"]


def test_a_lock_file_that_was_removed_meanwhile_locks_nobody_out(tmp_path, monkeypatch):
    """Between opening the file and locking it the one before may have ended and removed it."""
    fcntl, path, opened = pytest.importorskip("fcntl"), tmp_path / ".lock", []
    flock = fcntl.flock

    def late(handle: int, how: int) -> None:
        if not opened:
            path.unlink()
        opened.append(handle)
        flock(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with files.locked(path, "in use"):
        assert len(opened) == 2 and path.exists()
        with pytest.raises(BlockingIOError), files.locked(path, "in use"):
            raise AssertionError("the block ran")


def test_a_file_system_without_locks_refuses_nobody(tmp_path, monkeypatch):
    fcntl, ran = pytest.importorskip("fcntl"), []

    def none(handle: int, how: int) -> None:
        raise OSError(errno.ENOTSUP, "not supported")

    monkeypatch.setattr(fcntl, "flock", none)
    with files.locked(tmp_path / ".lock", "in use"):
        ran.append(True)
    assert ran and list(tmp_path.iterdir()) == []


def test_on_windows_the_lock_is_that_of_its_c_library(tmp_path, monkeypatch):
    """Played by one that knows whether a first byte is locked; files are as they are here."""
    path, held = tmp_path / ".lock", []

    def locking(handle: int, how: int, length: int) -> None:
        assert (how, length) == (2, 1)
        if held:
            raise PermissionError(errno.EACCES, "Permission denied")
        held.append(handle)

    monkeypatch.setattr(files, "fcntl", None)
    played = types.SimpleNamespace(LK_NBLCK=2, locking=locking)
    monkeypatch.setattr(files, "msvcrt", played, raising=False)
    with files.locked(path, "in use"):
        with pytest.raises(BlockingIOError, match="^in use$"), files.locked(path, "in use"):
            raise AssertionError("the block ran")
        assert path.exists()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError):
        os.fstat(held[0])  # closed, which gives the lock back


def full(*arguments, **more):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_told_with_the_file_and_leaves_the_old_one(tmp_path, monkeypatch):
    path, folder = tmp_path / "a.txt", tmp_path / "mine"
    files.write_text(path, "old")
    monkeypatch.setattr(Path, "write_text", full)
    for place in (path, folder):
        with pytest.raises(files.Unwritten) as told:
            if place == path:
                files.write_text(path, "new")
            else:
                with files.new_folder(folder) as temporary:
                    files.write_text(temporary / "a.txt", "new")
        assert str(told.value) == (
            f"expected room on the disk for {place}, but it could not be written (No space left on "
            "device); free some space and run the same command again"
        )
    assert path.read_text(encoding="utf-8") == "old" and list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError), files.room_for(path):  # any other error is told as it is
        (tmp_path / "none").read_text(encoding="utf-8")


def test_an_empty_folder_is_a_new_one_where_another_can_take_its_place(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    files.refuse_occupied(tmp_path / "mine")
    monkeypatch.setattr(Path, "is_mount", lambda self: True)
    with pytest.raises(OSError, match="a new folder, but .*mine is a mount point; give one in it"):
        files.refuse_occupied(tmp_path / "mine")
    monkeypatch.undo()
    monkeypatch.setattr(files.tempfile, "TemporaryDirectory", full)
    with pytest.raises(OSError, match=r"that can be written to, got .*: .* \(No space left on"):
        files.refuse_occupied(tmp_path / "mine")
