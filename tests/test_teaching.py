"""The plans for a class state the minutes of the lessons, and fit into their time."""

import re

import pytest

from tlcourse import files
from tlcourse.cli import slides as command
from tlcourse.cli.options import Command
from tlcourse.lessons import every, finding, slides, studying

ROW = re.compile(r"^\| (.+?) \| (\d+) \|$", re.MULTILINE)
PLANS = (files.root() / "docs/teaching/plans.md").read_text(encoding="utf-8").split("\n## ")[1:]


def stated() -> dict[str, int]:
    """The minutes of each section, by its title, and of each lesson's core, by its id."""
    found: dict[str, int] = {}
    for lesson in every():
        notebook = finding.read_notebook(lesson.path)
        found |= {title.removeprefix("## "): m for title, _, m in studying.sections(notebook)}
        found[lesson.id] = studying.of(notebook).core
    return found


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.split("\n")[0])
def test_a_plan_adds_up(plan: str) -> None:
    minutes, rows = stated(), ROW.findall(plan)
    for title, said in rows:
        if not title.startswith("*"):
            assert minutes[title] == int(said), title
    time = re.search(r"(\d+) minutes", plan.split("\n")[0])
    if time:
        assert sum(int(said) for _, said in rows) == int(time[1])


SLIDES = re.compile(r"^tlcourse slides (.+)$", re.MULTILINE)


@pytest.mark.parametrize("plan", [p for p in PLANS if SLIDES.search(p)], ids=lambda p: p[:30])
def test_the_slides_of_a_plan_are_its_sections(plan: str) -> None:
    shown = []
    for words in SLIDES.findall(plan):
        given = Command("slides", "", command).parsed(words.split())
        sections, _ = slides.chosen(slides.of(finding.notebook_path(given.lesson)), given.sections)
        shown += [section.title for section in sections if section.depth]
    assert shown == [title for title, _ in ROW.findall(plan) if not title.startswith("*")]
