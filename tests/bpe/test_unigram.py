from collections import Counter
from functools import cache
from math import log2

import pytest
import tokenizers
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.bpe.library import sample_lines
from tests.bpe.test_text import HARD
from tlcourse.bpe import SPECIALS, Tokenizer, base_symbols, pre_tokenise, train_unigram

ENTRIES = 900


@cache
def unigram() -> tokenizers.Tokenizer:
    return train_unigram(sample_lines(), ENTRIES)


def test_has_the_entries_asked_for_and_no_mark_is_left():
    strings = [unigram().id_to_token(i) for i in range(ENTRIES)]
    assert unigram().get_vocab_size() == ENTRIES == len(set(strings))
    assert strings[:262] == base_symbols()
    assert set("".join(strings[6:])) == set(base_symbols()[6:])


def test_holds_the_frequent_words():
    counts = Counter(t for line in sample_lines() for t in pre_tokenise(line))
    for frequent in (" the", " and", " that", " was", " ,", " ."):
        assert counts[frequent] > 10
        assert len(unigram().encode(frequent).ids) == 1, frequent


def test_the_library_alone_leaves_out_words_that_begin_no_longer_one():
    """The reason for this module; if it fails, the library has changed and may do."""
    library = tokenizers.Tokenizer(tokenizers.models.Unigram())
    library.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.UnigramTrainer(vocab_size=ENTRIES, show_progress=False)
    library.train_from_iterator(sample_lines(), trainer)
    assert "Ġ," not in library.get_vocab()
    assert "Ġ," in unigram().get_vocab()


# Both sides know every character of Python's Unicode version; of newer ones one may know more.
@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=("Cs",))) | st.text(alphabet="<>/eosunkpad \0\x01"))
@example(HARD)
@example("".join(SPECIALS))
def test_any_text_comes_back(text):
    ids = unigram().encode(text).ids
    assert unigram().decode(ids, skip_special_tokens=False) == text
    assert not set(ids) & set(range(len(SPECIALS)))


def bits(library):
    """Of the sample, each token coded by its frequency in the sample."""
    seen = Counter(i for each in library.encode_batch(sample_lines()) for i in each.ids)
    return -sum(n * log2(n / seen.total()) for n in seen.values())


def test_describes_its_text_in_fewer_bits_than_bpe_does():
    """That is what it is trained for; with the library's own seeds it needs more."""
    assert bits(unigram()) < bits(Tokenizer.train(sample_lines(), ENTRIES).to_library())


@pytest.mark.parametrize("texts", [[], [""]])
def test_nothing_to_learn_from_is_an_error(texts):
    with pytest.raises(ValueError, match="expected texts to learn from"):
        train_unigram(texts, 300)


def test_a_single_string_is_an_error():
    with pytest.raises(TypeError, match=r"write \[text\]"):
        train_unigram("a string", 300)


def test_too_few_entries_are_an_error():
    with pytest.raises(ValueError, match="at least 262 entries .* got 261"):
        train_unigram(["a"], 261)
