"""The cost of the page's 8 bits is measured, and small, on one article."""

from benchmarks.studies import eight_bits


def test_little_changes(monkeypatch) -> None:
    monkeypatch.setattr(eight_bits, "ARTICLES", 1)
    rows = {(row["model"], row["measure"]): row for row in eight_bits.measure()["rows"]}
    assert len(rows) == 5
    for row in rows.values():
        assert row["count"] > 0
        if "perplexity" in row["measure"]:
            assert 0.99 < row["eight"] / row["half"] < 1.01
        else:
            assert 0 <= row["changed"] <= 0.05 * row["count"]
            assert abs(row["half"] - row["eight"]) <= 100 * row["changed"] / row["count"]
