"""The time of the four encoders against the length of a text, at the smallest size."""

import pytest

from benchmarks.speed import encoders
from benchmarks.studies.encoders import ENCODERS, PAIRS
from benchmarks.table import table


def test_every_encoder_is_timed_against_attention_at_every_length(rehearsed, one_process):
    result = encoders.measure()
    scale = encoders.SCALES["tiny"]
    found = [(row["mode"], row["length"], row["encoder"]) for row in result["rows"]]
    assert found == [
        (mode, length, name)
        for mode in encoders.MODES
        for length in scale.lengths
        for name in ENCODERS
    ]
    for row in result["rows"]:
        assert row["ms"] > 0 and row["texts"] == (
            1 if row["mode"] == "one text" else scale.tokens // row["length"]
        )
        if row["encoder"] == PAIRS:
            assert row["ratio"] == 1
        standard = next(
            other["ms"]
            for other in result["rows"]
            if other["encoder"] == PAIRS
            and all(other[key] == row[key] for key in ("mode", "length"))
        )
        assert row["ratio"] == pytest.approx(row["ms"] / standard, abs=1e-3)
    assert "times as long" in table(result["rows"], encoders.COLUMNS)
    assert "| training | 16 |" in encoders.section(result)
