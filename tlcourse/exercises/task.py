"""What an exercise is: its text, its reference, its stages, and the mistakes that it knows.

All of one exercise stands in one file, `exercises/TOPIC/NAME.py`, whose `task` is an `Exercise`:

    task = Exercise(__name__, number="1.2", title="Merge one pair", difficulty=2, importance=5,
                    minutes=10, hints=("When a pair has been merged, at which token ...?", ...))

    @task.reference
    def merge_pair(tokens, pair, new_token): ...

    @task.truth                                     # the same in another way
    def by_string(tokens, pair, new_token): ...

    task.stage(
        "no token used twice",
        case("`a a a` with the pair `a a`", ["a", "a", "a"], ("a", "a"), "aa"),
        hint="Read from left to right, and use no token twice.",
    )
    task.mistakes(
        ("Both tokens of a merged pair are gone: go on two tokens later.", leaves_overlaps),
    )

A case is measured (by default: the function is called, and must leave its arguments alone) and
held against what is expected (by default: what the truth gives). A wrong answer that measures the
same as a known mistake, on every case so far, is told its sentence in place of the hint.
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

TRUTH: Any = object()  # expected: what the exercise's truth gives


@dataclass(frozen=True)
class Case:
    """One thing that a stage checks; made by `case`."""

    what: str
    arguments: tuple
    expected: Any = TRUTH
    measure: Callable | None = None
    hint: str = ""
    tolerance: float | None = None


def case(
    what: str,
    *arguments: Any,
    expected: Any = TRUTH,
    measure: Callable | None = None,
    hint: str = "",
    tolerance: float | None = None,
) -> Case:
    """A case of `what` (a noun phrase) with these arguments of the answer, or of `measure`.

    Without `what` the learner is shown the call. What is not given is the stage's, or else the
    exercise's.
    """
    return Case(what, arguments, expected, measure, hint, tolerance)


@dataclass(frozen=True)
class Stage:
    """One step of the checks; `check(candidate)` raises `CheckFailed`, or returns: None, or a
    remark that is told once all stages have passed. `hint` is for who fails here."""

    name: str
    check: Callable[[Any], str | None]
    hint: str = ""


@dataclass(frozen=True)
class Mistake:
    """A wrong answer, and the sentence that a learner is told who gives it."""

    message: str
    wrong: Any


@dataclass
class Exercise:
    """A task with its checks. `minutes` is the time it takes; `difficulty` and `importance` are
    1 to 5.

    `measure(candidate, *arguments)` gives what is compared, and `tolerance` is how close numbers
    with a fraction must come (absolute up to 1, relative above); all else must be equal.
    `module` is the `__name__` of its file and gives the id, "topic.name"; `number` is that in the
    lesson. Hints go from a nudge to nearly everything. `imports` are lines of code that an answer
    may lean on, `builds_on` the ids of exercises whose answers it may call. `given` is the code to
    be mended of an exercise that has some: handed in as it is, it counts as not solved yet. Where
    it `trains`, what an optimizer needs is loaded before the learner's clock starts.
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
    catalogue: list[Mistake] = field(default_factory=list)  # of known mistakes
    expected: Callable | None = None  # the truth: what is right, in another way

    def __post_init__(self) -> None:
        self._cases: list[tuple] = []  # of the check that runs now, as `_gives` takes them

    @property
    def id(self) -> str:
        """The last two parts of the module's name: "bpe.merge_pair"."""
        return ".".join(self.module.split(".")[-2:])

    @property
    def name(self) -> str:
        """What the lesson calls the answer: "merge_pair"; of a class its own name: "Attention"."""
        own = self.solution
        return own.__name__ if isinstance(own, type) else self.id.split(".")[1]

    @property
    def lesson(self) -> str:
        """The id of its lesson."""
        return listing.lesson_of(self.number)

    def reference(self, solution: Any) -> Any:
        """Takes the reference; a decorator."""
        self.solution = solution
        return solution

    def truth(self, function: Callable) -> Callable:
        """Takes the independent truth, which has the reference's arguments; a decorator."""
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
        """Adds the next stage: these cases in turn, with what is the same in all of them.

        `expected` takes a case's arguments, as the truth does. Without any case it is a decorator
        of a check of one's own, which calls `compare`.
        """

        def run(candidate: Any) -> None:
            for each in cases:
                due = each.expected
                if due is TRUTH:
                    due = (expected or self.expected)(*copy.deepcopy(each.arguments))
                self.compare(
                    candidate, each.what, *each.arguments, expected=due,
                    measure=each.measure or measure, hint=each.hint or hint,
                    tolerance=tolerance if each.tolerance is None else each.tolerance,
                )  # fmt: skip

        def take(check: Callable) -> Callable:
            self.stages.append(Stage(name, check, "" if cases else hint))
            return check

        if cases:
            take(run)
        return take

    def mistakes(self, *rows: tuple[str, Any]) -> None:
        """Adds known mistakes: (the sentence that is told, a wrong answer)."""
        self.catalogue += [Mistake(message, wrong) for message, wrong in rows]

    def begin(self) -> None:
        """Forgets the cases of the check before."""
        self._cases.clear()

    def run(self, stage: Stage, candidate: Any) -> str | None:
        """Runs one stage; returns its remark."""
        return stage.check(candidate)

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
        """Measures the candidate with these arguments; returns what came, if it is as expected.

        Raises CheckFailed unless it is: equal, or within the tolerance where `expected` has
        fractions. It says what a known mistake says that has measured the same so far, else `hint`.
        """
        measure = measure or self.measure
        what = what or f"`{self.name}({', '.join(short(each, 60) for each in arguments)})`"
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
        return got

    def diagnose(
        self, measure: Callable, arguments: tuple, got: Any, tolerance: float | None = None
    ) -> str:
        """The sentence of the first mistake that measures the same here and on all cases before."""
        for mistake in self.catalogue:
            if all(
                _gives(mistake, *case)
                for case in [(measure, arguments, got, tolerance), *self._cases]
            ):
                return mistake.message
        return ""


def _gives(mistake: Mistake, measure: Callable, arguments: tuple, got: Any, tolerance) -> bool:
    """Whether a mistake, measured in the same way, gives or raises the same."""
    try:
        gave = measure(mistake.wrong, *copy.deepcopy(arguments))
    except Exception as error:
        says = str if isinstance(error, CheckFailed) else _without_numbers
        return type(error) is type(got) and says(error) == says(got)
    return not isinstance(got, Exception) and agree(gave, got, tolerance)


def _without_numbers(error: Exception) -> str:
    """What an error says, whatever sizes and positions it names."""
    return re.sub(r"\d+", "#", str(error))


class Unknown(KeyError):
    """No exercise has this id; the message, one line, names those that are most like it."""

    def __str__(self) -> str:
        return self.args[0]


@cache
def _names() -> tuple[str, ...]:
    """The ids of all exercises, in no order that matters; loads none of them."""
    return tuple(listing.names())


def ids() -> tuple[str, ...]:
    """The ids of all exercises, in the order of the lessons; loads none of them."""
    return tuple(sorted(_names(), key=lambda id: facts(id).order))


def facts(id: str) -> listing.Listed:
    """What a table says of an exercise, without loading its checks."""
    if listing.place(id).exists():
        return listing.read(id)
    task = _load(id)
    return listing.Listed(id, task.number, task.title, task.difficulty, task.minutes)


def _load(id: str) -> Exercise:
    return importlib.import_module(f"{__package__}.{id}").task


def get(id: str) -> Exercise:
    """The exercise of this id; raises Unknown, which names those that are like it."""
    if id not in _names():
        near = three_nearest(str(id), ids())
        raise Unknown(f"no exercise {id!r}; did you mean {near}? `tlcourse progress` lists all")
    return _load(id)
