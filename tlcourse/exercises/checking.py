"""Runs the stages of an exercise on a learner's answer; errors of the answer are not raised."""

from dataclasses import dataclass
from types import FunctionType
from typing import Any

from tlcourse.exercises import running, source
from tlcourse.exercises.expect import CALLED, CheckFailed, short
from tlcourse.exercises.task import Exercise

NOT_YET = "Not solved yet, {}: the notebook goes on with the reference."


@dataclass(frozen=True)
class Report:
    """The result of an attempt. `stage` is the one that failed, from 1; 0 if nothing is written."""

    passed: bool
    stage: int
    stages: int
    message: str
    printed: str = ""
    hint: str = ""  # of the stage that failed, if it has one


def check(task: Exercise, candidate: Any) -> Report:
    """Runs the stages on `candidate`, for at most 10 s in all; prints nothing."""
    count, reached, remarks = len(task.stages), 0, []
    if source.is_unwritten(candidate, task.solution):
        return Report(False, 0, count, NOT_YET.format("and that is fine"))
    if _as_given(candidate, task.given):
        return Report(False, 0, count, NOT_YET.format("this is the code as it was given"))
    if callable(task.solution) and not callable(candidate):
        kind = "class" if isinstance(task.solution, type) else "function"
        failed = CheckFailed(check="what you hand in", yours=short(candidate), expected=f"a {kind}")
        return _failed(task, 1, str(failed))
    if task.trains:
        running.load_optimizers()
    task.begin()

    def work() -> None:
        nonlocal reached
        for reached, stage in enumerate(task.stages, start=1):  # noqa: B007
            remarks.append(stage.check(candidate))

    outcome = running.run_limited(work)
    if outcome.error is None and not outcome.timed_out:
        message = " ".join(filter(None, [f"Solved: all {count} stages passed.", *remarks]))
        return Report(True, count, count, message, outcome.printed)
    return _failed(task, max(reached, 1), _explain(outcome), outcome.printed)


def _failed(task: Exercise, reached: int, explanation: str, printed: str = "") -> Report:
    stage, count = task.stages[reached - 1], len(task.stages)
    message = f"Stage {reached} of {count}: {stage.name}.\n{explanation}"
    return Report(False, reached, count, message, printed, stage.hint)


def _as_given(candidate: Any, given: FunctionType | None) -> bool:
    if given is None or not isinstance(candidate, FunctionType):
        return False
    statements = source.statements(candidate)
    return bool(statements) and statements == source.statements(given)


def _explain(outcome: running.Outcome) -> str:
    """The message of a failed run, in the parts of `CheckFailed`."""
    if outcome.timed_out:
        why = (
            "Does it wait for something, such as a lock or a download? If the machine is busy with "
            "other work, run the cell again."
            if outcome.waited
            else "Is there a loop that never ends, or one that does the same work many times?"
        )
        still = " It is still running: restart the kernel if the machine stays busy."
        why += still if outcome.still_running else ""
        return str(CheckFailed(yours=outcome.stopped(), why=why))
    error = outcome.error
    notes = getattr(error, "__notes__", ())
    why = " ".join(note for note in notes if not note.startswith(CALLED))
    if isinstance(error, CheckFailed):
        return str(error) if error.why or not why else f"{error}\nWhy: {why}"
    try:
        text = " ".join(str(error).split())[:300]
    except Exception:
        text = ""
    raised = f"{type(error).__name__}: {text}" if text else type(error).__name__
    called = "".join(note for note in notes if note.startswith(CALLED))
    if outcome.line:
        return str(CheckFailed(check=called, yours=f"raised {raised}, in {outcome.line}", why=why))
    question = "Does it take the arguments and return the kind of value that the exercise asks for?"
    return str(CheckFailed(check=called, yours=f"raised {raised}", why=why or question))
