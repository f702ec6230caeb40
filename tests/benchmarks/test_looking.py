import pytest

from benchmarks.studies import looking


def test_both_are_timed_and_looking_changes_no_logit(monkeypatch):
    monkeypatch.setenv("TLCOURSE_SIZE", "tiny")
    monkeypatch.setenv("TLCOURSE_DEVICE", "cpu")
    monkeypatch.setattr(looking, "LENGTH", 16)
    result = looking.measure()
    assert [row["texts"] for row in result["rows"]] == [1, 8]
    for row in result["rows"]:
        assert row["difference"] < 1e-4 and min(row["outside"], row["inside"]) > 0
        assert row["ratio_lowest"] <= row["ratio"] <= row["ratio_highest"]
    assert "16 random tokens a text" in result["data"]


def test_a_ratio_is_that_of_a_round():
    row = looking._row([1.0, 2.0, 4.0], [2.0, 2.0, 6.0])
    assert row == {
        "outside": 2.0,
        "inside": 2.0,
        "ratio": pytest.approx(1.5),
        "ratio_lowest": 1.0,
        "ratio_highest": 2.0,
    }
