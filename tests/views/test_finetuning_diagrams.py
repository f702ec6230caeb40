import pytest
from matplotlib.colors import to_hex

from tests.views.drawn import SAID, nothing_overlaps, said
from tlcourse.views import classifier_on_body

WORDS = [" Where", " is", " it", " ?", "<cls>"]
NAMES = ["ABBR", "DESC", "LOC"]


def test_the_last_state_goes_through_the_head_to_the_label_that_wins():
    picture = classifier_on_body(WORDS, NAMES, "LOC", layers=6, width=256, **SAID)
    nothing_overlaps(picture)
    written = " ".join(said(picture)).replace("\n", " ")
    assert "6 blocks of width 256" in written and "256 → 3" in written and "<cls>" in written
    blue = [
        patch for patch in picture.axes[0].patches
        if hasattr(patch, "get_bbox") and to_hex(patch.get_edgecolor()) == "#0072b2"
    ]  # fmt: skip
    assert len(blue) == 3  # the last state, the head, the label


def test_its_own_words_name_the_winner():
    alt = classifier_on_body(WORDS, NAMES, "LOC", layers=6, width=256, title="The finding.").alt
    assert "LOC wins" in alt and "the last of them <cls>" in alt


@pytest.mark.parametrize(
    ("tokens", "answer", "message"),
    [(WORDS, "NUM", "an answer out of"), (WORDS * 3, "LOC", "tokens that fit")],
)
def test_what_cannot_be_drawn_is_refused(tokens, answer, message):
    with pytest.raises(ValueError, match=message):
        classifier_on_body(tokens, NAMES, answer, layers=6, width=256, **SAID)


def test_a_body_without_a_size_is_refused():
    with pytest.raises(ValueError, match="a body with a size"):
        classifier_on_body(WORDS, NAMES, "LOC", **SAID)
