"""The site: every link leads somewhere in it, and it needs nothing from elsewhere."""

import base64
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest
from bs4 import BeautifulSoup
from PIL import Image

from tests.browser import chromium, needed, wait
from tlcourse.cli import main
from tlcourse.lessons import every, finding, get
from tlcourse.site import build, reference

pytest.importorskip("furo", reason="needs the extra: .[site]")
ALONE = ["--host-resolver-rules=MAP * ~NOTFOUND"]
OURS = ("notebooks/*.html", "docs/**/*.html", "reference/*.html", "slides/*.html", "*.html")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("built") / "site", print).parent


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, BeautifulSoup]:
    paths = {path for pattern in OURS for path in site.glob(pattern)} - {site / "page.html"}
    return {p: BeautifulSoup(p.read_text("utf-8"), features="html.parser") for p in sorted(paths)}


def addresses(page: BeautifulSoup) -> Iterator[str]:
    for name in ("href", "src"):
        parts = page.find_all(attrs={name: True})
        yield from (part[name] for part in parts if part.name != "use")  # an icon


def test_no_link_within_the_site_is_dead(site: Path, pages: dict) -> None:
    anchors = {path: {part["id"] for part in page.select("[id]")} for path, page in pages.items()}
    dead = []
    for path, page in pages.items():
        for address in addresses(page):
            target, anchor = urldefrag(address)
            target = target.partition("?")[0]
            if re.match(r"\w+:|//", address):
                continue
            file = (path.parent / unquote(target)).resolve() if target else path
            if not file.is_file() or (anchor and file in anchors and anchor not in anchors[file]):
                dead.append((path.name, address))
    assert dead == []


def test_nothing_is_loaded_from_elsewhere(pages: dict) -> None:
    for path, page in pages.items():
        loaded = page.select("script[src], img[src], iframe[src], link[href]:not([rel=canonical])")
        addresses = [part.get("src") or part.get("href") for part in loaded]
        assert [each for each in addresses if re.match(r"https?:|//", each)] == [], path.name


@pytest.mark.parametrize("lesson", every(), ids=lambda lesson: lesson.id)
def test_a_lesson_is_whole(pages: dict, site: Path, lesson: Any) -> None:
    page = pages[site / "notebooks" / f"{lesson.path.stem}.html"]
    notebook = finding.read_notebook(lesson.path)
    alts = [
        output.metadata["image/png"]["alt"]
        for cell in finding.code_cells(notebook)
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]
    assert [picture["alt"] for picture in page.select("img.figure")] == alts
    prose = "\n".join(each.source for each in notebook.cells if each.cell_type == "markdown")
    prose = re.sub(r"```.*?```|`[^`]*`", "", prose, flags=re.DOTALL)
    formulas = re.findall(r"\$\$.+?\$\$|\$[^$]+?\$", prose, flags=re.DOTALL)
    assert len(page.select("article math")) >= len(formulas)
    folds = [fold.get_text() for fold in page.select("details > summary")]
    assert ("Hint 1" in folds) == ("#### Exercise" in prose)
    for part in page.select("pre, code, script, math"):
        part.extract()
    assert "$" not in page.select_one("article").get_text()
    assert page.select_one(f"a[href='../slides/{lesson.path.stem}.html']")


def test_the_reference_has_every_public_name(pages: dict, site: Path) -> None:
    for face in reference.FACES:
        page = pages[site / "reference" / f"{face}.html"]
        module = __import__(f"tlcourse.{face}", fromlist=["x"])
        shown = {part.get_text().rstrip("¶#") for part in page.select("h2")}
        assert set(getattr(module, "__all__", shown)) <= shown, face


def test_it_is_small(site: Path) -> None:
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    print(f"{size / 1e6:.2f} MB")
    assert size <= 20e6 / 17 * len(every())  # 20 MB for the first 17 lessons


def test_every_icon_is_in_the_script(site: Path, pages: dict) -> None:
    icons = (site / "_static" / "icons.js").read_text("utf-8")
    for path, page in pages.items():
        used = {part["href"].removeprefix("#") for part in page.select("use")}
        assert path.parent.name == "slides" or used, path.name
        assert [name for name in used if f'id=\\"{name}\\"' not in icons] == [], path.name


def test_figures_are_those_of_the_lesson(site: Path) -> None:
    """Pixel by pixel, and in the slides the same files."""
    lesson = get("02")
    cells = finding.code_cells(finding.read_notebook(lesson.path))
    data = [output.get("data", {}) for cell in cells for output in cell.outputs]
    pngs = [base64.b64decode(each["image/png"]) for each in data if "image/png" in each]
    deck = (site / "slides" / f"{lesson.path.stem}.html").read_text("utf-8")
    assert pngs and "base64," not in deck
    for number, png in enumerate(pngs):
        path = site / "_static" / "figures" / f"{lesson.id}-{number}.webp"
        assert path.stat().st_size < len(png)
        with Image.open(io.BytesIO(png)) as drawn, Image.open(path) as shown:
            assert drawn.convert("RGB").tobytes() == shown.convert("RGB").tobytes()
        assert f"../_static/figures/{path.name}" in deck


def test_slides_share_styles_and_scripts(site: Path, pages: dict) -> None:
    for path in (site / "slides").glob("*.html"):
        page = pages[path]
        assert not page.select("style, script:not([src])"), path.name
        (style,) = page.select("link[rel=stylesheet]")
        names = [part["src"] for part in page.select("script")]
        assert style["href"] == "../_static/slides.css"
        assert names == [f"../_static/{name}" for name in ("reveal.js", "notes.js", "deck.js")]


def test_a_folder_in_use_is_refused_before_the_work(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["site", "--out", str(tmp_path)]) == 2
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert "lesson" not in capsys.readouterr().out


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("chromium"), ALONE) as driver:
        yield driver


def seen(browser: Any, width: int, scheme: str) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)


BROWSER = [
    "index.html",
    "notebooks/02_building_a_transformer.html",
    "docs/commands.html",
    "reference/adaptation.html",
]


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", BROWSER)
def test_it_is_accessible_and_fits_a_phone(site: Path, browser: Any, name: str, scheme) -> None:
    axe = pytest.importorskip("axe_core_python.selenium", reason="needs the extra: .[browser]")
    seen(browser, 390, scheme)
    browser.get((site / name).as_uri())
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    seen(browser, 1280, scheme)
    browser.get((site / name).as_uri())
    found = axe.Axe().run(browser, options={"resultTypes": ["violations"]})["violations"]
    grave = [
        (each["id"], node["html"][:150])
        for each in found
        if each["impact"] in ("critical", "serious")
        for node in each["nodes"][:3]
    ]
    assert grave == []


@pytest.mark.browser
def test_slides_open_from_disk(site: Path, browser: Any) -> None:
    seen(browser, 1280, "light")
    title = "return document.querySelector('.reveal.ready section.present h1')?.innerText"
    widths = "return [...document.images].map((each) => each.naturalWidth)"
    for lesson in every():
        browser.get((site / "slides" / f"{lesson.path.stem}.html").as_uri())
        shown = wait("the first slide", lambda: browser.execute_script(title), 0.1)
        assert shown.startswith(f"{lesson.id} ·"), shown
        assert 0 not in browser.execute_script(widths)
        assert browser.get_log("browser") == []


@pytest.mark.browser
def test_the_icons_are_there(site: Path, browser: Any) -> None:
    seen(browser, 1280, "light")
    for name in ("index.html", "docs/teaching/plans.html"):
        browser.get((site / name).as_uri())
        missing = """return [...document.querySelectorAll("svg use")]
          .map((each) => each.getAttribute("href"))
          .filter((name) => !document.querySelector(name));"""
        assert browser.execute_script(missing) == []
        assert browser.execute_script("return document.querySelectorAll('svg use').length") > 3


@pytest.mark.browser
def test_search_finds_rotary_in_lesson_02_without_a_network(site: Path, browser: Any) -> None:
    seen(browser, 1280, "light")
    browser.get(f"{(site / 'search.html').as_uri()}?q=rotary")
    found = "return document.querySelector('#search-results').innerText"
    wait("results", lambda: "02 · Building a Transformer" in browser.execute_script(found), 0.2)
    assert browser.get_log("browser") == []


for test in (
    test_it_is_accessible_and_fits_a_phone,
    test_slides_open_from_disk,
    test_the_icons_are_there,
    test_search_finds_rotary_in_lesson_02_without_a_network,
):
    test.pytestmark = [*getattr(test, "pytestmark", []), needed[1]]
