"""A lesson as a page that asks the network, and any other file, for nothing."""

import base64
import re
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tlcourse.lessons import every, export, finding

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
ASKING = (
    "script[src], link, iframe[src], object, embed, audio, video, source, track, base, [srcset]"
)


def page_of(folder: Path, *cells: object, **metadata: object) -> BeautifulSoup:
    path = folder / "mine.ipynb"
    nbformat.write(new_notebook(cells=list(cells), metadata=metadata), path)
    return BeautifulSoup(export.to_html(path), features="html.parser")


def asked_for(page: BeautifulSoup) -> list[str]:
    """What a browser would ask for when it shows the page."""
    found = [str(each)[:200] for each in page.select(ASKING)]
    found += [each["src"] for each in page.select("img") if not each["src"].startswith("data:")]
    styles = [each.get_text() for each in page.select("style")]
    styles += [each["style"] for each in page.select("[style]")]
    for style in styles:
        found += re.findall(r"@import[^;]*|url\((?!['\"]?data:)[^)]*\)", style)
    return found


@pytest.mark.parametrize("lesson", every(), ids=lambda lesson: lesson.id)
def test_every_lesson_is_a_page_that_asks_for_nothing_and_lacks_no_picture(lesson) -> None:
    said = []
    page = BeautifulSoup(export.to_html(lesson.path, said.append), features="html.parser")
    assert asked_for(page) == said == []
    assert "default-src 'none'" in page.select_one("meta[http-equiv]")["content"]
    for code in page.select("code, pre, script, style"):
        code.extract()
    text = page.main.get_text()
    assert "$" not in text and "\\" not in text
    sources = [
        re.sub(r"```.*?```|`[^`]*`", "", cell.source, flags=re.DOTALL)
        for cell in finding.read_notebook(lesson.path).cells
        if cell.cell_type == "markdown"
    ]
    formulas = re.findall(r"\$\$.+?\$\$|\$.+?\$", "\n".join(sources), flags=re.DOTALL)
    assert len(page.select("math")) == len(formulas)


def test_formulas_of_all_kinds_are_mathml(tmp_path) -> None:
    latex = new_output("display_data", {"text/latex": r"$\displaystyle x^2$", "text/plain": "x²"})
    page = page_of(
        tmp_path,
        new_markdown_cell("$a<b$, costs \\$5 and \\$6, `$c$`\n\n$$\nd\n$$\n\n- in a list: $e$"),
        new_markdown_cell(r"\begin{align}f&=g\\h&=i\end{align}"),
        new_code_cell("x", outputs=[latex]),
    )
    told = [math.get_text() for math in page.select("math")]
    assert told == ["a<b", "d", "e", "f=g(1)h=i(2)", "x2"]
    assert [math["display"] for math in page.select("math")][:3] == ["inline", "block", "inline"]
    assert "costs $5 and $6" in page.main.get_text()
    assert [code.get_text() for code in page.select("p code")] == ["$c$"]


def test_links_lead_to_the_pages_of_lessons_and_to_no_file_of_the_repository(
    tmp_path,
) -> None:
    texts = "[two](02_b.ipynb#heads) [code](../tlcourse/bpe.py) [web](https://a.b/c.ipynb) [up](#x)"
    page = page_of(tmp_path, new_markdown_cell(texts))
    links = [link["href"] for link in page.main.select("a[href]")]
    assert links == ["02_b.html#heads", "https://a.b/c.ipynb", "#x"]
    assert "two code web up" in page.main.get_text()


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("my pic.png", "my%20pic.png"),
        ("ä.png", "%C3%A4.png"),
        ("ä.png", "ä.png"),
        ("50%.png", "50%25.png"),
        ("pic (1).png", "pic (1).png"),
        ("plain.png", "plain.png"),
    ],
)
@pytest.mark.parametrize("form", ["![a picture](<{}>)", '<img src="{}" alt="a picture">'])
def test_attachments_stand_in_the_page(tmp_path, name, address, form) -> None:
    attached = {name: {"image/png": PIXEL}}
    source = form.format(f"attachment:{address}")
    page = page_of(tmp_path, new_markdown_cell(source, attachments=attached))
    (picture,) = page.select("img")
    assert picture["src"] == f"data:image/png;base64,{PIXEL}" and picture["alt"] == "a picture"


@pytest.mark.parametrize("attached", [None, {"other.png": {"image/png": PIXEL}}, {"a.png": {}}])
def test_of_a_picture_that_is_gone_the_alt_text_stays(tmp_path, attached) -> None:
    more = {} if attached is None else {"attachments": attached}
    page = page_of(tmp_path, new_markdown_cell("See ![a picture](attachment:a.png)", **more))
    assert page.select("img") == [] and "See a picture" in page.main.get_text()


def test_pictures_beside_the_notebook_come_along_and_those_from_elsewhere_do_not(tmp_path) -> None:
    (tmp_path / "sub dir").mkdir()
    (tmp_path / "sub dir" / "a.png").write_bytes(base64.b64decode(PIXEL))
    page = page_of(
        tmp_path,
        new_markdown_cell(
            "![here](sub%20dir/a.png) ![gone](b.png) [![Open it](https://a.org/b.svg)](https://c.org)"
            '<img src="//a.org/c.png" alt="there"><img alt="none">\n\n'
            '<script src="https://a.org/d.js"></script><link rel="stylesheet" href="https://a.org">'
        ),
    )
    assert asked_for(page) == []
    assert [picture["alt"] for picture in page.select("img")] == ["here"]
    assert page.select_one("img")["src"] == f"data:image/png;base64,{PIXEL}"
    assert page.select_one("a[href='https://c.org']").get_text() == "Open it"
    assert "gone" in page.main.get_text() and "there" in page.main.get_text()


def test_what_needs_a_kernel_is_shown_as_the_text_beside_it(tmp_path) -> None:
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "a"}, "text/plain": "a slider"}
    script = {"application/javascript": "require(['x'])", "text/plain": "a script"}
    outputs = [new_output("display_data", data) for data in (view, script)]
    state = {"application/vnd.jupyter.widget-state+json": {"state": {}, "version_major": 2}}
    page = page_of(tmp_path, new_code_cell("1", outputs=outputs), widgets=state)
    assert asked_for(page) == []
    shown = [each.get_text().strip() for each in page.select(".jp-OutputArea-output")]
    assert shown == ["a slider", "a script"]
