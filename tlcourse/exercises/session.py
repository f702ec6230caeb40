"""What a learner calls in a cell: `exercise`, `yours`, `hint`, `solution`, `progress`."""

import ast
import inspect
import sys
import textwrap
from typing import Any

from tlcourse.exercises import answers, keeping, messages, source, table
from tlcourse.exercises.checking import NOT_YET, Report, check
from tlcourse.exercises.messages import say
from tlcourse.exercises.task import Exercise, Unknown, get

_hints_shown: dict[str, int] = {}
_handed_back: dict[str, list[Any]] = {}
_last: list[str] = []  # the id of the exercise that was handed in last


def exercise(id: str, candidate: Any) -> Any:
    """Checks `candidate`, says how it went, and returns it if it passed, else the reference.

    An answer that passed is kept. Where nothing is written yet, a kept one that still passes is
    returned. Raises Unknown, a KeyError that names the nearest id; nothing for what a learner
    wrote. `hint` and `solution`, which the messages name, are put where the caller has its names.
    """
    _offer_help(sys._getframe(1).f_globals)
    task = get(id)
    _last[:] = [task.id]
    if any(candidate is each for each in _handed_back.get(id, [])):
        return _again(task, candidate)
    report = check(task, candidate)
    if report.passed:
        kept = keeping.keep(task, candidate)
        say("solved", f"{report.message} Yours is used from here on.", _printed(report), kept)
        return candidate
    if report.stage == 0:
        return _unsolved(task, report)
    onward = "The notebook goes on with the reference; change your code and run the cell again."
    told = keeping.tried(task)
    hints = _hints(task, max(1, _hints_shown.get(id, 0)))
    if report.hint:
        hints = f"Hint: {report.hint}"
    say("wrong", report.message, _printed(report), onward, hints, told)
    return _hand_back(task, task.solution)


def _offer_help(names: dict[str, Any]) -> None:
    """Adds `hint` and `solution` to a namespace; a name of the learner's own stays."""
    for each in (hint, solution):
        names.setdefault(each.__name__, each)


def _printed(report: Report) -> str:
    return f"(Your code printed: {report.printed})" if report.printed else ""


def _hand_back(task: Exercise, found: Any) -> Any:
    _handed_back.setdefault(task.id, []).append(found)
    return found


def _again(task: Exercise, candidate: Any) -> Any:
    """The name holds what an earlier run of the cell handed back: nothing was handed in."""
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
    try:
        kept = answers.read(task.id)
        if kept.text:
            found = keeping.restore(task, kept)
            say("solved", f"Solved before: your answer of {kept.solved[:10]} is used.")
            return _hand_back(task, found)
        told = ""
    except answers.Broken as error:
        told = f"Your kept answer is not used: {error}."
    help = f'hint("{task.id}") gives a hint, solution("{task.id}") shows one way.'
    say("open", report.message, told, help)
    return _hand_back(task, task.solution)


def yours(id: str) -> Any:
    """The learner's own answer of an earlier lesson, checked again, else the reference; says which.

    Raises Unknown, a KeyError that names the nearest id.
    """
    task = get(id)
    try:
        kept = answers.read(id)
        if kept.text:
            found = keeping.restore(task, kept)
            say("solved", f"{id}: your own, solved on {kept.solved[:10]}.")
            return _hand_back(task, found)
        why = f"not solved yet (lesson {task.lesson}, exercise {task.number})"
    except answers.Broken as error:
        why = f"yours is not used: {error}"
    say("open", f"{id}: the reference; {why}.")
    return _hand_back(task, task.solution)


def hint(id: str = "") -> None:
    """Prints the hints of an exercise that were given before, and the next one.

    Without an id: of the exercise that was handed in last.
    """
    task = _asked(id)
    if task is not None:
        say("hint", _hints(task, min(_hints_shown.get(task.id, 0) + 1, len(task.hints))))


def _asked(id: str) -> Exercise | None:
    """The exercise of an id, or the last one; None, and a line that says so, if there is none."""
    if not id and not _last:
        say("hint", 'No exercise was handed in yet; name one: hint("start.count_labels").')
        return None
    try:
        return get(id or _last[0])
    except Unknown as error:
        say("hint", str(error))
        return None


def _hints(task: Exercise, count: int) -> str:
    """The first `count` hints, and where the way goes on."""
    _hints_shown[task.id] = count
    lines = [f"Hint {n} of {len(task.hints)}: {task.hints[n - 1]}" for n in range(1, count + 1)]
    more = count < len(task.hints)
    onward = f'hint("{task.id}") shows more.' if more else f'solution("{task.id}") shows one way.'
    return "\n".join([*lines, onward])


def solution(id: str = "") -> None:
    """Prints the source of the reference, without type annotations, ready to paste.

    With the classes, functions and values of the exercise's file that it names; what that file
    imports, the lesson has, too.
    """
    task = _asked(id)
    if task is not None:
        print(solution_text(task))


def solution_text(task: Exercise) -> str:
    """What `solution` prints of an exercise."""
    if not callable(task.solution):
        return repr(task.solution)
    if task.solution.__module__ == task.module:
        return without_annotations(source.cut(task.solution)[1])
    return without_annotations(inspect.getsource(task.solution))


def without_annotations(text: str) -> str:
    """`text` of definitions as a notebook takes it: no annotations, whose names it may lack, no
    imports, and no decorators of the exercise's `task`. Comments stay.
    """
    text = textwrap.dedent(text)
    tree = ast.parse(text)
    lines, cuts, gone = text.splitlines(keepends=True), [], set()
    for each in ast.walk(tree):
        if isinstance(each, ast.arg) and each.annotation:
            start = each.col_offset + len(each.arg)
            cuts.append((each.lineno, start, each.annotation.end_col_offset))
        if isinstance(each, ast.FunctionDef) and each.returns:
            end = each.returns
            start = lines[end.lineno - 1].rindex(" ->", 0, end.col_offset)
            cuts.append((end.lineno, start, end.end_col_offset))
    for number, start, stop in sorted(cuts, reverse=True):
        lines[number - 1] = lines[number - 1][:start] + lines[number - 1][stop:].replace(" = ", "=")
    decorators = [d for each in tree.body for d in getattr(each, "decorator_list", [])]
    for each in [*tree.body, *decorators]:
        if isinstance(each, ast.Import | ast.ImportFrom) or ast.unparse(each).startswith("task."):
            gone |= set(range(each.lineno - 1, each.end_lineno))
    return "".join(line for n, line in enumerate(lines) if n not in gone).lstrip("\n")


def progress() -> None:
    """Shows which exercises are solved and tried, their minutes, and what is next."""
    messages.show(table.of(answers.states()))
