"""What spares processes, each of which imports PyTorch for seconds."""

import pickle
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from benchmarks import contest, jobs


def carried(thing: Any) -> Any:
    """What would come out at the other end of a pipe to a process of its own."""
    return pickle.loads(pickle.dumps(thing))


class Child:
    """A contestant in this process; all that it gets and gives is carried."""

    def __init__(self, entry: contest.Entry):
        self.name, self.seconds_a_step, self.units = entry.name, 0.0, 0
        self.make, self.arguments = carried((entry.make, dict(entry.arguments)))
        self.contestant = None

    def ask(self, method: str, *arguments) -> Any:
        if self.contestant is None:
            self.contestant = self.make(**self.arguments)
        return carried(contest._answer(self.contestant, method, carried(arguments)))

    def close(self) -> None:
        self.contestant = None


def in_parallel(work: Callable[[Any], Any], items: Iterable) -> list:
    """The pool's work, one after the other in this process."""
    return [carried(carried(work)(item)) for item in carried(list(items))]


@pytest.fixture
def one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs run in this process; `test_jobs.py` has them in a pool."""
    monkeypatch.setattr(jobs, "in_parallel", in_parallel)
