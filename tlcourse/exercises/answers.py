"""The files in which answers are kept, in the learner's folder.

`my/answers/ID.py` holds one answer: a line of JSON in a comment (tries, dates), then the code. It
is run as the learner's own code, with no sandbox: never point the folder at someone else's. Until
one has passed, `ID.tried` holds that line alone: counting a try never touches an answer.
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
KINDS = ("py", "tried")  # of files: with an answer, and without
LARGEST = 10**6  # bytes of a file in an archive
SWITCH = "TLCOURSE_ANSWERS"  # "off" in headless runs and tests: nothing is read or written
_said: set[str] = set()  # what is told once a session


@dataclass(frozen=True)
class Kept:
    """What is known of one exercise: `name` and `text` of the answer are "" until one passed."""

    tries: int = 0
    first: str = ""  # when it was first tried, and when it first passed: ISO dates
    solved: str = ""
    name: str = ""
    text: str = ""


class Broken(Exception):
    """A kept answer cannot be used; the message, one line, says why."""


def folder() -> Path | None:
    """Where answers are kept; None where they are not."""
    return None if os.environ.get(SWITCH) == "off" else files.my_folder() / "answers"


def content(kept: Kept) -> str:
    """The text of the file of an answer."""
    head = {name: value for name, value in asdict(kept).items() if name != "text"}
    return f"{HEAD}{json.dumps(head)}\n\n{kept.text}"


def parsed(content: bytes) -> Kept:
    """What a file holds; raises ValueError or TypeError if it is none of ours."""
    head, _, text = content.decode("utf-8-sig").replace("\r\n", "\n").partition("\n")
    kept = Kept(**json.loads(head.removeprefix(HEAD)), text=text.lstrip("\n"))
    if any(type(value) is not type(getattr(Kept, name)) for name, value in asdict(kept).items()):
        raise TypeError("a date or a count is none")
    if len({bool(each) for each in (kept.solved, kept.name, kept.text)}) > 1:
        raise ValueError("an answer has a text, a name and a date")
    return kept


def read(id: str) -> Kept:
    """What is kept of an exercise; raises Broken for a file that cannot be read."""
    place = folder()
    for path in [] if place is None else [place / f"{id}.{kind}" for kind in KINDS]:
        try:
            return parsed(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise Broken(f"{path} cannot be read ({type(error).__name__})") from error
    return Kept()


def _put(place: Path, id: str, kept: Kept) -> None:
    files.write_text(place / _file(id, kept), content(kept))


def _file(id: str, kept: Kept) -> str:
    return f"{id}.{KINDS[not kept.text]}"


def write(id: str, kept: Kept) -> str:
    """Keeps it, as a whole or not at all; returns what is to be told, once, of the folder."""
    place = folder()
    if place is None:
        return ""
    try:
        _put(place, id, kept)
    except OSError as error:
        return _once(
            f"Your answers are not kept: {place} cannot be written ({error.strerror}). Set "
            "TLCOURSE_MY to a folder that can, before you start."
        )
    return _once(_vanishes(place))


def _vanishes(place: Path) -> str:
    """What is to be told where the folder goes with the machine; "" elsewhere."""
    if not environment.on_colab() or "drive" in place.parts:
        return ""
    return (
        f"Your answers are kept in {place}, which goes when this machine goes: set TLCOURSE_MY to "
        "a folder of your mounted drive, or carry them with `!tlcourse answers export FILE`."
    )


def _once(text: str) -> str:
    if text in _said:
        return ""
    _said.add(text)
    return text


def states() -> dict[str, Kept]:
    """What is kept of every exercise, in the order of the lessons; of a broken file, nothing."""
    found = {}
    for id in ids():
        try:
            found[id] = read(id)
        except Broken:
            found[id] = Kept()
    return found


def unreadable(ids: Iterable[str]) -> dict[str, str]:
    """Those of the exercises whose files cannot be read: why not, and what to do."""
    found = {}
    for id in ids:
        try:
            read(id)
        except Broken as error:
            found[id] = f"{error}; mend it, or remove it with `tlcourse reset {id}`"
    return found


def forget(id: str) -> None:
    """Removes what is kept of an exercise."""
    place = folder()
    if place is not None:
        for kind in KINDS:
            (place / f"{get(id).id}.{kind}").unlink(missing_ok=True)


def _place() -> Path:
    """The folder; raises ValueError where answers are not kept."""
    place = folder()
    if place is None:
        raise ValueError(f"answers are neither read nor written here: {SWITCH} is off")
    return place


def export(path: str | Path) -> str:
    """Writes all that is kept to a new zip file at `path`; returns what is to be told.

    Raises ValueError where nothing is kept that can be read, FileExistsError where something is at
    `path`, and OSError where it cannot be written.
    """
    path, every = Path(path), states()
    broken = unreadable(every)
    found = {id: kept for id, kept in every.items() if kept != Kept()}
    if not found and broken:
        raise ValueError(
            f"expected answers that can be read, got none: {'; '.join(broken.values())}"
        )
    if not found:
        raise ValueError(f"nothing is kept yet in {_place()}")
    if path.exists():
        raise FileExistsError(f"{path} is there already; choose another name, or delete it first")
    files.refuse_unwritable(path.parent, "a folder", "give another place")
    with files.atomic(path) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
        for id, kept in found.items():
            archive.writestr(_file(id, kept), content(kept))
    solved = sum(bool(kept.text) for kept in found.values())
    told = f"{path}: {solved} solved, {len(found) - solved} tried."
    return f"{told} Left out, for they cannot be read: {', '.join(broken)}." if broken else told


def load_from(path: str | Path) -> str:
    """Takes what `export` wrote, and keeps what is solved here; returns what is to be told.

    Answers run as your own code: load only what you exported. Raises ValueError, before anything
    is kept, for any other file, and OSError.
    """
    place, taken, left = _place(), [], []
    found = _unpacked(Path(path))
    do = "set TLCOURSE_MY to one that can"
    files.refuse_unwritable(place, "a folder for your answers", do)
    for id, kept in found.items():
        try:
            mine = read(id)
        except Broken:
            left.append(f"{id} (its file here cannot be read)")
            continue
        if mine.text or (not kept.text and mine.tries >= kept.tries):
            left.append(f"{id} ({'solved' if mine.text else 'tried'} here)")
        else:
            _put(place, id, kept)
            taken.append(id)
    told = [("Taken", taken), ("Left", left)]
    return "\n".join(f"{word}: {', '.join(each) or 'nothing'}." for word, each in told)


def _unpacked(path: Path) -> dict[str, Kept]:
    """What an archive holds of each exercise; raises ValueError for one that `export` wrote not."""
    known = {f"{id}.{kind}": id for id in ids() for kind in KINDS}
    found: dict[str, Kept] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                id = known.get(entry.filename)
                if id is None or id in found or entry.file_size > LARGEST:
                    raise ValueError(f"it holds {entry.filename!r}")
                found[id] = parsed(archive.read(entry))
                if _file(id, found[id]) != entry.filename:
                    raise ValueError(f"{entry.filename!r} is damaged")
    except FileNotFoundError:
        raise FileNotFoundError(
            f"expected a file written by `tlcourse answers export`, but there is no file {path}; "
            "export it first, on the machine that has the answers"
        ) from None
    except OSError:
        raise
    except Exception as error:  # many kinds, where an archive is damaged
        raise ValueError(
            f"expected a file written by `tlcourse answers export`, got {path}: {error}"
        ) from error
    return found
