"""The definition of an exercise: its text, reference, stages and known mistakes.

An exercise is one file, `exercises/TOPIC/NAME.py`, whose `task` is an `Exercise`:

    task = Exercise(__name__, number="1.2", title="Merge one pair", difficulty=2, importance=5,
                    minutes=10, hints=("When a pair has been merged, at which token ...?", ...))

    @task.reference
    def merge_pair(tokens, pair, new_token): ...

    @task.truth                                     # computed in another way
    def by_string(tokens, pair, new_token): ...

    task.stage(
        "no token used twice",
        case("`a a a` with the pair `a a`", ["a", "a", "a"], ("a", "a"), "aa"),
        hint="Read from left to right, and use no token twice.",
    )
    task.mistakes(
        ("Both tokens of a merged pair are gone: go on two tokens later.", leaves_overlaps),
    )

A case is measured (by default, the function is called and must not change its arguments) and
compared with the expected value (by default, that of the truth). If an answer is wrong, and every
case so far gives the same value as for a known mistake, the mistake's sentence replaces the hint.
"""

import copy
import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from types import FunctionType
from typing import Any

from tlcourse.exercises import listing
from tlcourse.exercises.expect import (
    CheckFailed,
    agree,
    expect_close,
    expect_equal,
    expect_unchanged,
    inexact,
    short,
)
from tlcourse.wording import three_nearest

TRUTH: Any = object()  # as `expected`: the value that the exercise's truth returns


@dataclass(frozen=True)
class Case:
    """One check of a stage; `case` creates it."""

    what: str
    arguments: tuple
    expected: Any = TRUTH
    measure: Callable | None = None
    hint: str = ""
    tolerance: float | None = None


def case(what: str, *arguments: Any, **options: Any) -> Case:
    """Returns a case that checks `what` (a noun phrase) with these arguments of the answer.

    If `what` is "", the learner sees the call. The options are `expected`, `measure`, `hint` and
    `tolerance`; if they are not given, those of the stage apply, or else of the exercise.
    """
    return Case(what, arguments, **options)


@dataclass(frozen=True)
class Stage:
    """A stage of the checks; `check(candidate)` raises `CheckFailed`, or returns None or a remark,
    which is shown when all stages have passed. `hint` is shown if the stage fails."""

    name: str
    check: Callable[[Any], str | None]
    hint: str = ""


@dataclass(frozen=True)
class Mistake:
    """A wrong answer, and the sentence for a learner who gives it."""

    message: str
    wrong: Any


@dataclass
class Exercise:
    """An exercise with its checks. `minutes` is the time it takes; `difficulty` and `importance`
    are 1 to 5.

    `measure(candidate, *arguments)` returns the value to compare. `tolerance` is the largest
    difference allowed for numbers with a fraction (absolute up to 1, relative above); other values
    must be equal. `module` is the `__name__` of the file, whose last parts are the id
    "topic.name"; `number` is such as "1.2", in lesson 01. Hints go from a nudge to almost the
    answer. `imports` are lines of code that an answer may use, `builds_on` the ids of exercises
    whose answers it may call. `given` is the code that the learner has to correct, if there is any;
    unchanged, it counts as not solved yet. If the exercise `trains`, the imports of optimizers
    happen before the time limit starts.
    """

    module: str
    number: str
    title: str
    difficulty: int
    minutes: int
    hints: tuple[str, ...]
    importance: int = 3
    measure: Callable = expect_unchanged
    tolerance: float | None = None
    imports: str = ""
    builds_on: tuple[str, ...] = ()
    given: FunctionType | None = None
    trains: bool = False
    solution: Any = None  # the reference
    stages: list[Stage] = field(default_factory=list)
    catalogue: list[Mistake] = field(default_factory=list)  # the known mistakes
    expected: Callable | None = None  # the truth, which computes the reference's value otherwise

    def __post_init__(self) -> None:
        self._cases: list[tuple] = []  # passed in the current check, as arguments of `_matches`
        self.failed_on: tuple = ()  # the arguments of the case that did not pass

    @property
    def id(self) -> str:
        """The last two parts of the module's name: "bpe.merge_pair"."""
        return ".".join(self.module.split(".")[-2:])

    @property
    def name(self) -> str:
        """The name of the answer in the lesson: "merge_pair", or that of a class: "Attention"."""
        solution = self.solution
        return solution.__name__ if isinstance(solution, type) else self.id.split(".")[1]

    @property
    def lesson(self) -> str:
        """The id of its lesson."""
        return listing.lesson_of(self.number)

    def reference(self, solution: Any) -> Any:
        """A decorator that registers the reference."""
        self.solution = solution
        return solution

    def truth(self, function: Callable) -> Callable:
        """A decorator that registers the independent truth, with the reference's arguments."""
        self.expected = function
        return function

    def stage(
        self,
        name: str,
        *cases: Case,
        hint: str = "",
        measure: Callable | None = None,
        expected: Callable | None = None,
        tolerance: float | None = None,
    ) -> Callable[[Callable], Callable]:
        """Adds the next stage, which checks the cases in turn, with their common options.

        `expected` takes a case's arguments, as the truth does. Without cases it is a decorator for
        a check function, which calls `compare`.
        """

        def run(candidate: Any) -> None:
            for case in cases:
                value = case.expected
                if value is TRUTH:
                    value = (expected or self.expected)(*copy.deepcopy(case.arguments))
                self.compare(
                    candidate, case.what, *case.arguments, expected=value,
                    measure=case.measure or measure, hint=case.hint or hint,
                    tolerance=tolerance if case.tolerance is None else case.tolerance,
                )  # fmt: skip

        def add(check: Callable) -> Callable:
            self.stages.append(Stage(name, check, "" if cases else hint))
            return check

        if cases:
            add(run)
        return add

    def mistakes(self, *rows: tuple[str, Any]) -> None:
        """Adds known mistakes, each a sentence for the learner and a wrong answer."""
        self.catalogue += [Mistake(message, wrong) for message, wrong in rows]

    def begin(self) -> None:
        """Starts a new check: removes the cases of the previous one."""
        self._cases.clear()
        self.failed_on = ()

    def compare(
        self,
        candidate: Any,
        what: str,
        *arguments: Any,
        expected: Any,
        measure: Callable | None = None,
        hint: str = "",
        tolerance: float | None = None,
    ) -> Any:
        """Measures the candidate with these arguments; returns the measured value.

        Raises CheckFailed unless it equals `expected`, or is within the tolerance if that has
        fractions. The error has the sentence of a matching known mistake, else `hint`.
        """
        measure, self.failed_on = measure or self.measure, arguments
        what = what or f"`{self.name}({', '.join(short(value, 60) for value in arguments)})`"
        close = (self.tolerance if tolerance is None else tolerance) if inexact(expected) else None
        try:
            got = measure(candidate, *copy.deepcopy(arguments))
        except Exception as error:
            if message := self.diagnose(measure, arguments, error):
                error.add_note(message)
            raise
        if not agree(got, expected, close):
            hint = self.diagnose(measure, arguments, got, close) or hint
            if close is not None:
                expect_close(got, expected, what, hint, close)
            expect_equal(got, expected, what, hint)
        self._cases.append((measure, arguments, got, close))
        self.failed_on = ()
        return got

    def diagnose(
        self, measure: Callable, arguments: tuple, got: Any, tolerance: float | None = None
    ) -> str:
        """The sentence of the first mistake that matches this and all earlier cases, or ""."""
        for mistake in self.catalogue:
            if all(
                _matches(mistake, *case)
                for case in [(measure, arguments, got, tolerance), *self._cases]
            ):
                return mistake.message
        return ""


def _matches(mistake: Mistake, measure: Callable, arguments: tuple, got: Any, tolerance) -> bool:
    """True if a mistake, measured in the same way, returns or raises the same as the answer."""
    try:
        value = measure(mistake.wrong, *copy.deepcopy(arguments))
    except Exception as error:
        message = str if isinstance(error, CheckFailed) else _without_numbers
        return type(error) is type(got) and message(error) == message(got)
    return not isinstance(got, Exception) and agree(value, got, tolerance)


def _without_numbers(error: Exception) -> str:
    """The message of an error with numbers, such as sizes and positions, replaced."""
    return re.sub(r"\d+", "#", str(error))


class Unknown(KeyError):
    """No exercise has this id; the message, one line, names the nearest ones."""

    def __str__(self) -> str:
        return self.args[0]


@cache
def _names() -> tuple[str, ...]:
    """The ids of all exercises, in no particular order; loads none of them."""
    return tuple(listing.names())


def ids() -> tuple[str, ...]:
    """The ids of all exercises, in the order of the lessons; loads none of them."""
    return tuple(sorted(_names(), key=lambda id: facts(id).order))


def facts(id: str) -> listing.Listed:
    """The facts of an exercise for tables, without loading its checks."""
    if listing.place(id).exists():
        return listing.read(id)
    task = _load(id)
    return listing.Listed(id, task.number, task.title, task.difficulty, task.minutes)


def _load(id: str) -> Exercise:
    return importlib.import_module(f"{__package__}.{id}").task


def get(id: str) -> Exercise:
    """The exercise of this id; raises Unknown, which names the nearest ids."""
    if id not in _names():
        near = three_nearest(str(id), ids())
        raise Unknown(f"no exercise {id!r}; did you mean {near}? See `tlcourse progress --all`")
    return _load(id)
