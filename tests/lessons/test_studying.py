"""Study times follow their rule: prose, code, cells, exercises, by section."""

import nbformat
import pytest

from tlcourse.lessons import studying

MARKDOWN, CODE = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell
OPENING = "# 09 · Title\n\n**Study time:** an age"


def book(*cells):
    return nbformat.v4.new_notebook(cells=[MARKDOWN(OPENING), CODE("import x"), *cells])


def minutes(*cells) -> int:
    ((_, _, spent),) = studying.sections(book(MARKDOWN("## 9.1 A *(core, 1 minutes)*"), *cells))
    return spent


def test_each_part_counts_by_the_rule() -> None:
    assert minutes() == 5, "no section is shorter"
    assert minutes(MARKDOWN("word " * 1_500)) == 10
    assert minutes(MARKDOWN("<details>\n" + "word " * 1_500 + "</details>")) == 5, "folds are free"
    assert minutes(*[CODE("x = 1")] * 25) == 20, "25 cells of 0.75, 25 lines at 20 a minute"
    assert minutes(CODE("x = 1\n\n" * 200)) == 10, "empty lines are not read"
    asked = "#### Exercise 9.1 · a thing · difficulty 3 of 5 · 20 minutes"
    assert minutes(MARKDOWN(asked)) == 20
    assert minutes(MARKDOWN(asked + "\n\n" + asked.replace("20", "15"))) == 35


def lesson():
    return book(
        MARKDOWN("## 9.1 A *(core, 1 minutes)*\n\n" + "word " * 1_500),
        MARKDOWN("## 9.2 B *(deeper, 99 minutes)*\n\n" + "word " * 3_000 + "\n\n## Summary\n\nend"),
        MARKDOWN("word " * 9_000),
    )


def test_headings_and_opening_block_are_written_and_twice_is_once() -> None:
    made = lesson()
    studying.state(made)
    assert made.cells[2].source.startswith("## 9.1 A *(core, 10 minutes)*")
    assert made.cells[3].source.startswith("## 9.2 B *(deeper, 20 minutes)*"), "the summary is free"
    told = "**Study time:** 10 minutes for the core, 20 more for the rest"
    assert made.cells[0].source.endswith(told)
    before = nbformat.writes(made)
    studying.state(made)
    assert nbformat.writes(made) == before


@pytest.mark.parametrize(
    ("study", "said"),
    [
        (studying.Study(60, 60), "60 minutes for the core"),
        (studying.Study(0, 45), "45 minutes; everything here is deeper"),
    ],
)
def test_what_is_said(study, said) -> None:
    assert str(study) == said


def test_a_lesson_that_marks_no_section_has_none() -> None:
    bare = book(MARKDOWN("## 9.1 A\n\ntext"))
    before = nbformat.writes(bare)
    studying.state(bare)
    assert studying.of(bare) is None and nbformat.writes(bare) == before
