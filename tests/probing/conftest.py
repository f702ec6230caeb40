"""Probes of the tests are trained for fewer steps."""

import pytest

from tlcourse.probing import fitting


@pytest.fixture(autouse=True)
def _quickly(monkeypatch):
    monkeypatch.setattr(fitting, "LEAST_STEPS", 100)
