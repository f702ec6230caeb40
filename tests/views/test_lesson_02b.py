from itertools import combinations

import pytest

from tests.views.drawn import (
    SAID,
    arrows_of,
    nothing_overlaps,
    said,
    title_of,
)
from tlcourse.views import (
    answer_and_trap,
    gated_feed_forward_layer,
    gradients_by_block,
    grouped_heads,
    losses_of_programs,
    quadratic_share,
    question_row,
    right_by_distance,
)


def boxes_of(picture):
    return [patch.get_bbox() for patch in picture.axes[0].patches if hasattr(patch, "get_bbox")]


def test_the_gated_layer_has_the_names_of_the_exercise_and_its_sizes():
    picture = gated_feed_forward_layer(576, 1536, **SAID)
    nothing_overlaps(picture)
    assert [each for each in said(picture) if "1,536" in each] == ["gate\n1,536", "up\n1,536"]
    assert {"x\n576", "down\n576", "SiLU"} <= set(said(picture))
    assert not any(a.overlaps(b) for a, b in combinations(boxes_of(picture), 2))


@pytest.mark.parametrize(("heads", "groups"), [(9, 3), (6, 2), (4, 4), (4, 1)])
def test_each_query_head_has_one_arrow_to_the_head_of_its_group(heads, groups):
    picture = grouped_heads(heads, groups, **SAID)
    nothing_overlaps(picture)
    arrows = arrows_of(picture)
    ends = [each.xy[0] for each in arrows]
    starts = [each.get_position()[0] for each in arrows]
    assert len(arrows) == heads and starts == sorted(starts)
    assert [ends.count(end) for end in sorted(set(ends))] == [heads // groups] * groups
    assert ends == sorted(ends)
    assert f"each group of {heads // groups}" in grouped_heads(heads, groups, title="A title.").alt


def test_groups_that_do_not_divide_the_heads_are_refused():
    with pytest.raises(ValueError, match="9 heads in 2 groups"):
        grouped_heads(9, 2, title="A title.")


@pytest.mark.parametrize(
    ("cnn", "found"), [([100.0] * 6 + [25.0] * 4, True), ([100.0] * 8 + [25.0] * 2, False)]
)
def test_the_title_names_the_reach_of_the_cnn_if_it_ends_there(cnn, found):
    picture = right_by_distance({"CNN": cnn, "attention": [100.0] * 10}, values=4, reach=6)
    assert ("the CNN up to 6 tokens back" in title_of(picture)) == found


LEARNS, LATER, NEVER = [1.4] * 10 + [0.1] * 90, [1.4] * 60 + [0.1] * 40, [1.4] * 100


@pytest.mark.parametrize(
    ("losses", "title"),
    [
        ({"attention": LEARNS, "RNN": LATER, "CNN": NEVER}, "Attention learns first, the RNN long"),
        ({"attention": LEARNS, "RNN": LEARNS, "CNN": NEVER}, "Training loss"),
        ({"pre-norm": LEARNS, "post-norm": NEVER}, "Pre-norm learns, and post-norm does not"),
        ({"pre-norm": NEVER, "post-norm": NEVER}, "Training loss"),
    ],
)
def test_the_title_says_which_model_learns_first_or_alone(losses, title):
    assert title in title_of(losses_of_programs(losses, values=4, batch=8, points=20))


@pytest.mark.parametrize(("post", "found"), [([2.0, 2.0], True), ([2.0, 0.5], False)])
def test_the_title_says_that_the_gradient_shrinks_if_it_does_so_in_pre_norm_only(post, found):
    picture = gradients_by_block({"pre-norm": [[2.0, 0.5]] * 3, "post-norm": [post] * 3})
    assert ("in pre-norm only" in title_of(picture)) == found


@pytest.mark.parametrize(
    ("wide", "found"), [([1, 9, 30, 60], True), ([1, 60, 80, 90], False), ([60, 70, 80, 90], False)]
)
def test_the_title_says_that_the_quadratic_part_is_late_if_it_is(wide, found):
    shares = {"narrow": [5, 40, 60, 80], "wide": wide}
    picture = quadratic_share(shares, [512, 1024, 2048, 4096])
    assert ("only in long texts" in title_of(picture)) == found


@pytest.mark.parametrize(("trap", "found"), [((10, 9, 11), True), ((19, 17, 21), False)])
def test_the_title_counts_the_heads_that_prefer_the_answer(trap, found):
    heads = {f"head {n}": {"the answer": (20, 18, 22), "the trap": trap} for n in range(3)}
    assert ("3 of 3 heads" in title_of(answer_and_trap(heads))) == found


def test_the_row_of_the_question_names_the_answer():
    picture = question_row({"head 0.0": [0.1, 0.2, 0.7]}, ["a=1", "b=2", "a?"], 0)
    assert title_of(picture) == "One program: a? is answered by a=1"
