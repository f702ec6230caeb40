import pytest
from matplotlib.colors import to_hex

from tests.views.drawn import SAID
from tlcourse.views import paired_gains

ROWS = {"clear": ([1.0, 3.0], (2.0, 0.5, 3.5)), "unclear": ([-1.0, 3.0], (1.0, -1.0, 3.0))}


def test_every_pair_the_mean_and_the_interval_are_drawn():
    axes = paired_gains(ROWS, x_label="points saved", **SAID).axes[0]
    dots = [line.get_xdata().tolist() for line in axes.lines if line.get_marker() == "o"]
    assert [list(map(float, each)) for each in dots] == [[1.0, 3.0], [2.0], [-1.0, 3.0], [1.0]]
    ends = [lines.get_segments()[0][:, 0].tolist() for lines in axes.collections]
    assert ends == [[0.5, 3.5], [-1.0, 3.0]]


def test_blue_is_what_leaves_out_zero():
    axes = paired_gains(ROWS, x_label="points saved", **SAID).axes[0]
    found = [to_hex(lines.get_edgecolor()[0]) for lines in axes.collections]
    assert found == ["#0072b2", "#8c8c8c"]


@pytest.mark.parametrize("rows", [{}, {"none": ([], (0, 0, 0))}])
def test_rows_without_a_pair_are_refused(rows):
    with pytest.raises(ValueError, match="at least one pair"):
        paired_gains(rows, x_label="points saved", **SAID)
