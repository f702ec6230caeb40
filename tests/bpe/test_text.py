import sys
from unicodedata import category, is_normalized

import pytest
import tokenizers
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tlcourse.bpe import (
    SPECIALS,
    base_symbols,
    byte_ids,
    byte_symbols,
    detokenise,
    normalise,
    pre_tokenise,
    to_ids,
)

# Text that trips tokenizers: superscripts, fractions, combining marks, emoji, odd white space.
HARD = "m² ½ e\u0301é नमस्ते 👩‍👩‍👧 don't\u00a0x\t\n\r\n  y \u2028 123abc١٢ ∑≠ \0"


@settings(deadline=None)
@given(st.text())
@example(HARD)
def test_pre_tokens_join_to_the_text(text):
    assert "".join(pre_tokenise(text)) == text


def in_symbols(pre_tokens):
    return [
        "".join(byte_symbols()[byte] for byte in pre_token.encode("utf-8"))
        for pre_token in pre_tokens
    ]


def cut_by_library(text):
    cutter = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    return [pre_token for pre_token, _ in cutter.pre_tokenize_str(text)]


# Both sides know every character of Python's Unicode version; of newer ones one may know more.
@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=("Cs", "Cn"))))
@example(HARD)
def test_pre_tokens_are_those_of_the_library(text):
    assert in_symbols(pre_tokenise(text)) == cut_by_library(text)


def test_every_character_is_cut_as_the_library_does():
    known = [c for c in map(chr, range(sys.maxunicode + 1)) if category(c) not in ("Cs", "Cn")]
    text = "".join(f"a{c}1 {c}" for c in known)
    assert in_symbols(pre_tokenise(text)) == cut_by_library(text)


def test_pre_tokens_by_hand():
    assert "|".join(pre_tokenise("It's  2½ m² (ok)\n")) == "It|'s| | 2½| m|²| (|ok|)|\n"


def test_byte_symbols_are_the_library_s_alphabet():
    symbols = byte_symbols()
    assert sorted(symbols) == list(range(256))
    assert sorted(symbols.values()) == sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    assert (symbols[ord(" ")], symbols[ord("\n")], symbols[ord("a")]) == ("Ġ", "Ċ", "a")


def test_base_symbols_and_byte_ids_agree():
    strings = base_symbols()
    assert tuple(strings[:6]) == SPECIALS
    assert len(set(strings)) == len(strings) == 262
    assert all(strings[byte_ids()[byte]] == symbol for byte, symbol in byte_symbols().items())
    assert [strings[i] for i in to_ids(" é")] == ["Ġ", "Ã", "©"]


@settings(deadline=None)
@given(st.text())
@example(HARD)
def test_normalise_is_stable_and_canonical(text):
    once = normalise(text)
    assert normalise(once) == once
    assert is_normalized("NFC", once)
    assert once == "" or once[0] == " " != once[-1]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("What’s  “m²” ?\n", ' What\'s "m²" ?'),
        ("cafe\u0301", " caf\u00e9"),
        ("1–2½ … x\u00a0y", " 1-2½ ... x y"),
        (" \t\n", ""),
        ("", ""),
    ],
)
def test_normalise(typed, expected):
    assert normalise(typed) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (" Paris , in 1 @,@ 900 . ", " Paris, in 1,900. "),
        (" a 3 @.@ 5 km ( 2 mi ) well @-@ known walk", " a 3.5 km (2 mi) well-known walk"),
        (' The " Big House " , " it "', ' The "Big House", "it"'),
        (" it 's what they did n't say ; why ?", " it's what they didn't say; why?"),
        (" £ 5 and $ 6", " £5 and $6"),
        (" = Title = ", " = Title = "),
        ("", ""),
    ],
)
def test_detokenise(line, expected):
    assert detokenise(line) == expected
