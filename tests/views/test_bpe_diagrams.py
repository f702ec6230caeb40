from math import log

import pytest
from matplotlib.colors import to_hex

from tests.views.drawn import SAID, nothing_overlaps, texts
from tlcourse.views import cuts_of_word, pattern_parts, text_to_ids
from tlcourse.views.style import COLOURS

WORDS = [
    (" rain", list("Ġrain"), ["Ġra", "in"], [300, 41]),
    ("²", list("Â²"), ["Â", "²"], [132, 7]),
]
MAKERS = ["pre_tokenise", "byte_symbols", "encode_pre_token", "vocabulary"]


def row(picture, height):
    """The texts at one height, from left to right."""
    near = [t for t in texts(picture) if abs(t.get_position()[1] - height) < 0.02]
    return [t.get_text() for t in sorted(near, key=lambda t: t.get_position()[0])]


def test_text_to_ids_has_a_row_for_each_step_and_who_makes_it():
    picture = text_to_ids(WORDS, MAKERS, **SAID)
    heights = sorted({round(t.get_position()[1], 3) for t in texts(picture)}, reverse=True)
    assert [row(picture, y) for y in heights] == [
        ["text", "␣rain²"],
        ["pre_tokenise", "␣rain", "²"],
        ["byte_symbols", *"Ġrain", *"Â²"],
        ["encode_pre_token", "Ġra", "in", "Â", "²"],
        ["vocabulary", "300", "41", "132", "7"],
    ]
    nothing_overlaps(picture)


def test_a_text_too_long_to_draw_and_too_few_makers_are_refused():
    with pytest.raises(ValueError, match="words that fit into .* take fewer"):
        text_to_ids(WORDS * 8, MAKERS, **SAID)
    for words, makers in ((WORDS, MAKERS[:3]), ([], MAKERS)):
        with pytest.raises(ValueError, match="words and the makers of 4 rows"):
            text_to_ids(words, makers, **SAID)


def test_each_piece_stands_in_the_row_of_its_part():
    parts = {"letters": r" ?\p{L}+", "signs": r"[^\s\p{L}]+"}
    picture = pattern_parts([("It", "letters"), ("),", "signs"), (" is", "letters")], parts, **SAID)
    heights = sorted({round(t.get_position()[1], 3) for t in texts(picture)}, reverse=True)
    assert [row(picture, y) for y in heights] == [
        ["the text", "It", "),", "␣is"],
        [r"letters:  ?\p{L}+", "It", "␣is"],
        [r"signs: [^\s\p{L}]+", "),"],
    ]
    nothing_overlaps(picture)


def test_pieces_of_no_part_or_too_many_are_refused():
    for pieces in ([], [("a", "digits")]):
        with pytest.raises(ValueError, match="pieces, each of a part of"):
            pattern_parts(pieces, {"letters": "x"}, **SAID)
    with pytest.raises(ValueError, match="a text that fits into .* cut it"):
        pattern_parts([("a long word", "letters")] * 12, {"letters": "x"}, **SAID)


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
        with pytest.raises(ValueError, match="tokens with scores that spell it"):
            cuts_of_word(word, SCORES, best, **SAID)
