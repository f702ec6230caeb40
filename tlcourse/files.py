"""Finds bundled files in a clone and in an install, and writes files so that nothing is lost."""

import contextlib
import json
import os
import re
import reprlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent
LEFTOVER = re.compile(r"\..+\.\w+\.part")  # the names of temporary files


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
def atomic(path: str | Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`; renames it to `path` when the block succeeds.

    A reader sees the old file or the whole new one, never half of it. If the block raises, the
    old file stays and the temporary one is removed.
    """
    path = Path(path)
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
        return
    if folder.exists():
        raise FileExistsError(
            f"expected a new folder, but {folder} is there already; give another name or remove it"
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


@contextlib.contextmanager
def new_folder(folder: str | Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yields a temporary folder beside `folder`; renames it to `folder` when the block succeeds.

    So the folder is there whole or not at all; with `overwrite` one that was there stays until
    then. Raises FileExistsError without `overwrite`, see `refuse_occupied`.
    """
    folder = Path(folder).absolute()
    if not (overwrite and folder.is_dir()):
        refuse_occupied(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
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
    """Removes temporary files of `atomic` that a killed process left in `folder` or below it."""
    for path in Path(folder).rglob(".*"):
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
