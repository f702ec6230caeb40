"""The harness of all timings: contestants take turns, and rates are compared round by round.

In a `Contest` each contestant has a process of its own, so that compiled code, allocators and
threads of one do not touch another; `alternate` is for functions that can share a process. Whatever
else the machine does affects all of them alike.
"""

import multiprocessing
import statistics
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from benchmarks import clocks


class Contestant(Protocol):
    """What a child process serves; other methods can be asked for by name, too."""

    units: int  # tokens or questions that one step processes

    def run(self, steps: int) -> None:
        """Does `steps` steps."""


@dataclass(frozen=True)
class Entry:
    """A contestant's name, and the function (at module level) that makes it in its process."""

    name: str
    make: Callable[..., Contestant]
    arguments: Mapping[str, Any] = field(default_factory=dict)


class Child:
    """One contestant in its own process."""

    def __init__(self, entry: Entry):
        self.name, self.seconds_a_step, self.units = entry.name, 0.0, 0
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        arguments = (theirs, entry.make, dict(entry.arguments))
        self.process = context.Process(target=_serve, args=arguments, daemon=False)
        self.process.start()
        theirs.close()  # so that the pipe ends when the child does

    def ask(self, method: str, *arguments) -> Any:
        """Returns what `method` of the contestant returns; "time" runs steps and returns seconds.

        Raises a RuntimeError that names the contestant if it failed or its process died.
        """
        try:
            self.pipe.send((method, arguments))
            failed, answer = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            raise RuntimeError(
                f"the process of {self.name!r} died while asked to {method} (exit code "
                f"{self.process.exitcode}; -9 mostly means that memory ran out): free some, "
                "or choose a smaller TLCOURSE_SIZE"
            ) from None
        if failed:
            raise RuntimeError(f"{self.name!r} failed when asked to {method}:\n{answer}")
        return answer

    def close(self) -> None:
        """Ends the process."""
        self.pipe.close()  # the child's next recv ends it
        self.process.join(30)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join()


def _serve(pipe, make: Callable[..., Contestant], arguments: dict) -> None:
    """The child's side: makes the contestant at the first request, then answers until the end."""
    contestant = None
    while True:
        try:
            method, parts = pipe.recv()
        except EOFError:
            return
        try:
            if contestant is None:
                contestant = make(**arguments)
            answer = _answer(contestant, method, parts)
        except Exception:  # of any kind: the parent reports it
            pipe.send((True, traceback.format_exc()))
        else:
            pipe.send((False, answer))


def _answer(contestant: Contestant, method: str, parts: tuple) -> Any:
    if method != "time":
        attribute = getattr(contestant, method)
        return attribute(*parts) if callable(attribute) else attribute
    return clocks.timed(lambda: contestant.run(*parts))[1]


class Contest:
    """A context manager with a process for each entry, in the order given."""

    def __init__(self, entries: Iterable[Entry]):
        self.entries, self.children = list(entries), {}

    def __enter__(self) -> "Contest":
        self.children = {entry.name: Child(entry) for entry in self.entries}
        return self

    def __exit__(self, *_) -> None:
        for child in self.children.values():
            child.close()

    def ask(self, method: str, *arguments) -> dict[str, Any]:
        """The answer of each contestant, one after the other."""
        return {name: child.ask(method, *arguments) for name, child in self.children.items()}

    def warm_up(self, *steps: int) -> None:
        """Runs these numbers of steps, so that all compile; the last run gives a step's seconds."""
        for child in self.children.values():
            for number in steps:
                child.seconds_a_step = child.ask("time", number) / number
            child.units = child.ask("units")

    def rates(self, rounds: int, seconds: float) -> dict[str, list[float]]:
        """Units per second of each contestant in each of the rounds.

        In a round each runs once for about `seconds` (at least one step), after a step that does
        not count; every second round goes through them backwards.
        """
        rates: dict[str, list[float]] = {name: [] for name in self.children}
        for number in range(rounds):
            order = list(self.children.values())
            for child in order if number % 2 == 0 else reversed(order):
                if seconds:
                    child.ask("time", 1)
                steps = max(1, round(seconds / child.seconds_a_step))
                rates[child.name].append(steps * child.units / child.ask("time", steps))
        return rates


def alternate(
    works: Mapping[str, Callable[[], Any]],
    rounds: int,
    *,
    passes: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Seconds of each function in each of the rounds: the median of `passes` calls in a row."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            taken = [clocks.timed(work, clock)[1] for _ in range(passes)]
            seconds[name].append(statistics.median(taken))
    return seconds


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, float]:
    """Ratio of the medians, and the lowest and highest ratio of a round; above 1, we are faster."""
    rounds = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    return {
        "ratio": round(statistics.median(ours) / statistics.median(theirs), 3),
        "ratio_lowest": round(min(rounds), 3),
        "ratio_highest": round(max(rounds), 3),
        "rounds": len(rounds),
    }


def against(ours: str, theirs: str, rates: Mapping, facts: Mapping[str, Mapping]) -> dict:
    """`ratio` of two contestants, and "memory_ratio" of their bytes: below 1, ours needs less."""
    memory = facts[ours]["memory"] / facts[theirs]["memory"]
    return ratio(rates[ours], rates[theirs]) | {"memory_ratio": round(memory, 3)}
