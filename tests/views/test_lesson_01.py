from itertools import groupby
from operator import itemgetter

import pytest
from matplotlib.colors import to_hex

from tests.views.drawn import SAID, nothing_overlaps, refused, row_names, texts, words_in
from tlcourse.views import merge_rows, pattern_parts, text_to_ids, trainer_race
from tlcourse.views.diagrams import PALE, PALE_VERMILLION
from tlcourse.views.lesson_01 import written


def boxes(picture):
    """(text, fill, top) of each box, in the order of drawing."""
    axes = picture.axes[0]
    texts = [text.get_text() for text in axes.texts if text.get_ha() == "center"]
    return [
        (text, to_hex(box.get_facecolor()).upper(), box.get_y())
        for text, box in zip(texts, axes.patches, strict=True)
    ]


def headings(picture):
    return [text.get_text() for text in picture.axes[0].texts if text.get_ha() == "left"]


def test_a_lone_byte_is_written_in_hex():
    assert written(b" \xc2") == "␣⟨C2⟩" and written("m²") == "m²"
    assert written("m²".encode()) == "m²" and written(b"\xf0\x9f") == "⟨F0⟩⟨9F⟩"


def test_rows_count_their_tokens_and_mark_the_newest_wherever_it_occurs():
    rows = {0: (list("abcab"), None), 2: (["abc", "ab"], "ab"), 1: (["ab", "c", "ab"], "ab")}
    picture = merge_rows(rows, note="of the toy")
    assert headings(picture) == [
        "before any merge: 5 tokens",
        "after 2 merges: 2 tokens, the newest is “ab”",
        "after 1 merge: 3 tokens, the newest is “ab”",
    ]
    drawn = boxes(picture)
    assert [text for text, _, _ in drawn] == [*"abcab", "abc", "ab", "ab", "c", "ab"]
    marked = [i for i, (_, fill, _) in enumerate(drawn) if fill == PALE_VERMILLION]
    assert marked == [6, 7, 9]
    assert [top for _, _, top in drawn] == sorted(top for _, _, top in drawn)
    assert picture.get_suptitle() == "Merge by merge, 5 tokens become 3"
    assert "abc | ab" in picture.alt and picture.get_supxlabel() == "of the toy"


def test_one_row_alone_has_a_title_of_its_own():
    assert merge_rows({1: ([b"ab"], b"ab")}).get_suptitle() == "The text after 1 merge: 1 tokens"
    assert "after 20 merges: 2 tokens" in merge_rows({20: ("ab", None)}).get_suptitle()


def test_part_of_a_character_is_grey():
    drawn = boxes(merge_rows({0: ([b"m", b"\xc2", b"\xb2", "m²".encode()], None)}))
    assert [fill == PALE for _, fill, _ in drawn] == [False, True, True, False]


def test_words_stand_apart_and_are_not_counted_as_tokens():
    picture = merge_rows({0: (["a", "b", None, "c", None, "d"], None)})
    assert headings(picture) == ["before any merge: 4 tokens"]
    lefts = [box.get_x() for box in picture.axes[0].patches]
    near, far, farther = (b - a for a, b in zip(lefts, lefts[1:], strict=False))
    assert far == farther > near + 1


def test_boxes_stay_in_the_figure():
    picture = merge_rows({0: (["word", "somewhat longer"] * 12, None), 1: (["a"] * 90, "a")})
    picture.draw_without_rendering()
    words = [t for t in picture.axes[0].texts if t.get_ha() == "center"]
    for box, text in zip(picture.axes[0].patches, words, strict=True):
        outer, inner = box.get_window_extent(), text.get_window_extent()
        assert outer.x0 <= inner.x0 and inner.x1 <= outer.x1
        assert picture.bbox.x0 <= outer.x0 and outer.x1 <= picture.bbox.x1
        assert outer.y0 >= 0


def test_the_race_shows_what_each_visits_and_how_long_it_takes():
    seconds = {"slow": [180.0], "mine": [3.0, 1.0, 2.0], "fast": [0.25]}
    picture = trainer_race({"slow": 6000, "mine": 700}, seconds, highlight="mine", **SAID)
    left, right = picture.axes
    assert words_in(left) == ["6,000", "700"]
    assert words_in(right) == ["180 s", "2 s", "0.25 s"]
    assert [float(line.get_xdata()[0]) for line in right.lines] == [180, 2, 0.25]
    assert left.get_xscale() == right.get_xscale() == "log"
    ends = right.collections[1].get_segments()[0]
    assert ends[:, 0].tolist() == [1, 3]
    colours = [line.get_color() for line in right.lines]
    assert colours[0] == colours[2] != colours[1]
    assert row_names(left) == list(seconds)


WORDS = [
    (" rain", list("Ġrain"), ["Ġra", "in"], [300, 41]),
    ("²", list("Â²"), ["Â", "²"], [132, 7]),
]
MAKERS = ["pre_tokenise", "byte_symbols", "encode_pre_token", "vocabulary"]


def rows_of(picture):
    """The texts at each height, from top to bottom and from left to right."""
    placed = [(-round(t.get_position()[1], 3), t.get_position()[0], t) for t in texts(picture)]
    rows = groupby(sorted(placed, key=itemgetter(0, 1)), key=itemgetter(0))
    return [[text.get_text() for _, _, text in row] for _, row in rows]


def test_text_to_ids_has_a_row_for_each_step_and_who_makes_it():
    picture = text_to_ids(WORDS, MAKERS, **SAID)
    assert rows_of(picture) == [
        ["text", "␣rain²"],
        ["pre_tokenise", "␣rain", "²"],
        ["byte_symbols", *"Ġrain", *"Â²"],
        ["encode_pre_token", "Ġra", "in", "Â", "²"],
        ["vocabulary", "300", "41", "132", "7"],
    ]
    nothing_overlaps(picture)


def test_each_piece_stands_in_the_row_of_its_part():
    parts = {"letters": r" ?\p{L}+", "signs": r"[^\s\p{L}]+"}
    picture = pattern_parts([("It", "letters"), ("),", "signs"), (" is", "letters")], parts, **SAID)
    assert rows_of(picture) == [
        ["the text", "It", "),", "␣is"],
        [r"letters:  ?\p{L}+", "It", "␣is"],
        [r"signs: [^\s\p{L}]+", "),"],
    ]
    nothing_overlaps(picture)


def test_what_cannot_be_drawn_is_refused():
    for rows in ({}, {0: ([], None)}, {0: ([None], None)}):
        with pytest.raises(ValueError, match="at least one row, each of at least one token"):
            merge_rows(rows)
    for seconds in ({}, {"a": []}, {"a": [0.0]}, {"b": [1.0]}):
        message = "expected trainers with positive seconds, 'a' among them"
        refused(message, trainer_race, {}, seconds, highlight="a")
    refused("words that fit into .* take fewer", text_to_ids, WORDS * 8, MAKERS)
    for words, makers in ((WORDS, MAKERS[:3]), ([], MAKERS)):
        refused("words and the makers of 4 rows", text_to_ids, words, makers)
    for pieces in ([], [("a", "digits")]):
        refused("pieces, each of a part of", pattern_parts, pieces, {"letters": "x"})
    long = [("a long word", "letters")] * 12
    refused("a text that fits into .* cut it", pattern_parts, long, {"letters": "x"})


@pytest.mark.parametrize(
    ("seconds", "title"),
    [
        ({"a": [9.0], "b": [1.0]}, "The fewer words a trainer visits, the faster it is"),
        ({"a": [1.0], "b": [9.0]}, "Words visited and seconds of four trainers"),
    ],
)
def test_the_race_is_titled_by_its_result(seconds, title):
    assert trainer_race({"a": 100, "b": 10}, seconds).get_suptitle() == title
