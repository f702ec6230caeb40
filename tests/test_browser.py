"""Lesson 01 in JupyterLab in headless Chromium: run from the menu, a slider moves the picture."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import (
    IDLE,
    By,
    Keys,
    chromium,
    jupyterlab,
    needed,
    run_notebook,
    screenshot,
    wait,
)
from tlcourse.lessons import Lesson, get, learners_copy

pytestmark = needed


@pytest.fixture
def lesson() -> Lesson:
    try:
        return get("01")
    except ValueError:
        pytest.skip("lesson 01 is not written yet")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """The address of a JupyterLab on a learner's copy."""
    learners_copy(tmp_path / "my")
    with jupyterlab(tmp_path) as address:
        yield address


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    with chromium(tmp_path) as driver:
        yield driver


def test_lesson_runs_from_the_menu_and_a_slider_moves_the_picture(lesson, lab, browser, tmp_path):
    cells = run_notebook(browser, lab, tmp_path, f"my/{lesson.path.name}")
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
    screenshot(browser, lesson.path.stem)
