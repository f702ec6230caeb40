"""The lecturer's pages: complete, and their generated parts are as the lessons are."""

import re

import nbformat
import pytest

from tlcourse.lessons import every, finding, lecturing

HEADINGS = [
    "Goal", "A demonstration", "What to cut", "Predictions, and what happens",
    "Exercises, and common mistakes", "To go on", "Open questions",
]  # fmt: skip


def items(text: str, begins: str) -> int:
    """The number of items of a text, or 1 if none begins like that."""
    return len(re.findall(begins, text, re.MULTILINE)) or 1


def section(text: str, title: str) -> str:
    """What stands under a heading, up to the next of the same level."""
    return re.split(r"^## ", text.split(f"## {title}\n", 1)[1], flags=re.MULTILINE)[0]


@pytest.mark.parametrize("lesson", every(), ids=lambda lesson: lesson.id)
def test_the_page_of_a_lesson_is_complete_and_up_to_date(lesson: finding.Lesson) -> None:
    page = lecturing.path_of(lesson).read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)", page, re.MULTILINE) == HEADINGS
    assert page.startswith(f"# {lesson.title}: for lecturers\n")
    assert lecturing.written(page, lesson) == page, "run python -m tlcourse.lessons.lecturing"
    cells = finding.read_notebook(lesson.path).cells
    last = "\n\n".join(cell.source for cell in cells[-6:] if cell.cell_type == "markdown")
    for asked, answered in (("Exercises", "To go on"), ("Open questions",) * 2):
        answers = items(section(page, answered), r"^(?:- )?\*\*")
        assert answers == items(section(last, asked), "^- "), answered


def test_every_prediction_is_on_the_page() -> None:
    for lesson in every():
        notebook = finding.read_notebook(lesson.path)
        asked = sum(c.source.count("**Predict") for c in notebook.cells if c.cell_type != "code")
        assert len(lecturing.predictions(notebook)) == asked, lesson.id


def test_a_question_without_an_answer_is_named() -> None:
    cells = ["## 1.1 One\n\nText. **Predict:** how many?", "## 1.2 Two\n\nMore."]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(c) for c in cells])
    with pytest.raises(ValueError, match="how many"):
        lecturing.predictions(book)


def test_links_start_from_the_folder_of_the_pages() -> None:
    answer = "See [a](05_x.ipynb), [b](../docs/c.md), [d](https://e.org) and [f](#g)."
    cells = [
        "**Predict:** what?",
        f"<details><summary><b>What we see</b></summary>{answer}</details>",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(c) for c in cells])
    assert "](../../../notebooks/05_x.ipynb)" in lecturing.of_predictions(book)
    assert "](../../../docs/c.md), [d](https://e.org) and [f](#g)" in lecturing.of_predictions(book)
