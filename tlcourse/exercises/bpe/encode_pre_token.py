"""Lesson 01: encode a pre-token with the merges that were learnt."""

from functools import cache
from itertools import pairwise

from tlcourse import bpe
from tlcourse.bpe import merge_pair
from tlcourse.exercises.expect import expect_type, expect_unchanged
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="1.5",
    title="Encode with the merges that were learnt",
    difficulty=3,
    minutes=15,
    hints=(
        "try it by hand: what becomes of `a b c`, if `b c` was learnt first and `a b` second?",
        "of all the pairs that stand in `tokens` now, which one was learnt first? A dictionary "
        "from each pair to its place in `merges` answers that.",
        "repeat: list the neighbours that are in the dictionary; stop if there is none; else call "
        "`merge_pair` with the earliest, which `min(..., key=...)` finds.",
    ),
    imports="from collections import Counter, defaultdict\nfrom itertools import pairwise",
    builds_on=("bpe.merge_pair",),
)


@task.reference
def encode_pre_token(tokens, merges):
    """`tokens` of one pre-token after all `merges`, a list of (pair, new token), earliest first."""
    rank_of = {pair: (rank, new) for rank, (pair, new) in enumerate(merges)}
    while True:
        known = [pair for pair in zip(tokens, tokens[1:], strict=False) if pair in rank_of]
        if not known:
            return list(tokens)
        first = min(known, key=rank_of.get)
        tokens = merge_pair(tokens, first, rank_of[first][1])


@task.right
def one_merge_after_the_other(tokens, merges):
    for pair, new_token in merges:
        tokens = merge_pair(tokens, pair, new_token)
    return list(tokens)


@task.right
def one_place_at_a_time(tokens, merges):
    tokens, order = list(tokens), [pair for pair, _ in merges]
    while True:
        pairs = zip(tokens, tokens[1:], strict=False)
        places = [(order.index(pair), i) for i, pair in enumerate(pairs) if pair in order]
        if not places:
            return tokens
        rank, i = min(places)
        tokens[i : i + 2] = [merges[rank][1]]


def unmerged(candidate, tokens, merges):
    """Whether all tokens are as they were."""
    return expect_unchanged(candidate, tokens, merges) == tokens


@task.stage("nothing to merge, one merge")
def nothing_and_one(candidate):
    merges = [(("a", "b"), "ab")]
    for tokens, learnt in ((["b", "a"], merges), (["a"], merges), ([], merges), (["a", "b"], [])):
        what = f"`{' '.join(tokens) or '(nothing)'}` with the merge{' `a b`' if learnt else 's []'}"
        expect_type(expect_unchanged(candidate, list(tokens), list(learnt)), list, what)
        likely = "No merge applies there."
        task.probe(candidate, tokens, learnt, gives=tokens, what=what, likely=likely)
    two, what = [*merges, (("c", "d"), "cd")], "`a b c d` with `a b`, `c d`: whether it stays so"
    task.observe(candidate, unmerged, list("abcd"), two, gives=False, what=what)
    what, likely = "`a b` with the merge `a b`", "It applies: is every merge in the list used?"
    task.probe(candidate, ["a", "b"], merges, gives=["ab"], what=what, likely=likely)


LONGEST = "Not the longest token: take the one learnt earliest."


@task.stage("the earliest merge first")
def earliest(candidate):
    merges = [(("b", "c"), "bc"), (("a", "b"), "ab"), (("ab", "c"), "abc")]
    four = [(("a", "b"), 1), ((1, 1), 2), ((2, 2), 3)]
    long = [(("a", "b"), "ab"), (("c", "d"), "cd"), (("ab", "c"), "abc")]
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
        ("abc", long[::2], ["abc"], "`a b c` with the merges `a b`, `ab c`", LONGEST),
        ("abcd", long, ["ab", "cd"], "`a b c d` with the merges `a b`, `c d`, `ab c`", LONGEST),
    ):  # fmt: skip
        task.probe(candidate, list(letters), learnt, gives=right, what=what, likely=likely)


@cache
def vocabulary():
    """A small trained vocabulary, and the library's model of it as ground truth."""
    text = "rain on the trains, training in the rain; a terrain drained again, naïve ½ m², "
    tokenizer = bpe.Tokenizer.train([text, "the banana band banned bananas and an ananas"], 340)
    return tokenizer, tokenizer.to_library()


@task.stage("a trained vocabulary, against the library")
def against_the_library(candidate):
    tokenizer, library = vocabulary()
    text = "trainers in the rain restrained a banana anan thethe Terrainanas, naïveté ½ m² 😀"
    for pre_token in bpe.pre_tokenise(text):
        ids, merges = bpe.to_ids(pre_token), tokenizer.merges
        what = f"the bytes of {pre_token!r}, with {len(merges)} merges learnt from a text"
        task.probe(candidate, ids, merges, gives=library.encode(pre_token).ids, what=what)


@task.mistake("nothing to merge, one merge", "your function changed argument 1")
def mutates(tokens, merges):
    tokens[:] = encode_pre_token(tokens, merges)
    return tokens


@task.mistake("nothing to merge, one merge", "your function changed argument 2")
def pops_merges(tokens, merges):
    while merges:
        tokens = merge_pair(tokens, *merges.pop(0))
    return tokens


@task.mistake("nothing to merge, one merge", "expected a list")
def gives_a_tuple(tokens, merges):
    return tuple(encode_pre_token(tokens, merges))


@task.mistake(
    "nothing to merge, one merge",
    "`merge_pair` changes nothing, it returns a new list: do you keep that?",
)
def drops_what_merge_pair_returns(tokens, merges):
    for pair, new_token in merges:
        merge_pair(tokens, pair, new_token)
    return tokens


@task.mistake("the earliest merge first", "Not the leftmost pair: take the one learnt earliest.")
def leftmost_first(tokens, merges):
    tokens, new, i = list(tokens), dict(merges), 0
    while i < len(tokens) - 1:
        pair = tuple(tokens[i : i + 2])
        if pair in new:
            tokens[i : i + 2], i = [new[pair]], 0
        else:
            i += 1
    return tokens


@task.mistake("the earliest merge first", LONGEST)
def longest_first(tokens, merges):
    longest = sorted(merges, key=lambda merge: len(str(merge[1])), reverse=True)
    return one_merge_after_the_other(tokens, longest)


@task.mistake("the earliest merge first", "The other way round: take the one learnt earliest.")
def latest_first(tokens, merges):
    return one_merge_after_the_other(tokens, merges[::-1])


@task.mistake("the earliest merge first", "One is not enough: go on until no learnt pair is left.")
def one_round(tokens, merges):
    known = [p for p, _ in merges if p in zip(tokens, tokens[1:], strict=False)]
    return merge_pair(tokens, known[0], dict(merges)[known[0]]) if known else list(tokens)


@task.mistake(
    "the earliest merge first",
    "A pair that is not there is passed over; a later merge may still apply.",
)
def stops_at_an_absent_pair(tokens, merges):
    for pair, new_token in merges:
        if pair not in pairwise(tokens):
            break
        tokens = merge_pair(tokens, pair, new_token)
    return list(tokens)
