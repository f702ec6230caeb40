from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from tlcourse.views import token_lines, token_shades
from tlcourse.views.style import COLOURS

SAID = {"title": "The finding.", "alt": "What is seen."}
WEIGHTS = np.array([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.04, 0.46, 0.5]])
TOKENS = [" the", " cat", "."]


def lines(picture):
    """(query, key) → opacity of each line."""
    (links,) = picture.axes[0].collections
    rows = [tuple(segment[:, 1].astype(int)) for segment in links.get_segments()]
    return dict(zip(rows, links.get_color()[:, 3], strict=True))


def test_a_line_for_each_weight_as_opaque_as_it_is_large():
    picture = token_lines(WEIGHTS, TOKENS, **SAID)
    assert lines(picture) == {
        (0, 0): 1.0, (1, 0): 0.25, (1, 1): 0.75, (2, 1): 0.46, (2, 2): 0.5,
    }  # fmt: skip
    assert "Weights below 0.05 are not drawn." in picture.get_supxlabel()
    every = token_lines(WEIGHTS, TOKENS, **SAID, threshold=0)
    assert len(lines(every)) == 9 and not every.get_supxlabel()
    written = [text.get_text() for text in picture.axes[0].texts]
    assert written.count("the") == written.count("cat") == written.count(".") == 2


def test_a_chosen_query_has_its_lines_and_weights_alone():
    picture = token_lines(WEIGHTS, TOKENS, **SAID, chosen=1)
    assert set(lines(picture)) == {(1, 0), (1, 1)}
    bold = {t.get_text() for t in picture.axes[0].texts if t.get_fontweight() == "bold"}
    assert bold == {"cat", "the  0.25", "cat  0.75"}


def test_keys_may_be_other_tokens():
    picture = token_lines(np.array([[0.0, 1.0]]), ["q"], **SAID, keys=["a", "b"])
    assert set(lines(picture)) == {(0, 1)}
    assert {"q", "a", "b"} <= {text.get_text() for text in picture.axes[0].texts}
    assert "0 to 0" in str(pytest.raises(ValueError, token_lines, WEIGHTS, ["q"], **SAID).value)


def test_of_128_tokens_those_are_named_that_do_not_overlap():
    weights = np.tril(np.random.default_rng(0).random((128, 128)))
    weights /= weights.sum(-1, keepdims=True)
    picture = token_lines(weights, ["word"] * 128, **SAID, chosen=101, threshold=0.01)
    picture.draw_without_rendering()
    texts = picture.axes[0].texts
    boxes = [text.get_window_extent() for text in texts]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2)) and len(boxes) > 40
    heaviest = f"word  {weights[101].max():.2f}"
    assert heaviest in [text.get_text() for text in texts]
    assert picture.get_figheight() < 7.5


def test_lines_that_do_not_fit_are_refused():
    for wrong in ({"keys": ["a"]}, {"chosen": 3}, {"chosen": -1}):
        with pytest.raises(ValueError, match=r"shape \(queries, keys\) = .* a chosen query from 0"):
            token_lines(WEIGHTS, TOKENS, **SAID, **wrong)


def test_the_text_is_shaded_and_words_stay_together():
    tokens = [" un", "kind", " words", "."]
    picture = token_shades([0.0, 0.2, 0.7, 0.1], tokens, **SAID, chosen=1)
    text, bar = picture.axes
    shades = [sum(box.get_facecolor()[:3]) for box in text.patches]
    assert np.argsort(shades).tolist() == [2, 1, 3, 0]
    strong = [to_hex(box.get_edgecolor()).upper() == COLOURS["vermillion"] for box in text.patches]
    assert strong == [False, True, False, False]
    ends = [(box.get_x(), box.get_x() + box.get_width()) for box in text.patches]
    gaps = [after[0] - before[1] for before, after in zip(ends, ends[1:], strict=False)]
    assert gaps[1] > 3 * gaps[0] and gaps[0] == pytest.approx(gaps[2])
    assert bar.get_xlabel() == "attention weight" and bar.get_xlim() == (0, 0.7)
    signed = token_shades([-0.5, 0.2, 0, 0], tokens, **SAID).axes[1]
    assert signed.get_xlim() == (-0.5, 0.5)


def test_shades_that_do_not_fit_are_refused():
    for wrong in (([0.1], None), ([0.1, 0.2, 0.3], 3)):
        with pytest.raises(ValueError, match="a weight for each of 3 tokens and a chosen one"):
            token_shades(wrong[0], TOKENS, **SAID, chosen=wrong[1])
