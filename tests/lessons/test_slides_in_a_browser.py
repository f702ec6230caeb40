"""The slides of every lesson in headless Chromium: in sight, legible, and turned by a clicker."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import ActionChains, Keys, chromium, needed, screenshot, wait
from tlcourse.lessons import deck, every, slides

pytestmark = needed
ALONE = ["--host-resolver-rules=MAP * ~NOTFOUND", "--window-size=1280,900"]
# For each slide with all its fragments: what is out of sight, and the smallest type.
MEASURED = """
    const done = arguments[0];
    const letters = (slide) => {
      const walk = document.createTreeWalker(slide, NodeFilter.SHOW_TEXT), found = [];
      while (walk.nextNode()) {
        const parent = walk.currentNode.parentElement;
        if (walk.currentNode.data.trim() && !parent.closest("aside, math")) found.push(parent);
      }
      return found;
    };
    const measure = async () => {
      const rows = [];
      for (const slide of deck.getSlides()) {
        const { h } = deck.getIndices(slide);
        deck.slide(h, 0, 99);
        await new Promise(requestAnimationFrame);
        const wide = [slide, ...slide.querySelectorAll("p, li, td, pre")].filter(
          (part) => !part.closest("aside") && part.scrollWidth > part.clientWidth + 1
        );
        const sizes = letters(slide).map((each) => parseFloat(getComputedStyle(each).fontSize));
        const below = slide.scrollHeight - slide.clientHeight;
        rows.push([h + 1, slide.className, below, wide.length, Math.min(99, ...sizes)]);
      }
      done(rows);
    };
    measure();"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("chromium"), ALONE) as driver:
        driver.set_script_timeout(120)
        yield driver


def opened(browser: Any, folder: Path, id: str, query: str = "") -> Any:
    """Opens the slides of the lesson `id`, and waits until they have begun."""
    lesson = next(lesson for lesson in every() if lesson.id == id)
    path = folder / f"{id}.html"
    path.write_text(deck.to_html(slides.of(lesson.path), lesson.name), encoding="utf-8")
    browser.get(f"{path.as_uri()}{query}")
    wait("the slides", lambda: browser.execute_script("return deck.isReady()"), 0.1)
    return browser


def number(browser: Any) -> int:
    return browser.execute_script("return deck.getIndices().h")


@pytest.mark.parametrize("id", [lesson.id for lesson in every()])
def test_everything_is_in_sight_and_no_type_is_small(browser: Any, tmp_path: Path, id: str) -> None:
    rows = opened(browser, tmp_path, id).execute_async_script(MEASURED)
    assert len(rows) > 30
    assert [row for row in rows if row[2] > 0 or row[3] or row[4] < 16] == []
    assert browser.get_log("browser") == []


def test_clickers_and_arrows_turn_the_slides(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, "02")
    for key, expected in [
        (Keys.PAGE_DOWN, 1),
        (Keys.ARROW_RIGHT, 2),
        (Keys.PAGE_UP, 1),
        (Keys.ARROW_LEFT, 0),
    ]:
        ActionChains(browser).send_keys(key).perform()
        assert number(browser) == expected


@pytest.mark.parametrize("kind", ["answer", "solution"])
def test_answers_appear_on_the_next_key(browser: Any, tmp_path: Path, kind: str) -> None:
    opened(browser, tmp_path, "02")
    first = f"deck.getSlides().findIndex((slide) => slide.classList.contains('{kind}'))"
    browser.execute_script(f"deck.slide({first}, 0, -1)")
    seen = browser.find_element("css selector", "section.present .fragment")
    assert seen.value_of_css_property("visibility") == "hidden"
    ActionChains(browser).send_keys(Keys.PAGE_DOWN).perform()
    wait("the answer", lambda: seen.value_of_css_property("visibility") == "visible", 0.1)


def test_the_speaker_view_opens_with_the_notes(browser: Any, tmp_path: Path) -> None:
    """Read from the slides' own window: the driver waits for the other one's frames for ever."""
    opened(browser, tmp_path, "02")
    keep = "const open = window.open; window.open = (...given) => (window.view = open(...given));"
    browser.execute_script(keep)
    ActionChains(browser).send_keys("s").perform()
    notes = "return view.document.querySelector('.speaker-controls-notes .value').innerText"
    wait("notes", lambda: "You build" in browser.execute_script(notes), 0.1)
    timer = "return view.document.querySelector('.timer').innerText"
    assert "00:00" in browser.execute_script(timer).replace("\n", "")
    browser.execute_script("view.close()")


def test_it_is_dark_where_the_system_is(browser: Any, tmp_path: Path) -> None:
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    try:
        opened(browser, tmp_path, "02")
        style = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
        paper = browser.execute_script(style, ".reveal-viewport", "backgroundColor")
        ink = browser.execute_script(style, "section.present h1", "color")
        light = [sum(map(int, c.strip("rgb()").split(","))) for c in (paper, ink)]
        assert light[0] < 120 < 600 < light[1]
        screenshot(browser, "slides-dark")
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_printed_it_is_one_page_a_slide(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, "00", "?print-pdf")
    pages = wait("pages", lambda: browser.find_elements("css selector", ".pdf-page"), 0.1)
    assert len(pages) == sum(len(s.slides) for s in slides.of(every()[0].path))
    below = "return [...arguments[0]].filter((s) => s.scrollHeight > s.clientHeight).length"
    printed = browser.find_elements("css selector", ".pdf-page section")
    wait("fitting type", lambda: browser.execute_script(below, printed) == 0, 0.1)
