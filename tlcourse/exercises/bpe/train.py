"""Lesson 01: the trainer, which counts and merges until it has enough."""

import json

import tokenizers

from tlcourse import bpe
from tlcourse.bpe import merge_pair
from tlcourse.exercises.bpe.count_pairs import count_pairs
from tlcourse.exercises.expect import expect_equal, expect_unchanged
from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="1.3",
    title="The trainer",
    difficulty=3,
    importance=5,
    minutes=20,
    hints=(
        "One step is three lines: count, choose, merge. What has to be different when the second "
        "step begins?",
        "Keep a dictionary `age` from each token to a number: first "
        "`sorted({token for word in words for token in word})` from 0 on, then each new token when "
        "it is made. `best_of(pairs, age)` needs it.",
        "`merge_pair` returns a list, and the keys of a dictionary must be tuples. So the words "
        "after a merge are a new dictionary: "
        "`{tuple(merge_pair(word, best, new)): count for word, count in words.items()}`, with "
        "`new = best[0] + best[1]`. Leave the loop when `count_pairs` gives nothing.",
    ),
    imports="from collections import Counter, defaultdict\nfrom itertools import pairwise",
    builds_on=("bpe.count_pairs", "bpe.merge_pair"),
)


def best_of(pairs, age):
    """The most frequent pair; of equals the one whose tokens are older, the first token first."""
    return min(pairs, key=lambda pair: (-pairs[pair], age[pair[0]], age[pair[1]]))


@task.reference
def train(words, steps):
    """The first `steps` merges of `words`, a dict from token tuples to counts: a list of pairs."""
    age = {token: n for n, token in enumerate(sorted({t for word in words for t in word}))}
    merges = []
    while len(merges) < steps:
        pairs = count_pairs(words)
        if not pairs:
            break
        best = best_of(pairs, age)
        merges.append(best)
        new = best[0] + best[1]
        age.setdefault(new, len(age))
        words = {tuple(merge_pair(word, best, new)): count for word, count in words.items()}
    return merges


def byte_symbols_of(text):
    """The words of a text in byte symbols, with their counts."""
    symbols = bpe.byte_symbols()
    counts = bpe.count_words([text]).items()
    return {tuple(symbols[byte] for byte in word.encode("utf-8")): n for word, n in counts}


def by_the_library(text, steps):
    """The merges that the `tokenizers` library learns."""
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    library = tokenizers.Tokenizer(tokenizers.models.BPE())
    library.pre_tokenizer = byte_level(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=256 + steps, initial_alphabet=byte_level.alphabet(), show_progress=False
    )
    library.train_from_iterator([text], trainer)
    return [tuple(pair) for pair in json.loads(library.to_str())["model"]["merges"]]


def word_counts(**counts):
    return {tuple(word): count for word, count in counts.items()}


def first_steps(words, steps, merges, hint):
    return case("", words, steps, expected=merges, hint=hint)


TOY = word_counts(rain=6, train=3, drain=2, trail=2)
CHAIN, MERGES = word_counts(abcd=5, abc=3, bcd=1), [("b", "c"), ("a", "bc"), ("abc", "d")]
YOUNG = "`bc a` and `d a` occur twice each; `bc`, made by a merge, is younger than every letter."
TEXT = (
    "rain on the trains, training in the rain; a terrain drained again, and the banana band "
    + "banned bananas: an ananas, the naïve ½ m² of it. " * 2
    + "They then thought that."
)
task.stage(
    "the first merge",
    first_steps(word_counts(abc=2, bc=3), 1, [("b", "c")], "`b c` occurs 5 times."),
    first_steps(word_counts(ab=4), 3, [("a", "b")], "No pair is there to be merged: stop early."),
)
task.stage(
    "merges build on merges",
    first_steps(CHAIN, 3, MERGES, "The second step counts the words that the first left behind."),
)
task.stage(
    "ties go to the older tokens",
    first_steps(TOY, 1, [("a", "i")], "`r a` and `a i` occur 13 times each: `a` comes first."),
    first_steps(word_counts(ax=1, ab=1), 1, [("a", "b")], "Then the older second token wins."),
    first_steps(word_counts(bc=9, bca=2, da=2), 2, [("b", "c"), ("d", "a")], YOUNG),
)


@task.stage("a text, against the library")
def against_the_library(candidate):
    merges = by_the_library(TEXT, 60)
    got = expect_unchanged(candidate, byte_symbols_of(TEXT), len(merges))
    why = "If both occur equally often, look at the rule for ties: is a new token younger than all?"
    for step, (mine, right) in enumerate(zip(got, merges, strict=False), start=1):
        expect_equal(mine, right, f"merge {step} of a text", why)
    expect_equal(len(got), len(merges), "the number of merges")


def chooses(choose, stops=True):
    """A trainer that merges `choose(pairs, age)` in each step."""

    def train(words, steps):
        age = {token: n for n, token in enumerate(sorted({t for word in words for t in word}))}
        merges = []
        while len(merges) < steps and ((pairs := count_pairs(words)) or not stops):
            merges.append(best := choose(pairs, age))
            new = "".join(best)
            age[new] = len(age)
            words = {tuple(merge_pair(word, best, new)): n for word, n in words.items()}
        return merges

    return train


task.mistakes(
    (
        "A merge is the pair of tokens that were merged, such as ('a', 'i').",
        lambda words, steps: ["".join(pair) for pair in train(words, steps)],
    ),
    (
        "Stop early when no pair is left: there is nothing to choose from.",
        chooses(best_of, stops=False),
    ),
    (
        "Is the pair merged in the words before you count again?",
        lambda words, steps: train(words, 1) * steps,
    ),
    (
        "This tie went to the younger token: `best_of` decides by `age`.",
        chooses(lambda pairs, age: max(pairs, key=pairs.get)),
    ),
    (
        "This tie was decided by the alphabet; a token that a merge has made is younger than every "
        "letter.",
        chooses(lambda pairs, age: min(pairs, key=lambda pair: (-pairs[pair], pair))),
    ),
)
