"""`tlcourse html`: a lesson as a page that also tells its figures to who cannot see them."""

import json
from html.parser import HTMLParser

import nbformat
import pytest

from tests.lessons.test_export import PIXEL
from tlcourse.cli import main
from tlcourse.lessons import every, export, finding


class Pictures(HTMLParser):
    """The attributes of the pictures that are in a page, not linked."""

    def __init__(self, page: str):
        super().__init__()
        self.found: list[dict] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        if tag == "img" and dict(attributes)["src"].startswith("data:image/png"):
            self.found.append(dict(attributes))


def figures(page: str) -> list[str | None]:
    """The alt texts of the pictures of outputs; None where there is none."""
    return [each.get("alt") for each in Pictures(page).found]


def test_the_page_has_the_alt_texts_of_the_figures(one_lesson, tmp_path, monkeypatch, capsys):
    book = finding.read_notebook(one_lesson.path)
    for metadata in ({"alt": 'A line <falls>, "steeply" & far.', "width": 672}, {}):
        shown = {"data": {"image/png": PIXEL}, "metadata": {"image/png": metadata}}
        book.cells[1].outputs.append(nbformat.v4.new_output("display_data", **shown))
    finding.write_notebook(book, one_lesson.path)
    monkeypatch.chdir(tmp_path)
    assert main(["html", "0"]) == 0
    assert capsys.readouterr().out.startswith("wrote runs/lessons/00_a_lesson.html")
    page = (tmp_path / "runs/lessons/00_a_lesson.html").read_text(encoding="utf-8")
    assert figures(page) == [
        'A line <falls>, "steeply" & far.',
        "No description has been provided for this image",
    ]
    assert "<title>00_a_lesson</title>" in page and Pictures(page).found[0]["width"] == "672"
    out = tmp_path / "pages" / "mine.html"
    assert main(["html", str(one_lesson.path), "--out", str(out)]) == 0
    assert figures(out.read_text(encoding="utf-8")) == figures(page)


def test_every_figure_of_a_lesson_has_its_alt_text_on_the_page(tmp_path):
    lesson = every()[0]
    outputs = [
        out
        for cell in finding.code_cells(finding.read_notebook(lesson.path))
        for out in cell.outputs
        if "image/png" in out.get("data", {})
    ]
    assert outputs
    assert main(["html", lesson.id, "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    told = [out.metadata["image/png"].alt for out in outputs]
    assert figures(page) == told and "No description has been provided" not in page


def test_what_is_no_lesson_is_one_line(tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    line = refused("html", "no-such.ipynb")
    assert "expected a lesson out of" in line and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["mine.ipynb", "mine.txt", "mine", "a folder.html"])
def test_only_a_page_is_written(one_lesson, tmp_path, monkeypatch, refused, name):
    monkeypatch.setattr(export, "to_html", None)  # refused before the work
    (tmp_path / "a folder.html").mkdir()
    (tmp_path / "mine.ipynb").write_bytes(one_lesson.path.read_bytes())
    out = tmp_path / name
    before = sorted(tmp_path.rglob("*"))
    said = f"expected the name of a page, NAME.html, got {out}"
    assert said in refused("html", "0", "--out", str(out))
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "mine.ipynb").read_bytes() == one_lesson.path.read_bytes()


def test_a_link_to_the_notebook_is_replaced_and_the_notebook_stays(one_lesson, tmp_path):
    before = one_lesson.path.read_bytes()
    link = tmp_path / "link.html"
    link.symlink_to(one_lesson.path)
    assert main(["html", "0", "--out", str(link)]) == 0
    assert one_lesson.path.read_bytes() == before
    assert not link.is_symlink() and link.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    one_lesson, monkeypatch, refused
):
    monkeypatch.setattr(export, "to_html", None)
    out = one_lesson.path / "mine.html"
    said = f"expected a folder that can be written to, got {out.parent}"
    assert said in refused("html", "0", "--out", str(out))


MARKDOWN = {"cell_type": "markdown", "metadata": {}, "source": "a", "id": "a"}
BOOK = {"cells": [MARKDOWN], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
HEADING = {"cell_type": "heading", "level": 2, "metadata": {}, "source": "A heading"}
SHEETS = {"worksheets": [{"metadata": {}, "cells": [HEADING]}]}
VERSION_3 = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, **SHEETS}


@pytest.mark.parametrize(
    "book",
    [
        "hello {",
        "",
        b"\x80\x81",
        [],
        None,
        BOOK | {"nbformat": 5},
        BOOK | {"cells": None},
        BOOK | {"cells": ["a"]},
        BOOK | {"cells": [MARKDOWN | {"cell_type": "video"}]},
        BOOK | {"cells": [{"cell_type": "code", "source": "1"}]},
        BOOK | {"metadata": {"kernelspec": None}},
        BOOK | {"metadata": {"language_info": None}},
        {"cells": [MARKDOWN], "nbformat": 4, "nbformat_minor": 5},
        {"cells": [MARKDOWN], "metadata": {}},
        {"nbformat": 3},
    ],
    ids=str,
)
def test_what_is_no_notebook_is_one_line(tmp_path, refused, book):
    path = tmp_path / "mine.ipynb"
    content = json.dumps(book) if not isinstance(book, str | bytes) else book
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    said = f"expected a Jupyter notebook in {path}, but "
    assert said in refused("html", str(path), "--out", str(tmp_path / "mine.html"))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("book", "told"),
    [
        (BOOK, "a"),
        (BOOK | {"cells": [{**MARKDOWN, "id": "b", "source": ["b", "c"]}]}, "bc"),
        (BOOK | {"cells": [{name: MARKDOWN[name] for name in list(MARKDOWN)[:3]}]}, "a"),
        (VERSION_3, "A heading"),
    ],
    ids=["version 4", "lines", "no ids", "version 3"],
)
def test_notebooks_of_other_versions_become_pages_without_a_word(tmp_path, capsys, book, told):
    path, out = tmp_path / "mine.ipynb", tmp_path / "mine.html"
    path.write_text("\ufeff" + json.dumps(book), encoding="utf-8")
    assert main(["html", str(path), "--out", str(out)]) == 0
    assert capsys.readouterr().err == "" and told in out.read_text(encoding="utf-8")


def test_a_picture_that_is_not_there_is_named(tmp_path, capsys):
    cell = nbformat.v4.new_markdown_cell("![A curve](attachment:gone.png) ![A dot](dot.png)")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "my.ipynb")
    assert main(["html", str(tmp_path / "my.ipynb"), "--out", str(tmp_path / "my.html")]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "left out: the picture attachment:gone.png, which is not there",
        "left out: the picture dot.png, which is not there",
    ]
    page = (tmp_path / "my.html").read_text(encoding="utf-8")
    assert "A curve A dot" in page and "<img" not in page
