"""Records the README's picture of the page: `python -m benchmarks.speed.picture`.

It opens the page that `tlcourse page` builds in headless Chromium, types a text in steps, points at
a head, chooses one and switches it off, and writes what is seen as an animated WebP. It needs
Chromium with its driver, and `pip install -e ".[browser]"`.
"""

import io
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from benchmarks.speed.page import chromium
from tlcourse import files
from tlcourse.page import build

PICTURE = Path(__file__).parents[1] / "results" / "page.webp"
SIZE = (860, 1060)  # pixels
WINDOW = {"width": SIZE[0], "height": SIZE[1], "deviceScaleFactor": 1, "mobile": False}
SECONDS = 60  # to wait for the model
TEXTS = (
    "Anna met Peter",
    "Anna met Peter Brown in Hamburg.",
    "Anna met Peter Brown in Hamburg. Later Peter",
)
STRONGEST = "return document.querySelector('#drawn-heads rect[fill-opacity=\"1.00\"]').closest('a')"
COLOURED = """
    const [field] = document.querySelectorAll("#drawn-heads .head");
    return document.documentElement.dataset.read === arguments[0] &&
      field.getAttribute("aria-label").includes("Without");"""


def draw(path: Path = PICTURE) -> None:
    """Writes the picture; raises a TimeoutError where the model has not read within a minute."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page = build(Path(folder) / "page.html", ["causal-small"])
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", WINDOW)
        browser.get(page.as_uri())
        frames, milliseconds = zip(*_frames(browser), strict=True)
    packed = io.BytesIO()
    first, *others = frames
    shown = {"save_all": True, "append_images": others, "duration": list(milliseconds), "loop": 0}
    first.save(packed, "WEBP", quality=80, method=6, **shown)
    with files.atomic(path) as temporary:
        Path(temporary).write_bytes(packed.getvalue())


def _frames(browser: Any) -> Iterator[tuple[Image.Image, int]]:
    """What is seen, and for how many milliseconds."""
    from selenium.webdriver.common.action_chains import ActionChains

    for text, milliseconds in zip(TEXTS, (1200, 1200, 2500), strict=True):
        _type(browser, text)
        yield _seen(browser), milliseconds
    other = "#drawn-heads li:nth-child(2) .head"
    for head in (browser.find_element("css selector", other), None):
        head = head or browser.execute_script(STRONGEST)
        ActionChains(browser).move_to_element(head).perform()
        yield _seen(browser), 2500
    head.click()
    yield _seen(browser), 2500
    browser.find_element("css selector", "#switches .primary").click()
    yield _seen(browser), 3000
    browser.execute_script("location.hash = 'overview'")
    time.sleep(0.3)  # until it has the focus
    browser.execute_script("scrollTo(0, 0)")
    yield _seen(browser), 3000


def _type(browser: Any, text: str) -> None:
    script = """
        const box = document.getElementById("text");
        box.value = arguments[0];
        box.dispatchEvent(new Event("input"));"""
    browser.execute_script(script, text)
    _wait(lambda: browser.execute_script(COLOURED, text))


def _wait(done: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not done():
        if time.monotonic() > end:
            raise TimeoutError(f"expected the page's model to read within {SECONDS} s")
        time.sleep(0.1)


def _seen(browser: Any) -> Image.Image:
    time.sleep(0.3)  # until it is painted
    return Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")


if __name__ == "__main__":
    draw()
