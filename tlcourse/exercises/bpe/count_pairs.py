"""Lesson 01: count neighbouring pairs, weighed by the counts of the words."""

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import combinations, pairwise

from tlcourse.exercises.expect import CheckFailed, expect_type, expect_unchanged, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="1.1",
    title="Count pairs, weighed by the words' counts",
    difficulty=1,
    minutes=8,
    hints=(
        "how many pairs has a word of four tokens, and with which token does each begin?",
        "`zip(word, word[1:])` gives each token with its right neighbour; and a word that was seen "
        "5 times holds each of its pairs 5 times.",
        "start from `pairs = Counter()`, loop over `words.items()`, then over the pairs of the "
        "word, and add the word's count to `pairs[pair]`.",
    ),
    imports="from collections import Counter, defaultdict\nfrom itertools import pairwise",
)


@task.reference
def count_pairs(words):
    """How often each pair of neighbours occurs in `words`, a dict from token tuples to counts."""
    pairs = Counter()
    for word, count in words.items():
        for pair in zip(word, word[1:], strict=False):
            pairs[pair] += count
    return pairs


@task.right
def by_expansion(words):
    pairs = defaultdict(int)
    for word, count in words.items():
        for i in range(len(word) - 1):
            pairs[word[i], word[i + 1]] += count
    return pairs


@task.right
def by_elements(words):
    return Counter(pair for word in Counter(words).elements() for pair in pairwise(word))


def counted(candidate, words):
    """What the candidate counted, pairs that it gives 0 left out."""
    got = expect_unchanged(candidate, words)
    if not isinstance(got, Mapping):
        expect_type(got, dict, short(words), "From pairs to numbers; a `Counter` is one, too.")
    if got and not all(isinstance(pair, tuple) and len(pair) == 2 for pair in got):
        raise CheckFailed(
            f"the keys of your result are {short(list(got))}; expected the pairs themselves, such "
            "as ('r', 'a'). A key is a tuple of two neighbouring tokens."
        )
    return {pair: count for pair, count in got.items() if count}


@task.stage("pairs of neighbours")
def neighbours(candidate):
    for words, right, what, likely in (
        (
            {("r", "a", "n"): 1}, {("r", "a"): 1, ("a", "n"): 1}, "the word `r a n`, seen once",
            "Each token goes with the one directly to its right: `a` is in two pairs.",
        ),
        ({}, {}, "no words", ""),
        (
            {("a",): 5}, {}, "a word of one token",
            "It has no pair: pairs never reach from one word into the next.",
        ),
    ):  # fmt: skip
        task.observe(candidate, counted, words, gives=right, what=what, likely=likely)


@task.stage("weights")
def weights(candidate):
    for words, right, what, likely in (
        (
            {("r", "a", "n"): 5}, {("r", "a"): 5, ("a", "n"): 5}, "the word `r a n`, seen 5 times",
            "Each pair in a word counts as often as the word does: add the count, not 1.",
        ),
        (
            {tuple("anan"): 1}, {("a", "n"): 2, ("n", "a"): 1}, "the word `a n a n`, seen once",
            "A pair that occurs twice in a word counts twice: add to what is there already.",
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
        (
            {("r", "ai", "n"): 6}, {("r", "ai"): 6, ("ai", "n"): 6}, "the word `r ai n`, 6 times",
            "A token may be longer than a letter: go by the tokens, and do not join them.",
        ),
        (
            {(0, 7, 0): 2}, {(0, 7): 2, (7, 0): 2}, "the word `0 7 0`, seen twice",
            "A token may be the number 0, which an `if` takes for False.",
        ),
    ):  # fmt: skip
        task.observe(candidate, counted, words, gives=right, what=what, likely=likely)


@task.stage("50 random sets of words")
def many(candidate):
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
        task.observe(candidate, counted, words, gives=right, what=short(words))


@task.mistake("pairs of neighbours", "a list; expected a dict")
def only_a_list(words):
    return list(by_elements(words).items())


@task.mistake("pairs of neighbours", "the keys of your result are ['ra', 'an']")
def joined_keys(words):
    return {"".join(pair): count for pair, count in by_elements(words).items()}


@task.mistake("pairs of neighbours", "Pairs never reach from one word into the next.")
def across_words(words):
    return Counter(pairwise(token for word, n in words.items() for _ in range(n) for token in word))


@task.mistake(
    "weights", "Each pair in a word counts as often as the word does: add the count, not 1."
)
def without_weights(words):
    return Counter(pair for word in words for pair in pairwise(word))


@task.mistake("weights", "A pair that occurs twice in a word counts twice.")
def once_a_word(words):
    pairs = Counter()
    for word, count in words.items():
        for pair in set(pairwise(word)):
            pairs[pair] += count
    return pairs


@task.mistake(
    "weights", "Two pairs of neighbours may share the middle `a`: `.count` skips the second."
)
def without_overlaps(words):
    pairs = Counter()
    for word, count in words.items():
        for a, b in set(pairwise(word)):
            pairs[a, b] += count * "".join(word).count(a + b)
    return pairs


@task.mistake("weights", "Counts of different words add up: is the one before overwritten?")
def overwrites(words):
    return {
        pair: count * list(pairwise(word)).count(pair)
        for word, count in words.items()
        for pair in pairwise(word)
    }


@task.mistake(
    "pairs of neighbours",
    "Each token goes with the one directly to its right, and not with all after it.",
)
def not_only_neighbours(words):
    counts = Counter()
    for word, n in words.items():
        for pair in combinations(word, 2):
            counts[pair] += n
    return counts
