import pytest

from tlcourse.adaptation import leaderboard


def row(scheme, labels, mean):
    return {
        "scheme": scheme,
        "labels": labels,
        "mean": mean,
        "interval": [mean - 1, mean + 1],
        "start_difference": 0.0,
        "trained_share": 0.25,
        "seconds": 12.4,
        "training_memory": 3 * 2**20,
        "forgetting": -0.125,
    }


STORED = {
    "rows": [row("full", 100, 30.0), row("LoRA", 100, 28.0), row("LoRA", 5452, 6.0)],
    "comparisons": [
        {"scheme": "LoRA", "labels": 100, "points": -2.0, "p_holm": 0.0123}
        | {"points_interval": [-3.0, -1.0]}
    ],
}


def test_the_fewest_errors_stand_first_and_names_choose():
    assert list(leaderboard.rows_at(STORED, 100)) == ["LoRA", "full"]
    assert list(leaderboard.rows_at(STORED, 100, ["full", "other"])) == ["full"]
    assert leaderboard.rows_at(STORED, 500) == {}


@pytest.mark.parametrize(
    ("points", "interval", "p", "said"),
    [
        (-2.0, [-3.0, -1.0], 0.0123, "fewer errors"),
        (2.0, [0.1, 3.9], 0.0002, "more errors"),
        (-9.0, [-10.0, -8.0], 0.05, "no clear difference"),  # of the questions
        (-9.0, [-19.0, 1.0], 0.0001, "no clear difference"),  # of the draws
    ],
)
def test_the_verdict_needs_both_questions_and_draws(points, interval, p, said):
    entry = {"scheme": "LoRA", "labels": 100, "points": points, "points_interval": interval}
    stored = {"comparisons": [entry | {"p_holm": p}]}
    assert leaderboard.verdict(stored, "LoRA", 100) == said
    assert leaderboard.verdict(stored, "LoRA", 500) == ""


def test_a_line_a_scheme_under_the_names_of_its_columns():
    head, first, second = leaderboard.lines(STORED, 100)
    assert head.startswith("100 labels") and second.split()[:2] == ["full", "30.0"]
    shown = "LoRA 28.0 0 25.00% 12 3 -0.12 -2.0 ( -3.0 to -1.0) 0.012 fewer errors"
    assert first.split() == shown.split()
    other = STORED["rows"][1] | {"start_difference": None}
    assert leaderboard.lines({"rows": [other], "comparisons": []}, 100)[1].split()[2] == "-"
    tiny = [STORED["comparisons"][0] | {"p_holm": 0.0004}]
    assert "-1.0) <.001  fewer" in leaderboard.lines(STORED | {"comparisons": tiny}, 100)[1]
    for name, value in (("error %", "28.0"), ("trained", "25.00%"), ("forgets", "-0.12")):
        end = head.index(name) + len(name)
        assert first[:end].endswith(value)


def test_of_each_scheme_the_lowest_dev_error_of_equal_ones_the_first():
    schemes, rates = ["LoRA", "full", "LoRA", "LoRA"], [1e-3, 1e-4, 2e-3, 4e-3]
    points = zip(schemes, rates, [12.0, 11.0, 10.0, 10.0], strict=True)
    rows = [dict(zip(("scheme", "rate", "error"), point, strict=True)) for point in points]
    best = leaderboard.best_points({"rows": rows})
    assert {name: row["rate"] for name, row in best.items()} == {"LoRA": 2e-3, "full": 1e-4}
    assert leaderboard.best_points({"rows": []}) == {}


def test_errors_on_some_questions_stand_apart_from_those_on_the_rest() -> None:
    on, off = leaderboard.split_errors([[0, 1, 7], [1, 8, 9]], [0, 1, 2, 3], 10)
    assert on == [50.0, 25.0] and off == pytest.approx([100 / 6, 200 / 6])


def test_over_learning_rates_stands_the_number_with_which_most_were_tried() -> None:
    def point(size, rate, error):
        return {"scheme": "LoRA", "size": size, "rate": rate, "error": error, "forgetting": 0.5}

    rows = [point(8, 4e-3, 12.0), point(8, 2e-3, 14.0), point(32, 2e-3, 10.0)]
    screen = {"rows": [*rows, rows[0] | {"scheme": "BitFit", "size": None, "rate": 1.0}]}
    found = leaderboard.by_rate(screen, "LoRA")
    assert list(found.items()) == [(2e-3, (14.0, 0.5)), (4e-3, (12.0, 0.5))]
    assert leaderboard.by_rate(screen, "BitFit") == {1.0: (12.0, 0.5)}
    assert leaderboard.by_rate(screen, "adapters") == {}
