"""Draws the README's picture of the page: `python -m benchmarks.speed.picture`.

It opens the page that `tlcourse page` builds in headless Chromium, waits until the model has read
its text, and writes a screenshot. It needs Chromium with its driver, and
`pip install -e ".[browser]"`.
"""

import io
import tempfile
import time
from pathlib import Path

from PIL import Image

from benchmarks.speed.page import chromium
from tlcourse import files
from tlcourse.page import build

PICTURE = Path(__file__).parents[1] / "results" / "page.png"
SIZE = (860, 1010)  # of the window, in pixels
COLOURS = 64
SECONDS = 60


def draw(path: Path = PICTURE) -> None:
    """Writes the picture; raises a TimeoutError where the model has not read within a minute."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page = build(Path(folder) / "page.html", ["causal-small"])
        browser.set_window_size(*SIZE)
        browser.get(page.as_uri())
        end = time.monotonic() + SECONDS
        while not browser.execute_script("return 'read' in document.documentElement.dataset"):
            if time.monotonic() > end:
                raise TimeoutError(f"expected the page's model to read within {SECONDS} s")
            time.sleep(0.1)
        screenshot = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    packed = io.BytesIO()
    screenshot.quantize(COLOURS).save(packed, "PNG", optimize=True)
    with files.atomic(path) as temporary:
        Path(temporary).write_bytes(packed.getvalue())


if __name__ == "__main__":
    draw()
