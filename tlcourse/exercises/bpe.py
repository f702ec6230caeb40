"""The exercises of lesson 01: count pairs, merge a pair, encode with learnt merges."""

from collections import Counter

from tlcourse import bpe
from tlcourse.exercises import bpe_checks as checks
from tlcourse.exercises.machinery import Exercise, Stage


def count_pairs(words):
    """How often each pair of neighbours stands in `words`, a dict from token tuples to counts."""
    pairs = Counter()
    for word, count in words.items():
        for pair in zip(word, word[1:], strict=False):
            pairs[pair] += count
    return pairs


def encode_pre_token(tokens, merges):
    """`tokens` of one pre-token after all `merges`, a list of (pair, new token), earliest first."""
    rank_of = {pair: (rank, new) for rank, (pair, new) in enumerate(merges)}
    while True:
        known = [pair for pair in zip(tokens, tokens[1:], strict=False) if pair in rank_of]
        if not known:
            return list(tokens)
        first = min(known, key=rank_of.get)
        tokens = bpe.merge_pair(tokens, first, rank_of[first][1])


EXERCISES = (
    Exercise(
        id="bpe.merge_pair",
        title="Merge one pair",
        difficulty=2,
        minutes=10,
        hints=(
            "when a pair has just been merged, at which token do you go on?",
            "walk through `tokens` with an index that you move yourself, not with `for`.",
            "where the pair stands, append the new token and move on by two; elsewhere append the "
            "token and move on by one.",
            "`tuple(tokens[i : i + 2]) == tuple(pair)` is true exactly where the pair stands; at "
            "the last token the slice has length one, so nothing can go wrong.",
        ),
        reference=bpe.merge_pair,
        stages=(
            Stage("a new list", checks.merge_nothing),
            Stage("no token used twice", checks.merge_once),
            Stage("200 random lists", checks.merge_many),
        ),
    ),
    Exercise(
        id="bpe.count_pairs",
        title="Count pairs, weighed by the words' counts",
        difficulty=1,
        minutes=8,
        hints=(
            "how many pairs has a word of four tokens, and with which token does each begin?",
            "`zip(word, word[1:])` gives each token with its right neighbour; and a word that was "
            "seen 5 times holds each of its pairs 5 times.",
            "start from `pairs = Counter()`, loop over `words.items()`, then over the pairs of the "
            "word, and add the word's count to `pairs[pair]`.",
        ),
        reference=count_pairs,
        stages=(
            Stage("pairs of neighbours", checks.count_one),
            Stage("weights", checks.count_weights),
            Stage("50 random sets of words", checks.count_many),
        ),
    ),
    Exercise(
        id="bpe.encode_pre_token",
        title="Encode with the merges that were learnt",
        difficulty=3,
        minutes=15,
        hints=(
            "try it by hand: what becomes of `a b c`, if `b c` was learnt first and `a b` second?",
            "of all the pairs that stand in `tokens` now, which one was learnt first? A dictionary "
            "from each pair to its place in `merges` answers that.",
            "repeat: list the neighbours that are in the dictionary; stop if there is none; else "
            "call `merge_pair` with the earliest, which `min(..., key=...)` finds.",
        ),
        reference=encode_pre_token,
        stages=(
            Stage("nothing to merge, one merge", checks.encode_nothing),
            Stage("the earliest merge first", checks.encode_order),
            Stage("a trained vocabulary, against the library", checks.encode_whole),
        ),
    ),
)
