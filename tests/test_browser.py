"""Headless Chromium: lesson 01, and the live views as a page, in a notebook, in an export.

Chromium finds no host at all here, so that what works, works with no network.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

from tests.browser import (
    IDLE,
    ActionChains,
    By,
    Keys,
    Select,
    chromium,
    jupyterlab,
    needed,
    run_notebook,
    screenshot,
    wait,
)
from tlcourse.lessons import export, get, learners_copy
from tlcourse.views import hover

pytestmark = needed
ALONE = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
TOKENS = ["<eos>", " The", " dog", " barks", "."]
HOSTILE = ["<script>window.hacked = 1</script>", "</script><img src=x onerror='window.hacked = 1'>"]
HOSTILE += ['"quo\'te" &amp;', "🦙", "مرحبا", "e\u0301\u0302", "\u0301", "\u202eabc"]
CODE = """\
from tlcourse import checkpoints, looking

model, tokenizer = checkpoints.load("causal-small")
masked = {"masked-small": checkpoints.load("masked-small")}
looking.explore(model, tokenizer, "The dog that chased the cats barks.", beside=masked)"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("chromium"), ALONE) as driver:
        yield driver


def test_lesson_runs_from_the_menu_and_a_slider_moves_the_picture(browser, tmp_path):
    name = get("01").path.name
    learners_copy(tmp_path / "my")
    with jupyterlab(tmp_path) as lab:
        cells = run_notebook(browser, lab, tmp_path, f"my/{name}")
        assert [out for cell in cells for out in cell.outputs if out.output_type == "error"] == []
        assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
        handle = wait("a slider", lambda: browser.find_element(By.CSS_SELECTOR, ".noUi-handle"))
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", handle)
        area = handle.find_element(By.XPATH, "ancestor::*[contains(@class, 'jp-Cell-outputArea')]")
        before = wait("its picture", lambda: picture_in(area))
        handle.send_keys(Keys.ARROW_RIGHT * 3)
        wait("another picture", lambda: picture_in(area) != before)
        wait("the last picture", lambda: browser.find_elements(By.CSS_SELECTOR, IDLE))
        screenshot(browser, name.removesuffix(".ipynb"))


def picture_in(area: Any, attribute: str = "src") -> str:
    return area.find_element(By.TAG_NAME, "img").get_attribute(attribute)


def attention(length: int) -> np.ndarray:
    """Two layers of three heads: head h looks h + 1 tokens back with 0.8, and a bit at itself."""
    weights = np.zeros((2, 3, length, length))
    for head in range(3):
        for query in range(length):
            weights[0, head, query, (query - head - 1) % length] = 0.8
            weights[0, head, query, query] = 0.2
    weights[1] = np.eye(length)
    return weights


def opened(browser: Any, folder: Path, tokens: list[str], dark: bool = False, width: int = 760):
    """The page of `attention` over tokens, opened from a file."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    path = folder / "attention.html"
    hover(attention(len(tokens)), tokens, title="Heads look back", alt="Lines.").save(path)
    browser.get(path.as_uri())


def all_of(browser: Any, selector: str) -> list[Any]:
    return browser.find_elements(By.CSS_SELECTOR, selector)


def lines(browser: Any) -> list[tuple[str, str]]:
    """The ends of the lines that are drawn, (query, key) in the rows' middles."""
    ends = "line => [line.getAttribute('y1'), line.getAttribute('y2')]"
    drawn = browser.execute_script(f"return [...document.querySelectorAll('line')].map({ends})")
    return sorted(map(tuple, drawn))


def said(browser: Any) -> list[str]:
    text = browser.find_element(By.CSS_SELECTOR, "[aria-live]").text
    return text.replace("\u2068", "").replace("\u2069", "").splitlines()


def pressed(browser: Any, group: str) -> list[str]:
    return [each.text for each in all_of(browser, f"[aria-label={group}] [aria-pressed=true]")]


def test_switches_and_pointer_change_the_lines(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, TOKENS)
    assert pressed(browser, "head") == ["head 0.0", "head 0.1", "head 0.2"]
    assert len(lines(browser)) == 3 * 5 * 2
    all_of(browser, "[aria-label=head] button")[1].click()
    assert pressed(browser, "head") == ["head 0.0", "head 0.2"]
    assert len(lines(browser)) == 2 * 5 * 2
    browser.execute_script(
        "arguments[0].dispatchEvent(new PointerEvent('pointerenter'))",
        all_of(browser, "[aria-label=queries] button")[3],
    )
    assert lines(browser) == [("3.5", "0.5"), ("3.5", "2.5"), ("3.5", "3.5"), ("3.5", "3.5")]
    assert said(browser)[0] == "head 0.0: 'barks' looks at 'dog' with 0.80"
    shown = [each.text.split() for each in all_of(browser, "[aria-label=keys] button")]
    assert shown[:4] == [["<eos>", "0.40"], ["The"], ["dog", "0.40"], ["barks", "0.20"]]
    screenshot(browser, "attention-light")
    all_of(browser, "[aria-label=block] button")[1].click()
    assert pressed(browser, "head") == ["head 1.0", "head 1.2"]
    assert said(browser)[0] == "head 1.0: 'barks' looks at 'barks' with 1.00"


def test_everything_is_reached_by_keyboard(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, TOKENS, dark=True)

    def press(*keys: str) -> Any:
        for key in keys:
            browser.switch_to.active_element.send_keys(key)
        return browser.switch_to.active_element

    def tab() -> str:
        ActionChains(browser).send_keys(Keys.TAB).perform()
        return browser.switch_to.active_element.text.split("\n")[0]

    assert [tab(), tab(), tab(), tab()] == ["block 0", "head 0.0", "all tokens", "<eos>"]
    first = said(browser)
    assert first[0] == "head 0.0: '<eos>' looks at '.' with 0.80"
    assert press(Keys.ARROW_DOWN, Keys.ARROW_DOWN).text == "dog"
    assert said(browser)[0] == "head 0.0: 'dog' looks at 'The' with 0.80" != first[0]
    assert press(Keys.ARROW_RIGHT).text == "dog"
    assert said(browser)[0] == "head 0.0: 'barks' looks at 'dog' with 0.80"
    assert {key for _, key in lines(browser)} == {"2.5"}
    screenshot(browser, "attention-dark")
    assert press(Keys.END).text.split()[0] == "."
    press(Keys.ESCAPE)
    assert "choose a token" in said(browser)[0] and len(lines(browser)) == 30
    head = all_of(browser, "[aria-label=head] button")[0]
    head.send_keys(Keys.ARROW_RIGHT)
    press(Keys.SPACE)
    assert pressed(browser, "head") == ["head 0.0", "head 0.2"]


def test_tokens_run_no_script_and_fit_on_a_phone(browser: Any, tmp_path: Path) -> None:
    opened(browser, tmp_path, HOSTILE, width=390)
    tokens = all_of(browser, "[aria-label=queries] button")
    for token in tokens:
        token.click()
    assert "looks at" in said(browser)[0]
    assert browser.execute_script("return window.hacked") is None
    assert all_of(browser, "img, .attention script") == []
    shown = [each.text for each in all_of(browser, "[aria-label=keys] span:first-child")]
    assert shown[0] == HOSTILE[0].replace(" ", "␣") and shown[2] == HOSTILE[2].replace(" ", "␣")
    width = "return document.documentElement.scrollWidth"
    assert browser.execute_script(width) <= 390
    screenshot(browser, "attention-hostile-narrow")


def test_an_export_of_a_notebook_lives_on(browser: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.delenv("TLCOURSE_WIDGETS")
    data = hover(attention(5), TOKENS, title="Heads look back", alt="Lines.")._repr_mimebundle_()
    cell = nbformat.v4.new_code_cell("hover(...)", execution_count=1)
    cell.outputs = [nbformat.v4.new_output("execute_result", data, execution_count=1)]
    notebook = nbformat.v4.new_notebook(cells=[cell])
    nbformat.write(notebook, tmp_path / "page.ipynb")
    page = export.to_html(tmp_path / "page.ipynb")
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.get((tmp_path / "page.html").as_uri())
    browser.switch_to.frame(browser.find_element(By.CSS_SELECTOR, "iframe[sandbox=allow-scripts]"))
    wait("the view", lambda: len(lines(browser)) == 30)
    all_of(browser, "[aria-label=head] button")[0].click()
    assert len(lines(browser)) == 20
    all_of(browser, "[aria-label=queries] button")[3].click()
    assert said(browser)[0] == "head 0.1: 'barks' looks at 'The' with 0.80"
    browser.switch_to.default_content()
    screenshot(browser, "attention-export")


def test_typing_and_switching_change_the_picture_in_a_lab(browser: Any, tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CODE)])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, tmp_path / "look.ipynb")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    with jupyterlab(tmp_path) as lab:
        (cell,) = run_notebook(browser, lab, tmp_path, "look.ipynb")
        assert [output.output_type for output in cell.outputs] == ["execute_result"], cell.outputs
        area = wait("the switches", lambda: browser.find_element(By.CSS_SELECTOR, ".widget-vbox"))

        def changed(before: str) -> str:
            wait("another picture", lambda: picture_in(area) != before)
            wait("the kernel", lambda: browser.find_elements(By.CSS_SELECTOR, IDLE))
            return picture_in(area)

        seen = [wait("the picture", lambda: picture_in(area))]
        text = area.find_element(By.CSS_SELECTOR, "input[type=text]")
        select_all = Keys.CONTROL + "a" + Keys.NULL  # which lets go of Control
        text.send_keys(select_all, "The cat that the dogs chased sleeps.", Keys.ENTER)
        seen.append(changed(seen[-1]))
        block, head = area.find_elements(By.CSS_SELECTOR, ".noUi-handle")
        for handle, name in ((block, "head 1.0"), (head, "head 1.1")):
            handle.send_keys(Keys.ARROW_RIGHT)
            seen.append(changed(seen[-1]))
            assert name in picture_in(area, "alt")
        (model, *_) = area.find_elements(By.TAG_NAME, "select")
        model.send_keys("masked")  # m would turn the cell into Markdown, d d remove it
        seen.append(changed(seen[-1]))
        assert Select(model).first_selected_option.text == "masked-small"
        assert len(browser.find_elements(By.CSS_SELECTOR, ".jp-CodeCell")) == 1
        assert len(set(seen)) == 5
        text.send_keys(select_all, Keys.BACKSPACE, Keys.ENTER)
        wait("the line", lambda: "type a sentence" in area.text)
        assert picture_in(area) == seen[-1] and "Traceback" not in area.text
        browser.execute_script("arguments[0].scrollIntoView()", area)
        screenshot(browser, "explore")
