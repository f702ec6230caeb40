"""What follows from the file of every exercise: right ones pass, mistakes get their sentence."""

import ast

import pytest

from tests.exercises import standard
from tlcourse.exercises import session, source
from tlcourse.exercises.checking import check
from tlcourse.exercises.task import get, ids

EVERY = {id: get(id) for id in ids()}
HELPERS = {
    "bpe.train": ["best_of"],
    "adaptation.own_scheme": ["SmallByBlock"],
    "heads.tag_targets": ["IGNORED"],
    "words.ngram_buckets": ["fnv1a"],
}


def called(each):
    return getattr(each, "__name__", type(each).__name__)


@pytest.fixture(scope="module")
def tables():
    standard.load_tables()
    return standard


@pytest.mark.parametrize("id", EVERY)
def test_it_is_well_formed(id, capsys):
    task = EVERY[id]
    session.solution(id)
    assert len(capsys.readouterr().out) > 10
    assert 1 <= task.difficulty <= 5 and 1 <= task.importance <= 5 and 1 <= task.minutes <= 60
    names = [stage.name for stage in task.stages]
    assert len(task.hints) >= 2 and len(set(names)) == len(names)
    assert standard.fragments("\n".join(task.hints)) == []


@pytest.mark.parametrize("id", EVERY)
def test_a_solution_shows_nothing_of_the_checks(id):
    text = session.solution_text(EVERY[id])
    defined = [
        name
        for node in ast.parse(text).body
        if source.is_part(node)
        for name in source.defines(node)
    ]
    assert defined[:-1] == HELPERS.get(id, [])


@pytest.mark.parametrize("id", EVERY)
def test_answers_written_in_other_ways_are_tried(id, tables):
    task = EVERY[id]
    assert len(tables.RIGHT[id]) >= 2, "two right answers besides the reference"
    assert len(task.catalogue) >= 3 or id == "adaptation.own_scheme", "three known mistakes"
    wrong = tables.WRONG[id] + len(task.catalogue)
    assert wrong >= (6 if task.difficulty >= 3 else 3)


@pytest.mark.parametrize("id", EVERY)
def test_the_reference_passes(id):
    assert check(EVERY[id], EVERY[id].solution).message.startswith("Solved")


@pytest.mark.parametrize("id", EVERY)
def test_known_mistakes_fail_and_get_their_sentence(id):
    offenders = {}
    for mistake in EVERY[id].catalogue:
        report = check(EVERY[id], mistake.wrong)
        told = report.message.endswith(f"\nWhy: {mistake.message}")
        if report.passed or not told or standard.fragments(mistake.message):
            offenders[called(mistake.wrong), mistake.message] = report.message
    assert offenders == {}
