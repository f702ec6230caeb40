"""Lesson 01: encode a pre-token with the learnt merges."""

import random
from functools import cache
from itertools import pairwise

from tlcourse import bpe
from tlcourse.bpe import merge_pair
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="1.5",
    title="Encode a pre-token",
    difficulty=2,
    importance=4,
    minutes=8,
    hints=(
        "Try it by hand: what happens to `a b c` if `b c` was learnt first and `a b` second?",
        "One loop, `for pair, new_token in merges`, is enough: `merge_pair` does each step, and "
        "does nothing where the pair does not occur.",
        "`merge_pair` returns a new list, so assign it: `tokens = merge_pair(tokens, pair, "
        "new_token)`. After the loop, return `list(tokens)`, which is a new list even if there "
        "are no merges.",
    ),
    imports="from collections import Counter, defaultdict\nfrom itertools import pairwise",
    builds_on=("bpe.merge_pair",),
)


@task.reference
def encode_pre_token(tokens, merges):
    """Applies `merges`, a list of (pair, new token), earliest first, to one pre-token's tokens."""
    for pair, new_token in merges:
        tokens = merge_pair(tokens, pair, new_token)
    return list(tokens)


@task.truth
def one_place_at_a_time(tokens, merges):
    """Merges at the leftmost place of the earliest merge until no place is left."""
    tokens, order = list(tokens), [pair for pair, _ in merges]
    while places := [(order.index(p), i) for i, p in enumerate(pairwise(tokens)) if p in order]:
        rank, i = min(places)
        tokens[i : i + 2] = [merges[rank][1]]
    return tokens


def learnt(*pairs):
    """Returns merges of letters: "a b" becomes ab."""
    return [(tuple(pair.split()), pair.replace(" ", "")) for pair in pairs]


def letters(word, merges, hint):
    return case("", list(word), merges, hint=hint)


@cache
def vocabulary():
    """Returns a small trained tokenizer, and the library's version of it as ground truth."""
    text = "rain on the trains, training in the rain; a terrain drained again, naïve ½ m², "
    tokenizer = bpe.Tokenizer.train([text, "the banana band banned bananas and an ananas"], 340)
    return tokenizer, tokenizer.to_library()


FIVE = learnt("b c", "bc d", "a b", "ab c", "a bcd")
task.stage(
    "nothing to merge, one merge",
    letters("a", learnt("a b"), "A single token has no neighbour, so no merge applies."),
    letters(
        "ab",
        learnt("a b"),
        "The merge applies: is every merge in the list used?",
    ),
)
task.stage(
    "the earliest merge first",
    letters("abcd", FIVE, "First `b c`, then `bc d`: `a b` no longer occurs, but `a bcd` does."),
    letters(
        "abc",
        FIVE,
        "`b c` was learnt first, so it is merged first. Among the pairs that occur, take the one "
        "learnt earliest.",
    ),
    letters("ab", FIVE, "`b c` does not occur here, but a later merge may still apply."),
    letters("abc", learnt("a b", "ab c"), "A merged token may be merged again."),
    letters(
        "abcd",
        learnt("a b", "c d", "ab c"),
        "Do not take the longest token: take the merge learnt earliest.",
    ),
)


@task.stage("a trained vocabulary, against the library")
def against_the_library(candidate):
    tokenizer, library = vocabulary()
    text = "trainers in the rain restrained a banana anan thethe Terrainanas, naïveté ½ m² 😀 "
    text += "".join(random.Random(varying(0)).choices(["rain", "an", "t", "ed", " "], k=30))
    for pre_token in bpe.pre_tokenise(text):
        what = f"the bytes of {pre_token!r}, with {len(tokenizer.merges)} merges from a text"
        ids, right = bpe.to_ids(pre_token), library.encode(pre_token).ids
        task.compare(candidate, what, ids, tokenizer.merges, expected=right)


def from_the_left(tokens, merges):
    known = dict(merges)
    while pairs := [pair for pair in pairwise(tokens) if pair in known]:
        tokens = merge_pair(tokens, pairs[0], known[pairs[0]])
    return list(tokens)


def one_merge(tokens, merges):
    known = [merge for merge in merges if merge[0] in pairwise(tokens)]
    return merge_pair(tokens, *known[0]) if known else list(tokens)


task.mistakes(
    (
        "`merge_pair` changes nothing and returns a new list, which this code does not keep: write "
        "`tokens = merge_pair(…)`.",
        lambda tokens, merges: list(tokens),
    ),
    (
        "This code applies the merge that was learnt last first: go through `merges` from the "
        "beginning.",
        lambda tokens, merges: encode_pre_token(tokens, merges[::-1]),
    ),
    (
        "This code merges the pair that is furthest left: go through `merges`, not through the "
        "tokens.",
        from_the_left,
    ),
    ("This code stops after one merge: go on with the rest of `merges`.", one_merge),
)
