import pytest

from tlcourse import files
from tlcourse.adaptation import leaderboard


def row(scheme, labels, mean):
    return {
        "scheme": scheme,
        "labels": labels,
        "mean": mean,
        "interval": [mean - 1, mean + 1],
        "trained_share": 0.25,
        "seconds": 12.4,
        "training_memory": 3 * 2**20,
        "forgetting": -0.125,
    }


STORED = {
    "rows": [row("full", 100, 30.0), row("LoRA", 100, 28.0), row("LoRA", 5452, 6.0)],
    "comparisons": [
        {"scheme": "LoRA", "labels": 100, "points": -2.0, "p_holm": 0.0123},
        {"scheme": "LoRA", "labels": 5452, "points": 1.0, "p_holm": 0.05},
    ],
}


def test_the_fewest_errors_stand_first_and_names_choose():
    assert list(leaderboard.rows_at(STORED, 100)) == ["LoRA", "full"]
    assert list(leaderboard.rows_at(STORED, 100, ["full", "other"])) == ["full"]
    assert leaderboard.rows_at(STORED, 500) == {}


@pytest.mark.parametrize(
    ("points", "p", "said"),
    [
        (-2.0, 0.0123, "fewer errors (p = 0.012)"),
        (2.0, 0.0002, "more errors (p < 0.001)"),
        (-9.0, 0.05, "no clear difference"),
    ],
)
def test_the_verdict_is_that_of_the_corrected_test(points, p, said):
    entry = {"scheme": "LoRA", "labels": 100, "points": points, "p_holm": p}
    assert leaderboard.verdict({"comparisons": [entry]}, "LoRA", 100) == said
    assert leaderboard.verdict({"comparisons": [entry]}, "LoRA", 500) == ""


def test_a_line_a_scheme_under_the_names_of_its_columns():
    head, first, second = leaderboard.lines(STORED, 100)
    assert head.startswith("100 labels") and second.startswith("full")
    assert first.split() == [
        "LoRA", "28.0", "(27.0-29.0)", "25.00%", "12", "3", "-0.12", "fewer", "errors",
        "(p", "=", "0.012)",
    ]  # fmt: skip
    for name, value in (("trained", "25.00%"), ("seconds", "12"), ("forgets", "-0.12")):
        end = head.index(name) + len(name)
        assert first[:end].endswith(value)


def test_a_copy_without_the_table_says_how_to_make_it(monkeypatch, capsys):
    def find(place):
        raise FileNotFoundError(place)

    monkeypatch.setattr(files, "find", find)
    assert leaderboard.read()["rows"] == []
    assert "python -m benchmarks adaptation" in capsys.readouterr().out
