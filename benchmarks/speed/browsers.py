"""Headless browsers to time and to draw in, which find no host but this machine.

Both are driven in the same few words: `get`, `execute_script`, `execute_async_script` and
`set_script_timeout`, and say their `version`.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

CHROMIUM = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
NO_ONE = {"http": "127.0.0.1", "http_port": 9, "ssl": "127.0.0.1", "ssl_port": 9}  # none listens


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """Chromium, by its driver; raises an ImportError without selenium."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for flag in CHROMIUM:
        options.add_argument(flag)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    browser = webdriver.Chrome(options=options, service=service)
    browser.version = f"Chromium {browser.capabilities['browserVersion']}"
    try:
        yield browser
    finally:
        browser.quit()


@contextlib.contextmanager
def firefox() -> Iterator[Any]:
    """Firefox, by the protocol that it speaks itself: Debian has no driver for it.

    Raises an ImportError without marionette_driver, a FileNotFoundError without Firefox.
    """
    from marionette_driver.marionette import Marionette

    binary = shutil.which("firefox-esr") or shutil.which("firefox")
    if binary is None:
        raise FileNotFoundError("expected firefox-esr or firefox on the PATH, found neither")
    proxy = {f"network.proxy.{name}": value for name, value in NO_ONE.items()}
    prefs = proxy | {"network.proxy.type": 1, "network.proxy.no_proxies_on": "127.0.0.1"}
    with tempfile.TemporaryDirectory() as logs:
        options = {"headless": True, "prefs": prefs, "gecko_log": logs}
        driver = Marionette(bin=os.path.realpath(binary), port=0, **options)
        try:
            driver.start_session()
            yield _Firefox(driver)
        finally:
            driver.cleanup()


class _Firefox:
    def __init__(self, driver: Any):
        self.driver = driver
        self.version = f"Firefox {driver.session_capabilities['browserVersion']}"

    def get(self, address: str) -> None:
        self.driver.navigate(address)

    def execute_script(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, script_args=arguments, sandbox=None)

    def execute_async_script(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_async_script(script, script_args=arguments, sandbox=None)

    def set_script_timeout(self, seconds: float) -> None:
        self.driver.timeout.script = seconds
