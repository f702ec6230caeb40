from itertools import combinations

import pytest

from tests.views.drawn import SAID, arrows_of, nothing_overlaps, said
from tlcourse.views import gated_feed_forward_layer, grouped_heads


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
