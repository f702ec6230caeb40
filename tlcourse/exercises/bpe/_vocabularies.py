"""What the checks of the tokenizer look at: small vocabularies, and what comes of them."""

import random
from functools import cache

from tlcourse import bpe
from tlcourse.bpe import byte_symbols
from tlcourse.exercises.expect import CheckFailed, expect_type, short

SPECIALS = ["<eos>", "<end of text>"]


@cache
def vocabulary(merges=()):
    """A vocabulary whose ids are in no order, specials among them."""
    symbols = [*SPECIALS, *byte_symbols().values(), *("".join(pair) for pair in merges)]
    return dict(zip(symbols, random.Random(1).sample(range(1000), len(symbols)), strict=True))


MERGES = (("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("a", "b"), ("Â", "½"))


def built(candidate, merges=MERGES):
    return candidate(dict(vocabulary(MERGES)), list(merges), list(SPECIALS))


def encoded(candidate, text, merges, allow_special=False):
    """What the candidate makes of a text: the symbols of its ids."""
    tokenizer = built(candidate, merges)
    got = tokenizer.encode(text, allow_special=True) if allow_special else tokenizer.encode(text)
    expect_type(got, list, f"`encode({text!r})`", "A list of numbers.")
    symbol_of = {number: symbol for symbol, number in vocabulary(MERGES).items()}
    if not all(type(number) is int and number in symbol_of for number in got):
        raise CheckFailed(
            f"`encode({text!r})` gave {short(got)}; expected ids: numbers that `vocabulary` gives."
        )
    return [symbol_of[number] for number in got]


def decoded(candidate, symbols):
    """What the candidate makes of the ids of these symbols."""
    got = built(candidate).decode([vocabulary(MERGES)[symbol] for symbol in symbols])
    expect_type(got, str, f"`decode` of the ids of {symbols}")
    return got


def twice(candidate):
    """A text, then another that holds its pre-tokens elsewhere: one tokenizer, two calls."""
    known = vocabulary((("a", "2"),))
    tokenizer = candidate(dict(known), [("a", "2")], list(SPECIALS))
    symbol_of = {number: symbol for symbol, number in known.items()}
    return [[symbol_of[number] for number in tokenizer.encode(text)] for text in ("2b", "a2b")]


@cache
def trained():
    """A small trained vocabulary, and the library's tokenizer of it as ground truth."""
    text = "rain on the trains, training in the rain; a terrain drained again, naïve ½ m², "
    tokenizer = bpe.Tokenizer.train([text, "the banana band banned bananas and an ananas"], 340)
    return tokenizer, tokenizer.to_library()
