"""What passed is kept, source and all, in the learner's folder, and comes back later.

`my/answers/ID.py` holds one answer: a line of JSON in a comment (tries, dates), then the code. It
is run as the learner's own code, with no sandbox: never point the folder at someone else's.
"""

import json
import linecache
import os
import sys
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tlcourse import files
from tlcourse.exercises import running, source
from tlcourse.exercises.checking import check
from tlcourse.exercises.task import Exercise, get, ids

HEAD = "# tlcourse "
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


def read(id: str) -> Kept:
    """What is kept of an exercise; raises Broken for a file that cannot be read."""
    place = folder()
    path = place / f"{id}.py" if place else None
    if path is None or not path.is_file():
        return Kept()
    try:
        head, _, text = path.read_text(encoding="utf-8").partition("\n")
        return Kept(**json.loads(head.removeprefix(HEAD)), text=text.lstrip("\n"))
    except (OSError, ValueError, TypeError) as error:
        raise Broken(f"{path} cannot be read ({type(error).__name__})") from error


def write(id: str, kept: Kept) -> str:
    """Keeps it, as a whole or not at all; returns what is to be told, once, of the folder."""
    place = folder()
    if place is None:
        return ""
    head = {name: value for name, value in asdict(kept).items() if name != "text"}
    try:
        files.write_text(place / f"{id}.py", f"{HEAD}{json.dumps(head)}\n\n{kept.text}")
    except OSError as error:
        return _once(
            f"Your answers are not kept: {place} cannot be written ({error.strerror}). Set "
            "TLCOURSE_MY to a folder that can, before you start."
        )
    return _once(_vanishes(place))


def _vanishes(place: Path) -> str:
    """What is to be told where the folder goes with the machine; "" elsewhere."""
    if "google.colab" not in sys.modules or "drive" in place.parts:
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


def tried(task: Exercise) -> str:
    """Counts an attempt that failed; returns what is to be told."""
    try:
        kept = read(task.id)
    except Broken:
        kept = Kept()
    if kept.solved:
        return ""
    return write(task.id, replace(kept, tries=kept.tries + 1, first=kept.first or _now()))


def _now() -> str:
    return datetime.now().isoformat(timespec="seconds")


def keep(task: Exercise, candidate: Any) -> str:
    """Keeps an answer that passed, if it passes again on its own; returns what is to be told."""
    if folder() is None:
        return ""
    name, text = _text(task, candidate)
    if not text:
        return "It is not kept: its text is not to be found."
    try:
        before = read(task.id)
    except Broken:
        before = Kept()
    first = before.first or _now()
    kept = Kept(before.tries + 1 - bool(before.solved), first, before.solved or _now(), name, text)
    try:
        restore(task, kept)
    except Broken as error:
        return f"It is used here and not kept for later: {error}."
    return write(task.id, kept)


def _text(task: Exercise, candidate: Any) -> tuple[str, str]:
    if callable(candidate):
        return source.cut(candidate)
    return task.name, f"{task.name} = {candidate!r}\n"


def restore(task: Exercise, kept: Kept) -> Any:
    """The object that a kept answer defines, checked again alone; raises Broken that says why.

    Alone: with the exercise's imports and the answers that it builds on, and no other name.
    """
    known: dict[str, Any] = {"__name__": "answer"}
    exec(task.imports, known)
    for id in task.builds_on:
        known[get(id).name] = best(get(id))
    path = str((folder() or Path()) / f"{task.id}.py")
    try:
        missing = source.outside_names(kept.text, known)
        if missing:
            raise Broken(
                f"it uses `{'`, `'.join(missing)}` of another cell; put that into the answer, or "
                "import it there"
            )
        lines = kept.text.splitlines(keepends=True)
        linecache.cache[path] = (len(kept.text), None, lines, path)
        code = compile(kept.text, path, "exec")
    except SyntaxError as error:
        raise Broken(f"line {error.lineno} is no Python") from error
    outcome = running.run_limited(lambda: exec(code, known), running.LIMIT)
    if outcome.error or outcome.timed_out or kept.name not in known:
        raise Broken(f"running it failed ({type(outcome.error).__name__})")
    report = check(task, known[kept.name])
    if not report.passed:
        raise Broken(f"alone it does not pass any more ({report.message})")
    return known[kept.name]


def best(task: Exercise) -> Any:
    """The learner's kept answer if it passes, else the reference."""
    try:
        kept = read(task.id)
        return restore(task, kept) if kept.text else task.solution
    except Broken:
        return task.solution


def states() -> dict[str, Kept]:
    """What is kept of every exercise, in the order of the lessons; of a broken file, nothing."""
    found = {}
    for id in ids():
        try:
            found[id] = read(id)
        except Broken:
            found[id] = Kept()
    return found


def forget(id: str) -> None:
    """Removes what is kept of an exercise."""
    place = folder()
    if place is not None:
        (place / f"{get(id).id}.py").unlink(missing_ok=True)
