import pytest

from tests.exercises import toys
from tlcourse.exercises import answers, session
from tlcourse.exercises import task as machinery


@pytest.fixture
def toy(monkeypatch):
    """Toys stand beside the course's exercises; nothing is known of the test before."""
    for name in ("_load", "_names"):
        monkeypatch.setattr(machinery, name, getattr(machinery, name))
    for name, empty in (("_hints_shown", {}), ("_returned", {}), ("_last", [])):
        monkeypatch.setattr(session, name, empty)
    monkeypatch.setattr(answers, "_notices", set())
    return toys.register()
