"""What the exercises of lesson 01 are held against."""

import itertools
import random
from collections.abc import Mapping
from functools import cache

import tokenizers

from tlcourse import bpe
from tlcourse.exercises.expect import Wrong, expect_equal, expect_type, short
from tlcourse.exercises.expect import expect_unchanged as call


def merge_nothing(candidate) -> None:
    tokens = ["t", "r", "a", "i", "n"]
    got = call(candidate, tokens, ("x", "y"), "xy")
    expect_type(got, list, "`t r a i n` with pair `(x, y)`")
    lost = "Nothing is to be merged there; does your loop lose the last token, which has no right "
    expect_equal(got, tokens, "`t r a i n` with pair `(x, y)`", lost + "neighbour?")
    expect_equal(call(candidate, [], ("x", "y"), "xy"), [], "an empty list")
    got = call(candidate, tokens, ("a", "i"), "ai")
    if got == tokens:
        raise Wrong(
            "`t r a i n` with pair `(a, i)` came back with nothing merged; expected ['t', 'r', "
            "'ai', 'n']. Do you compare a slice of `tokens`, a list, with `pair`, a tuple? They "
            "are never equal: `tuple(...)` makes the slice one, too."
        )
    if got == ["t", "r", "ai", "i", "n"]:
        raise Wrong(
            "`t r a i n` with pair `(a, i)` kept the `i` that went into `ai`. Does your loop skip "
            "the second half of a pair that it has just merged?"
        )
    expect_equal(got, ["t", "r", "ai", "n"], "`t r a i n` with pair `(a, i)`")
    got = call(candidate, tokens, ("a", "i"), "X")
    what = "`t r a i n` with pair `(a, i)` and new token `X`"
    expect_equal(got, ["t", "r", "X", "n"], what, "Put in `new_token`, whatever it looks like.")


def merge_once(candidate) -> None:
    for count in (3, 4, 5):
        got = call(candidate, ["a"] * count, ("a", "a"), "aa")
        right = ["aa"] * (count // 2) + ["a"] * (count % 2)
        likely = "From the left, use no token twice: is a merged pair's second half skipped?"
        if got == right[::-1]:
            likely = "Go from left to right: here the last pair was merged first."
        elif got == ["aa"] + ["a"] * (count - 2):
            likely = "Only the first pair was merged; go on behind it."
        expect_equal(got, right, f"`{' '.join('a' * count)}` with pair `(a, a)`", likely)
    near = "Only `a` with `b` directly to its right is a pair."
    got = call(candidate, ["b", "a", "c", "b"], ("a", "b"), "ab")
    expect_equal(got, ["b", "a", "c", "b"], "`b a c b` with pair `(a, b)`", near)
    got = call(candidate, ["a", "b", "b"], ("a", "b"), "a")
    what = "`a b b` with pair `(a, b)` and new token `a`"
    expect_equal(got, ["a", "b"], what, "What was just merged is not looked at again.")


def merge_many(candidate) -> None:
    draw = random.Random(1)
    for _ in range(200):
        text, pair = "".join(draw.choices("abc", k=draw.randrange(12))), draw.choices("abc", k=2)
        right = list(text.replace("".join(pair), "X"))  # Python replaces left to right, too
        got = call(candidate, list(text), tuple(pair), "X")
        expect_equal(got, right, f"`{' '.join(text)}` with pair `({', '.join(pair)})`")
    got = call(candidate, [7, 300, 12, 7, 300], (7, 300), 301)
    expect_equal(got, [301, 12, 301], "numbers: `7 300 12 7 300` with pair `(7, 300)`")
    got = call(candidate, ("r", "a", "i"), ("a", "i"), "ai")
    likely = "`tokens` may be a tuple: compare and join so that its kind does not matter."
    expect_equal(got, ["r", "ai"], "the tuple `('r', 'a', 'i')` with pair `(a, i)`", likely)


def _counts(candidate, words: dict) -> dict:
    """What the candidate counted, pairs that it gives 0 left out."""
    got = call(candidate, words)
    if not isinstance(got, Mapping):
        expect_type(got, dict, short(words), "From pairs to numbers; a `Counter` is one, too.")
    return {pair: count for pair, count in got.items() if count}


def count_one(candidate) -> None:
    got = _counts(candidate, {("r", "a", "n"): 1})
    if got and not all(isinstance(pair, tuple) and len(pair) == 2 for pair in got):
        raise Wrong(
            f"the keys of your result are {short(list(got))}; expected the pairs themselves, "
            "[('r', 'a'), ('a', 'n')]. A key is a tuple of two neighbouring tokens."
        )
    likely = "Each token goes with the one directly to its right: `a` is in two pairs."
    expect_equal(got, {("r", "a"): 1, ("a", "n"): 1}, "the word `r a n`, seen once", likely)
    expect_equal(_counts(candidate, {}), {}, "no words")
    alone = "It has no pair; pairs never reach from one word into the next."
    expect_equal(_counts(candidate, {("a",): 5}), {}, "a word of one token", alone)


def count_weights(candidate) -> None:
    for words, right, what, likely in (
        (
            {("r", "a", "n"): 5}, {("r", "a"): 5, ("a", "n"): 5}, "the word `r a n`, seen 5 times",
            "Each pair in a word counts as often as the word does: add the count, not 1.",
        ),
        (
            {tuple("anan"): 1}, {("a", "n"): 2, ("n", "a"): 1}, "the word `a n a n`, seen once",
            "A pair that stands twice in a word counts twice: add to what is there already.",
        ),
        (
            {("a", "a", "a"): 10}, {("a", "a"): 20}, "the word `a a a`, seen 10 times",
            "It has two pairs of neighbours, and they share the middle `a`.",
        ),
        (
            {("a", "b"): 2, ("b", "a"): 3, ("a", "b", "c"): 4},
            {("a", "b"): 6, ("b", "a"): 3, ("b", "c"): 4},
            "`a b` twice, `b a` 3 times, `a b c` 4 times",
            "The order in a pair matters, and counts of different words add up.",
        ),
    ):  # fmt: skip
        expect_equal(_counts(candidate, words), right, what, likely)


def count_many(candidate) -> None:
    draw = random.Random(2)
    for _ in range(50):
        words = {
            tuple(draw.choices("abc", k=draw.randrange(1, 7))): draw.randrange(1, 9)
            for _ in range(draw.randrange(1, 6))
        }
        written_out = ["".join(word) for word, count in words.items() for _ in range(count)]
        right = {
            (a, b): sum(word[i : i + 2] == a + b for word in written_out for i in range(len(word)))
            for a, b in itertools.product("abc", repeat=2)
        }
        right = {pair: count for pair, count in right.items() if count}
        expect_equal(_counts(candidate, words), right, short(words))


def encode_nothing(candidate) -> None:
    merges = [(("a", "b"), "ab")]
    for tokens, learnt in ((["b", "a"], merges), (["a"], merges), ([], merges), (["a", "b"], [])):
        what = f"`{' '.join(tokens) or '(nothing)'}` with the merge{' `a b`' if learnt else 's []'}"
        got = call(candidate, tokens, learnt)
        expect_type(got, list, what)
        expect_equal(got, tokens, what, "No merge applies there.")
    likely = "`merge_pair` changes nothing, it returns a new list: do you keep that?"
    expect_equal(call(candidate, ["a", "b"], merges), ["ab"], "`a b` with the merge `a b`", likely)


def encode_order(candidate) -> None:
    merges = [(("b", "c"), "bc"), (("a", "b"), "ab"), (("ab", "c"), "abc")]
    four = [(("a", "b"), 1), ((1, 1), 2), ((2, 2), 3)]
    for letters, learnt, right, what, likely in (
        (
            "abc", merges, ["a", "bc"], "`a b c` with the merges `b c`, `a b`, `ab c`",
            "`b c` was learnt first, so it is merged first, although `a b` stands further left "
            "and `abc` is longer. Among the pairs that are there, take the one learnt earliest.",
        ),
        (
            "bcabc", merges, ["bc", "a", "bc"], "`b c a b c` with the same merges",
            "A merge applies wherever its pair stands.",
        ),
        (
            "ab", merges, ["ab"], "`a b` with the same merges",
            "`b c` is not there and is passed over; a later merge may still apply.",
        ),
        (
            "abababab", four, [3], "`a b` four times; merges `a b` to 1, `1 1` to 2, `2 2` to 3",
            "What a merge makes can be merged again: go on until no learnt pair is left.",
        ),
        (
            "aaa", [(("a", "a"), "aa")], ["aa", "a"], "`a a a` with the merge `a a`",
            "Left to right, no token used twice: `merge_pair` does that.",
        ),
    ):  # fmt: skip
        expect_equal(call(candidate, list(letters), learnt), right, what, likely)


@cache
def _vocabulary() -> tuple[bpe.Tokenizer, tokenizers.Tokenizer]:
    """A small trained vocabulary, and the library's model of it as ground truth."""
    text = "rain on the trains, training in the rain; a terrain drained again, naïve ½ m², "
    tokenizer = bpe.Tokenizer.train([text, "the banana band banned bananas and an ananas"], 340)
    return tokenizer, tokenizer.to_library()


def encode_whole(candidate) -> None:
    tokenizer, library = _vocabulary()
    text = "trainers in the rain restrained a banana anan thethe Terrainanas, naïveté ½ m² 😀"
    for pre_token in bpe.pre_tokenise(text):
        got = call(candidate, bpe.to_ids(pre_token), tokenizer.merges)
        what = f"the bytes of {pre_token!r}, with {len(tokenizer.merges)} merges learnt from a text"
        expect_equal(got, library.encode(pre_token).ids, what)
