import pytest

from tests.views.drawn import SAID, nothing_overlaps, said
from tlcourse.views import batch_in_parts, learning_rate_sweep


@pytest.mark.parametrize(
    ("rows", "size", "sizes"), [(32, 7, (7, 7, 7, 7, 4)), (32, 16, (16, 16)), (18, 7, (7, 7, 4))]
)
def test_a_batch_is_drawn_with_its_parts(rows, size, sizes):
    picture = batch_in_parts(rows, size, **SAID)
    nothing_overlaps(picture)
    assert [int(text) for text in said(picture) if text.isdigit()] == list(sizes)
    assert f"{rows} rows" in said(picture)
    assert str(sizes)[1:-1] in batch_in_parts(rows, size, title="The finding.").alt


def test_there_are_two_to_eight_parts():
    for rows, size in ((32, 2), (32, 32)):
        with pytest.raises(ValueError, match="expected 2 to 8 parts"):
            batch_in_parts(rows, size, **SAID)


def test_a_sweep_marks_learning_rates():
    picture = learning_rate_sweep(
        [1e-4, 1e-3, 1e-2], [2.0, 1.0, 9.0], marks={"ours": 5e-4, "suggested": 1e-3}, **SAID
    )
    (axes,) = picture.axes
    assert axes.get_xscale() == "log" and axes.get_ylim() == (0, 4.2)
    assert {text.get_text() for text in axes.texts} >= {"ours", "suggested"}
    with pytest.raises(ValueError, match="a loss for each rate, got 2 and 1"):
        learning_rate_sweep([1, 2], [1], marks={}, **SAID)
