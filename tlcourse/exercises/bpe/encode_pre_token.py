"""Lesson 01: encode a pre-token with the merges that were learnt."""

from functools import cache
from itertools import pairwise

from tlcourse import bpe
from tlcourse.bpe import merge_pair
from tlcourse.exercises.task import Exercise, case

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


def letters(word, merges, hint):
    return case("", list(word), merges, hint=hint)


@cache
def vocabulary():
    """A small trained vocabulary, and the library's model of it as ground truth."""
    text = "rain on the trains, training in the rain; a terrain drained again, naïve ½ m², "
    tokenizer = bpe.Tokenizer.train([text, "the banana band banned bananas and an ananas"], 340)
    return tokenizer, tokenizer.to_library()


THREE = learnt("b c", "a b", "ab c")
EARLIEST = (
    "`b c` was learnt first, so it is merged first, although `a b` is further left and `abc` is "
    "longer. Among the pairs that are there, take the one learnt earliest."
)
LONGEST = "Not the longest token: take the one learnt earliest."
task.stage(
    "nothing to merge, one merge",
    letters("ba", learnt("a b"), "No merge applies there."),
    letters("a", learnt("a b"), "A single token has no neighbour, so no merge applies."),
    letters("ab", learnt("a b"), "It applies: is every merge in the list used?"),
)
task.stage(
    "the earliest merge first",
    letters("abc", THREE, EARLIEST),
    letters("ab", THREE, "`b c` is not there; a later merge may still apply."),
    letters("abc", learnt("a b", "ab c"), "What a merge has made may be merged again."),
    letters("abcd", learnt("a b", "c d", "ab c"), LONGEST),
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


def one_round(tokens, merges):
    known = [pair for pair, _ in merges if pair in pairwise(tokens)]
    return merge_pair(tokens, known[0], dict(merges)[known[0]]) if known else list(tokens)


task.mistakes(
    (
        "`merge_pair` changes nothing, it returns a new list: do you keep that?",
        drops_what_merge_pair_returns,
    ),
    (
        "The other way round: take the one learnt earliest.",
        lambda tokens, merges: encode_pre_token(tokens, merges[::-1]),
    ),
    ("One merge is not enough: go on until no learnt pair is left.", one_round),
)
