"""Settings of every test run: size tiny, no widgets, no kept answers, no network, the samples."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("TLCOURSE_SIZE", "tiny")
os.environ.setdefault("OMP_NUM_THREADS", str(min(2, os.cpu_count() or 1)))
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ["TLCOURSE_WIDGETS"] = "off"
os.environ["TLCOURSE_ANSWERS"] = "off"
if os.environ.get("TLCOURSE_DATA"):
    os.environ["TLCOURSE_DATA"] = str(Path(os.environ["TLCOURSE_DATA"]).resolve())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Only tests marked `real_data` see a mirror; `tests/conftest.py` finds it for them."""
    if not item.get_closest_marker("real_data"):
        os.environ.pop("TLCOURSE_DATA", None)
