"""Where a figure is found: with its form, or with the one lesson that draws it."""

import re

import pytest

from tests.notebooks import imports_of, lessons_code
from tlcourse import views

LESSONS = {
    lesson: {name for module, name in imports_of(code) if module == views.__name__}
    | set(re.findall(r"\bviews\.(\w+)", code))
    for lesson, code in lessons_code().items()
}


def figures_of_lessons() -> dict[str, str]:
    """The views that a module `lesson_NN` defines, and NN."""
    modules = {name: getattr(getattr(views, name), "__module__", "") for name in views.__all__}
    places = {name: module.partition(".lesson_")[2] for name, module in modules.items()}
    return {name: place for name, place in places.items() if place}


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_draws_forms_and_figures_of_its_own(lesson: str) -> None:
    foreign = {
        n: p for n, p in figures_of_lessons().items() if n in LESSONS[lesson] and p != lesson
    }
    assert foreign == {}, "a chart that several lessons use belongs to the module of its form"


def test_every_figure_of_a_lesson_is_drawn_there() -> None:
    unused = {n: p for n, p in figures_of_lessons().items() if n not in LESSONS[p]}
    assert unused == {}
