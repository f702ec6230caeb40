"""Lines of text as the ids of their words."""

from collections import Counter

import numpy as np
import pytest

from tests.words.lines import random_lines
from tlcourse import words


def test_a_line_is_cut_into_lower_case_words_with_a_letter():
    line = " The U.S. ship 's crew @-@ <unk> won in 1905 , 3rd ( über ) "
    assert words.split(line) == ["the", "u.s.", "ship", "'s", "crew", "won", "in", "3rd", "über"]


def test_frequent_words_come_first_and_ties_in_alphabetical_order():
    text = words.read(["b a c", "c b", "d c"], min_count=1)
    assert text.vocabulary.words == ("c", "b", "a", "d")
    assert text.vocabulary.counts.tolist() == [3, 2, 1, 1]
    assert text.ids.tolist() == [1, 2, 0, 0, 1, 3, 0] and text.lines.tolist() == [
        0,
        0,
        0,
        1,
        1,
        2,
        2,
    ]
    assert "c" in text.vocabulary and "e" not in text.vocabulary and len(text.vocabulary) == 4


def test_rare_words_are_gone_and_lines_keep_their_numbers():
    text = words.read(["a b", "x", "a y b", "b"], min_count=2)
    assert [text.vocabulary.words[id] for id in text.ids] == ["a", "b", "a", "b", "b"]
    assert text.lines.tolist() == [0, 0, 2, 2, 3]
    few = words.read(["a b", "a b", "b"], min_count=1, size=1)
    assert few.vocabulary.words == ("b",) and len(few) == 3


def test_counts_are_those_of_a_counter():
    lines = random_lines(lines=200, size=50, seed=0)
    text = words.read(lines, min_count=3)
    counted = Counter(word for line in lines for word in words.split(line))
    expected = {word: count for word, count in counted.items() if count >= 3}
    assert dict(zip(text.vocabulary.words, text.vocabulary.counts, strict=True)) == expected
    assert np.array_equal(np.bincount(text.ids), text.vocabulary.counts)


@pytest.mark.parametrize("lines", [[], ["a b c"]])
def test_a_text_without_a_frequent_word_is_an_error(lines):
    with pytest.raises(ValueError, match="a word occurs 5 times.*longer text or a smaller"):
        words.read(lines, min_count=5)
