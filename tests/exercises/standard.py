"""Tests of answers that are not in an exercise's own file: tables of right and of wrong ones.

test_right = accepts("bpe.merge_pair", by_index, by_regex)
test_wrong = rejects("bpe.merge_pair", (mutates, 1, "Build a new value"), ...)
"""

import importlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tlcourse.exercises.checking import check
from tlcourse.exercises.task import get

VALUE = re.compile(r"(Yours|Expected): ")
SENTENCE = re.compile(r"((Check|Why): )?[A-Z`\d(].*[.?!]")
RIGHT: dict[str, list] = defaultdict(list)  # of each exercise: the answers of the tables
WRONG: Counter[str] = Counter()  # their number


def load_tables() -> None:
    """Imports every module with tables, so that RIGHT and WRONG are complete."""
    for path in Path(__file__).parent.glob("test_*.py"):
        importlib.import_module(f"tests.exercises.{path.stem}")


def fragments(message: str) -> list[str]:
    """The lines that are told and are neither a value nor a sentence.

    A sentence begins with a capital letter, a number or code, and ends with a stop.
    """
    return [
        line
        for line in message.splitlines()
        if not VALUE.match(line) and not SENTENCE.fullmatch(line)
    ]


def _name(candidate: Any) -> str:
    return getattr(candidate, "__name__", type(candidate).__name__)


def accepts(id: str, *candidates: Any) -> Callable:
    """A test that each of `candidates` passes all stages."""
    RIGHT[id] += candidates

    def test():
        reports = [(_name(each), check(get(id), each)) for each in candidates]
        assert [(name, report.message) for name, report in reports if not report.passed] == []

    return test


def rejects(id: str, *wrong: tuple[Any, int, str]) -> Callable:
    """A test that each (candidate, stage, fragment) fails at that stage and is told so.

    Stage 0 means "nothing written yet"; `fragment` is part of the message.
    """
    WRONG[id] += len(wrong)

    def test():
        offenders = {}
        for candidate, stage, fragment in wrong:
            report = check(get(id), candidate)
            told = fragment in report.message and not fragments(report.message)
            if report.passed or report.stage != stage or not told:
                offenders[_name(candidate)] = (stage, fragment, report.message)
        assert offenders == {}

    return test
