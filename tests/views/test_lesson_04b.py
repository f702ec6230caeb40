import numpy as np
import pytest

from tests.views.drawn import (
    SAID,
    nothing_overlaps,
    refused,
    row_names,
    said,
    title_of,
    words_in,
)
from tlcourse.views import (
    batch_in_parts,
    best_of_trials,
    best_on_two_halves,
    confusion,
    errors_by_frequency,
    errors_of_groups,
    lead_by_task,
    learning_rate_sweep,
    memory_by_parts,
    pooling_differences,
    recall_of_labels,
    seeds_apart,
)


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


def around(*values):
    """Each value with an interval of 2 to either side."""
    return [(value, value - 2, value + 2) for value in values]


@pytest.mark.parametrize(
    ("counts", "title"),
    [
        ([[8, 2], [3, 7]], "Most frequent, 3 times: LOC taken for HUM"),
        ([[8, 0], [0, 7]], "True and predicted labels"),
    ],
)
def test_the_title_of_a_confusion_names_the_most_frequent_one(counts, title):
    assert title_of(confusion(counts, ["HUM", "LOC"])) == title


@pytest.mark.parametrize(("last", "found"), [(9.0, True), (1.1, False)])
def test_the_title_of_a_sweep_says_that_the_loss_explodes_if_it_does(last, found):
    picture = learning_rate_sweep([1e-4, 1e-3, 1e-2], [2.0, 1.0, last], marks={"ours": 5e-4})
    assert ("explodes" in title_of(picture)) == found


@pytest.mark.parametrize(("least", "found"), [(8.0, True), (60.0, False)])
def test_the_title_says_what_parts_shrink_if_they_do(least, found):
    picture = memory_by_parts((1, 8), [64.0, least], [100.0, 100.0])
    nothing_overlaps(picture)
    assert ("shrink" in title_of(picture)) == found
    assert picture.axes[0].get_ylim()[0] == 0


@pytest.mark.parametrize(("worst", "found"), [(34.0, True), (31.0, False)])
def test_the_title_says_that_seeds_are_points_apart_if_they_are(worst, found):
    picture = seeds_apart({"slow": [30.0, 34.0], "fast": [30.0, worst]})
    assert ("several points" in title_of(picture)) == found


@pytest.mark.parametrize(("least", "found"), [(28.0, True), (31.0, False)])
def test_the_title_says_that_trials_decide_if_they_do(least, found):
    picture = best_of_trials((1, 5), {"one": [32.0, least], "other": [30.0, 27.0]})
    assert ("either method looks better" in title_of(picture)) == found
    assert picture.axes[0].get_ylim()[0] == 0


@pytest.mark.parametrize(("end", "found"), [(15.0, True), (13.0, False), (17.0, False)])
def test_the_title_says_that_the_gain_shrinks_if_it_does(end, found):
    picture = best_on_two_halves((1, 40), [16.0, 12.0], [16.0, end])
    assert ("Less than half" in title_of(picture)) == found


@pytest.mark.parametrize(("weighted", "found"), [(70.0, True), (41.0, False)])
def test_the_title_says_that_the_rare_label_gains_if_it_does(weighted, found):
    rows = {
        "ABBR": dict(zip(("plain", "weighted"), around(40.0, weighted), strict=True)),
        "NUM": dict(zip(("plain", "weighted"), around(90.0, 91.0), strict=True)),
    }
    assert ("rare label most" in title_of(recall_of_labels(rows, rare="ABBR"))) == found


@pytest.mark.parametrize(
    ("second", "title"),
    [
        (-5.0, "The mean is clearly better in 2 of 2 comparisons"),
        (1.0, "The mean is clearly better in 1 of 2 comparisons"),
        (5.0, "Mean pooling against the last token"),
    ],
)
def test_the_title_counts_the_clear_differences(second, title):
    values = dict(zip(("causal", "masked"), around(-4.0, second), strict=True))
    assert title_of(pooling_differences({"50 labels": values})) == title


@pytest.mark.parametrize(("often", "found"), [(15.0, True), (50.0, False)])
def test_the_title_says_that_rare_labels_are_missed_if_they_are(often, found):
    names = "0 to 19 questions", "20 to 99 questions", "100 questions or more"
    errors = dict(zip(names, around(70.0, 30.0, often), strict=True))
    assert ("missed most" in title_of(errors_by_frequency(errors))) == found


@pytest.mark.parametrize(
    ("counting", "title"),
    [(20.0, "Hard for both: begins with “what”"), (3.0, "Errors by group of questions")],
)
def test_the_title_names_a_group_that_is_hard_for_both(counting, title):
    names = "fine-tuned", "counting words"
    errors = {
        "begins with “what” (318)": dict(zip(names, around(14.0, counting), strict=True)),
        "begins with “how” (75)": dict(zip(names, around(2.0, 2.0), strict=True)),
    }
    picture = errors_of_groups(errors)
    assert title_of(picture) == title
    assert picture.axes[0].get_xlim()[0] == 0


@pytest.mark.parametrize(
    ("p", "title"),
    [
        (0.4, "Pretraining leads on TREC only"),
        (0.01, "Pretrained and from scratch"),
    ],
)
def test_the_title_names_the_tasks_with_a_lead(p, title):
    names = "pretrained", "from scratch"
    errors = {
        "TREC": dict(zip(names, around(22.0, 37.0), strict=True)),
        "in cipher": dict(zip(names, around(35.0, 38.0), strict=True)),
    }
    assert title_of(lead_by_task(errors, {"TREC": 1e-9, "in cipher": p})) == title
