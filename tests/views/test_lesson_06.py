from matplotlib.colors import to_hex

from tests.views.drawn import SAID, nothing_overlaps, refused, said, title_of
from tlcourse.views import (
    before_and_after,
    decision_path,
    gains_by_labels,
    pairs_and_columns,
    signal_pipeline,
    what_saves,
)

ROWS = {"clear": ([1.0, 3.0], (2.0, 0.5, 3.5)), "unclear": ([-1.0, 3.0], (1.0, -1.0, 3.0))}


def test_every_pair_the_mean_and_the_interval_are_drawn():
    axes = what_saves(ROWS, "TAPT", **SAID).axes[0]
    dots = [line.get_xdata().tolist() for line in axes.lines if line.get_marker() == "o"]
    assert [list(map(float, each)) for each in dots] == [[1.0, 3.0], [2.0], [-1.0, 3.0], [1.0]]
    ends = [lines.get_segments()[0][:, 0].tolist() for lines in axes.collections]
    assert ends == [[0.5, 3.5], [-1.0, 3.0]]


def test_blue_is_what_leaves_out_zero():
    axes = what_saves(ROWS, "TAPT", **SAID).axes[0]
    found = [to_hex(lines.get_edgecolor()[0]) for lines in axes.collections]
    assert found == ["#0072b2", "#8c8c8c"]


SIGNALS = {
    "pretrain": ["WikiText"],
    "TAPT": ["5,000 questions,\nno labels"],
    "adapt": ["100 labels", "their words:\nlanguage_loss", "three models:\nsoft targets"],
    "evaluate": ["546 questions"],
}
BRANCHES = [
    ("Is counting words enough?", "Stop there.", "34 % against 33 % of errors"),
    ("Are there texts without labels?", "Go on pretraining on them first.", "saves 1.6 points"),
]


def test_signals_stand_above_their_stage_and_yours_are_blue():
    picture = signal_pipeline(SIGNALS, yours=SIGNALS["TAPT"], **SAID)
    nothing_overlaps(picture)
    assert {"pretrain", "TAPT", "adapt", "evaluate", "100 labels"} <= set(said(picture))
    boxes = [patch for patch in picture.axes[0].patches if hasattr(patch, "get_bbox")]
    assert sum(to_hex(each.get_edgecolor()) == "#0072b2" for each in boxes) == 1


def test_branches_follow_each_other_with_their_evidence():
    picture = decision_path(BRANCHES, **SAID)
    nothing_overlaps(picture)
    written = " ".join(" ".join(said(picture)).split())
    assert all(text in written for branch in BRANCHES for text in branch)
    assert "saves 1.6 points" in decision_path(BRANCHES, title="The finding.").alt


def test_what_cannot_be_drawn_is_refused():
    for rows in ({}, {"none": ([], (0, 0, 0))}):
        refused("at least one pair", what_saves, rows, "TAPT")
    for asked in (({"read": ["x"]}, ()), (SIGNALS, ["other"])):
        refused("expected stages out of", signal_pipeline, *asked)
    refused("1 to 7 branches", decision_path, BRANCHES * 4)


def test_what_saves_names_only_rows_whose_interval_lies_above_zero():
    both = what_saves(ROWS, "TAPT")
    assert title_of(both) == "TAPT: a clear gain only from clear"
    assert "unclear +1.0 (-1.0 to +3.0)" in both.alt
    one = what_saves({"clear": ROWS["clear"]}, "TAPT")
    assert title_of(one) == "TAPT: fewer errors, and the interval lies above 0"
    none = what_saves({"unclear": ROWS["unclear"]}, "TAPT")
    assert title_of(none) == "TAPT: no interval lies above 0"


def test_pairs_are_praised_only_where_their_interval_is_narrower():
    narrow, wide = (2.0, 1.0, 3.0), (2.0, -2.0, 6.0)
    assert "luck" in title_of(pairs_and_columns([1.0, 3.0], narrow, wide))
    assert "luck" not in title_of(pairs_and_columns([1.0, 3.0], wide, narrow))


def test_gains_shrink_in_the_title_only_where_they_do():
    few, none = (2.6, 1.4, 3.8), (0.0, -0.7, 0.8)
    shrinks = gains_by_labels([100, 5452], [few, none])
    assert title_of(shrinks) == "TAPT saves errors while labels are few"
    assert "+2.6 with 100 labels" in shrinks.alt
    assert title_of(gains_by_labels([100, 5452], [none, few])) == "Errors saved by TAPT"


def test_right_answers_are_counted_and_marked():
    questions = {"Who wrote it?": "HUM", "Where is it?": "LOC"}
    picture = before_and_after(questions, [("NUM", 0.1), ("LOC", 0.6)], [("HUM", 0.9), ("LOC", 1)])
    nothing_overlaps(picture)
    assert title_of(picture) == "Right answers of 2: 1 before, 2 after"
    assert {"before: NUM", "after: HUM ✓"} <= set(said(picture))
