"""The functions for a learner's cells: `exercise`, `yours`, `hint`, `solution`, `progress`."""

import ast
import inspect
import os
import sys
import textwrap
from typing import Any

from tlcourse.exercises import answers, keeping, messages, source, table
from tlcourse.exercises.checking import NOT_YET, Report, check
from tlcourse.exercises.messages import say
from tlcourse.exercises.task import Exercise, Unknown, get

SOLUTIONS = "TLCOURSE_SOLUTIONS"  # "off" in copies that a lecturer hands out without solutions
_hints_shown: dict[str, int] = {}
_returned: dict[str, list[Any]] = {}  # references and kept answers, by exercise
_last: list[str] = []  # the id of the exercise that was handed in last


def exercise(id: str, candidate: Any) -> Any:
    """Checks `candidate`, shows the result, and returns it if it passed, else the reference.

    An answer that passed is kept. If nothing is written yet, a kept answer that still passes is
    returned. Raises Unknown, a KeyError that names the nearest ids; errors of the learner's code
    are not raised. `hint` and `solution`, which the messages name, are added to the caller's names.
    """
    _offer_help(sys._getframe(1).f_globals)
    task = get(id)
    _last[:] = [task.id]
    if any(candidate is earlier for earlier in _returned.get(id, [])):
        return _again(task, candidate)
    report = check(task, candidate)
    if report.passed:
        kept = keeping.keep(task, candidate)
        say("solved", f"{report.message} Yours is used from here on.", _printed(report), kept)
        return candidate
    if report.stage == 0:
        return _unsolved(task, report)
    onward = "The notebook goes on with the reference; change your code and run the cell again."
    notice = keeping.count_try(task)
    hints = _hints(task, max(1, _hints_shown.get(id, 0)))
    if report.hint:
        hints = f"Hint: {report.hint}"
    say("wrong", report.message, _printed(report), onward, hints, notice)
    return _return(task, task.solution)


def _offer_help(names: dict[str, Any]) -> None:
    """Adds `hint` and `solution` to a namespace, unless the learner uses these names."""
    for function in (hint, solution):
        names.setdefault(function.__name__, function)


def _printed(report: Report) -> str:
    return f"(Your code printed: {report.printed})" if report.printed else ""


def _return(task: Exercise, answer: Any) -> Any:
    """Returns an answer that is not the candidate, and remembers it, so that it is not checked."""
    _returned.setdefault(task.id, []).append(answer)
    return answer


def _again(task: Exercise, candidate: Any) -> Any:
    """Returns `candidate`, which is what an earlier run returned: nothing new was written."""
    if candidate is not task.solution:
        say("solved", f"Solved before: your kept answer of {task.id} is used.")
    else:
        say(
            "open", NOT_YET.format("this is the reference that came back before"),
            "Run the cell with your definition again, and then this one.",
        )  # fmt: skip
    return candidate


def _unsolved(task: Exercise, report: Report) -> Any:
    """A kept answer that still passes, else the reference."""
    found = keeping.found(task)
    if found.kept.text:
        say("solved", f"Solved before: your answer of {found.kept.solved[:10]} is used.")
        return _return(task, found.answer)
    notice = f"Your kept answer is not used: {found.fault}." if found.fault else ""
    way = f', solution("{task.id}") shows one way.' if _with_solutions() else "."
    help = f'hint("{task.id}") gives a hint{way}'
    say("open", report.message, notice, help)
    return _return(task, found.answer)


def yours(id: str) -> Any:
    """The learner's kept answer if it still passes, else the reference; prints which.

    Raises Unknown, a KeyError that names the nearest ids.
    """
    task = get(id)
    found = keeping.found(task)
    if found.kept.text:
        say("solved", f"{id}: your own, solved on {found.kept.solved[:10]}.")
    else:
        unsolved = f"not solved yet (lesson {task.lesson}, exercise {task.number})"
        reason = f"yours is not used: {found.fault}" if found.fault else unsolved
        say("open", f"{id}: the reference; {reason}.")
    return _return(task, found.answer)


def hint(id: str = "") -> None:
    """Shows the hints of an exercise that were shown before, and the next one.

    Without an id, the exercise is the one that was checked last.
    """
    task = _exercise_or_none(id)
    if task is not None:
        say("hint", _hints(task, min(_hints_shown.get(task.id, 0) + 1, len(task.hints))))


def _exercise_or_none(id: str) -> Exercise | None:
    """The exercise of an id, or the last one; None, after a message, if there is none."""
    if not id and not _last:
        say("hint", 'No exercise has been checked yet; name one: hint("start.count_labels").')
        return None
    try:
        return get(id or _last[0])
    except Unknown as error:
        say("hint", str(error))
        return None


def _hints(task: Exercise, count: int) -> str:
    """The first `count` hints, and a line that names the call for more."""
    _hints_shown[task.id] = count
    lines = [f"Hint {n} of {len(task.hints)}: {task.hints[n - 1]}" for n in range(1, count + 1)]
    more = count < len(task.hints)
    onward = f'hint("{task.id}") shows more.' if more else f'solution("{task.id}") shows one way.'
    return "\n".join([*lines, onward] if more or _with_solutions() else lines)


def _with_solutions() -> bool:
    """False in a copy that was handed out without solutions."""
    return os.environ.get(SOLUTIONS) != "off"


def solution(id: str = "") -> None:
    """Prints the source of the reference, without type annotations, ready to paste.

    It includes the classes, functions and values of the exercise's file that it uses, but not the
    imports, which the lesson has, too.
    """
    task = _exercise_or_none(id)
    if task is not None and not _with_solutions():
        say("hint", f'This copy shows no solutions; hint("{task.id}") gives a hint.')
    elif task is not None:
        print(solution_text(task))


def solution_text(task: Exercise) -> str:
    """The text that `solution` prints for an exercise."""
    if not callable(task.solution):
        return repr(task.solution)
    if task.solution.__module__ == task.module:
        # The decorator reads `task`; without this, `task.measure = ...` would come, too.
        return without_annotations(source.cut(task.solution, without={"task"})[1])
    return without_annotations(inspect.getsource(task.solution))


def without_annotations(text: str) -> str:
    """The source of definitions without annotations, whose names a notebook may lack, without
    imports, and without decorators of the exercise's `task`. Comments are kept.
    """
    text = textwrap.dedent(text)
    tree = ast.parse(text)
    lines, cuts, removed = text.splitlines(keepends=True), [], set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.annotation:
            start = node.col_offset + len(node.arg)
            cuts.append((node.lineno, start, node.annotation.end_col_offset))
        if isinstance(node, ast.FunctionDef) and node.returns:
            end = node.returns
            start = lines[end.lineno - 1].rindex(" ->", 0, end.col_offset)
            cuts.append((end.lineno, start, end.end_col_offset))
    for number, start, stop in sorted(cuts, reverse=True):
        lines[number - 1] = lines[number - 1][:start] + lines[number - 1][stop:].replace(" = ", "=")
    decorators = [d for node in tree.body for d in getattr(node, "decorator_list", [])]
    for node in [*tree.body, *decorators]:
        if isinstance(node, ast.Import | ast.ImportFrom) or ast.unparse(node).startswith("task."):
            removed |= set(range(node.lineno - 1, node.end_lineno))
    return "".join(line for n, line in enumerate(lines) if n not in removed).lstrip("\n")


def progress() -> None:
    """Shows which exercises are solved and tried, their minutes, and the next one."""
    messages.show(table.of(answers.states()))
