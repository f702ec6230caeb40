"""Lesson 01: encode a pre-token with the merges that were learnt."""

from functools import cache
from itertools import pairwise

from tlcourse import bpe
from tlcourse.bpe import merge_pair
from tlcourse.exercises.expect import expect_type, expect_unchanged
from tlcourse.exercises.task import Exercise, case


def encoded(candidate, tokens, merges):
    """The tokens that are left, in a list."""
    got = expect_unchanged(candidate, tokens, merges)
    expect_type(got, list, "the tokens that are left")
    return got


task = Exercise(
    __name__,
    number="1.5",
    title="Encode with the merges that were learnt",
    difficulty=2,
    importance=4,
    minutes=8,
    hints=(
        "Try it by hand: what becomes of `a b c`, if `b c` was learnt first and `a b` second?",
        "One loop, `for pair, new_token in merges`, is enough: `merge_pair` does each step, and "
        "does nothing where the pair does not occur.",
        "`merge_pair` returns a new list: keep it, `tokens = merge_pair(tokens, pair, new_token)`. "
        "After the loop return `list(tokens)`, which is a list of your own even without merges.",
    ),
    imports="from collections import Counter, defaultdict\nfrom itertools import pairwise",
    builds_on=("bpe.merge_pair",),
    measure=encoded,
)


@task.reference
def encode_pre_token(tokens, merges):
    """`tokens` of one pre-token after all `merges`, a list of (pair, new token), earliest first."""
    for pair, new_token in merges:
        tokens = merge_pair(tokens, pair, new_token)
    return list(tokens)


@task.truth
def one_place_at_a_time(tokens, merges):
    """The leftmost place of the earliest merge, again and again."""
    tokens, order = list(tokens), [pair for pair, _ in merges]
    while places := [(order.index(p), i) for i, p in enumerate(pairwise(tokens)) if p in order]:
        rank, i = min(places)
        tokens[i : i + 2] = [merges[rank][1]]
    return tokens


def learnt(*pairs):
    """Merges of letters: "a b" makes ab."""
    return [(tuple(pair.split()), pair.replace(" ", "")) for pair in pairs]


def letters(word, merges, hint=""):
    return case("", list(word), merges, hint=hint)


@cache
def vocabulary():
    """A small trained vocabulary, and the library's model of it as ground truth."""
    text = "rain on the trains, training in the rain; a terrain drained again, naïve ½ m², "
    tokenizer = bpe.Tokenizer.train([text, "the banana band banned bananas and an ananas"], 340)
    return tokenizer, tokenizer.to_library()


THREE = learnt("b c", "a b", "ab c")
LONG = learnt("a b", "c d", "ab c")
NUMBERS = [(("a", "b"), 1), ((1, 1), 2), ((2, 2), 3)]
LONGEST = "Not the longest token: take the one learnt earliest."
EARLIEST = (
    "`b c` was learnt first, so it is merged first, although `a b` is further left and `abc` is "
    "longer. Among the pairs that are there, take the one learnt earliest."
)
task.stage(
    "nothing to merge, one merge",
    *(letters(word, learnt("a b"), "No merge applies there.") for word in ("ba", "a", "")),
    letters("ab", [], "There are no merges."),
    case(
        "whether anything is merged in `a b c d` with `a b`, `c d`",
        list("abcd"),
        learnt("a b", "c d"),
        expected=True,
        measure=lambda candidate, tokens, merges: encoded(candidate, tokens, merges) != tokens,
    ),
    letters("ab", learnt("a b"), "It applies: is every merge in the list used?"),
)
task.stage(
    "the earliest merge first",
    letters("abc", THREE, EARLIEST),
    letters("bcabc", THREE, "A merge applies wherever its pair occurs."),
    letters("ab", THREE, "`b c` is not there; a later merge may still apply."),
    letters("abababab", NUMBERS, "What a merge makes can be merged again."),
    letters("aaa", learnt("a a"), "Left to right, no token used twice: `merge_pair` does that."),
    letters("abc", LONG[::2], LONGEST),
    letters("abcd", LONG, LONGEST),
)


@task.stage("a trained vocabulary, against the library")
def against_the_library(candidate):
    tokenizer, library = vocabulary()
    text = "trainers in the rain restrained a banana anan thethe Terrainanas, naïveté ½ m² 😀"
    for pre_token in bpe.pre_tokenise(text):
        what = f"the bytes of {pre_token!r}, with {len(tokenizer.merges)} merges learnt from a text"
        ids, right = bpe.to_ids(pre_token), library.encode(pre_token).ids
        task.compare(candidate, what, ids, tokenizer.merges, expected=right)


def drops_what_merge_pair_returns(tokens, merges):
    for pair, new_token in merges:
        merge_pair(tokens, pair, new_token)
    return tokens


def leftmost_first(tokens, merges):
    tokens, new, i = list(tokens), dict(merges), 0
    while i < len(tokens) - 1:
        pair = tuple(tokens[i : i + 2])
        if pair in new:
            tokens[i : i + 2], i = [new[pair]], 0
        else:
            i += 1
    return tokens


def one_round(tokens, merges):
    known = [pair for pair, _ in merges if pair in pairwise(tokens)]
    return merge_pair(tokens, known[0], dict(merges)[known[0]]) if known else list(tokens)


def stops_at_an_absent_pair(tokens, merges):
    for pair, new_token in merges:
        if pair not in pairwise(tokens):
            break
        tokens = merge_pair(tokens, pair, new_token)
    return list(tokens)


task.mistakes(
    (
        "`merge_pair` changes nothing, it returns a new list: do you keep that?",
        drops_what_merge_pair_returns,
    ),
    ("Not the leftmost pair: take the one learnt earliest.", leftmost_first),
    (
        "The other way round: take the one learnt earliest.",
        lambda tokens, merges: encode_pre_token(tokens, merges[::-1]),
    ),
    ("One merge is not enough: go on until no learnt pair is left.", one_round),
    (
        "A pair that is not there is passed over; a later merge may still apply.",
        stops_at_an_absent_pair,
    ),
)
