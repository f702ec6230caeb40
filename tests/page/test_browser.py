"""The built page in headless Chromium, which finds no host: from a file, and from a web server."""

import contextlib
import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.browser import By, chromium, needed, screenshot, wait
from tlcourse import checkpoints
from tlcourse.bpe import EOS, normalise
from tlcourse.device import Compute
from tlcourse.page import build

pytestmark = needed
ALONE = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
PLAIN = Compute(torch.device("cpu"), torch.float32, "explicit", False)
HOSTILE = "</script><img src=x onerror='window.hacked = 1'> <!--<script> 🦙 مرحبا \u202eabc"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("chromium"), ALONE) as driver:
        yield driver


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a plain web server on a folder."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def texts(browser: Any, selector: str) -> list[str]:
    return [
        each.get_attribute("textContent")
        for each in browser.find_elements(By.CSS_SELECTOR, selector)
    ]


def said(browser: Any) -> str:
    return browser.find_element(By.ID, "status").text


def typed(browser: Any, text: str) -> str:
    """Types a text, waits for the answer and gives the status line."""
    script = """
        const [text, value] = [document.getElementById("text"), arguments[0]];
        document.getElementById("status").textContent = "";
        text.value = value;
        text.dispatchEvent(new Event("input"));"""
    browser.execute_script(script, text)
    return wait("an answer", lambda: said(browser), 0.1)


@torch.no_grad()
def expected(name: str, text: str) -> tuple[list[str], list[str]]:
    """The tokens of a text, and the shares of the likeliest tokens after it, as they are shown."""
    model, tokenizer = checkpoints.load(name, PLAIN)
    ids = [EOS, *tokenizer.encode(normalise(text))]
    best = model(torch.tensor([ids]))[0, -1].softmax(-1).topk(10).values
    return tokenizer.tokens(ids), [f"{100 * share:.1f} %" for share in best.tolist()]


def loaded(browser: Any, address: str) -> str:
    browser.get(address)
    return wait("the model", lambda: said(browser) if "tokens, read in" in said(browser) else "")


def choose(browser: Any, name: str) -> None:
    script = """
        const model = document.getElementById("model");
        model.value = arguments[0];
        model.dispatchEvent(new Event("change"));"""
    browser.execute_script(script, name)


def test_one_file_opens_from_disk(browser: Any, tmp_path: Path) -> None:
    page = build(tmp_path / "page.html", ["causal-small"])
    assert page.stat().st_size < 20e6
    loaded(browser, page.as_uri())
    text = "The ship sank in the North Atlantic in the"
    assert typed(browser, text).startswith("11 tokens, read in")
    screenshot(browser, "page")
    tokens, shares = expected("causal-small", text)
    assert texts(browser, "#tokens bdi") == [token.removeprefix(" ") for token in tokens]
    assert texts(browser, "#bars span:last-child") == shares


def test_nothing_typed_becomes_a_tag_or_leaves_the_page(browser: Any) -> None:
    """On the page of the test before."""
    assert "Only the first 64 tokens are read." in typed(browser, HOSTILE * 5)
    assert len(texts(browser, "#tokens li")) == 64
    assert not browser.find_elements(By.TAG_NAME, "img")
    assert browser.execute_script("return window.hacked") is None
    asks = """
        const violated = new Promise((resolve) => {
          const heard = (event) => resolve(event.effectiveDirective);
          document.addEventListener("securitypolicyviolation", heard);
        });
        fetch("https://example.org").catch(() => null);
        return violated;"""
    assert browser.execute_script(asks) == "connect-src"
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_a_folder_is_served_as_it_is(browser: Any, tmp_path: Path) -> None:
    build(tmp_path / "page", ["causal-small", "masked-small"])
    weights = tmp_path / "page" / "masked-small" / "model.safetensors"
    asks = "Write <mask> where a word is to be guessed."
    with served(tmp_path / "page") as address:
        loaded(browser, address)
        weights.rename(weights.with_suffix(".away"))
        choose(browser, "masked-small")
        wait("an error", lambda: "got the answer 404; copy the whole folder" in said(browser))
        weights.with_suffix(".away").rename(weights)
        choose(browser, "masked-small")
        wait("the masked model", lambda: asks in said(browser))
        assert asks not in typed(browser, "Paris is the <mask> of France.")
        assert "capital" in texts(browser, "#bars bdi")
        assert "<mask>" in texts(browser, "#tokens .special bdi")
        choose(browser, "causal-small")
        wait("the first model", lambda: "What may come next" in texts(browser, "#question"))
