"""Guards: every committed notebook is complete, clean, and like the others."""

import ast
import linecache
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import nbformat
import pytest

from tlcourse import files, first_cell, lessons
from tlcourse.exercises import checking, solution, task

LESSONS = lessons.every()
BOOKS = {lesson.path.name: lessons.read_notebook(lesson.path) for lesson in LESSONS}
each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.path.stem)


def test_numbers_are_continuous_from_00() -> None:
    assert [int(lesson.number) for lesson in LESSONS] == list(range(len(LESSONS)))
    names = {path.name for path in files.bundled("notebooks").glob("*.ipynb")}
    assert names == set(BOOKS), "a notebook is not called NN_topic.ipynb"


@each_lesson
def test_source(lesson: lessons.Lesson) -> None:
    assert lessons.complaints_about_source(BOOKS[lesson.path.name]) == []


@each_lesson
def test_outputs(lesson: lessons.Lesson) -> None:
    assert lessons.complaints_about_outputs(BOOKS[lesson.path.name]) == []


@each_lesson
def test_minutes_come_from_the_log(lesson: lessons.Lesson) -> None:
    log = files.read_json(files.bundled("benchmarks/results/lessons.json"))[lesson.number]
    opening = lessons.opening(BOOKS[lesson.path.name])
    assert f"{lessons.MINUTES} {log['minutes']} at size {log['size']} " in opening
    assert (log["size"], log["data"]) == ("small", "local mirror")
    assert log["minutes"] <= 10


@each_lesson
def test_file_is_valid_and_small_enough_for_github(lesson: lessons.Lesson) -> None:
    nbformat.validate(BOOKS[lesson.path.name])
    assert lesson.path.stat().st_size < lessons.LARGEST_FILE


@each_lesson
def test_first_cell_and_badge_hold_the_address_of_pyproject(lesson: lessons.Lesson) -> None:
    book = BOOKS[lesson.path.name]
    assert lessons.code_cells(book)[0].source == first_cell.source()
    assert first_cell.badge(lesson.path.name) in book.cells[0].source.splitlines()


ASKED = re.compile(r'^(\w+) = exercise\(\s*"([\w.]+)"', re.MULTILINE)


def statements(cell: Any) -> list[ast.stmt]:
    """Those of a code cell that holds nothing for IPython alone."""
    if re.search(r"^ *%", cell.source, re.MULTILINE):
        return []
    return ast.parse(cell.source).body


def imports(cell: Any) -> str:
    kinds = (ast.Import, ast.ImportFrom)
    return "\n".join(ast.unparse(n) for n in statements(cell) if isinstance(n, kinds))


@each_lesson
def test_a_solution_can_be_pasted_where_it_is_asked_for(lesson: lessons.Lesson, capsys) -> None:
    names, pasted = {}, 0
    for cell in lessons.code_cells(BOOKS[lesson.path.name]):
        exec(imports(cell), names)
        found = ASKED.search(cell.source)
        if found and found[1] != "_":  # `_` throws away what an example shows
            capsys.readouterr()
            solution(found[2])
            exec(capsys.readouterr().out, names)
            assert checking.check(task.get(found[2]), names[found[1]]).passed, found[2]
            pasted += 1
    assert pasted > 0


@each_lesson
def test_exercises_are_committed_unsolved(lesson: lessons.Lesson) -> None:
    names, written = {}, {}
    for cell in lessons.code_cells(BOOKS[lesson.path.name]):
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
def test_links_inside_the_repository_resolve(lesson: lessons.Lesson) -> None:
    lost = [
        link for link in links(BOOKS[lesson.path.name]) if not (lesson.path.parent / link).exists()
    ]
    assert lost == []


def broken(**changes: Any) -> Any:
    """A complete notebook with one thing wrong."""
    opening = (
        "# 00 · Title\n\nYou will be able to: x\n\n**Minutes:** 1\n\n**What comes before:** -\n\n"
    )
    opening += "**What is downloaded:** -\n\n**What changed since 2019:** -"
    cells = [
        nbformat.v4.new_markdown_cell(opening),
        nbformat.v4.new_code_cell("1 + 1", execution_count=1),
    ]
    book = nbformat.v4.new_notebook(cells=cells, metadata=first_cell.METADATA)
    code = book.cells[1]
    code.source = changes.get("source", code.source)
    code.execution_count = changes.get("count", 1)
    code.outputs = [nbformat.v4.new_output(**changes["output"])] if "output" in changes else []
    book.cells[0].source = opening.replace(changes.get("without", "nothing left out"), "")
    book.metadata.update(changes.get("metadata", {}))
    return book


def text(value: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": value}


WIDGET = {"application/vnd.jupyter.widget-view+json": {"model_id": "x"}, "text/plain": "slider"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"without": "# 00 · Title"}, "title"),
        ({"without": "You will be able to"}, "you will be able to"),
        ({"without": "**What changed since 2019:**"}, "what changed since 2019"),
        ({"source": "x = 1\n" * 41}, "41 lines; at most 40"),
        ({"source": "x = 1\n" * 12}, "median"),
        ({"count": 3}, "in order"),
        ({"output": {"output_type": "error", "ename": "E", "evalue": ""}}, "error"),
        ({"output": {"output_type": "display_data", "data": WIDGET}}, "widget"),
        ({"metadata": {"widgets": {}}}, "metadata.widgets"),
        ({"metadata": {"kernelspec": {"name": "venv"}}}, "kernelspec"),
        ({"output": text("saved in /home/ann/model")}, "/home/ann"),
        ({"output": text(r"saved in C:\Users\ann")}, "absolute"),
    ],
)
def test_the_guards_see_what_is_wrong(changes: dict[str, Any], said: str) -> None:
    book = broken(**changes)
    complaints = lessons.complaints_about_source(book) + lessons.complaints_about_outputs(book)
    assert any(said in complaint for complaint in complaints), complaints


def test_the_guards_are_silent_about_a_good_notebook() -> None:
    html = {"text/html": "<img src='data:image/png;base64,AA/tmp/AA'>"}
    for output in (
        text("3/4 of https://x.org/home/a"),
        {"output_type": "display_data", "data": html},
    ):
        book = broken(output=output)
        assert lessons.complaints_about_source(book) == []
        assert lessons.complaints_about_outputs(book) == []


def test_links_are_found() -> None:
    book = broken()
    book.cells[
        0
    ].source += "\n[a](../tlcourse/bpe.py#L3) ![b](b%20c.png) [d](https://x.org) [e](#f)"
    assert links(book) == ["../tlcourse/bpe.py", "b c.png"]
    assert Path(links(book)[0]).name == "bpe.py"
