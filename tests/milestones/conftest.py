"""A learner who has kept the references as answers, as a notebook would keep them."""

from pathlib import Path

import pytest

from tests.milestones import solve


@pytest.fixture
def solved(tmp_path, monkeypatch) -> Path:
    """The folder of a learner who has solved all that the demonstrations use."""
    return solve(tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """The results of that learner."""
    from tlcourse import milestones

    with pytest.MonkeyPatch.context() as monkeypatch:
        solve(tmp_path_factory.mktemp("my"), monkeypatch)
        return list(milestones.run())
