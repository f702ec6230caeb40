"""The guards see what is wrong with a notebook, and are silent about a good one."""

from typing import Any

import nbformat
import pytest

from tlcourse.lessons import first_cell, guards


def broken(**changes: Any) -> Any:
    """A complete notebook with one thing wrong."""
    opening = (
        "# 00 · Title\n\n**You build:** it\n\n**The question:** why?\n\n"
        "You will be able to: x\n\n**You need:** Python"
    )
    closing = "## What changed since 2019\n\nAll.\n\n**Run time:** 1\n\n**Data:** none"
    cells = [
        nbformat.v4.new_markdown_cell(opening),
        nbformat.v4.new_code_cell("1 + 1", execution_count=1),
        nbformat.v4.new_markdown_cell(closing),
    ]
    book = nbformat.v4.new_notebook(cells=cells, metadata=first_cell.METADATA)
    code = book.cells[1]
    code.source = changes.get("source", code.source)
    code.execution_count = changes.get("count", 1)
    code.outputs = [nbformat.v4.new_output(**changes["output"])] if "output" in changes else []
    for cell in book.cells[::2]:
        cell.source = cell.source.replace(changes.get("without", "nothing left out"), "")
    book.metadata.update(changes.get("metadata", {}))
    return book


def text(value: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": value}


WIDGET = {"application/vnd.jupyter.widget-view+json": {"model_id": "x"}, "text/plain": "slider"}


def figure(**metadata: Any) -> dict[str, Any]:
    return {"output_type": "display_data", "data": {"image/png": "AA=="}, "metadata": metadata}


def test_minutes_that_are_not_the_rules_are_told() -> None:
    book = broken()
    book.cells.insert(1, nbformat.v4.new_markdown_cell("## 0.1 A *(core, 5 minutes)*"))
    opening = book.cells[0].source
    said = guards.complaints_about_source(book)
    assert ["study time" in each for each in said] == [True], "it is not stated"
    book.cells[0].source = f"{opening}\n\n**Study time:** 5 minutes for the core"
    assert guards.complaints_about_source(book) == []
    book.cells[1].source = "## 0.1 A *(core, 10 minutes)*"
    assert ["study time" in each for each in guards.complaints_about_source(book)] == [True]


def test_answers_in_sight_are_told() -> None:
    folded = "<details><summary><b>What we see</b></summary>\n\nThree.\n</details>"
    cells = [
        nbformat.v4.new_markdown_cell(f"{folded}\n\nSo we go on."),
        nbformat.v4.new_code_cell("bars(errors, note='one seed')"),
    ]
    book = nbformat.v4.new_notebook(cells=cells)
    assert guards.complaints_about_predictions(book) == []
    book.cells[0].source = "**What we see.** Three."
    book.cells[1].source = f"bars(errors, title='It falls')\n{'x' * 101}"
    said = guards.complaints_about_predictions(book)
    for part, complaint in zip(("not folded", "'title='", "101 characters"), said, strict=True):
        assert part in complaint


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"without": "# 00 · Title"}, "title"),
        ({"without": "You will be able to"}, "you will be able to"),
        ({"without": "**You build:**"}, "you build"),
        ({"without": "**The question:**"}, "the question"),
        ({"without": "**You need:**"}, "you need"),
        ({"without": "## What changed since 2019"}, "what changed since 2019"),
        ({"without": "**Data:**"}, "data"),
        ({"source": "x = 1\n" * 41}, "41 lines; at most 40"),
        ({"source": "x = 1\n" * 12}, "median"),
        ({"count": 3}, "in order"),
        ({"output": {"output_type": "error", "ename": "E", "evalue": ""}}, "error"),
        ({"output": {"output_type": "display_data", "data": WIDGET}}, "widget"),
        ({"metadata": {"widgets": {}}}, "metadata.widgets"),
        ({"metadata": {"kernelspec": {"name": "venv"}}}, "kernelspec"),
        ({"output": figure()}, "figures without alt text: 1"),
        ({"output": figure(**{"image/png": {"alt": " ", "width": 9}})}, "without alt text: 1"),
        ({"output": text("saved in /home/ann/model")}, "/home/ann"),
        ({"output": text(r"saved in C:\Users\ann")}, "absolute"),
    ],
)
def test_the_guards_see_what_is_wrong(changes: dict[str, Any], said: str) -> None:
    book = broken(**changes)
    complaints = guards.complaints_about_source(book) + guards.complaints_about_outputs(book)
    assert any(said in complaint for complaint in complaints), complaints


def test_the_guards_are_silent_about_a_good_notebook() -> None:
    html = {"text/html": "<img src='data:image/png;base64,AA/tmp/AA'>"}
    for output in (
        text("3/4 of https://x.org/home/a"),
        {"output_type": "display_data", "data": html},
        figure(**{"image/png": {"alt": "A falling line."}}),
    ):
        book = broken(output=output)
        assert guards.complaints_about_source(book) == []
        assert guards.complaints_about_outputs(book) == []


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ("00 01 02", []),
        ("00 00b 01 02 02b", []),
        ("01", ["expected lesson 00 after nothing, found 01"]),
        ("00 02 03", ["expected lesson 01 after 00, found 02"]),
        ("00 01b 02", ["expected lesson 01 after 00, found 01b"]),
        ("00b 01", ["expected lesson 00 after nothing, found 00b"]),
        ("00 01 01", ["expected lesson 02 after 01, found 01"]),
        ("00 00b 00b 01", ["expected lesson 01 after 00b, found 00b"]),
    ],
)
def test_numbers_go_on_and_what_is_deeper_follows_its_lesson(ids: str, said: list[str]) -> None:
    assert guards.complaints_about_ids(ids.split()) == said
