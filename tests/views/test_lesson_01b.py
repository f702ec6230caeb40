from math import log

from matplotlib.colors import to_hex

from tests.views.drawn import SAID, nothing_overlaps, refused, texts
from tlcourse.views import cuts_of_word
from tlcourse.views.style import COLOURS

SCORES = {"a": log(0.1), "b": log(0.2), "c": log(0.05), "ab": log(0.25), "bc": log(0.01)}


def test_a_word_is_drawn_with_all_its_tokens_and_the_best_cut_is_coloured():
    picture = cuts_of_word("abc", SCORES, ["ab", "c"], **SAID)
    said = [t.get_text() for t in texts(picture)]
    assert sorted(said) == sorted([*"abc", "10 %", "20 %", "5 %", "ab  25 %", "bc  1 %"])
    edge = [to_hex(box.get_edgecolor()).upper() for box in picture.axes[0].patches]
    red = [t for t, colour in zip(said, edge, strict=True) if colour == COLOURS["vermillion"]]
    assert sorted(red) == ["5 %", "ab  25 %"]
    nothing_overlaps(picture)


def test_a_cut_of_another_word_is_refused():
    for word, best in (("abc", ["a", "b"]), ("abd", ["ab", "d"]), ("", []), ("a" * 13, ["a"] * 13)):
        refused("tokens with scores that spell it", cuts_of_word, word, SCORES, best)
