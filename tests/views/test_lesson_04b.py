import numpy as np
import pytest

from tests.views.drawn import SAID, nothing_overlaps, refused, row_names, said, words_in
from tlcourse.views import batch_in_parts, confusion, learning_rate_sweep


def test_confusion_is_shaded_by_row_and_shows_counts():
    axes = confusion([[8, 2], [0, 0]], ["HUM", "LOC"], **SAID).axes[0]
    assert np.allclose(axes.images[0].get_array(), [[0.8, 0.2], [0, 0]])
    assert words_in(axes) == ["8", "2"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted", "true")
    right = axes.child_axes[0]
    assert row_names(right) == ["80 % of 10", "0 % of 0"]
    refused(r"\(3, 3\), got shape \(2, 2\)", confusion, [[1, 2], [3, 4]], ["a", "b", "c"])


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
        refused("expected 2 to 8 parts", batch_in_parts, rows, size)


def test_a_sweep_marks_learning_rates():
    marks = {"ours": 5e-4, "suggested": 1e-3}
    picture = learning_rate_sweep([1e-4, 1e-3, 1e-2], [2.0, 1.0, 9.0], marks=marks, **SAID)
    (axes,) = picture.axes
    assert axes.get_xscale() == "log" and axes.get_ylim() == (0, 4.2)
    assert set(words_in(axes)) >= {"ours", "suggested"}
    refused("same first dimension", learning_rate_sweep, [1, 2], [1], marks={})
