"""Contestants: own processes, in turn, and what happens when one fails or dies."""

import os

import pytest

from benchmarks.speed import harness
from benchmarks.speed.harness import Contest, Entry
from benchmarks.table import table


class Counter:
    """A contestant that counts what it is asked for."""

    def __init__(self, units: int):
        self.units, self.calls = units, []

    def run(self, steps: int) -> None:
        self.calls.append(steps)

    def process(self) -> int:
        return os.getpid()

    def fail(self) -> None:
        raise ValueError("no such luck")

    def die(self) -> None:
        os._exit(3)


def entries(*names: str) -> list[Entry]:
    return [Entry(name, Counter, {"units": 10}) for name in names]


@pytest.fixture(scope="module")
def both():
    with Contest(entries("one", "other")) as found:
        yield found


def test_each_contestant_has_a_process_of_its_own(both):
    assert len({os.getpid(), *both.ask("process").values()}) == 3


def test_every_round_asks_everybody_for_the_same_time(both):
    both.warm_up(1, 2)
    rates = both.rates(rounds=3, seconds=0.0)
    assert both.ask("calls") == {"one": [1, 2, 1, 1, 1], "other": [1, 2, 1, 1, 1]}
    assert [len(found) for found in rates.values()] == [3, 3]
    assert all(rate > 0 for found in rates.values() for rate in found)


def test_a_failure_tells_who_and_where(both):
    with pytest.raises(RuntimeError, match=r"'one' failed when asked to fail:(.|\n)*no such luck"):
        both.children["one"].ask("fail")
    assert both.children["one"].ask("units") == 10  # and is still there


def test_a_process_that_dies_is_named_with_its_exit_code():
    with Contest(entries("mortal")) as found:
        with pytest.raises(RuntimeError, match="process of 'mortal' died .*exit code 3"):
            found.children["mortal"].ask("die")
        with pytest.raises(RuntimeError, match="'mortal' died"):
            found.children["mortal"].ask("units")


def test_ratios_are_those_of_medians_with_the_spread_of_rounds():
    found = harness.ratio([10.0, 20.0, 30.0], [10.0, 10.0, 10.0])
    assert found == {"ratio": 2.0, "ratio_lowest": 1.0, "ratio_highest": 3.0, "rounds": 3}


def test_a_table_has_the_columns_that_its_rows_have():
    rows = [
        {"job": "causal", "peer": "A", "ratio": 1.5, "ratio_lowest": 1.25, "ratio_highest": 2.0},
        {"job": "bpe", "peer": "Long name", "ratio": 0.25, "memory_ratio": 0.5, "fastest": True},
    ]
    head, line, first, second = table(rows).splitlines()
    assert head.split() == ["job", "peer", "times", "as", "fast", "in", "rounds", "memory"]
    assert set(line) == {"-", " "}
    assert first.split() == ["causal", "A", "1.50", "1.25-2.00"]
    assert second.split() == ["bpe", "Long", "name", "0.25", "0.50", "its", "fastest"]
