from matplotlib.colors import to_hex

from tests.views.drawn import SAID, nothing_overlaps, refused, row_names, said, title_of, words_in
from tlcourse.exercises.task import get
from tlcourse.views import (
    descriptions_missed,
    draws_disagree,
    draws_needed,
    nulls_and_reach,
    one_run_each,
    self_training_loop,
    task_gains,
    two_masks,
)
from tlcourse.views.lesson_06b import gains_and_reach

DISAGREE = {"self-training": (1.4, -0.8), "ensemble": (0.8, -1.0)}


def test_draws_disagree_in_the_title_only_where_they_do():
    picture = draws_disagree(DISAGREE, (1, 9))
    assert title_of(picture) == "Every method helps in one draw, and none in the other"
    assert "self-training +1.4 and -0.8" in picture.alt
    assert words_in(picture.axes[0]) == ["draw 1", "draw 9"]
    agree = draws_disagree(DISAGREE | {"ensemble": (0.8, 1.0)}, (1, 9))
    assert title_of(agree) == "Points saved in two draws"


GROUPS = {
    "100 labels": {"TAPT": (-2.4, -5.9, 1.2, 3.8), "STILTs": (0.8, -4.6, 6.3, 5.9)},
    "all labels": {"TAPT": (-1.6, -2.1, -1.1)},
}
AXIS = {"x_label": "points saved"}


def test_rows_stand_below_their_headings_and_both_sides_of_zero_are_seen():
    picture = gains_and_reach(GROUPS, **AXIS, **SAID)
    (axes,) = picture.axes
    names = row_names(axes)
    assert names == ["100 labels", "TAPT", "STILTs", "all labels", "TAPT"]
    assert axes.get_yticklabels()[0].get_fontweight() == "bold"
    low, high = axes.get_xlim()
    assert low < -5.9 and high > 6.3
    one_side = gains_and_reach({"": {"frozen": (16.0, 13.0, 20.0)}}, **AXIS, **SAID)
    assert one_side.axes[0].get_xlim()[0] < -3


def test_what_is_clear_is_blue_and_the_reach_is_a_band():
    picture = gains_and_reach(GROUPS, clear={("all labels", "TAPT")}, **AXIS, **SAID)
    (axes,) = picture.axes
    dots = [to_hex(line.get_color()) for line in axes.lines if line.get_marker() == "o"]
    assert dots == ["#8c8c8c", "#8c8c8c", "#0072b2"]
    assert [round(bar.get_width(), 1) for bar in axes.patches] == [7.6, 11.8]


def test_its_own_words_list_the_rows():
    picture = gains_and_reach({"": {"TAPT": (-2.4, -5.9, 1.2)}}, title="The finding.", **AXIS)
    assert picture.alt == "TAPT -2.4 (-5.9 to +1.2)"


def test_another_seed_is_farthest_in_the_title_only_where_it_is():
    rows = {"another seed": (-2.6, -4.9, -0.2), "consistency": (0.1, -2.6, 2.7)}
    picture = one_run_each(rows, "another seed")
    assert title_of(picture) == "No method differs from the baseline by more than another seed does"
    assert "consistency +0.1 (-2.6 to +2.7)" in picture.alt
    better = one_run_each(rows | {"TAPT": (3.0, 1.0, 5.0)}, "another seed")
    assert title_of(better) == "One run of each method"


def test_titles_count_what_is_clear():
    clear = {("100 labels", "TAPT")}
    assert title_of(nulls_and_reach(GROUPS, clear)).startswith("1 of 3 comparisons are clear")
    behind = task_gains(GROUPS, clear, "Frozen")
    assert title_of(behind) == "Frozen: clearly ahead in 0, clearly behind in 1 of 3"
    ahead = task_gains(GROUPS, {("100 labels", "STILTs")}, "Frozen")
    assert title_of(ahead) == "Frozen: clearly ahead in 1, clearly behind in 0 of 3"


def test_descriptions_rise_in_the_title_only_where_the_interval_lies_above_zero():
    points = [(-3.0, 10.0), (1.0, 40.0), (3.0, 120.0)]
    rises = descriptions_missed(points, 2, (0.6, 0.1, 0.9))
    assert title_of(rises) == "More entities behind What is, more descriptions missed"
    assert "0.60 (0.10 to 0.90)" in rises.alt and "draw 2" in words_in(rises.axes[0])
    assert "More" not in title_of(descriptions_missed(points, 2, (0.6, -0.1, 0.9)))


def test_nulls_are_counted_by_what_their_interval_leaves_open():
    rows = {"LM loss": (38, 10, False), "STILTs": (107, 10, True), "TAPT": (6, 5, False)}
    picture = draws_needed(rows, 1.0)
    assert title_of(picture) == "A gain of one point is ruled out by 2 nulls, left open by 1"
    assert row_names(picture.axes[0]) == ["STILTs", "LM loss", "TAPT"]
    assert [to_hex(bar.get_facecolor()) for bar in picture.axes[0].patches][0] == "#0072b2"
    assert said(picture) == ["107, still open", "38, ruled out", "6, ruled out"]
    assert "LM loss needed 38, had 10, ruled out" in picture.alt
    open_too = draws_needed(rows | {"TAPT": (6, 5, True)}, 2.0)
    assert title_of(open_too) == "A gain of 2 points is ruled out by 1 nulls, left open by 2"


LABELS = ["ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"]
SHARES = [0.1, 0.5, 0.2, 0.1, 0.1, 0.0], [0.0, 0.2, 0.6, 0.1, 0.1, 0.0]


def test_the_loop_has_the_numbers_of_the_run_and_the_name_of_the_code():
    picture = self_training_loop(100, 4742, least=0.8, **SAID)
    nothing_overlaps(picture)
    written = " ".join(said(picture))
    assert "100 questions" in written and "4,742 questions" in written
    assert "choose_guesses" in written and get("more_signal.choose_guesses").name in written
    assert "sure of by 0.8" in self_training_loop(100, 4742, title="The finding.").alt


def test_two_answers_and_their_divergence():
    picture = two_masks("What is a caldera ?", LABELS, SHARES, **SAID)
    nothing_overlaps(picture)
    written = " ".join(said(picture))
    assert (
        "one number" in written.replace("\n", " ")
        and get("more_signal.consistency_loss").name in written
    )
    assert written.count("ABBR") == 2
    own = two_masks("What is a caldera ?", LABELS, SHARES, title="The finding.").alt
    assert "DESC and ENTY" in own


def test_what_cannot_be_drawn_is_refused():
    for groups in ({}, {"100 labels": {}}):
        refused("expected rows in each group", gains_and_reach, groups, **AXIS)
    refused("expected x_label", gains_and_reach, GROUPS, x_label="")
    refused("expected at least one row", draws_needed, {}, 1.0)
    refused(r"answers of shape \(2, 6\)", two_masks, "Who ?", LABELS, ([0.5, 0.5], [0.5, 0.5]))
    refused("a text that fits", two_masks, "Who ?" * 40, LABELS, SHARES)
