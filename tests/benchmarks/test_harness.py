"""The harness: contestants in processes of their own and in turn, failures, ratios, tables."""

import os

import pytest

from benchmarks.speed import harness, looking
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
    with Contest(entries("one", "other")) as contest:
        yield contest


def test_each_contestant_has_a_process_of_its_own(both):
    assert len({os.getpid(), *both.ask("process").values()}) == 3


def test_every_round_asks_everybody_for_the_same_time(both):
    both.warm_up(1, 2)
    rates = both.rates(rounds=3, seconds=0.0)
    assert both.ask("calls") == {"one": [1, 2, 1, 1, 1], "other": [1, 2, 1, 1, 1]}
    assert [len(own) for own in rates.values()] == [3, 3]
    assert all(rate > 0 for own in rates.values() for rate in own)


def test_a_failure_tells_who_and_where(both):
    with pytest.raises(RuntimeError, match=r"'one' failed when asked to fail:(.|\n)*no such luck"):
        both.children["one"].ask("fail")
    assert both.children["one"].ask("units") == 10  # and is still there


def test_a_process_that_dies_is_named_with_its_exit_code():
    with Contest(entries("mortal")) as contest:
        with pytest.raises(RuntimeError, match="process of 'mortal' died .*exit code 3"):
            contest.children["mortal"].ask("die")
        with pytest.raises(RuntimeError, match="'mortal' died"):
            contest.children["mortal"].ask("units")


def test_ratios_are_those_of_medians_with_the_spread_of_rounds():
    ratio = {"ratio": 2.0, "ratio_lowest": 1.0, "ratio_highest": 3.0, "rounds": 3}
    rates = {"ours": [10.0, 20.0, 30.0], "theirs": [10.0, 10.0, 10.0]}
    assert harness.ratio(*rates.values()) == ratio
    facts = {"ours": {"memory": 1}, "theirs": {"memory": 4}}
    assert harness.against("ours", "theirs", rates, facts) == ratio | {"memory_ratio": 0.25}


def test_functions_that_share_a_process_take_turns():
    calls = []
    works = {"one": lambda: calls.append(1), "other": lambda: calls.append(2)}
    seconds = harness.alternate(works, 2, passes=3)
    assert calls == [1, 1, 1, 2, 2, 2] * 2
    assert all(len(own) == 2 and min(own) > 0 for own in seconds.values())


def test_looking_is_timed_against_not_looking_and_changes_no_logit(monkeypatch):
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    monkeypatch.setenv("TLCOURSE_DEVICE", "cpu")
    monkeypatch.setattr(looking, "LENGTH", 16)
    result = looking.measure()
    assert [row["texts"] for row in result["rows"]] == [1, 8]
    for row in result["rows"]:
        assert row["difference"] < 1e-4 and min(row["outside"], row["inside"]) > 0
        assert row["ratio_lowest"] <= row["ratio"] <= row["ratio_highest"]
    assert "16 random tokens a text" in result["data"]


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
