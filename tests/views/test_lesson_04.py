import pytest
from matplotlib.colors import to_hex

from tests.views.drawn import (
    SAID,
    column_names,
    edged,
    nothing_overlaps,
    refused,
    row_names,
    said,
    title_of,
    titles_of,
    words_in,
)
from tlcourse.views import (
    class_scores,
    classifier_on_body,
    epoch_errors,
    errors_by_labels,
    errors_by_rate,
    flipped_sums,
    interval_by_size,
    label_probabilities,
    restarts,
)

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
    assert "None of 10,000 flips is as far" in picture.alt
    assert picture.axes[0].get_xlim()[0] < -200


def test_what_cannot_be_drawn_is_refused():
    for tokens, answer, message in (
        (WORDS, "NUM", "an answer out of"),
        (WORDS * 3, "LOC", "tokens that fit"),
    ):
        refused(message, classifier_on_body, tokens, NAMES, answer, layers=6, width=256)
    refused("shorter than argument", errors_by_rate, [*RATES, 1e-2], FOUND, levels={})
    refused("a pair at least", errors_by_labels, ERRORS, {})
    with pytest.raises(ValueError, match="nothing to flip"):
        flipped_sums([0, 0], x_label="sum", title="The finding.")


def test_the_likeliest_labels_are_counted_and_the_right_ones_are_bold():
    shares = [[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]
    picture = label_probabilities({"Where?": "LOC", "What?": "DESC"}, shares, NAMES)
    assert title_of(picture).startswith("1 of 2 answers")
    assert "Where? LOC, 70%" in picture.alt
    (axes,) = picture.axes
    assert row_names(axes) == ["Where?", "What?"] and column_names(axes) == NAMES
    assert [t.get_text() for t in axes.texts if t.get_fontweight() == "bold"] == ["70", "30"]
    refused("probabilities of shape", label_probabilities, {"Where?": "LOC"}, shares, NAMES)


def test_the_class_with_the_lowest_score_is_named():
    found = {"LOC": {"recall": 80.0, "F1": 90.0}, "HUM": {"recall": 85.0, "F1": 70.0}}
    assert title_of(class_scores(found)) == "HUM has the lowest F1"
    found["HUM"]["F1"] = 95.0
    assert title_of(class_scores(found)) == "LOC has the lowest F1"


def test_a_single_rate_that_beats_all_levels_is_the_title_of_the_rates():
    levels = {"counting words": 25, "from scratch": 37}
    finding = "Only pretrained at 0.001 makes fewer errors than counting words"
    assert title_of(errors_by_rate(RATES, FOUND, levels)) == finding
    for other in (10, 35):  # nobody, or several
        found = title_of(errors_by_rate(RATES, FOUND, levels | {"counting words": other}))
        assert found == "Dev errors by learning rate"


def run(train, dev):
    return {"train": [80, train], "dev": [80, dev]}


def test_rates_that_fit_train_alike_and_differ_on_dev_are_the_title():
    found = {1e-4: run(40, 45), 1e-3: run(0, 20), 1e-2: run(1, 29)}
    picture = epoch_errors(found, ("counting words", 25))
    assert title_of(picture) == "2 of 3 rates fit train, but their errors on dev differ"
    assert titles_of(picture.axes) == [f"learning rate {rate:g}" for rate in found]
    assert picture.axes[0].get_ylim() == (0, 100)
    assert "at 0.01 train 1, dev 29" in picture.alt
    for last in (run(1, 21), run(12, 29)):
        title = title_of(epoch_errors(found | {1e-2: last}, ("counting words", 25)))
        assert title == "Errors on train and on dev after each epoch"


def test_the_smallest_test_set_with_a_narrow_interval_is_the_title():
    narrow = interval_by_size([500, 9_000], 4, [[2.5, 3.6], [6.0, 4.4]])
    assert title_of(narrow) == "At 9,000 questions the interval is narrower than a point"
    wide = interval_by_size([500, 2_000], 4, [[2.5, 3.2], [6.0, 5.0]])
    assert title_of(wide) == "The interval around 4 %, by the size of the test set"


def test_runs_no_better_than_the_most_frequent_label_have_failed():
    assert title_of(restarts({"at 1": [30, 33]}, 77)).startswith("None of 2 runs failed")
    assert title_of(restarts({"at 1": [30, 78]}, 77)).startswith("1 of 2 runs failed")


def test_a_model_that_always_makes_fewer_errors_is_named():
    finding = "At every number of labels, causal-small beats TF-IDF and from scratch"
    assert title_of(errors_by_labels(ERRORS, PAIRS)) == finding
    touching = {"causal-small − TF-IDF": [(50, -11, -23, 1), (500, -4.5, -5, -4)]}
    assert title_of(errors_by_labels(ERRORS, PAIRS | touching)) == "Errors by number of labels"


def test_the_share_of_flips_is_the_title():
    assert title_of(flipped_sums([1] * 5, x_label="sum")).endswith(
        "% of the flips are as far from 0 as the observed sum"
    )
    assert title_of(flipped_sums([1] * 200, x_label="sum")).startswith(
        "None of 10,000 flips is as far"
    )
