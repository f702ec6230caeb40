"""Headless Chromium and a JupyterLab to open in it, for the tests that are marked `browser`."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tlcourse.lessons import finding

webdriver = pytest.importorskip("selenium.webdriver", reason="needs the extra: .[browser]")
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select  # noqa: E402

__all__ = ["ActionChains", "By", "Keys", "Select"]  # handed on
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for name in BROWSERS if (found := shutil.which(name))), None)
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --window-size=1400,1000"
)
IDLE = ".jp-NotebookPanel-toolbar [data-status='idle']"
SECONDS = 300  # to wait for anything, a whole lesson included
needed = [
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


@contextlib.contextmanager
def jupyterlab(folder: Path) -> Iterator[str]:
    """The address of a JupyterLab on a folder, with fresh settings and at size tiny."""
    settings = folder / "settings" / "@jupyterlab" / "notebook-extension"
    settings.mkdir(parents=True)
    every_cell = {"windowingMode": "none"}  # otherwise cells out of sight are not in the page
    (settings / "tracker.jupyterlab-settings").write_text(json.dumps(every_cell), encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += [f"--ServerApp.port={port}", f"--ServerApp.root_dir={folder}"]
    command += ["--IdentityProvider.token=", "--LabApp.extension_manager=readonly"]
    variables = os.environ | {
        "TLCOURSE_SIZE": "tiny",
        "TLCOURSE_WIDGETS": "",
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
    }
    with (folder / "lab.log").open("w", encoding="utf-8") as log:
        server = subprocess.Popen(command, env=variables, stdout=log, stderr=log)
        try:
            address = f"http://127.0.0.1:{port}"
            wait("JupyterLab", lambda: urllib.request.urlopen(f"{address}/api", timeout=5))
            yield address
        finally:
            server.terminate()
            server.wait(30)


@contextlib.contextmanager
def chromium(folder: Path, flags: Sequence[str] = ()) -> Iterator[Any]:
    """A driver of headless Chromium whose profile is in `folder`."""
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in [*FLAGS.split(), f"--user-data-dir={folder / 'browser'}", *flags]:
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def choose(browser: Any, menu: str, command: str) -> None:
    """Clicks a menu of JupyterLab and the command in it."""
    items = browser.find_elements(By.CSS_SELECTOR, ".lm-MenuBar-item")
    next(item for item in items if item.text.strip() == menu).click()
    selector = f".lm-Menu-item[data-command='{command}']"
    wait(command, lambda: browser.find_element(By.CSS_SELECTOR, selector)).click()


def run_all(browser: Any) -> bool:
    """Chooses Run All Cells; says whether a cell began: while a page loads, a click can be lost.

    On a busy machine JupyterLab may ask which kernel it should be, and is told the one that it
    offers.
    """
    for button in browser.find_elements(By.CSS_SELECTOR, ".jp-Dialog .jp-mod-accept"):
        button.click()
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


def run_notebook(browser: Any, lab: str, folder: Path, name: str) -> Any:
    """Opens the notebook `name` of the lab's folder, runs it from the menu; its code cells."""
    browser.get(f"{lab}/lab/tree/{name}")
    wait("the notebook", lambda: browser.find_elements(By.CSS_SELECTOR, ".jp-CodeCell"))
    wait("the kernel", lambda: browser.find_elements(By.CSS_SELECTOR, IDLE))
    wait("a cell to begin", lambda: run_all(browser))
    return wait("the last cell", lambda: ran(browser, folder / name), 3)


def screenshot(browser: Any, name: str) -> None:
    """Keeps what is to be seen as runs/browser/NAME.png."""
    folder = Path("runs/browser")
    folder.mkdir(parents=True, exist_ok=True)
    browser.save_screenshot(str(folder / f"{name}.png"))
