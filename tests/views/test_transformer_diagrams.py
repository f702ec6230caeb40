from itertools import combinations

import pytest

from tests.views.drawn import SAID, nothing_overlaps, said
from tlcourse.transformer import Block, Config, Transformer
from tlcourse.views import block_and_stream, feed_forward_layer, whole_model


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
