"""What passed is kept, source and all, if it passes again alone, and comes back later."""

import linecache
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import CodeType
from typing import Any

from tlcourse.exercises import running, source
from tlcourse.exercises.answers import Broken, Kept, content, folder, read, write
from tlcourse.exercises.checking import check
from tlcourse.exercises.task import Exercise, get


def tried(task: Exercise) -> str:
    """Counts an attempt that failed; returns what is to be told."""
    try:
        kept = read(task.id)
    except Broken:
        return ""
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
    if before.solved and (name, text) == (before.name, before.text):
        return ""
    first = before.first or _now()
    kept = Kept(before.tries + 1 - bool(before.solved), first, before.solved or _now(), name, text)
    try:
        restore(task, kept)
    except Broken as error:
        stays = "; the one that was kept before stays" if before.text else ""
        return f"It is used here and not kept for later: {error}{stays}."
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
    path, text = str((folder() or Path()) / f"{task.id}.py"), content(kept)
    try:
        missing = source.outside_names(text, known)
        code = source.compiled(text, path)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f"line {error.lineno}" if isinstance(error, SyntaxError) else "it"
        raise Broken(f"{where} is no Python ({getattr(error, 'msg', error)})") from error
    if missing:
        raise Broken(
            f"it uses `{'`, `'.join(missing)}` of another cell; put that into the answer's cell, "
            "or import it there"
        )
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    _run(code, known)
    if kept.name not in known:
        raise Broken(f"it does not define `{kept.name}`")
    report = check(task, known[kept.name])
    if not report.passed:
        raise Broken(f"alone it does not pass any more ({' '.join(report.message.split())})")
    return known[kept.name]


def _run(code: CodeType, known: dict[str, Any]) -> None:
    """Runs the text of an answer; raises Broken that says why it did not end well."""
    outcome = running.run_limited(lambda: exec(code, known))
    if outcome.timed_out:
        raise Broken(f"running it was {outcome.stopped()}")
    if outcome.error is not None:
        where = f", in {outcome.line}" if outcome.line else ""
        raise Broken(f"running it raised {type(outcome.error).__name__}{where}")


def best(task: Exercise) -> Any:
    """The learner's kept answer if it passes, else the reference."""
    try:
        kept = read(task.id)
        return restore(task, kept) if kept.text else task.solution
    except Broken:
        return task.solution
