"""The map and the example of lesson 00 are written by a command."""

import nbformat
import pytest

from tlcourse.lessons import finding, marks, start

README = "Before.\n<!-- example: begin (x) -->\n```bash\nit\n```\n<!-- example: end -->\nAfter.\n"
PLACES = [
    "## The map\n\n<!-- map: begin (x) -->\nold\n<!-- map: end -->\n\nRead in this order.",
    "In a terminal:\n\n<!-- example: begin (y) -->\n<!-- example: end -->\n\nAnd then?",
]


@pytest.fixture
def three(tmp_path, monkeypatch):
    """Lessons 00, 01 and 01b; 00 has a place for the map and one for the example."""
    lessons = []
    for id in ("00", "01", "01b"):
        opening = f"# {id} · Title\n\n**You build:** a {id}\n\n**The question:** why {id}?"
        more = PLACES if id == "00" else []
        cells = [nbformat.v4.new_markdown_cell(source) for source in (opening, *more)]
        path = tmp_path / f"{id}_lesson.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
        lessons.append(finding.Lesson(id, "lesson", path))
    monkeypatch.setattr(finding, "every", lambda: lessons)
    return lessons


def test_every_lesson_is_on_the_map_and_the_example_is_the_readmes(three):
    assert start.write(README) == "00_lesson.ipynb written"
    _, shown, example = (cell.source for cell in finding.read_notebook(three[0].path).cells)
    assert shown.splitlines() == [
        "## The map",
        "",
        "<!-- map: begin (x) -->",
        "| lesson | what you build | the question it answers |",
        "|---|---|---|",
        "| 00 · Title | a 00 | why 00? |",
        "| [01 · Title](01_lesson.ipynb) | a 01 | why 01? |",
        "| [01b · Title](01b_lesson.ipynb) | a 01b | why 01b? |",
        "<!-- map: end -->",
        "",
        "Read in this order.",
    ]
    assert marks.between(example, "example") == marks.between(README, "example")
    assert example.startswith("In a terminal:") and example.endswith("And then?")
    assert start.write(README) == "00_lesson.ipynb is up to date"


def test_a_lesson_without_the_marks_is_told(three):
    book = finding.read_notebook(three[0].path)
    book.cells.pop()
    with pytest.raises(ValueError, match="the marks of the example in one cell, got 0"):
        start.updated(book, README)
    with pytest.raises(ValueError, match="'<!-- example: begin -->', got 0"):
        start.updated(book, "no marks")
