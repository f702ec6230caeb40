"""Every piece of advice that a notebook prints can be followed in that notebook."""

import ast
import re

import pytest

from tests.notebooks import lessons_code
from tlcourse.exercises import session, solution
from tlcourse.exercises.task import ids
from tlcourse.lessons import finding

CALLED = re.compile(r"\b((?:hint|solution|yours|progress)\((?:\"[\w.]+\")?\))")
LESSONS = {name: code for name, code in lessons_code().items() if "exercise(" in code}


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    for name, empty in (("_hints_shown", {}), ("_returned", {}), ("_last", [])):
        monkeypatch.setattr(session, name, empty)


def imported_by(code: str) -> dict:
    """A namespace with what the lesson imports of the exercises, and nothing else."""
    names: dict = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module == "tlcourse.exercises":
            exec(ast.unparse(node), names)
    return names


def handed_in(code: str) -> list[str]:
    """The ids of the exercises that a lesson checks, in its order."""
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    return [
        c.args[0].value for c in calls if isinstance(c.func, ast.Name) and c.func.id == "exercise"
    ]


def test_all_exercises_are_handed_in_somewhere():
    assert sum(len(handed_in(code)) for code in LESSONS.values()) >= 67


@pytest.mark.parametrize("lesson", LESSONS)
def test_what_a_failed_check_advises_works_where_it_is_printed(lesson, capsys):
    """From the untouched cell through every hint to the solution, typed as it is printed."""
    names = imported_by(LESSONS[lesson])
    for id in handed_in(LESSONS[lesson]):
        exec(f'exercise("{id}", None)', names)
        followed = []
        while advice := CALLED.findall(capsys.readouterr().out):
            followed.append(advice[-1])
            exec(advice[-1], names)
            if advice[-1].startswith("solution"):
                break
        assert followed[-1] == f'solution("{id}")'
        assert capsys.readouterr().out == session.solution_text(session.get(id)) + "\n"


@pytest.mark.parametrize("lesson", LESSONS)
def test_what_the_text_of_a_lesson_names_is_there(lesson):
    names = imported_by(LESSONS[lesson])
    exec(f'exercise("{handed_in(LESSONS[lesson])[0]}", None)', names)
    cells = finding.read_notebook(finding.get(lesson).path).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    for name in re.findall(r"`(hint|solution)\(", text):
        assert callable(names[name])


def test_a_name_of_the_learners_own_stays():
    names = {"exercise": session.exercise, "hint": "mine"}
    exec('exercise("start.count_labels", None)', names)
    assert names["hint"] == "mine" and names["solution"] is solution


def test_headings_say_what_the_exercises_say():
    heading = re.compile(
        r"^#+ Exercise (\S+) · .* · difficulty (\d) of 5 · importance (\d) of 5 · (\d+) minutes$"
    )
    tasks = {task.number: task for task in map(session.get, ids())}
    said = {}
    for lesson in LESSONS:
        for cell in finding.read_notebook(finding.get(lesson).path).cells:
            for line in cell.source.splitlines() if cell.cell_type == "markdown" else ():
                if re.match(r"#+ Exercise ", line):
                    number, *numbers = heading.match(line).groups()
                    said[number] = [int(each) for each in numbers]
    assert said == {
        number: [task.difficulty, task.importance, task.minutes] for number, task in tasks.items()
    }
