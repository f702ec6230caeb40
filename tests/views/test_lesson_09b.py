import numpy as np
import pytest
from matplotlib.colors import to_hex

from tests.views.drawn import nothing_overlaps, refused, said
from tlcourse.views import alignment, two_stacks
from tlcourse.views.style import COLOURS

SOURCE, TARGET = ["a", "red", "boat", "sank"], ["un", "losu", "luma"]
GOLD = [(0, 0), (1, 2), (2, 1)]


def title_of(picture):
    return " ".join(picture.get_suptitle().split())


def weights(*largest):
    """The weights of three target words, of which each is largest at one source word."""
    return np.full((3, 4), 0.1) + 0.6 * np.eye(4)[list(largest)]


@pytest.mark.parametrize(("largest", "found"), [((0, 2, 1), 3), ((0, 3, 1), 2), ((3, 3, 3), 0)])
def test_the_title_counts_the_words_that_attend_to_what_they_translate(largest, found):
    picture = alignment(weights(*largest), SOURCE, TARGET, gold=GOLD)
    assert title_of(picture) == f"{found} of 3 words attend most to the word that they translate"
    assert f"losu most to {SOURCE[largest[1]]}" in picture.alt


def test_gold_links_are_outlined_and_words_without_one_do_not_count():
    picture = alignment(weights(0, 2, 1), SOURCE, TARGET, gold=GOLD[:2])
    assert title_of(picture).startswith("2 of 2 words")
    hue = COLOURS["vermillion"].lower()
    boxes = [box for box in picture.axes[0].patches if to_hex(box.get_edgecolor()) == hue]
    centres = {tuple(np.round(box.get_center()).astype(int)) for box in boxes}
    assert centres == {(0, 0), (1, 2)}  # (column, row): the source word, the target word


def test_what_does_not_fit_is_refused():
    refused("weights", alignment, np.ones((4, 4)), SOURCE, TARGET, gold=GOLD)
    some = weights(0, 1, 2)
    refused(r"from \(0, 0\) to \(3, 2\)", alignment, some, SOURCE, TARGET, gold=[])
    refused(r"got \[\(4, 0\)\]", alignment, some, SOURCE, TARGET, gold=[(4, 0)])


def test_both_stacks_and_the_layer_between_them_are_drawn():
    picture = two_stacks("the red boat", "<eos> losu")
    assert {"the red boat", "<eos> losu", "cross-attention", "keys, values"} <= set(said(picture))
    assert "keys and values from the encoder's states" in picture.alt
    nothing_overlaps(picture)
