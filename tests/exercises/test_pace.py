"""A right answer that is slow is told so, and long runs take the reference."""

import time

import pytest
import torch

from tests.exercises.toys import double
from tlcourse.exercises import for_long_runs
from tlcourse.exercises.task import Unknown

pytestmark = pytest.mark.usefixtures("toy")


def alike(values):
    return [value + value for value in values]


def slow(values):
    time.sleep(0.02)
    return alike(values)


def probe(piece):
    time.sleep(0.004)
    return piece([1, 2])


def test_a_fast_answer_is_used_and_told_so(capsys):
    assert for_long_runs("toy.double", alike, probe) is alike
    assert "as long as the reference: fast enough" in capsys.readouterr().out


def test_a_slow_answer_is_told_so_and_the_reference_comes_back(capsys):
    assert for_long_runs("toy.double", slow, probe) is double
    said = capsys.readouterr().out
    assert "toy.double: yours takes" in said and "long runs use the reference" in said


def test_the_limit_is_an_argument():
    assert for_long_runs("toy.double", slow, probe, limit=1000) is slow


def test_the_reference_is_handed_back_at_once(capsys):
    def never(piece):
        raise AssertionError("it was timed")

    assert for_long_runs("toy.double", double, never) is double
    assert capsys.readouterr().out == ""


def test_an_answer_that_raises_stops_nothing(capsys):
    def raises(values):
        raise RuntimeError("only for short lists")

    assert for_long_runs("toy.double", raises, probe) is double
    assert "RuntimeError: only for short lists" in capsys.readouterr().out


def test_a_hopeless_answer_is_tried_once():
    tried = []

    def crawls(values):
        tried.append(values)
        time.sleep(0.5)

    assert for_long_runs("toy.double", crawls, probe) is double
    assert len(tried) == 1


def test_what_the_trial_draws_changes_nothing_for_later_cells():
    torch.manual_seed(0)
    for_long_runs("toy.double", alike, lambda piece: piece(torch.rand(3).tolist()))
    after = torch.rand(1)
    torch.manual_seed(0)
    assert torch.equal(after, torch.rand(1))


def test_an_unknown_exercise_is_an_error():
    with pytest.raises(Unknown):
        for_long_runs("toy.duoble", alike, probe)
