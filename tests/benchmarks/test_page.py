"""The benchmark of the page, on one length and two rounds, and the README's picture of it."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from PIL import Image

from benchmarks.speed import page, picture
from tests.browser import needed

pytestmark = needed


PLACES = ["the page, from disk", "the page, from a server"]
FIREFOX = bool(find_spec("marionette_driver")) and any(
    map(shutil.which, ("firefox", "firefox-esr"))
)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """One length, two rounds, without onnxruntime-web."""
    monkeypatch.setattr(page, "LENGTHS", (16,))
    monkeypatch.setattr(page, "ROUNDS", 2)
    monkeypatch.setattr(page, "_peer", lambda *_: None)


def test_the_page_is_timed_from_disk_and_from_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "firefox", missing)
    rows = page.measure()["rows"]
    assert [row["name"] for row in rows] == PLACES
    assert all(row["browser"].startswith("Chromium ") for row in rows)
    check(rows)


@pytest.mark.skipif(not FIREFOX, reason="needs Firefox and marionette_driver")
def test_the_page_is_timed_in_firefox_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "chromium", missing)
    rows = page.measure()["rows"]
    assert [row["name"] for row in rows] == PLACES
    assert all(row["browser"].startswith("Firefox ") for row in rows)
    check(rows)


def missing() -> None:
    raise FileNotFoundError("expected a browser, found none")


def check(rows: list[dict]) -> None:
    for row in rows:
        assert 0 < row["first_view"] < row["first_answer"]
        assert row["ms_16"] > 0
        assert 5 < row["megabytes"] < 12


def test_the_picture_shows_the_page(tmp_path: Path) -> None:
    path = tmp_path / "page.webp"
    picture.draw(path)
    with Image.open(path) as seen, Image.open(picture.PICTURE) as shown:
        assert seen.size == shown.size == picture.SIZE
        assert 8 <= seen.n_frames == shown.n_frames <= 12
        assert len(seen.convert("RGB").getcolors(1 << 20)) > 10
    assert max(path.stat().st_size, picture.PICTURE.stat().st_size) < 2_000_000
