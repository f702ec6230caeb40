from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bpe.library import assert_same, sample_lines, trained
from tlcourse.bpe import (
    EOS,
    Tokenizer,
    base_symbols,
    count_words,
    merge_pair,
    train,
    train_counted,
    train_naive,
)

SMALL_TEXTS = st.lists(st.text(alphabet="ab ", max_size=30), max_size=6)


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [([], []), ([1], [1]), ([1, 2], [9]), ([1, 1, 2, 2], [1, 9, 2]), ([2, 1, 2, 1, 2], [2, 9, 9])],
)
def test_merge_pair(tokens, expected):
    assert merge_pair(tokens, (1, 2), 9) == expected
    assert merge_pair([1, 1, 1, 1, 1], (1, 1), 9) == [9, 9, 1]


def spelled(merges):
    strings = base_symbols()
    said = []
    for (left, right), new in merges:
        said.append(f"{strings[left]}+{strings[right]}")
        if new == len(strings):
            strings.append(strings[left] + strings[right])
    return said


def test_merges_worked_out_by_hand():
    words = Counter({"rain": 6, "train": 3, "trail": 2})
    # ra and ai stand 11 times each: the smaller pair of ids wins. Then r+ai 11, rai+n 9, t+rain 3.
    assert spelled(train(words, 266)) == ["a+i", "r+ai", "rai+n", "t+rain"]


def test_a_tie_goes_to_the_smaller_pair_of_ids():
    assert spelled(train(Counter({"zy": 5, "ab": 5, "az": 5}), 265)) == ["a+b", "a+z", "z+y"]


@settings(max_examples=150, deadline=None)
@given(SMALL_TEXTS, st.integers(262, 290))
def test_three_trainers_and_the_library_agree(texts, size):
    counts = count_words(texts)
    merges = train(counts, size)
    assert merges == train_counted(counts, size) == train_naive(texts, size)
    assert_same(Tokenizer(merges), trained(texts, size))


def test_equal_to_the_library_on_the_bundled_corpus():
    lines = sample_lines()
    tokenizer = Tokenizer.train(lines, 2_000)
    assert tokenizer.vocabulary_size == 2_000
    assert_same(tokenizer, trained(lines, 2_000))


@pytest.mark.real_data
def test_equal_to_the_library_on_wikitext():
    from tlcourse import corpora

    lines = corpora.load("wikitext-2", source="local")["train"]["text"][:4_000]
    assert sum(len(line.encode()) for line in lines) > 1_000_000
    tokenizer = Tokenizer.train(lines, 4_096)
    assert len(tokenizer.merges) == 4_096 - 262
    assert_same(tokenizer, trained(lines, 4_096))


def test_a_merge_that_spells_a_special_token_takes_its_id_as_in_the_library():
    """Pieces cut by `pre_tokenise` never hold a special token; uncut text does."""
    counts = Counter({"<eos>": 10, "eos": 3})
    merges = train(counts, 300)
    assert merges[-1][1] == EOS
    assert_same(Tokenizer(merges), trained(list(counts.elements()), 300, cut=False))
    assert all(new >= 262 for _, new in train(count_words(["<eos>"] * 10), 300))


def test_stops_when_no_pair_is_left():
    assert spelled(train(Counter({"abc": 1}), 1_000)) == ["a+b", "ab+c"]


@pytest.mark.parametrize("trainer", [train, train_counted])
def test_an_empty_corpus_has_no_merges(trainer):
    assert trainer(Counter(), 300) == trainer(Counter({"a": 3}), 300) == []
    assert train_naive([], 300) == train_naive([""], 300) == []


@pytest.mark.parametrize("trainer", [train, train_counted, lambda c, v: train_naive(list(c), v)])
def test_a_vocabulary_without_room_for_the_bytes_is_an_error(trainer):
    with pytest.raises(ValueError, match="at least 262 entries .* got 256"):
        trainer(Counter({"ab": 2}), 256)


def test_one_string_is_not_a_list_of_texts():
    with pytest.raises(TypeError, match=r"write \[text\]"):
        count_words("a text")
