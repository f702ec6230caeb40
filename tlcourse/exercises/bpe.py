"""The exercises of lesson 01: count pairs, merge a pair, encode with learnt merges."""

import itertools
import random
from collections import Counter
from collections.abc import Mapping
from functools import cache

import tokenizers

from tlcourse import bpe
from tlcourse.exercises.expect import Wrong, expect_equal, expect_type, short
from tlcourse.exercises.expect import expect_unchanged as call
from tlcourse.exercises.machinery import Exercise, Stage


def _merge_nothing(candidate) -> None:
    tokens = ["t", "r", "a", "i", "n"]
    got = call(candidate, tokens, ("x", "y"), "xy")
    expect_type(got, list, "`t r a i n` with pair `(x, y)`")
    lost = "Nothing is to be merged there; does your loop lose the last token, which has no right "
    expect_equal(got, tokens, "`t r a i n` with pair `(x, y)`", lost + "neighbour?")
    expect_equal(call(candidate, [], ("x", "y"), "xy"), [], "an empty list")
    got = call(candidate, tokens, ("a", "i"), "ai")
    if got == ["t", "r", "ai", "i", "n"]:
        raise Wrong(
            "`t r a i n` with pair `(a, i)` kept the `i` that went into `ai`. Does your loop skip "
            "the second half of a pair that it has just merged?"
        )
    expect_equal(got, ["t", "r", "ai", "n"], "`t r a i n` with pair `(a, i)`")
    got = call(candidate, tokens, ("a", "i"), "X")
    what = "`t r a i n` with pair `(a, i)` and new token `X`"
    expect_equal(got, ["t", "r", "X", "n"], what, "Put in `new_token`, whatever it looks like.")


def _merge_once(candidate) -> None:
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


def _merge_many(candidate) -> None:
    draw = random.Random(1)
    for _ in range(200):
        text, pair = "".join(draw.choices("abc", k=draw.randrange(12))), draw.choices("abc", k=2)
        right = list(text.replace("".join(pair), "X"))  # Python replaces left to right, too
        got = call(candidate, list(text), tuple(pair), "X")
        expect_equal(got, right, f"`{' '.join(text)}` with pair `({', '.join(pair)})`")
    got = call(candidate, [7, 300, 12, 7, 300], (7, 300), 301)
    expect_equal(got, [301, 12, 301], "numbers: `7 300 12 7 300` with pair `(7, 300)`")


def count_pairs(words):
    """How often each pair of neighbours stands in `words`, a dict from token tuples to counts."""
    pairs = Counter()
    for word, count in words.items():
        for pair in zip(word, word[1:], strict=False):
            pairs[pair] += count
    return pairs


def _counts(candidate, words: dict) -> dict:
    """What the candidate counted, pairs that it gives 0 left out."""
    got = call(candidate, words)
    expect_type(got, Mapping, short(words), "A `Counter` or a `dict`, from pairs to numbers.")
    return {pair: count for pair, count in got.items() if count}


def _count_one(candidate) -> None:
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


def _count_weights(candidate) -> None:
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


def _count_many(candidate) -> None:
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


def encode_piece(tokens, merges):
    """`tokens` of one piece after all `merges`, a list of (pair, new token), earliest first."""
    rank_of = {pair: (rank, new) for rank, (pair, new) in enumerate(merges)}
    while True:
        known = [pair for pair in zip(tokens, tokens[1:], strict=False) if pair in rank_of]
        if not known:
            return list(tokens)
        first = min(known, key=rank_of.get)
        tokens = bpe.merge_pair(tokens, first, rank_of[first][1])


def _encode_nothing(candidate) -> None:
    merges = [(("a", "b"), "ab")]
    for tokens, learnt in ((["b", "a"], merges), (["a"], merges), ([], merges), (["a", "b"], [])):
        what = f"`{' '.join(tokens) or '(nothing)'}` with the merge{' `a b`' if learnt else 's []'}"
        got = call(candidate, tokens, learnt)
        expect_type(got, list, what)
        expect_equal(got, tokens, what, "No merge applies there.")
    likely = "`merge_pair` changes nothing, it returns a new list: do you keep that?"
    expect_equal(call(candidate, ["a", "b"], merges), ["ab"], "`a b` with the merge `a b`", likely)


def _encode_order(candidate) -> None:
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


def _encode_whole(candidate) -> None:
    tokenizer, library = _vocabulary()
    text = "trainers in the rain restrained a banana anan thethe Terrainanas, naïveté ½ m² 😀"
    for piece in bpe.pre_tokenise(text):
        got = call(candidate, bpe.to_ids(piece), tokenizer.merges)
        what = f"the bytes of {piece!r}, with {len(tokenizer.merges)} merges learnt from a text"
        expect_equal(got, library.encode(piece).ids, what)


EXERCISES = (
    Exercise(
        id="bpe.merge_pair",
        title="Merge one pair",
        difficulty=2,
        minutes=10,
        hints=(
            "walk through `tokens` with an index that you move yourself.",
            "where the pair stands, append the new token and move on by two; elsewhere append the "
            "token and move on by one.",
            "`tuple(tokens[i : i + 2]) == tuple(pair)` is true exactly where the pair stands; at "
            "the last token the slice has length one, so nothing can go wrong.",
        ),
        reference=bpe.merge_pair,
        stages=(
            Stage("a new list", _merge_nothing),
            Stage("no token used twice", _merge_once),
            Stage("200 random lists", _merge_many),
        ),
    ),
    Exercise(
        id="bpe.count_pairs",
        title="Count pairs, weighed by the words' counts",
        difficulty=1,
        minutes=8,
        hints=(
            "`zip(word, word[1:])` gives each token with its right neighbour.",
            "a word that was seen 5 times holds each of its pairs 5 times.",
            "start from `pairs = Counter()`, loop over `words.items()`, then over the pairs of the "
            "word, and add the word's count to `pairs[pair]`.",
        ),
        reference=count_pairs,
        stages=(
            Stage("pairs of neighbours", _count_one),
            Stage("weights", _count_weights),
            Stage("50 random sets of words", _count_many),
        ),
    ),
    Exercise(
        id="bpe.encode_piece",
        title="Encode with the merges that were learnt",
        difficulty=3,
        minutes=15,
        hints=(
            "of all the pairs that stand in `tokens` now, which one was learnt first?",
            "a dictionary from each pair to its place in `merges` answers that; `min(..., key=...)`"
            " finds the earliest.",
            "repeat: list the neighbours that are in the dictionary; stop if there is none; else "
            "call `merge_pair` with the earliest.",
        ),
        reference=encode_piece,
        stages=(
            Stage("nothing to merge, one merge", _encode_nothing),
            Stage("the earliest merge first", _encode_order),
            Stage("a trained vocabulary, against the library", _encode_whole),
        ),
    ),
)
