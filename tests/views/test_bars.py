from tests.views.drawn import SAID, refused, row_names, words_in
from tlcourse.views import horizontal_bars


def texts(axes):
    return {text.get_text(): text for text in axes.texts}


def test_bars_have_numbers_intervals_and_a_highlight():
    values, words = {"slow": 15.8, "ours": (0.18, 0.1, 0.3)}, {**SAID, "x_label": "seconds"}
    axes = horizontal_bars(values, **words, number="{:.2f} s", highlight="ours").axes[0]
    assert [bar.get_width() for bar in axes.patches] == [15.8, 0.18]
    assert list(texts(axes)) == ["15.80 s", "0.18 s"]
    assert row_names(axes) == ["slow", "ours"]
    assert axes.patches[0].get_y() < axes.patches[1].get_y() and axes.yaxis_inverted()
    assert axes.patches[0].get_facecolor() != axes.patches[1].get_facecolor()
    assert len(axes.collections) == 1
    refused("'theirs' among them", horizontal_bars, {"ours": 1}, x_label="x", highlight="theirs")


def test_bars_below_zero_are_in_the_picture():
    values = {"worse": (0.3, 0.2, 0.4), "better": (-0.1, -0.2, 0.0)}
    left, right = horizontal_bars(values, **SAID, x_label="x").axes[0].get_xlim()
    assert left <= -0.2 and right >= 0.4


def test_bars_below_zero_have_their_numbers_beside_zero():
    picture = horizontal_bars({"a": -2.0, "b": -0.5}, **SAID, x_label="logit", number="{:+.1f}")
    axes = picture.axes[0]
    assert words_in(axes) == ["−2.0", "−0.5"]
    assert axes.get_xlim()[0] < -2 and axes.get_xlim()[1] > 0
    picture.draw_without_rendering()
    inner = axes.get_window_extent()
    assert all(text.get_window_extent().x1 <= inner.x1 + 1 for text in axes.texts)
