"""`tlcourse html`: a lesson as a page that also tells its figures to who cannot see them."""

from html.parser import HTMLParser

import nbformat

from tlcourse.cli import main
from tlcourse.lessons import every, finding

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)


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
        book.cells[1].outputs.append(
            nbformat.v4.new_output(
                "display_data", {"image/png": PIXEL}, metadata={"image/png": metadata}
            )
        )
    finding.write_notebook(book, one_lesson.path)
    monkeypatch.chdir(tmp_path)
    assert main(["html", "0"]) == 0
    assert capsys.readouterr().out.startswith("00_a_lesson.html is written")
    page = (tmp_path / "00_a_lesson.html").read_text(encoding="utf-8")
    assert figures(page) == [
        'A line <falls>, "steeply" & far.', "No description has been provided for this image"
    ]  # fmt: skip
    assert "<title>00_a_lesson</title>" in page and Pictures(page).found[0]["width"] == "672"
    out = tmp_path / "pages" / "mine.html"
    assert main(["html", str(one_lesson.path), "--out", str(out)]) == 0
    assert figures(out.read_text(encoding="utf-8")) == figures(page)


def test_every_figure_of_a_lesson_has_its_alt_text_on_the_page(tmp_path):
    lesson = every()[0]
    outputs = [out for cell in finding.code_cells(finding.read_notebook(lesson.path))
               for out in cell.outputs if "image/png" in out.get("data", {})]  # fmt: skip
    assert outputs
    assert main(["html", lesson.id, "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    told = [out.metadata["image/png"].alt for out in outputs]
    assert figures(page) == told and "No description has been provided" not in page


def test_what_is_no_lesson_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["html", "no-such.ipynb"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "expected a lesson out of" in line and list(tmp_path.iterdir()) == []
