"""What follows from the file of every exercise: right ones pass, mistakes get their sentence."""

import pytest

from tlcourse.exercises import session
from tlcourse.exercises.checking import check
from tlcourse.exercises.task import get, ids

EVERY = {id: get(id) for id in ids()}


def called(each):
    return getattr(each, "__name__", type(each).__name__)


@pytest.mark.parametrize("id", EVERY)
def test_it_is_well_formed(id, capsys):
    task = EVERY[id]
    session.solution(id)
    assert len(capsys.readouterr().out) > 10
    assert 1 <= task.difficulty <= 5 and 1 <= task.minutes <= 60 and len(task.hints) >= 2
    assert len(task.solutions) >= 3, "the reference, and two right solutions written differently"
    assert len(task.mistakes) >= 3, "three known mistakes"
    names = [stage.name for stage in task.stages]
    assert len(set(names)) == len(names) and {each.stage for each in task.mistakes} <= set(names)


@pytest.mark.parametrize("id", EVERY)
def test_right_solutions_pass(id):
    failed = {called(each): check(EVERY[id], each).message for each in EVERY[id].solutions
              if not check(EVERY[id], each).passed}  # fmt: skip
    assert failed == {}


@pytest.mark.parametrize("id", EVERY)
def test_known_mistakes_fail_where_they_should_and_get_their_sentence(id):
    task, offenders = EVERY[id], {}
    stages = [stage.name for stage in task.stages]
    for mistake in task.mistakes:
        report = check(task, mistake.wrong)
        right = report.stage == stages.index(mistake.stage) + 1 and mistake.says in report.message
        if report.passed or not right:
            offenders[called(mistake.wrong)] = report.message
    assert offenders == {}
