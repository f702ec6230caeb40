from itertools import combinations

import pytest
from matplotlib.text import Annotation

from tests.views.drawn import SAID, nothing_overlaps, said
from tlcourse.transformer import Block, Config, Transformer
from tlcourse.views import (
    block_and_stream,
    feed_forward_layer,
    gated_feed_forward_layer,
    grouped_heads,
    whole_model,
)


def boxes_of(picture):
    return [patch.get_bbox() for patch in picture.axes[0].patches if hasattr(patch, "get_bbox")]


def test_the_block_has_the_names_of_the_code_and_its_boxes_lie_apart():
    picture = block_and_stream(768, 3072, heads=12, **SAID)
    nothing_overlaps(picture)
    written = " ".join(said(picture))
    for name in ("attention_norm", "feed_forward_norm"):
        assert name in written and name in Block.__init__.__code__.co_names
    assert "12 heads" in written and "768 → 3072 → 768" in written
    assert "(batch, length, 768)" in written
    assert not any(a.overlaps(b) for a, b in combinations(boxes_of(picture), 2))


def test_the_model_has_the_names_of_the_code_and_the_sizes_of_its_configuration():
    config = Config(vocabulary_size=50_257, width=768, layers=12, heads=12)
    picture = whole_model(config, **SAID)
    nothing_overlaps(picture)
    written = " ".join(said(picture))
    for name in ("embedding", "norm", "blocks"):
        assert name in written and name in Transformer.__init__.__code__.co_names
    assert "50,257 × 768" in written and "12 blocks" in written
    assert "(batch, length, 50,257)" in written
    assert not any(a.overlaps(b) for a, b in combinations(boxes_of(picture), 2))


@pytest.mark.parametrize(("width", "wide"), [(256, 1024), (768, 3072), (64, 64)])
def test_the_feed_forward_layer_takes_each_token_alone(width, wide):
    picture = feed_forward_layer(width, wide, **SAID)
    nothing_overlaps(picture)
    written = said(picture)
    assert written.count(str(width)) == (9 if wide == width else 6)
    assert written.count(str(wide)) == (9 if wide == width else 3)
    assert not any(a.overlaps(b) for a, b in combinations(boxes_of(picture), 2))
    rows = {round(box.y0, 3) for box in boxes_of(picture)}
    assert len(rows) == 3


def test_without_an_alt_text_the_pictures_say_what_they_show():
    config = Config(vocabulary_size=50_257, width=768, layers=12, heads=12)
    assert "12 blocks" in whole_model(config, title="The finding.").alt
    assert "256 features become 1024" in feed_forward_layer(256, 1024, title="The finding.").alt
    assert "stream" in block_and_stream(64, 256, title="The finding.").alt
    with pytest.raises(ValueError, match="title"):
        whole_model(config)


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
    arrows = [each for each in picture.axes[0].texts if isinstance(each, Annotation)]
    ends = [each.xy[0] for each in arrows]
    starts = [each.get_position()[0] for each in arrows]
    assert len(arrows) == heads and starts == sorted(starts)
    assert [ends.count(end) for end in sorted(set(ends))] == [heads // groups] * groups
    assert ends == sorted(ends)
    assert f"each group of {heads // groups}" in grouped_heads(heads, groups, title="A title.").alt


def test_groups_that_do_not_divide_the_heads_are_refused():
    with pytest.raises(ValueError, match="9 heads in 2 groups"):
        grouped_heads(9, 2, title="A title.")
