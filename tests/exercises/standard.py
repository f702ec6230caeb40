"""The tests that every exercise has, so that a topic's tests are a table.

test_right = accepts("bpe.merge_pair", by_index, by_regex)
test_wrong = rejects("bpe.merge_pair", (mutates, 1, "changed argument"), ...)
"""

from collections.abc import Callable
from typing import Any

import pytest

from tlcourse.exercises.machinery import check, get


def _name(candidate: Any) -> str:
    return getattr(candidate, "__name__", type(candidate).__name__)


def accepts(id: str, *candidates: Any) -> Callable:
    """A test that the reference and each of `candidates` (two at least) pass all stages."""
    assert len(candidates) >= 2, "give at least two correct solutions written differently"

    @pytest.mark.parametrize("candidate", [get(id).reference, *candidates], ids=_name)
    def test(candidate):
        report = check(id, candidate)
        assert report.passed, report.message

    return test


def rejects(id: str, *wrong: tuple[Any, int, str]) -> Callable:
    """A test that each (candidate, stage, fragment) fails at that stage and is told so.

    Stage 0 means "nothing written yet"; `fragment` is part of the message.
    """
    assert len(wrong) >= 3, "give at least three typical wrong answers"

    @pytest.mark.parametrize(("candidate", "stage", "fragment"), wrong, ids=_name)
    def test(candidate, stage, fragment):
        report = check(id, candidate)
        assert not report.passed
        assert (report.stage, fragment in report.message) == (stage, True), report.message

    return test
