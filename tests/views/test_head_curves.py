import numpy as np
import pytest
from matplotlib.colors import to_hex

from tlcourse.views import birth_curves, pruning_curve
from tlcourse.views.style import COLOURS

SAID = {"title": "The finding.", "alt": "What is seen."}
STEPS = [0, 10, 20, 30, 40]
SCORE = np.array([0.0, 0.1, 0.3, 0.5, 0.8])


def written(axes):
    return [text.get_text() for text in axes.texts if text.get_text()]


def dotted(axes):
    return [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == ":"]


def test_the_jump_is_where_the_score_is_past_its_middle():
    upper, lower = birth_curves(STEPS, [4, 4, 3, 2, 1], SCORE, **SAID).axes
    assert dotted(upper) == dotted(lower) == [30]  # 0.4 is half of 0.8; first reached at 30
    assert written(upper) == ["step 30"] and not written(lower)
    assert lower.get_xlabel() == "training step" and not upper.get_xlabel()
    assert dotted(birth_curves(STEPS, SCORE, SCORE, **SAID, jump=12).axes[0]) == [12]


def test_the_head_that_ends_highest_is_coloured_and_named():
    scores = np.zeros((5, 2, 3))
    scores[:, 1, 2], scores[2, 0, 0] = SCORE, 0.9
    losses = {"repeated": 4 - SCORE, "new": np.full(5, 4.0)}
    upper, lower = birth_curves(STEPS, losses, scores, **SAID).axes
    assert written(lower) == ["head 1.2"] and set(written(upper)) == {"step 30", "repeated", "new"}
    green = [line for line in lower.lines if to_hex(line.get_color()).upper() == COLOURS["green"]]
    assert [line.get_ydata().tolist() for line in green] == [SCORE.tolist()]
    assert len(lower.lines) == 6 + 1


def test_steps_without_their_values_are_refused():
    for wrong in ((STEPS, SCORE[:4], SCORE), (STEPS, SCORE, np.zeros((4, 2, 3))), ([0], [1], [1])):
        with pytest.raises(ValueError, match="a loss and a score for each of"):
            birth_curves(*wrong, **SAID)


ERRORS = [5.0, 5.5, 5.9, 6.2, 5.8, 30.0]  # the limit, 6.0, is passed, and 5.8 again below it


def rings(axes):
    return [(x[0], y[0]) for x, y in (li.get_data() for li in axes.lines if li.get_mfc() == "none")]


def test_the_most_heads_that_can_go_within_the_limit_are_marked():
    picture = pruning_curve(range(6), {"least": ERRORS, "random": [6.0] * 6}, 5.0, **SAID)
    axes = picture.axes[0]
    assert rings(axes) == [(4, 5.8)]
    assert {"4 can go", "least", "random", "all heads", "1 point more"} <= set(written(axes))
    dashed = [line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == "--"]
    assert dashed == [6.0] and axes.get_yscale() == "log" and "logarithmic" in axes.get_ylabel()
    most = pruning_curve(range(6), {"least": ERRORS}, 5.0, **SAID, allowed=30).axes[0]
    assert rings(most) == [(5, 30.0)] and "30 points more" in written(most)
    assert not rings(pruning_curve([1, 2], {"least": [9.0, 9.5]}, 5.0, **SAID).axes[0])


def test_an_error_of_zero_and_intervals_are_drawn():
    axes = pruning_curve([0, 1], {"least": [(0, 0, 1), (2, 1, 3)]}, 0.0, **SAID).axes[0]
    assert axes.get_yscale() == "linear" and axes.get_ylim()[0] == 0
    band = axes.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == 0 and band[:, 1].max() == 3
    assert "1 point more" in written(axes) and "none can go" in written(axes)


def test_errors_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="expected 3 values for 'least', got 2"):
        pruning_curve([0, 1, 2], {"least": [1.0, 2.0]}, 1.0, **SAID)
    with pytest.raises(ValueError, match="two numbers of heads or more"):
        pruning_curve([0, 1], {}, 1.0, **SAID)
