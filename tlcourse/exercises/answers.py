"""The files in which answers are kept, in the learner's folder.

`my/answers/ID.py` holds one answer: a line of JSON in a comment (tries, dates), then the code. It
is run as the learner's own code, without a sandbox, so never use someone else's folder. Until an
answer has passed, `ID.tried` holds the line of JSON alone: counting a try never touches an answer.
"""

import json
import os
import zipfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from tlcourse import environment, files
from tlcourse.exercises.task import get, ids

HEAD = "# tlcourse "
SUFFIXES = ("py", "tried")  # of files with an answer, and without
LARGEST = 10**6  # the most bytes of a file in an archive
SWITCH = "TLCOURSE_ANSWERS"  # "off" in headless runs and tests: nothing is read or written
_notices: set[str] = set()  # notices already shown in this session


@dataclass(frozen=True)
class Kept:
    """The record of one exercise; `name` and `text` of the answer are "" until one has passed."""

    tries: int = 0
    first: str = ""  # the ISO dates of the first try and of the first pass
    solved: str = ""
    name: str = ""
    text: str = ""


class Broken(Exception):
    """A kept answer cannot be used; the message, one line, says why."""


def folder() -> Path | None:
    """The folder in which answers are kept; None if they are not kept."""
    return None if os.environ.get(SWITCH) == "off" else files.my_folder() / "answers"


def content(kept: Kept) -> str:
    """The text of the file for an answer."""
    head = {name: value for name, value in asdict(kept).items() if name != "text"}
    return f"{HEAD}{json.dumps(head)}\n\n{kept.text}"


def parsed(content: bytes) -> Kept:
    """The record in the bytes of a file; raises ValueError or TypeError if they are not one."""
    head, _, text = content.decode("utf-8-sig").replace("\r\n", "\n").partition("\n")
    kept = Kept(**json.loads(head.removeprefix(HEAD)), text=text.lstrip("\n"))
    if any(type(value) is not type(getattr(Kept, name)) for name, value in asdict(kept).items()):
        raise TypeError("a date or a count has another type")
    if len({bool(field) for field in (kept.solved, kept.name, kept.text)}) > 1:
        raise ValueError("an answer has a text, a name and a date")
    return kept


def read(id: str) -> Kept:
    """The record of an exercise; raises Broken for a file that cannot be read."""
    place = folder()
    for path in [] if place is None else [place / f"{id}.{suffix}" for suffix in SUFFIXES]:
        try:
            return parsed(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise Broken(f"{path} cannot be read ({type(error).__name__})") from error
    return Kept()


def _store(place: Path, id: str, kept: Kept) -> None:
    files.write_text(place / _file(id, kept), content(kept))


def _file(id: str, kept: Kept) -> str:
    return f"{id}.{SUFFIXES[not kept.text]}"


def write(id: str, kept: Kept) -> str:
    """Writes the record, atomically; returns a notice about the folder, once a session, or ""."""
    place = folder()
    if place is None:
        return ""
    try:
        _store(place, id, kept)
    except OSError as error:
        return _once(
            f"Your answers are not kept: {place} cannot be written ({error.strerror}). "
            "Before you start, set TLCOURSE_MY to a writable folder."
        )
    return _once(_temporary(place))


def _temporary(place: Path) -> str:
    """A notice that the folder is lost with the machine; "" if it is not."""
    if not environment.on_colab() or "drive" in place.parts:
        return ""
    return (
        f"Your answers are kept in {place}, which is lost with this machine: set TLCOURSE_MY to a "
        "folder on your mounted drive, or save them with `!tlcourse answers export FILE`."
    )


def _once(text: str) -> str:
    if text in _notices:
        return ""
    _notices.add(text)
    return text


def states() -> dict[str, Kept]:
    """The records of all exercises, in the order of the lessons; empty for a broken file."""
    records = {}
    for id in ids():
        try:
            records[id] = read(id)
        except Broken:
            records[id] = Kept()
    return records


def unreadable(ids: Iterable[str]) -> dict[str, str]:
    """The exercises whose files cannot be read, each with the reason and what to do."""
    reasons = {}
    for id in ids:
        try:
            read(id)
        except Broken as error:
            reasons[id] = f"{error}; mend it, or remove it with `tlcourse reset {id}`"
    return reasons


def forget(id: str) -> None:
    """Removes the files of an exercise."""
    place = folder()
    if place is not None:
        for suffix in SUFFIXES:
            (place / f"{get(id).id}.{suffix}").unlink(missing_ok=True)


def _place() -> Path:
    """The folder; raises ValueError if answers are not kept."""
    place = folder()
    if place is None:
        raise ValueError(f"answers are neither read nor written here: {SWITCH} is off")
    return place


def export(path: str | Path) -> str:
    """Writes all records to a new zip file at `path`; returns a summary.

    Raises ValueError if there is no readable record, FileExistsError if `path` exists, and OSError
    if it cannot be written.
    """
    path, every = Path(path), states()
    broken = unreadable(every)
    records = {id: kept for id, kept in every.items() if kept != Kept()}
    if not records and broken:
        raise ValueError(
            f"expected answers that can be read, got none: {'; '.join(broken.values())}"
        )
    if not records:
        raise ValueError(f"nothing is kept yet in {_place()}")
    if path.exists():
        raise FileExistsError(f"{path} is there already; choose another name, or delete it first")
    files.refuse_unwritable(path.parent, "a folder", "give another place")
    with files.atomic(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for id, kept in records.items():
            archive.writestr(_file(id, kept), content(kept))
    solved = sum(bool(kept.text) for kept in records.values())
    summary = f"{path}: {solved} solved, {len(records) - solved} tried."
    return summary + f" Left out because they cannot be read: {', '.join(broken)}." * bool(broken)


def load_from(path: str | Path) -> str:
    """Reads the records that `export` wrote, unless solved here already; returns a summary.

    Answers run as your own code, so load only a file that you exported. Raises ValueError for any
    other file, before anything is written, and OSError.
    """
    place, taken, left = _place(), [], []
    records = _unpacked(Path(path))
    advice = "set TLCOURSE_MY to one that can"
    files.refuse_unwritable(place, "a folder for your answers", advice)
    for id, kept in records.items():
        try:
            present = read(id)
        except Broken:
            left.append(f"{id} (its file here cannot be read)")
            continue
        if present.text or (not kept.text and present.tries >= kept.tries):
            left.append(f"{id} ({'solved' if present.text else 'tried'} here)")
        else:
            _store(place, id, kept)
            taken.append(id)
    lists = [("Taken", taken), ("Left", left)]
    return "\n".join(f"{word}: {', '.join(ids) or 'nothing'}." for word, ids in lists)


def _unpacked(path: Path) -> dict[str, Kept]:
    """The records in an archive; raises ValueError for one that `export` did not write."""
    id_of = {f"{id}.{suffix}": id for id in ids() for suffix in SUFFIXES}
    records: dict[str, Kept] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                id = id_of.get(entry.filename)
                if id is None or id in records or entry.file_size > LARGEST:
                    raise ValueError(f"it holds {entry.filename!r}")
                records[id] = parsed(archive.read(entry))
                if _file(id, records[id]) != entry.filename:
                    raise ValueError(f"{entry.filename!r} is damaged")
    except FileNotFoundError:
        raise FileNotFoundError(
            f"expected a file written by `tlcourse answers export`, but there is no file {path}; "
            "export it first, on the machine that has the answers"
        ) from None
    except OSError:
        raise
    except Exception as error:  # a damaged archive raises many kinds
        raise ValueError(
            f"expected a file written by `tlcourse answers export`, got {path}: {error}"
        ) from error
    return records
