"""Lesson 01: the trainer, which counts and merges until it has enough merges."""

import json
import random

import tokenizers

from tlcourse import bpe
from tlcourse.bpe import merge_pair
from tlcourse.exercises.bpe.count_pairs import count_pairs
from tlcourse.exercises.expect import expect_equal, expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="1.3",
    title="The trainer",
    difficulty=3,
    importance=5,
    minutes=20,
    hints=(
        "One step takes three lines: count, choose, merge. What must have changed when the second "
        "step begins?",
        "Keep a dictionary `age` from each token to a number, which `best_of(pairs, age)` needs. "
        "Number `sorted({token for word in words for token in word})` from 0 on, then each new "
        "token when you make it.",
        "`merge_pair` returns a list, but the keys of a dictionary must be tuples. Build a new "
        "dictionary of words after each merge: `{tuple(merge_pair(word, best, new)): count for "
        "word, count in words.items()}`, where `new = best[0] + best[1]`. Leave the loop when "
        "`count_pairs` finds no pair.",
    ),
    imports="from collections import Counter, defaultdict\nfrom itertools import pairwise",
    builds_on=("bpe.count_pairs", "bpe.merge_pair"),
)


def best_of(pairs, age):
    """Returns the most frequent pair; ties go to the older first, then second token."""
    return min(pairs, key=lambda pair: (-pairs[pair], age[pair[0]], age[pair[1]]))


@task.reference
def train(words, steps):
    """Returns the first `steps` merges, pairs, of `words`, a dict from token tuples to counts."""
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
    """Returns the words of a text in byte symbols, with their counts."""
    symbols = bpe.byte_symbols()
    counts = bpe.count_words([text]).items()
    return {tuple(symbols[byte] for byte in word.encode("utf-8")): n for word, n in counts}


def by_the_library(text, steps):
    """Returns the merges that the `tokenizers` library learns."""
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
ONE = "One step gives one merge, a tuple: `b c` occurs 5 times."
YOUNG = "`bc a` and `d a` occur twice each. The merged token `bc` is younger than any letter."
TEXT = (
    "rain on the trains, training in the rain; a terrain drained again, and the banana band "
    + "banned bananas: an ananas, the naïve ½ m² of it. " * 2
    + "They then thought that."
)
TEXT += " ".join(random.Random(varying(0)).choices(TEXT.split(), k=20))
task.stage(
    "the first merge",
    first_steps(word_counts(abc=2, bc=3), 1, [("b", "c")], ONE),
    first_steps(word_counts(ab=4), 3, [("a", "b")], "No pair is left: stop early."),
)
task.stage(
    "merges build on merges",
    first_steps(CHAIN, 3, MERGES, "Merge the pair in all words before you count again."),
)
task.stage(
    "ties go to the older tokens",
    first_steps(TOY, 1, [("a", "i")], "`r a` and `a i` tie, and `a` is older: call `best_of`."),
    first_steps(word_counts(ax=1, ab=1), 1, [("a", "b")], "Next, the older second token wins."),
    first_steps(word_counts(bc=9, bca=2, da=2), 2, [("b", "c"), ("d", "a")], YOUNG),
)


@task.stage("a text, against the library")
def against_the_library(candidate):
    merges = by_the_library(TEXT, 60)
    got = expect_unchanged(candidate, byte_symbols_of(TEXT), len(merges))
    why = "If both occur equally often, check the rule for ties: is a new token the youngest?"
    for step, (mine, right) in enumerate(zip(got, merges, strict=False), start=1):
        expect_equal(mine, right, f"merge {step} of a text", why)
    expect_equal(len(got), len(merges), "the number of merges")


def chooses(choose):
    """Returns a trainer that merges `choose(pairs, age)` in each step."""

    def train(words, steps):
        age = {token: n for n, token in enumerate(sorted({t for word in words for t in word}))}
        merges = []
        while len(merges) < steps and (pairs := count_pairs(words)):
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
        "This code counts the same words again in every step: replace `words` with the merged "
        "words.",
        lambda words, steps: train(words, 1) * steps,
    ),
    (
        "This code takes the most frequent pair that it meets first, but ties go to the older "
        "tokens: call `best_of(pairs, age)`.",
        chooses(lambda pairs, age: max(pairs, key=pairs.get)),
    ),
    (
        "This code decides ties by the alphabet, but a merged token is younger than every letter: "
        "decide by `age`, as `best_of` does.",
        chooses(lambda pairs, age: min(pairs, key=lambda pair: (-pairs[pair], pair))),
    ),
)
