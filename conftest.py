"""Settings of every test run: size tiny, no widgets, no kept answers, no network, the samples.

Files of tests run in several processes at once (`-n 0`: in one), each on one thread: two that train
on the same cores with two threads each stall each other.
"""

import os
from pathlib import Path

import pytest

os.environ.setdefault("TLCOURSE_SIZE", "tiny")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of kernels and other children, too
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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Lessons first, the last of them first: nothing long is left when there is little to share."""
    lessons = [item for item in items if item.path.suffix == ".ipynb"]
    items[:] = lessons[::-1] + [item for item in items if item.path.suffix != ".ipynb"]
