"""Checks answers again, each in a process of its own, with limits.

What the learner's code does to its process does not outlive the answer: not a changed library, not
a changed check. Because an answer could change the checks themselves, the known wrong answers are
checked after one that passed, in the same process: if one of them passes, too, the answer counts as
not passed. With a variant, an answer that passed is also checked on inputs that it has not seen.
"""

import contextlib
import json
import os
import secrets
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from tlcourse.exercises import keeping, running, source, task, variants
from tlcourse.exercises.checking import Report, check
from tlcourse.exercises.expect import short
from tlcourse.exercises.session import solution_text
from tlcourse.grading.submitted import Answer, Submission, tidied, words_of

SECONDS = 60  # of processor time for one answer; a check stops after ten
WAITING = 90  # of wall-clock time
MEMORY = 8 << 30  # bytes of addresses, most of which PyTorch never uses
FILE_SIZE = 1 << 20
LARGEST = 1 << 16  # bytes read at once
# Names with which an answer could find the checks or the way of its result; none needs them.
SUSPICIOUS = {"_getframe", "_current_frames", "ctypes", "gc", "inspect", "settrace", "tlcourse"}
SUSPICIOUS |= {"__subclasses__", "_exit", "fork", "dup2", "f_back", "f_globals", "__globals__"}


@dataclass(frozen=True)
class Result:
    """One answer, checked again. `stage` of `stages` is the one that failed, or the last.

    `said` is what the check told the learner, `as_reference` is true if the answer equals the
    course's solution up to names, comments and types, and `look` says why somebody should look at
    it. `variant` is "passed" or "failed" if the answer was checked on hidden cases, which are one
    more stage, "none" if the exercise has no hidden cases, and "" otherwise.
    """

    id: str
    passed: bool = False
    stage: int = 0
    stages: int = 0
    variant: str = ""
    said: str = ""
    seconds: float = 0.0
    as_reference: bool = False
    look: str = ""


def grade(submission: Submission, variant: int | None = None) -> list[Result]:
    """Checks every answer of a submission; a result for each, in the order of the exercises.

    With the seed of a variant, answers that pass are checked on its hidden cases, too. It leaves
    PyTorch with one thread, and kept answers switched off. Raises OSError where processes cannot be
    forked, as on Windows.
    """
    if not hasattr(os, "fork"):
        raise OSError("expected Linux, macOS or WSL, because each answer is checked in a fork")
    _warm()
    return [_graded(answer, submission.fault, variant) for answer in submission.answers.values()]


def _warm() -> None:
    """Imports what the checks need, once, before the forks."""
    os.environ["TLCOURSE_ANSWERS"] = "off"
    import torch

    torch.set_num_threads(1)
    running.load_optimizers()


@cache
def hidden(id: str, variant: int) -> task.Exercise | None:
    """An exercise with the inputs of a variant; None if it draws no inputs.

    Raises ValueError if the course's solution fails on them.
    """
    with variants.variant(variant) as drawn:
        exercise = variants.drawn_anew(id)
        report = check(exercise, task.get(id).solution)
    if not report.passed:
        raise ValueError(
            f"expected that the solution of {id} passes variant {variant}, got: {report.message}\n"
            "Choose another seed, and report this one."
        )
    return exercise if drawn else None


def _graded(answer: Answer, fault: str, variant: int | None) -> Result:
    exercise = task.get(answer.id)
    further = None if variant is None else hidden(answer.id, variant)
    blank = Result(answer.id, stages=len(exercise.stages) + (further is not None))
    if variant is not None and further is None:
        blank = replace(blank, variant="none")
    if fault or answer.fault or not answer.text:
        said = fault or answer.fault or "nothing handed in"
        return replace(blank, said=said)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="answer-", ignore_cleanup_errors=True) as folder:
        found = _in_a_fork(lambda: _checked(answer, variant), folder)
    if found is None:
        said = "its process ended: too much time or memory, or the code stopped it"
        found = {"said": said, "look": "ended its process"}
    found |= {"seconds": round(time.monotonic() - began, 1)}
    if found.get("passed"):
        found["as_reference"] = tidied(answer.text) == tidied(solution_text(exercise))
    return replace(blank, **found)


def _checked(answer: Answer, variant: int | None) -> dict[str, Any]:
    """Runs in the fork: the result's fields."""
    exercise = task.get(answer.id)
    further = None if variant is None else hidden(answer.id, variant)
    suspicious = (SUSPICIOUS & words_of(answer.text)) - words_of(exercise.imports)
    if suspicious:
        names = ", ".join(sorted(suspicious))
        return {"said": f"not run, because it uses {names}", "look": f"uses {names}"}
    known: dict[str, Any] = {"__name__": "answer"}
    exec(exercise.imports, known)
    for id in exercise.builds_on:
        known[task.get(id).name] = task.get(id).solution
    checked = check  # as it is before the answer runs
    try:
        code = source.compiled(answer.text, f"{answer.id}.py")
        keeping.run(code, known)
        report = checked(exercise, known[answer.name])
    except (SyntaxError, KeyError, keeping.Broken, ValueError) as error:
        return {"said": f"{type(error).__name__}: {error}"[:300]}
    found = {"stage": report.stage, "passed": report.passed, "said": report.message[:2000]}
    if report.passed and variant is not None and further is not None:
        with variants.variant(variant):
            report = checked(further, known[answer.name])
        found |= _of_hidden(report, further, variant)
    if report.passed and any(check(exercise, each.wrong).passed for each in exercise.catalogue):
        return {"said": "it changes the checks", "look": "changes the checks"}
    return found


def _of_hidden(report: Report, exercise: task.Exercise, variant: int) -> dict[str, Any]:
    """The result's fields after the check of an exercise's hidden cases."""
    last = {"stage": report.stages + 1, "passed": report.passed}
    if report.passed:
        return last | {"variant": "passed"}
    given = ", ".join(short(each, 60) for each in exercise.failed_on)
    said = f"Hidden cases of variant {variant}. {report.message[:1500]}"
    return last | {"variant": "failed", "said": f"{said}\nInput: {given}" if given else said}


def _in_a_fork(work: Callable[[], dict[str, Any]], folder: str) -> dict[str, Any] | None:
    """The dictionary that `work` returns in a fork with limits; None if the fork gave none.

    The fork works in `folder`.
    """
    reading, writing = os.pipe()
    token = secrets.token_hex(16)
    pid = os.fork()
    if pid == 0:  # pragma: no cover
        os.close(reading)
        with contextlib.suppress(BaseException):
            _confine(writing, folder)
            content = json.dumps(work()).encode()
            os.write(writing, f"{token}{len(content):08}".encode() + content)
        os._exit(0)
    os.close(writing)
    try:
        content = _read(reading, token.encode())
    finally:
        os.close(reading)
        _end(pid)
    with contextlib.suppress(ValueError):
        return json.loads(content)
    return None


def _confine(writing: int, folder: str) -> None:
    """Limits this process, and leaves it nothing open but the pipe for its result."""
    import resource  # which Windows lacks

    os.setsid()
    for limit, most in (
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_FSIZE, FILE_SIZE),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.closerange(3, writing)
    os.closerange(writing + 1, 4096)
    os.chdir(folder)
    os.environ["HOME"] = os.environ["TLCOURSE_MY"] = folder
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _read(reading: int, token: bytes) -> bytes:
    """What the fork writes after the token and eight digits, which say how long it is.

    Returns b"" if something else is written, if the pipe is closed before, or when time is up.
    """
    content, end, head = b"", time.monotonic() + WAITING, len(token) + 8
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, end - time.monotonic()))
        chunk = os.read(reading, LARGEST) if ready else b""
        content += chunk
        if not chunk or not content.startswith(token[: len(content)]):
            return b""
        if len(content) >= head and len(content) >= head + int(content[len(token) : head]):
            return content[head:]


def _end(pid: int) -> None:
    """Ends the fork and the processes that it started in its group."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
