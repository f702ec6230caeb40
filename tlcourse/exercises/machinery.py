"""Exercises: staged checks of what the learner wrote, hints, the reference when it is not solved.

A topic is a module of this package with `EXERCISES`, a tuple of `Exercise`; the part of an id
before the dot names it. `exercise(...)` never raises for anything that a learner wrote.
"""

import ast
import dis
import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import tlcourse.exercises
from tlcourse.exercises import running
from tlcourse.exercises.expect import Wrong, short

_hints_shown: dict[str, int] = {}


@dataclass(frozen=True)
class Stage:
    """One step of the checks; `check(candidate)` raises `Wrong`, or returns: None, or a remark
    that is told once all stages have passed."""

    name: str
    check: Callable[[Any], str | None]


@dataclass(frozen=True)
class Exercise:
    """A task with its checks. `minutes` is the time it takes, `difficulty` is 1 to 5.

    `stages` go from shape over mechanism in isolation to the whole, `hints` from a nudge to
    nearly everything. `reference` is the solution (a function, a class or a value); `source` is
    its text, read from the reference where it is left empty. `given` is the code to be mended of
    an exercise that has some: handed in as it is, it counts as not solved yet.
    """

    id: str
    title: str
    difficulty: int
    minutes: int
    hints: tuple[str, ...]
    reference: Any
    stages: tuple[Stage, ...]
    source: str = ""
    given: FunctionType | None = None

    def __post_init__(self) -> None:
        if not (1 <= self.difficulty <= 5 and self.hints and self.stages and "." in self.id):
            raise ValueError(
                f"expected an id like 'topic.name', a difficulty from 1 to 5, at least one hint "
                f"and one stage; got {self.id!r}, difficulty {self.difficulty}, "
                f"{len(self.hints)} hints, {len(self.stages)} stages"
            )


@dataclass(frozen=True)
class Report:
    """How an attempt went. `stage` counts from 1: the one that failed; 0: nothing changed yet."""

    passed: bool
    stage: int
    stages: int
    message: str
    printed: str = ""


def _topic(name: str) -> ModuleType | None:
    """The topic's module; None if there is no such topic."""
    names = {module.name for module in pkgutil.iter_modules(tlcourse.exercises.__path__)}
    if name not in names:
        return None
    module = importlib.import_module(f"tlcourse.exercises.{name}")
    return module if hasattr(module, "EXERCISES") else None


def all_exercises() -> dict[str, Exercise]:
    """Every exercise by its id, topics in alphabetical order."""
    names = sorted(module.name for module in pkgutil.iter_modules(tlcourse.exercises.__path__))
    topics = [topic for topic in map(_topic, names) if topic]
    return {each.id: each for topic in topics for each in topic.EXERCISES}


def get(id: str) -> Exercise:
    """The exercise of this id; raises KeyError that lists the ids there are."""
    topic = _topic(id.partition(".")[0])
    for each in topic.EXERCISES if topic else ():
        if each.id == id:
            return each
    raise KeyError(f"no exercise {id!r}; there are: {', '.join(all_exercises())}")


_NOT_YET = "Not solved yet, {}: the notebook goes on with the reference."
_EMPTY = {"RESUME", "NOP", "COPY_FREE_VARS", "MAKE_CELL"}
_GIVES = {"LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}
_KEEPS = {"STORE_FAST", "STORE_NAME", "STORE_DEREF", "STORE_GLOBAL", "RETURN_VALUE"}


def _unwritten(function: FunctionType) -> bool:
    """Whether the body only returns None (`...`, `pass`, a docstring) or still has a `x = ...`."""
    steps = [step for step in dis.get_instructions(function) if step.opname not in _EMPTY]
    if all(step.opname in _GIVES and step.argval is None for step in steps):
        return True
    following = [step.opname for step in steps[1:]] + [""]
    return any(
        step.argval is ... and (step.opname == "RETURN_CONST" or after in _KEEPS)
        for step, after in zip(steps, following, strict=True)
    )


def _unsolved(candidate: Any, reference: Any) -> bool:
    if candidate is None or candidate is ...:
        return True
    if isinstance(candidate, FunctionType):
        return _unwritten(candidate)
    if isinstance(candidate, type) and isinstance(reference, type):
        methods = [each for each in vars(candidate).items() if isinstance(each[1], FunctionType)]
        wanted = {n for n, f in vars(reference).items() if isinstance(f, FunctionType)}
        return any(name in wanted and _unwritten(method) for name, method in methods)
    return False


def _statements(function: FunctionType) -> list[str]:
    """What `function` does, without docstring and comments; none if its source is not to be had.

    Not its bytecode, which depends on whether the cell or the module has imports.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        return [ast.unparse(each) for each in tree.body[ast.get_docstring(tree) is not None :]]
    except Exception:
        return []


def _as_given(candidate: Any, given: FunctionType | None) -> bool:
    if given is None or not isinstance(candidate, FunctionType):
        return False
    mine = _statements(candidate)
    return bool(mine) and mine == _statements(given)


def _explain(outcome: running.Outcome) -> str:
    """What went wrong, as a sentence for the learner."""
    if outcome.timed_out:
        where = f", in {outcome.line}" if outcome.line else ""
        still = " It is still running: restart the kernel if the machine stays busy."
        return (
            f"your code was stopped after {running.LIMIT:g} seconds{where}. Is there a loop that "
            f"never ends, or one that does the same work many times?"
            f"{still if outcome.still_running else ''}"
        )
    error = outcome.error
    if isinstance(error, Wrong):
        return str(error)
    try:
        text = " ".join(str(error).split())[:300]
    except Exception:
        text = ""
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if outcome.line:
        notes = getattr(error, "__notes__", ())
        return " ".join([f"your code raised {said}, in {outcome.line}.", *notes])
    return (
        f"calling your code, or using what it returned, raised {said}. Does it take the arguments "
        f"and return the kind of value that the exercise asks for?"
    )


def check(id: str, candidate: Any) -> Report:
    """Runs the stages on `candidate`, for at most 10 s in all, and prints nothing.

    Raises KeyError for an unknown id, and nothing for what the candidate does.
    """
    task = get(id)
    count, reached, remarks = len(task.stages), 0, []
    if _unsolved(candidate, task.reference):
        return Report(False, 0, count, _NOT_YET.format("and that is fine"))
    if _as_given(candidate, task.given):
        return Report(False, 0, count, _NOT_YET.format("this is the code as it was given"))
    if callable(task.reference) and not callable(candidate):
        kind = "class" if isinstance(task.reference, type) else "function"
        name = f"Stage 1 of {count}, {task.stages[0].name}"
        return Report(False, 1, count, f"{name}: expected a {kind}; got {short(candidate)}.")

    def work() -> None:
        nonlocal reached
        for reached, stage in enumerate(task.stages, start=1):  # noqa: B007
            remarks.append(stage.check(candidate))

    outcome = running.run_limited(work, running.LIMIT)
    if outcome.error is None and not outcome.timed_out:
        said = " ".join(filter(None, [f"Solved: all {count} stages passed.", *remarks]))
        return Report(True, count, count, said, outcome.printed)
    reached = max(reached, 1)
    message = f"Stage {reached} of {count}, {task.stages[reached - 1].name}: {_explain(outcome)}"
    return Report(False, reached, count, message, outcome.printed)


def _hints(task: Exercise, count: int) -> str:
    """The first `count` hints, and where the way goes on."""
    _hints_shown[task.id] = count
    lines = [f"Hint {n} of {len(task.hints)}: {task.hints[n - 1]}" for n in range(1, count + 1)]
    more = count < len(task.hints)
    onward = f'hint("{task.id}") shows more.' if more else f'solution("{task.id}") shows one way.'
    return "\n".join([*lines, onward])


def exercise(id: str, candidate: Any) -> Any:
    """Checks `candidate`, says how it went, and returns it if it passed, else the reference.

    Raises KeyError, listing the ids, for an unknown id; nothing for what a learner wrote.
    """
    task, report = get(id), check(id, candidate)
    if report.printed:
        print(f"(Your code printed: {report.printed})")
    if report.passed:
        print(report.message, "Yours is used from here on.")
        return candidate
    print(report.message)
    if report.stage > 0:
        print("The notebook goes on with the reference; change your code and run the cell again.")
    print(_hints(task, max(1, _hints_shown.get(id, 0))))
    return task.reference


def hint(id: str) -> None:
    """Prints the hints of an exercise that were given before, and the next one."""
    task = get(id)
    print(_hints(task, min(_hints_shown.get(id, 0) + 1, len(task.hints))))


def solution(id: str) -> None:
    """Prints the source of the reference solution, without type annotations, ready to paste."""
    task = get(id)
    print(task.source or _without_annotations(inspect.getsource(task.reference)))


def _without_annotations(source: str) -> str:
    """`source` of one function, its annotations cut out: they name what a notebook may not have."""
    function = ast.parse(source).body[0]
    lines, cuts = source.splitlines(keepends=True), []
    for each in ast.walk(function):
        if isinstance(each, ast.arg) and each.annotation:
            start = each.col_offset + len(each.arg)
            cuts.append((each.lineno, start, each.annotation.end_col_offset))
    if isinstance(function, ast.FunctionDef) and function.returns:
        end = function.returns
        start = lines[end.lineno - 1].rindex(" ->", 0, end.col_offset)
        cuts.append((end.lineno, start, end.end_col_offset))
    for number, start, stop in sorted(cuts, reverse=True):
        lines[number - 1] = lines[number - 1][:start] + lines[number - 1][stop:].replace(" = ", "=")
    return "".join(lines)
