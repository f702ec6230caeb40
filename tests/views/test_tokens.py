import warnings

import pytest

from tests.views.drawn import SAID
from tlcourse import views
from tlcourse.views import tokens
from tlcourse.views.tokens import brief, fitting, named, place, visible

HOSTILE = [
    " the",
    "\n",
    "$",
    "$$",
    "a_b",
    "$x_1$",
    "\u0301",
    "e\u0301",
    "👍🏽",
    "中文",
    " שלום",
    "مرحبا",
    "\x00",
    "\ufffd",
    "\u200d",
    "\ufe0f",
    "<script>",
    "   ",
    "w" * 60,
    "\\frac",
    "\u0915\u094d",
]


def all_figures(names):
    count = len(names)
    even = [[1 / count] * count] * count
    yield views.heat_map(even, names, **SAID)
    yield views.head_grid([[even, even]], names, **SAID)
    yield views.token_lines(even, names, **SAID, threshold=0, chosen=2)
    yield views.merge_rows({0: (names, None), 1: (names, names[1])})
    yield views.text_to_ids([(names[0], [*names[0]], [names[0]], [7])], **SAID)
    yield views.pattern_parts([(name, "a") for name in names[:4]], {"a": "$"}, **SAID)
    yield views.lens_table(names, [names, names], [even[0], even[0]], **SAID, right=names)
    yield views.induction_pattern(["$", "$_", "\u0301", "$"], **SAID)


def test_what_cannot_be_seen_is_written():
    assert visible(" a\n") == "␣a↵"
    assert visible("naïve") == "naïve"
    assert visible("中\x00") == "⟨4E2D⟩⟨0⟩"
    assert visible("\u0301") == "◌\u0301" and visible("e\u0301") == "e\u0301"
    assert visible("\ufe0f").startswith("◌") and visible("\u200d") == "⟨200D⟩"


def test_what_goes_from_right_to_left_is_written_where_it_cannot_be_drawn(monkeypatch):
    monkeypatch.setattr(tokens, "SHAPES", False)
    assert visible("אa") == "⟨5D0⟩a"
    monkeypatch.setattr(tokens, "SHAPES", True)
    assert visible("א") == "א"


def test_a_name_is_short_and_fits():
    assert brief(" cat") == "cat" and brief(" ") == "␣" and brief("a b") == "a␣b"
    assert brief("abcdefghij", 5) == "abcd…"
    assert fitting(" cat", 1.0, 9) == "cat"
    cut = fitting("w" * 60, 1.0, 9)
    assert cut.endswith("…") and tokens.text_width(cut, 9) <= 1.0 < tokens.text_width(cut + "w", 9)
    assert fitting("word", 0.0, 9) == "…"


@pytest.mark.parametrize(("count", "step"), [(10, 1), (24, 1), (25, 2), (128, 6)])
def test_as_many_are_named_as_fit(count, step):
    assert named(count, 4.0, 10) == range(0, count, step)  # 24 lines of 12 points in 4 inches


def test_boxes_follow_each_other_and_go_on_in_the_next_row():
    (a, first, width), (b, *_), (c, second, _) = place(["ab", "c", "x" * 69], [9, 0.5, 0])
    assert (a, first, second, c) == (0, 0, 1, 0) and b == width + 0.5


def test_no_token_breaks_a_figure_or_is_read_as_a_formula():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a missing glyph is a warning
        for picture in all_figures(HOSTILE):
            picture.draw_without_rendering()
            for axes in picture.axes:
                ticks = [*axes.get_xticklabels(), *axes.get_yticklabels()]
                texts = [t for t in (*axes.texts, *ticks) if "$" in t.get_text()]
                assert not any(text.get_parse_math() for text in texts)
