from math import log

from matplotlib.colors import to_hex

from tests.views.drawn import SAID, nothing_overlaps, refused, texts
from tlcourse.views import (
    bits_against_bpe,
    cuts_of_word,
    fertility_curve,
    stems_kept,
    words_changed,
)
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


def test_the_title_names_the_best_cut_only_if_no_other_has_a_higher_product():
    best = cuts_of_word("abc", SCORES, ["ab", "c"])
    assert best.get_suptitle() == "Of all cuts, ab + c has the highest product"
    worse = cuts_of_word("abc", SCORES, ["a", "bc"])
    assert worse.get_suptitle() == "All tokens that fit into “abc”"
    assert "abc" in worse.alt and "a bc" in worse.alt


def test_each_merge_is_a_point_and_the_title_has_the_median():
    picture = words_changed([8.0, 0.24, 0.1], note="of the toy")
    assert "less than 0.2 % of the distinct words" in picture.get_suptitle()
    assert picture.axes[0].collections[0].get_offsets().tolist() == [[1, 8], [2, 0.24], [3, 0.1]]
    assert picture.axes[0].get_ylim()[0] == 0
    assert "3 merges" in picture.alt and picture.get_supxlabel() == "of the toy"


def test_fertility_falls_ever_more_slowly_or_the_title_does_not_say_so():
    slower = fertility_curve([262, 362, 562], [5, 3, 2.4])
    assert slower.get_suptitle() == "The larger the vocabulary, the less each new entry saves"
    for fertility in ([5, 4, 1], [5, 3, 3.5]):
        plain = fertility_curve([262, 362, 562], fertility).get_suptitle()
        assert plain == "Tokens per word by the size of the vocabulary"


def test_fewer_bits_are_claimed_only_if_the_interval_lies_below_0():
    fewer = bits_against_bpe({"other": (1, 0.5, 1.5), "mine": (-2.6, -3, -2)}, "mine", note="Toy.")
    assert fewer.get_suptitle() == "mine needs 2.6 % fewer bits than BPE"
    assert fewer.get_supxlabel() == "Toy. Lines: 95 % intervals over drawn lines."
    for mine in ((-2, -4, 0.1), (2, 1, 3)):
        plain = bits_against_bpe({"mine": mine}, "mine")
        assert plain.get_suptitle() == "Bits per byte, compared with BPE"


def test_more_stems_are_claimed_only_if_the_intervals_are_apart():
    low = (0.4, 0.35, 0.45)
    more = stems_kept({"BPE": low, "Unigram": (0.7, 0.65, 0.75)}, "BPE", "Unigram")
    assert more.get_suptitle() == "Unigram finds more stems than BPE"
    assert "Unigram 70 %" in more.alt
    for other in ((0.5, 0.44, 0.56), (0.3, 0.25, 0.35)):
        plain = stems_kept({"BPE": low, "Unigram": other}, "BPE", "Unigram")
        assert plain.get_suptitle() == "Words that are cut at the end of the stem"
