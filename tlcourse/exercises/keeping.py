"""Keeps the source of answers that pass, also on their own, and restores them later."""

import linecache
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import CodeType
from typing import Any

from tlcourse.exercises import running, source
from tlcourse.exercises.answers import Broken, Kept, content, folder, read, write
from tlcourse.exercises.checking import check
from tlcourse.exercises.task import Exercise, get


def count_try(task: Exercise) -> str:
    """Counts an attempt that failed; returns a notice for the learner, or ""."""
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
    """Keeps an answer that passed, if it also passes on its own; returns a notice, or ""."""
    if folder() is None:
        return ""
    name, text = _text(task, candidate)
    if not text:
        return "It is not kept, because its source cannot be found."
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
        earlier = "; your earlier answer is kept" if before.text else ""
        return f"It is used here but not kept for later: {error}{earlier}."
    return write(task.id, kept)


def _text(task: Exercise, candidate: Any) -> tuple[str, str]:
    if callable(candidate):
        return source.cut(candidate)
    return task.name, f"{task.name} = {candidate!r}\n"


def restore(task: Exercise, kept: Kept) -> Any:
    """The object that a kept answer defines, checked again; raises Broken if it does not pass.

    It runs with the exercise's imports and the answers that it builds on, and no other name.
    """
    namespace: dict[str, Any] = {"__name__": "answer"}
    exec(task.imports, namespace)
    for id in task.builds_on:
        namespace[get(id).name] = found(get(id)).answer
    path, text = str((folder() or Path()) / f"{task.id}.py"), content(kept)
    try:
        missing = source.outside_names(text, namespace)
        code = source.compiled(text, path)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f"line {error.lineno}" if isinstance(error, SyntaxError) else "it"
        raise Broken(f"{where} is not valid Python ({getattr(error, 'msg', error)})") from error
    if missing:
        raise Broken(
            f"it uses `{'`, `'.join(missing)}` of another cell; put that into the answer's cell, "
            "or import it there"
        )
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    run(code, namespace)
    if kept.name not in namespace:
        raise Broken(f"it does not define `{kept.name}`")
    report = check(task, namespace[kept.name])
    if not report.passed:
        raise Broken(f"on its own it no longer passes ({' '.join(report.message.split())})")
    return namespace[kept.name]


def run(code: CodeType, namespace: dict[str, Any]) -> None:
    """Runs the code of an answer in a namespace; raises Broken if it raises or takes too long."""
    outcome = running.run_limited(lambda: exec(code, namespace))
    if outcome.timed_out:
        raise Broken(f"running it was {outcome.stopped()}")
    if outcome.error is not None:
        where = f", in {outcome.line}" if outcome.line else ""
        raise Broken(f"running it raised {type(outcome.error).__name__}{where}")


@dataclass(frozen=True)
class Found:
    """An answer and its record; for the reference the record is empty.

    `fault` says why the reference is used although an answer is kept.
    """

    answer: Any
    kept: Kept = Kept()
    fault: str = ""


def found(task: Exercise) -> Found:
    """The learner's kept answer if it passes, else the reference."""
    try:
        kept = read(task.id)
        return Found(restore(task, kept), kept) if kept.text else Found(task.solution)
    except Broken as error:
        return Found(task.solution, fault=str(error))
