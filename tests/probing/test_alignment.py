import pytest
import tokenizers

from tests.probing.made import TOKENIZER
from tlcourse.bpe import EOS
from tlcourse.probing import align, normalised, written

HARD = {
    "quotes": (['"', "The", "rain", '"'], [False, True, False, True]),
    "curly quotes": (["“", "The", "rain", "”", "…"], [False, True, False, False, False]),
    "numbers": (["on", "1,234", "trains", "3.5%"], [True, True, False, False]),
    "hyphens": (["well", "-", "known", "—", "on"], [False, False, True, True, False]),
    "multi-word": (["do", "n't", "gon", "na", "fall"], [False, True, False, True, False]),
    "emoji": (["rain", "👩‍👩‍👧", "🙂", "fell"], [True, False, True, True]),
    "combining": (["cafe\u0301", "e", "\u0301", "fell", "a\u030a\u0323"], [1, 0, 1, 1, 0]),
    "white space": (["10\u00a0000", "on", "\u200b", "x"], [True, True, True, False]),
}


def brute_force(tokens: list[str], start: int, words: list[bytes]) -> list[set[int]]:
    """Which token holds a byte of which word, byte by byte; `tokens` spell the bytes."""
    owners = [place for place, token in enumerate(tokens, start) for _ in range(len(token))]
    found, at = [], 0
    whole = b"".join(bytes(token, "latin-1") for token in tokens)
    for word in words:
        at = whole.index(word, at)
        found.append(set(owners[at : at + len(word)]))
        at += len(word)
    return found


@pytest.mark.parametrize("kind", sorted(set(HARD) - {"combining"}))
def test_words_have_the_tokens_that_hold_their_bytes(kind):
    words, spaces = HARD[kind]
    (found,) = align(TOKENIZER, [words], space_after=[spaces])
    spelled = [
        bytes(TOKENIZER._bytes_of[symbol] for symbol in TOKENIZER.strings[number]).decode("latin-1")
        for number in found.tokens[1:]
    ]
    forms = [normalised(word, [(0, len(word))])[0].strip().encode() for word in words]
    expected = brute_force(spelled, 1, forms)
    assert found.tokens[0] == EOS
    assert [set(range(*span)) for span in found.spans] == expected


def test_a_token_that_covers_two_words_belongs_to_both():
    merged = tokenizers.Tokenizer(tokenizers.models.WordLevel({"gonna": 0, "fall": 1}, "fall"))
    merged.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    (found,) = align(merged, [["gon", "na", "fall"]], space_after=[[False, True, True]])
    assert found.tokens == [0, 1] and found.spans == [(0, 1), (0, 1), (1, 2)]


def test_a_lone_accent_shares_the_letter_it_melts_into():
    text, spans = written(["e", "\u0301", "fell"], [False, True, False])
    form, places = normalised(text, spans)
    assert form == " é fell" and places == [(1, 2), (1, 2), (3, 7)]


@pytest.mark.parametrize("kind", HARD)
def test_every_word_has_its_own_characters_in_the_normal_form(kind):
    words, spaces = HARD[kind]
    form, places = normalised(*written(words, spaces))
    for word, (first, end) in zip(words, places, strict=True):
        assert first < end
        if word != "\u0301":
            alone = normalised(word, [])[0].strip()
            assert form[first:end] in (alone, "é")
    assert places == sorted(places)


def test_flags_default_to_a_space_after_each_word():
    words = ["The", "rain", "fell"]
    (bare,), (text,) = (
        align(TOKENIZER, [words]),
        align(TOKENIZER, [("The rain fell", [(0, 3), (4, 8), (9, 13)])]),
    )
    assert bare == text
    assert bare.tokens == [EOS, *TOKENIZER.encode(" The rain fell")]


def test_words_that_share_a_written_token():
    """As in "dont", which a treebank may read as "do" and "n't"."""
    (found,) = align(TOKENIZER, [("I dont", [(0, 1), (2, 6), (2, 6)])])
    assert found.spans[1] == found.spans[2]
    assert TOKENIZER.decode(found.tokens[slice(*found.spans[1])]).strip() == "dont"


@pytest.mark.parametrize(
    ("sentences", "flags", "said"),
    [
        ([["a"], []], None, "sentence 1: expected a list of at least one word"),
        (["rain"], None, "sentence 0: expected a list of at least one word, got 'rain'"),
        ([["a"], ["b", " \u00a0"]], None, "sentence 1: expected words with a visible"),
        ([["a", "b"]], [[True]], "sentence 0: expected a flag for each of its 2 words, got 1"),
        ([["a"], ["b"]], [[True]], "flags for each of 2 sentences, got 1"),
        ([("a", [(0, 1)])], [[True]], "expected no flags"),
    ],
)
def test_what_is_refused(sentences, flags, said):
    with pytest.raises(ValueError, match=said):
        align(TOKENIZER, sentences, space_after=flags)


def test_a_word_that_the_tokenizer_drops_is_named():
    library = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, "a"))
    library.normalizer = tokenizers.normalizers.Replace("x", "")
    library.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    with pytest.raises(ValueError, match="sentence 1: .* drops 'x'"):
        align(library, [["a"], ["a", "x"]])


def test_another_kind_of_tokenizer_is_refused():
    with pytest.raises(ValueError, match="got a function"):
        align(test_words_that_share_a_written_token, [["a"]])
