"""Finding bundled files in a clone or an installation, and writing files atomically."""

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
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # a full disk, a quota, a limit on file sizes


class Unwritten(OSError):
    """A file or a folder could not be written because the disk is full."""

    def __init__(self, path: str | Path, error: BaseException):
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None)
        self.reason = reason or " ".join(str(error).split())
        super().__init__(
            f"expected room on the disk for {path}, but it could not be written ({self.reason}); "
            "free some space and run the same command again"
        )


def root() -> Path:
    """The folder that contains `notebooks/`, `data/` and `benchmarks/results/`.

    In an installed wheel this is `tlcourse/_data`; in a clone, or an editable install of one, it is
    the clone itself.
    """
    bundled = PACKAGE / "_data"
    return bundled if bundled.is_dir() else PACKAGE.parent


def bundled(relative: str) -> Path:
    """The path of a bundled file or folder, such as `data/samples/trec`.

    Raises FileNotFoundError with its name and the folder that was searched.
    """
    path = root() / relative
    if not path.exists():
        raise FileNotFoundError(
            f"expected the bundled file or folder {relative!r} below {root()}, found nothing; "
            "install tlcourse again, or restore the file with git"
        )
    return path


def here_or_bundled(path: str | Path) -> Path:
    """`path` or, if it does not exist, the bundled file of that name if there is one.

    An example is `data/examples/cafe.csv`.
    """
    path, in_bundle = Path(path), root() / path
    return in_bundle if not path.exists() and in_bundle.is_file() else path


def my_folder() -> Path:
    """The learner's own folder: TLCOURSE_MY, else `my/` in the clone or the working directory."""
    if named := os.environ.get("TLCOURSE_MY"):
        return Path(os.path.expanduser(named)).resolve()  # with an unknown user: unchanged
    return (root() if (root() / "pyproject.toml").exists() else Path.cwd()) / "my"


@contextlib.contextmanager
def room_for(path: str | Path) -> Iterator[None]:
    """A context that raises Unwritten for `path` if the disk becomes full."""
    try:
        yield
    except OSError as error:
        if isinstance(error, Unwritten) or error.errno in FULL:
            raise Unwritten(path, error) from error
        raise


@contextlib.contextmanager
def made(folder: str | Path) -> Iterator[None]:
    """A context in which a folder exists; afterwards the new folders that are empty are removed."""
    folder = Path(folder)
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        with contextlib.suppress(OSError):
            for path in new:
                path.rmdir()


@contextlib.contextmanager
def locked(path: str | Path, refusal: str) -> Iterator[None]:
    """A context for one process at a time; raises BlockingIOError(refusal) in any other.

    The lock is on the file `path`, which exists during the block. The operating system releases it
    when the process ends, so a file left by a killed process does not block others. On a file
    system without locks, no process is refused.
    """
    path = Path(path)
    with made(path.parent):
        handle = _lock(path, refusal)
        try:
            yield
        finally:
            if fcntl is None:  # Windows cannot remove a file that this or another process has open
                os.close(handle)
                with contextlib.suppress(OSError):
                    path.unlink()
            else:
                path.unlink(missing_ok=True)
                os.close(handle)


def _lock(path: Path, refusal: str) -> int:
    """The locked handle of the file at `path`; tries again if the file is removed meanwhile."""
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

    A reader sees either the old file or the complete new one. If the block raises, the old file is
    kept and the temporary one removed. Raises Unwritten if the disk is full.
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
    """Raises FileExistsError if `new_folder` would have to overwrite something.

    Raises OSError if a new folder cannot be made. Makes no folder itself.
    """
    folder = Path(folder)
    if folder.is_dir() and not any(folder.iterdir()):
        if folder.is_mount():
            raise OSError(f"expected a new folder, but {folder} is a mount point; give one in it")
        folder = folder.absolute().parent  # where the new folder replaces this one
    elif folder.exists():
        raise FileExistsError(
            f"expected a new folder, but {folder} is there already; choose another name, or delete "
            "it first"
        )
    refuse_unwritable(folder, "a folder", "give another place")


def refuse_unwritable(folder: Path, what: str, do: str) -> None:
    """Raises OSError if a folder cannot be made or written to. Makes no folder itself.

    The message says `what` was expected and what to `do`.
    """
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    try:
        tempfile.TemporaryDirectory(dir=existing).cleanup()
    except OSError as error:
        raise OSError(
            f"expected {what} that can be written to, got {folder}: {existing} "
            f"({error.strerror}); {do}"
        ) from None


def refuse_no_page(path: Path) -> None:
    """Raises ValueError or OSError unless `path` names an HTML page that can be written.

    A page overwrites an existing file, so a name without .html could be that of a notebook.
    """
    if path.suffix.lower() not in (".html", ".htm") or path.is_dir():
        got = "a folder" if path.is_dir() else "another kind of file"
        raise ValueError(f"expected the name of a page, NAME.html, got {path}, {got}; give another")
    refuse_unwritable(path.parent, "a folder", "give another place")


@contextlib.contextmanager
def new_folder(folder: str | Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yields a temporary folder beside `folder`; renames it to `folder` when the block succeeds.

    So the folder is complete or does not exist; with `overwrite` an existing folder is kept until
    then. Raises FileExistsError without `overwrite`, see `refuse_occupied`, and Unwritten if the
    disk is full.
    """
    as_given, folder = folder, Path(folder).absolute()
    if not (overwrite and folder.is_dir()):
        refuse_occupied(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
    with room_for(as_given):
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
                    folder.rmdir()  # raises OSError unless it is empty
                temporary.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def remove_leftovers(folder: str | Path) -> None:
    """Removes temporary files of `atomic` left by a killed process directly in `folder`."""
    for path in Path(folder).glob(".*"):
        if LEFTOVER.fullmatch(path.name) and path.is_file():
            path.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Writes UTF-8 text atomically."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | Path, value: Any) -> None:
    """Writes indented UTF-8 JSON with a final newline atomically."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def read_json(path: str | Path) -> Any:
    """Reads JSON; raises ValueError with the file's name if it is invalid or nested too deeply."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # including JSONDecodeError, UnicodeDecodeError
        raise ValueError(f"expected JSON in {path}, but {error}; restore or remove it") from error


def read_object(path: str | Path) -> dict[str, Any]:
    """Reads a JSON object; raises ValueError with the file's name for any other value."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise ValueError(
            f"expected a JSON object in {path}, got {reprlib.repr(value)}; restore the file"
        )
    return value
