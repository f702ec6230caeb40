"""Words of messages: what is meant by a name, and what only looks like it."""

import pytest

from tlcourse.wording import seen, three_nearest, twin


@pytest.mark.parametrize(
    "other",
    ["cafe\u0301 bar", "café\u00a0bar", " café  bar\t", "ca\u200bfé bar\ufeff", "ｃａｆé bar"],
)
def test_texts_that_look_alike_are_seen_as_the_same(other):
    assert seen(other) == seen("café bar") == "café bar"
    assert seen("Café bar") != seen("café bar") != seen("cafe bar")


def test_a_twin_is_told_by_the_character_that_the_other_lacks():
    told = r"; '\u200btext' and 'text' look alike, but one has U+200B ZERO WIDTH SPACE in it"
    assert twin("text", ["label", "\u200btext"]) == told
    assert twin("a b", ["a  b"]) == "; 'a  b' and 'a b' look alike"
    assert twin("text", ["text", "Text", "label"]) == ""


def test_the_three_nearest_are_named_however_far():
    names = ["topic.double", "topic.triple", "topic.single", "other.thing"]
    assert three_nearest("topic.duoble", names).startswith("'topic.double', '")
    assert three_nearest("zzz", names).count("'") == 6
    assert three_nearest("zzz", names[:1]) == "'topic.double'"
