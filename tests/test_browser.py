"""Lesson 01 in JupyterLab in headless Chromium: run from the menu, a slider moves the picture."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tlcourse.lessons import Lesson, finding, get, learners_copy

webdriver = pytest.importorskip("selenium.webdriver", reason="needs the extra: .[browser]")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for name in BROWSERS if (found := shutil.which(name))), None)
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --window-size=1400,1000"
)
IDLE = ".jp-NotebookPanel-toolbar [data-status='idle']"
SECONDS = 300  # to wait for anything, a whole lesson included
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs Chromium and chromedriver"),
]


def wait(what: str, attempt: Callable[[], Any], every: float = 0.5) -> Any:
    """Calls `attempt` until it gives something true; what it raises counts as not yet."""
    end = time.monotonic() + SECONDS
    said: Exception | None = None
    while time.monotonic() < end:
        try:
            if result := attempt():
                return result
        except Exception as error:
            said = error
        time.sleep(every)
    raise AssertionError(f"waited {SECONDS} s for {what}; last: {said}")


@pytest.fixture
def lesson() -> Lesson:
    try:
        return get("01")
    except ValueError:
        pytest.skip("lesson 01 is not written yet")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """The address of a JupyterLab on a learner's copy, with fresh settings and at size tiny."""
    learners_copy(tmp_path / "my")
    settings = tmp_path / "settings" / "@jupyterlab" / "notebook-extension"
    settings.mkdir(parents=True)
    every_cell = {"windowingMode": "none"}  # otherwise cells out of sight are not in the page
    (settings / "tracker.jupyterlab-settings").write_text(json.dumps(every_cell), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += [f"--ServerApp.port={port}", f"--ServerApp.root_dir={tmp_path}"]
    command += ["--IdentityProvider.token=", "--LabApp.extension_manager=readonly"]
    variables = os.environ | {
        "TLCOURSE_SIZE": "tiny",
        "TLCOURSE_WIDGETS": "",
        "JUPYTERLAB_SETTINGS_DIR": str(tmp_path / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / "workspaces"),
        "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
    }
    with (tmp_path / "lab.log").open("w", encoding="utf-8") as log:
        server = subprocess.Popen(command, env=variables, stdout=log, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}"
            wait("JupyterLab", lambda: urllib.request.urlopen(f"{address}/api", timeout=5))
            yield address
        finally:
            server.terminate()
            server.wait(30)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in [*FLAGS.split(), f"--user-data-dir={tmp_path / 'browser'}"]:
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def choose(browser: Any, menu: str, command: str) -> None:
    """Clicks a menu of JupyterLab and the command in it."""
    items = browser.find_elements(By.CSS_SELECTOR, ".lm-MenuBar-item")
    next(item for item in items if item.text.strip() == menu).click()
    selector = f".lm-Menu-item[data-command='{command}']"
    wait(command, lambda: browser.find_element(By.CSS_SELECTOR, selector)).click()


def run_all(browser: Any) -> bool:
    """Chooses Run All Cells; says whether a cell began: while a page loads, a click can be lost."""
    choose(browser, "Run", "runmenu:run-all")
    end = time.monotonic() + 20
    while time.monotonic() < end:
        prompts = browser.find_elements(By.CSS_SELECTOR, ".jp-CodeCell .jp-InputPrompt")
        if any(prompt.text.strip() not in ("", "[ ]:") for prompt in prompts):
            return True
        time.sleep(0.5)
    return False


def ran(browser: Any, path: Path) -> Any:
    """The saved notebook once its last code cell has run or one has failed, else None."""
    choose(browser, "File", "docmanager:save")
    cells = finding.code_cells(finding.read_notebook(path))
    failed = any(output.output_type == "error" for cell in cells for output in cell.outputs)
    return cells if failed or cells[-1].execution_count else None


def test_lesson_runs_from_the_menu_and_a_slider_moves_the_picture(
    lesson: Lesson, lab: str, browser: Any, tmp_path: Path
) -> None:
    browser.get(f"{lab}/lab/tree/my/{lesson.path.name}")
    wait("the notebook", lambda: browser.find_elements(By.CSS_SELECTOR, ".jp-CodeCell"))
    wait("the kernel", lambda: browser.find_elements(By.CSS_SELECTOR, IDLE))
    wait("a cell to begin", lambda: run_all(browser))

    cells = wait("the last cell", lambda: ran(browser, tmp_path / "my" / lesson.path.name), 3)
    errors = [out for cell in cells for out in cell.outputs if out.output_type == "error"]
    assert errors == []
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))

    handle = wait("a slider", lambda: browser.find_element(By.CSS_SELECTOR, ".noUi-handle"))
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", handle)
    area = handle.find_element(By.XPATH, "ancestor::*[contains(@class, 'jp-Cell-outputArea')]")

    def picture() -> str:
        return area.find_element(By.TAG_NAME, "img").get_attribute("src")

    before = wait("its picture", picture)
    handle.send_keys(Keys.ARROW_RIGHT * 3)
    wait("another picture", lambda: picture() != before)
    wait("the last picture", lambda: browser.find_elements(By.CSS_SELECTOR, IDLE))
    folder = Path("runs/browser")
    folder.mkdir(parents=True, exist_ok=True)
    browser.save_screenshot(str(folder / f"{lesson.path.stem}.png"))
