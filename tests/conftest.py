"""Real data for the tests that are marked `real_data`, the bundled samples for all others."""

import os
import signal

import pytest

from tlcourse import files

BESIDE = files.root().parent / "shared" / "data"
if not os.environ.get("TLCOURSE_DATA") and BESIDE.is_dir():
    os.environ["TLCOURSE_DATA"] = str(BESIDE)
MIRROR = os.environ.get("TLCOURSE_DATA")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("cuda"):
        import torch  # seconds, of which other tests may need none

        if not torch.cuda.is_available():
            pytest.skip("needs an NVIDIA GPU")
    if item.get_closest_marker("real_data"):
        if not MIRROR:
            pytest.skip("needs a local mirror of the real data (TLCOURSE_DATA)")
        os.environ["TLCOURSE_DATA"] = MIRROR


@pytest.fixture
def interrupts():
    """SIGINT as a terminal has it: what is started in the background of a shell ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
