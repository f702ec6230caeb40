import math

import numpy as np
import pytest

from tests.views.drawn import SAID
from tlcourse.views import sampling_bars

LOGITS = np.log([0.1, 0.4, 0.3, 0.15, 0.05])
NAMES = [" a", " b", " c", " d", " e"]


def widths(axes):
    """(as learnt, what can be drawn), in per cent."""
    found = [bar.get_width() for bar in axes.patches]
    half = len(found) // 2
    return found[:half], found[half:]


def draw(*settings, shown=3):
    return sampling_bars(LOGITS, NAMES.__getitem__, settings=settings, shown=shown, **SAID)


def test_the_likeliest_come_first_and_the_others_are_one_bar():
    picture = draw({"temperature": 1.0})
    learnt, kept = widths(picture.axes[0])
    assert learnt == pytest.approx([40, 30, 15, 15]) and kept == pytest.approx(learnt)
    names = [text.get_text() for text in picture.axes[0].get_yticklabels()]
    assert names == ["b", "c", "d", "2 others"]


def test_temperature_changes_all_shares():
    cold = np.array([0.4, 0.3, 0.15, 0.1, 0.05]) ** 2
    cold *= 100 / cold.sum()
    _, kept = widths(draw({"temperature": 0.5}).axes[0])
    assert kept == pytest.approx([*cold[:3], cold[3:].sum()])


def test_top_k_and_top_p_cut_and_what_is_left_sums_to_one():
    picture = draw({"top_k": 2}, {"top_p": 0.5}, {"top_k": 3, "top_p": 0.45})
    for axes, right in zip(picture.axes, ([400 / 7, 300 / 7, 0, 0],) * 2, strict=False):
        assert widths(axes)[1] == pytest.approx(right)
    assert widths(picture.axes[2])[1] == pytest.approx([100, 0, 0, 0])
    headings = [axes.get_title(loc="left") for axes in picture.axes]
    assert headings == ["top-k 2", "top-p 0.5", "top-k 3, top-p 0.45"]


def test_large_logits_do_not_overflow():
    picture = sampling_bars([1000.0, 990.0], "ab".__getitem__, settings=[{"top_k": 1}], **SAID)
    assert all(math.isfinite(bar.get_width()) for bar in picture.axes[0].patches)


def test_no_panel_or_too_many_are_refused():
    for settings in ((), ({"top_k": 1},) * 5):
        with pytest.raises(ValueError, match="1 to 4 settings"):
            draw(*settings)


def test_its_own_words_tell_the_ends():
    picture = sampling_bars(
        LOGITS, NAMES.__getitem__, settings=[{"top_k": 1}], shown=3, title="The finding."
    )
    assert picture.alt == "As learnt: b 40 %, 2 others 15 %. top-k 1: b 100 %, 2 others 0 %"
