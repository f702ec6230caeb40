import pytest
from matplotlib.colors import to_hex

from tests.views.drawn import SAID, column_names, edged, nothing_overlaps, refused, said, words_in
from tlcourse.views import classifier_on_body, errors_by_labels, errors_by_rate, flipped_sums

WORDS = [" Where", " is", " it", " ?", "<cls>"]
NAMES = ["ABBR", "DESC", "LOC"]


def test_the_last_state_goes_through_the_head_to_the_label_that_wins():
    picture = classifier_on_body(WORDS, NAMES, "LOC", layers=6, width=256, title="The finding.")
    assert "LOC wins" in picture.alt and "the last of them <cls>" in picture.alt
    nothing_overlaps(picture)
    written = " ".join(said(picture)).replace("\n", " ")
    assert "6 blocks of width 256" in written and "256 → 3" in written and "<cls>" in written
    blue = edged(picture, "blue")
    assert len(blue) == 3  # the last state, the head, the label


RATES = [1e-4, 1e-3]
FOUND = {"pretrained": [(30, 27, 33), (20, 18, 23)], "from scratch": [(60, 55, 65), (40, 36, 44)]}


def colours(axes):
    return {to_hex(line.get_color()) for line in axes.lines}


ERRORS = {
    "TF-IDF": {50: [50, 55], 500: [9]},
    "causal-small": {50: [40, 43], 500: [5, 4]},
    "from scratch": {50: [56, 60], 500: [17, 18]},
}
PAIRS = {
    "causal-small − TF-IDF": [(50, -11, -13, -9), (500, -4.5, -5, -4)],
    "causal-small − from scratch": [(50, -16, -18, -14), (500, -13, -14, -12)],
}


def test_the_best_rate_of_each_model_is_ringed_on_logarithmic_axes():
    picture = errors_by_rate(RATES, FOUND, levels={"counting words": 25}, **SAID)
    (axes,) = picture.axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    rings = [line for line in axes.lines if line.get_markerfacecolor() == "none"]
    assert [round(float(ring.get_ydata()[0])) for ring in rings] == [20, 40]
    assert set(words_in(axes)) == {*FOUND, "counting words"}


def test_errors_stand_above_their_differences_each_model_in_one_colour():
    picture = errors_by_labels(ERRORS, PAIRS, **SAID)
    above, below = picture.axes
    assert above.get_yscale() == "log" and below.get_yscale() == "linear"
    assert column_names(below) == ["50", "500"]
    assert {"#0072b2", "#e69f00", "#000000"} == colours(above)
    assert "#e69f00" in colours(below) and "#0072b2" not in colours(below)
    assert words_in(above) == list(ERRORS)


def test_flips_that_are_as_far_as_the_observed_sum_are_blue():
    picture = flipped_sums([1] * 5 + [0] * 7, x_label="sum", title="The finding.")
    (axes,) = picture.axes
    bars = {round(bar.get_center()[0]): to_hex(bar.get_facecolor()) for bar in axes.patches}
    assert bars == dict.fromkeys((-5, 5), "#0072b2") | dict.fromkeys((-3, -1, 1, 3), "#bdbdbd")
    assert sum(bar.get_height() for bar in axes.patches) == pytest.approx(100)
    assert "observed: 5" in axes.texts[0].get_text() and "The observed sum is 5" in picture.alt


def test_a_sum_that_no_flip_reaches_is_drawn_inside_the_axes():
    picture = flipped_sums([-1] * 200, x_label="sum", title="The finding.")
    assert "none of 10,000 flips is as far" in picture.alt
    assert picture.axes[0].get_xlim()[0] < -200


def test_what_cannot_be_drawn_is_refused():
    for tokens, answer, message in (
        (WORDS, "NUM", "an answer out of"),
        (WORDS * 3, "LOC", "tokens that fit"),
    ):
        refused(message, classifier_on_body, tokens, NAMES, answer, layers=6, width=256)
    refused("same first dimension", errors_by_rate, [*RATES, 1e-2], FOUND, levels={})
    refused("a pair at least", errors_by_labels, ERRORS, {})
    with pytest.raises(ValueError, match="nothing to flip"):
        flipped_sums([0, 0], x_label="sum", title="The finding.")
