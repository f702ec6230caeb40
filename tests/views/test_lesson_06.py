from matplotlib.colors import to_hex

from tests.views.drawn import SAID, nothing_overlaps, refused, said
from tlcourse.views import decision_path, paired_gains, signal_pipeline

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


SIGNALS = {
    "pretrain": ["WikiText"],
    "TAPT": ["5,000 questions,\nno labels"],
    "adapt": ["100 labels", "their words:\nlanguage_loss", "three models:\nsoft targets"],
    "judge": ["546 questions"],
}
BRANCHES = [
    ("Is counting words enough?", "Stop there.", "34 % against 33 % of errors"),
    ("Are there texts without labels?", "Go on pretraining on them first.", "saves 1.6 points"),
]


def test_signals_stand_above_their_stage_and_yours_are_blue():
    picture = signal_pipeline(SIGNALS, yours=SIGNALS["TAPT"], **SAID)
    nothing_overlaps(picture)
    assert {"pretrain", "TAPT", "adapt", "judge", "100 labels"} <= set(said(picture))
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
        refused("at least one pair", paired_gains, rows, x_label="points saved")
    for asked in (({"read": ["x"]}, ()), (SIGNALS, ["other"])):
        refused("expected stages out of", signal_pipeline, *asked)
    refused("1 to 7 branches", decision_path, BRANCHES * 4)
