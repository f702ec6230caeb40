"""Finds bundled files in a clone and in an install, and writes files so that nothing is lost."""

import contextlib
import errno
import json
import os
import re
import reprlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
    import msvcrt

PACKAGE = Path(__file__).resolve().parent
LEFTOVER = re.compile(r"\..+\.\w+\.part")  # the names of temporary files
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # the disk, a quota, a limit of the file's size


class Unwritten(OSError):
    """There was no room for a file or a folder; the message names it and says what to do."""

    def __init__(self, path: str | Path, error: BaseException):
        known = getattr(error, "reason", None) or getattr(error, "strerror", None)
        self.reason = known or " ".join(str(error).split())
        super().__init__(
            f"expected room on the disk for {path}, but it could not be written ({self.reason}); "
            "free some space and run the same command again"
        )


def root() -> Path:
    """The folder that holds `notebooks/`, `data/` and `benchmarks/results/`.

    In an installed wheel that is `tlcourse/_data`; in a clone (or an editable install of one) it
    is the clone itself.
    """
    bundled = PACKAGE / "_data"
    return bundled if bundled.is_dir() else PACKAGE.parent


def bundled(relative: str) -> Path:
    """The path of a bundled file or folder, such as `data/samples/trec`.

    Raises FileNotFoundError, naming what was looked for and where.
    """
    path = root() / relative
    if not path.exists():
        raise FileNotFoundError(
            f"expected the bundled file or folder {relative!r} below {root()}, found nothing; "
            "install tlcourse again, or restore the file with git"
        )
    return path


def here_or_bundled(path: str | Path) -> Path:
    """`path`; where no file is there but one of that name is bundled, such as
    `data/examples/cafe.csv`, the path of that one.
    """
    path, own = Path(path), root() / path
    return own if not path.exists() and own.is_file() else path


def my_folder() -> Path:
    """The learner's own folder: TLCOURSE_MY, else `my/` in the clone or the working directory."""
    if named := os.environ.get("TLCOURSE_MY"):
        return Path(os.path.expanduser(named)).resolve()  # of an unknown user: as it is
    return (root() if (root() / "pyproject.toml").exists() else Path.cwd()) / "my"


@contextlib.contextmanager
def room_for(path: str | Path) -> Iterator[None]:
    """Raises Unwritten, which names `path`, where the disk turns out to be full in the block."""
    try:
        yield
    except OSError as error:
        if isinstance(error, Unwritten) or error.errno in FULL:
            raise Unwritten(path, error) from error
        raise


@contextlib.contextmanager
def made(folder: str | Path) -> Iterator[None]:
    """Makes a folder for the block; afterwards those made for it that are empty are removed."""
    folder = Path(folder)
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        with contextlib.suppress(OSError):
            for place in new:
                place.rmdir()


@contextlib.contextmanager
def locked(path: str | Path, refusal: str) -> Iterator[None]:
    """Lets one process at a time into the block; raises BlockingIOError(refusal) for another.

    The lock is on the file `path`, which is there during the block. The operating system drops it
    with the process, however that ends, so a file that a killed process left locks nobody out.
    Where the file system has no locks, nobody is refused.
    """
    path = Path(path)
    with made(path.parent):
        handle = _lock(path, refusal)
        try:
            yield
        finally:
            if fcntl is None:  # Windows removes no open file, nor one that another has opened since
                os.close(handle)
                with contextlib.suppress(OSError):
                    path.unlink()
            else:
                path.unlink(missing_ok=True)
                os.close(handle)


def _lock(path: Path, refusal: str) -> int:
    """The handle of the file at `path`, locked; one that was removed meanwhile does not count."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if fcntl is None:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            os.close(handle)
            raise BlockingIOError(refusal) from None
        except OSError:  # a file system without locks
            return handle
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), path.stat()):
                return handle
        os.close(handle)


@contextlib.contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`; renames it to `path` when the block succeeds.

    A reader sees the old file or the whole new one, never half of it. If the block raises, the
    old file stays and the temporary one is removed. Raises Unwritten where the disk is full.
    """
    path = Path(path)
    with room_for(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            temporary.chmod(0o644)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


def refuse_occupied(folder: str | Path) -> None:
    """Raises FileExistsError where `new_folder` could not write: nothing is ever overwritten.

    Raises OSError where a new folder cannot be made; makes none itself.
    """
    folder = Path(folder)
    if folder.is_dir() and not any(folder.iterdir()):
        if folder.is_mount():
            raise OSError(f"expected a new folder, but {folder} is a mount point; give one in it")
        folder = folder.absolute().parent  # in which the new one takes its place
    elif folder.exists():
        raise FileExistsError(
            f"expected a new folder, but {folder} is there already; choose another name, or delete "
            "it first"
        )
    refuse_unwritable(folder, "a folder", "give another place")


def refuse_unwritable(folder: Path, what: str, do: str) -> None:
    """Raises OSError where a folder cannot be made, or nothing written into it; makes none.

    The message says `what` was expected and what to `do`.
    """
    above = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    try:
        tempfile.TemporaryDirectory(dir=above).cleanup()
    except OSError as error:
        raise OSError(
            f"expected {what} that can be written to, got {folder}: {above} ({error.strerror}); "
            + do
        ) from None


def refuse_no_page(path: Path) -> None:
    """Raises ValueError or OSError where `path` is no name of a page of HTML that can be written.

    A page replaces what was there, so a name that ends otherwise could be that of a notebook.
    """
    if path.suffix.lower() not in (".html", ".htm") or path.is_dir():
        got = "a folder" if path.is_dir() else "another kind of file"
        raise ValueError(f"expected the name of a page, NAME.html, got {path}, {got}; give another")
    refuse_unwritable(path.parent, "a folder", "give another place")


@contextlib.contextmanager
def new_folder(folder: str | Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yields a temporary folder beside `folder`; renames it to `folder` when the block succeeds.

    So the folder is there whole or not at all; with `overwrite` one that was there stays until
    then. Raises FileExistsError without `overwrite`, see `refuse_occupied`, and Unwritten where the
    disk is full.
    """
    place, folder = folder, Path(folder).absolute()
    if not (overwrite and folder.is_dir()):
        refuse_occupied(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
    with room_for(place):
        temporary = Path(
            tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent)
        )
        try:
            yield temporary
            temporary.chmod(0o755)
            if overwrite and folder.is_dir():
                aside = temporary.with_suffix(".old")
                try:
                    folder.rename(aside)
                    temporary.rename(folder)
                except BaseException:
                    if aside.exists():
                        aside.rename(folder)
                    raise
                shutil.rmtree(aside, ignore_errors=True)
            else:
                if folder.is_dir():
                    folder.rmdir()  # an empty one, or OSError
                temporary.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def remove_leftovers(folder: str | Path) -> None:
    """Removes temporary files of `atomic` that a killed process left in `folder`, not below it."""
    for path in Path(folder).glob(".*"):
        if LEFTOVER.fullmatch(path.name) and path.is_file():
            path.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Writes UTF-8 text atomically."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | Path, value: Any) -> None:
    """Writes JSON (indented, UTF-8, a final newline) atomically."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def read_json(path: str | Path) -> Any:
    """Reads JSON; raises ValueError naming the file when it is not JSON, or nested too deeply."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # JSONDecodeError and UnicodeDecodeError, too
        raise ValueError(f"expected JSON in {path}, but {error}; restore or remove it") from error


def read_object(path: str | Path) -> dict[str, Any]:
    """Reads a JSON object; raises ValueError naming the file when it holds anything else."""
    found = read_json(path)
    if not isinstance(found, dict):
        raise ValueError(
            f"expected a JSON object in {path}, got {reprlib.repr(found)}; restore the file"
        )
    return found
