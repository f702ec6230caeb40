"""Guards: every committed notebook is complete, clean, and like the others."""

import ast
import linecache
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import nbformat
import pytest

from tlcourse import files
from tlcourse.exercises import checking, solution, task
from tlcourse.lessons import Lesson, every, first_cell, guards
from tlcourse.lessons.finding import code_cells, read_notebook

LESSONS = every()
BOOKS = {lesson.path.name: read_notebook(lesson.path) for lesson in LESSONS}
each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.path.stem)


def test_numbers_are_continuous_from_00() -> None:
    assert guards.complaints_about_ids([lesson.id for lesson in LESSONS]) == []
    names = {path.name for path in files.bundled("notebooks").glob("*.ipynb")}
    assert names == set(BOOKS), "a notebook is called neither NN_topic.ipynb nor NNb_topic.ipynb"


@each_lesson
def test_source(lesson: Lesson) -> None:
    assert guards.complaints_about_source(BOOKS[lesson.path.name]) == []


@each_lesson
def test_predictions(lesson: Lesson) -> None:
    assert guards.complaints_about_predictions(BOOKS[lesson.path.name]) == []


@each_lesson
def test_outputs(lesson: Lesson) -> None:
    assert guards.complaints_about_outputs(BOOKS[lesson.path.name]) == []


@each_lesson
def test_minutes_come_from_the_log(lesson: Lesson) -> None:
    log = files.read_json(files.bundled("benchmarks/results/lessons.json"))[lesson.id]
    told = BOOKS[lesson.path.name].cells[-1].source
    assert f"{guards.MINUTES} {log['minutes']} minutes at size {log['size']} " in told
    assert (log["size"], log["data"]) == ("small", "local mirror")
    assert log["minutes"] <= 10


@each_lesson
def test_file_is_valid_and_small_enough_for_github(lesson: Lesson) -> None:
    nbformat.validate(BOOKS[lesson.path.name])
    assert lesson.path.stat().st_size < guards.LARGEST_FILE


@each_lesson
def test_first_cell_and_badge_hold_the_address_of_pyproject(lesson: Lesson) -> None:
    book = BOOKS[lesson.path.name]
    assert code_cells(book)[0].source == first_cell.source()
    badges = re.findall(r"^\[!\[Open in Colab.*$", book.cells[0].source, re.MULTILINE)
    assert badges == list(filter(None, [first_cell.badge(lesson.path.name)]))


ASKED = re.compile(r'^(\w+) = exercise\(\s*"([\w.]+)"', re.MULTILINE)

GIVEN = re.compile(r'^(\w+) = yours\("([\w.]+)"\)', re.MULTILINE)  # pieces of earlier lessons


def statements(cell: Any) -> list[ast.stmt]:
    """Those of a code cell that holds nothing for IPython alone."""
    if re.search(r"^ *%", cell.source, re.MULTILINE):
        return []
    return ast.parse(cell.source).body


def imports(cell: Any) -> str:
    kinds = (ast.Import, ast.ImportFrom)
    return "\n".join(ast.unparse(n) for n in statements(cell) if isinstance(n, kinds))


@each_lesson
def test_a_solution_can_be_pasted_where_it_is_asked_for(lesson: Lesson, capsys) -> None:
    names, pasted = {}, 0
    for cell in code_cells(BOOKS[lesson.path.name]):
        exec(imports(cell), names)
        names |= {name: task.get(id).solution for name, id in GIVEN.findall(cell.source)}
        found = ASKED.search(cell.source)
        if found and found[1] != "_":  # `_` throws away what an example shows
            capsys.readouterr()
            solution(found[2])
            exec(capsys.readouterr().out, names)
            assert checking.check(task.get(found[2]), names[found[1]]).passed, found[2]
            pasted += 1
    assert pasted > 0 or lesson.id.endswith("b")  # what is deeper may have none


@each_lesson
def test_exercises_are_committed_unsolved(lesson: Lesson) -> None:
    names, written = {}, {}
    for cell in code_cells(BOOKS[lesson.path.name]):
        exec(imports(cell), names)
        definitions = (ast.FunctionDef, ast.ClassDef)
        written |= {n.name: ast.unparse(n) for n in statements(cell) if isinstance(n, definitions)}
        found = ASKED.search(cell.source)
        if found and found[1] != "_":
            source = written[found[1]]
            linecache.cache[found[2]] = (len(source), None, source.splitlines(True), found[2])
            exec(compile(source, found[2], "exec"), names)
            assert checking.check(task.get(found[2]), names[found[1]]).stage == 0, found[2]


def links(notebook: Any) -> list[str]:
    """The targets of Markdown links and pictures that lead to files of the repository."""
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    targets = [
        t for text in texts for t in re.findall(r"\]\(<?([^)\s>]+)>?(?: +\"[^\"]*\")?\)", text)
    ]
    inside = [t for t in targets if not re.match(r"[a-z]+:|#|attachment:", t)]
    return [unquote(target.split("#")[0]) for target in inside]


@each_lesson
def test_links_inside_the_repository_resolve(lesson: Lesson) -> None:
    lost = [
        link for link in links(BOOKS[lesson.path.name]) if not (lesson.path.parent / link).exists()
    ]
    assert lost == []


def test_links_are_found() -> None:
    text = "[a](../tlcourse/bpe.py#L3) ![b](b%20c.png) [d](https://x.org) [e](#f)"
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)])
    assert links(book) == ["../tlcourse/bpe.py", "b c.png"]
    assert Path(links(book)[0]).name == "bpe.py"
