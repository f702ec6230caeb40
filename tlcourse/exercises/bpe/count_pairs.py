"""Lesson 01: count neighbouring pairs, weighted by the counts of the words."""

import random
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

from tlcourse.exercises.expect import expect_type, expect_unchanged, short
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying


def counted(candidate, words):
    """Returns the counts without pairs whose count is 0."""
    got = expect_unchanged(candidate, words)
    if not isinstance(got, Mapping):
        expect_type(got, dict, short(words), "A `Counter` is a dictionary, too.")
    return {pair: count for pair, count in got.items() if count}


task = Exercise(
    __name__,
    number="1.1",
    title="Count the pairs",
    difficulty=1,
    importance=4,
    minutes=8,
    hints=(
        "How many pairs does a word of four tokens have, and with which token does each begin?",
        "`zip(word, word[1:])` gives each token with its right neighbour. A word that occurs 5 "
        "times contributes each of its pairs 5 times.",
        "Start from `pairs = Counter()`, loop over `words.items()`, then over the pairs of the "
        "word, and add the word's count to `pairs[pair]`.",
    ),
    imports="from collections import Counter, defaultdict\nfrom itertools import pairwise",
    measure=counted,
)


@task.reference
def count_pairs(words):
    """Returns how often each pair occurs in `words`, a dict from token tuples to counts."""
    pairs = Counter()
    for word, count in words.items():
        for pair in zip(word, word[1:], strict=False):
            pairs[pair] += count
    return pairs


@task.truth
def by_writing_out(words):
    """Repeats each word as often as it occurs, instead of using weights."""
    return dict(Counter(pair for word in Counter(words).elements() for pair in pairwise(word)))


draw = random.Random(varying(2))
random_words = [
    {tuple(draw.choices("abc", k=draw.randrange(1, 7))): draw.randrange(1, 9) for _ in range(size)}
    for size in draw.choices(range(1, 6), k=50)
]
task.stage(
    "pairs of neighbours",
    case(
        "the word `r a n`, which occurs once",
        {("r", "a", "n"): 1},
        hint="Each token forms a pair with the one directly to its right, so `a` is in two pairs.",
    ),
    case("a word of one token", {("a",): 5}),
    hint="It has no pair, because pairs never reach from one word into the next.",
)
WEIGHTS = (
    ({("r", "a", "n"): 5}, "Each pair counts as often as its word does: add the count, not 1."),
    ({tuple("anan"): 1}, "A pair that occurs twice in a word counts twice."),
    ({("a", "a", "a"): 10}, "It has two pairs of neighbours, which share the middle `a`."),
    (
        {("a", "b"): 2, ("b", "a"): 3, ("a", "b", "c"): 4},
        "The order in a pair matters, and counts of different words add up.",
    ),
    ({("r", "ai", "n"): 6}, "A token may be longer than a letter: do not join the tokens."),
    ({(0, 7, 0): 2}, "A token may be the number 0, which an `if` takes for False."),
)
task.stage("weights", *(case("", words, hint=hint) for words, hint in WEIGHTS))
task.stage("50 random sets of words", *(case("", words) for words in random_words))


def once_a_word(words):
    pairs = Counter()
    for word, count in words.items():
        pairs.update(dict.fromkeys(pairwise(word), count))
    return pairs


def overwrites(words):
    return {
        pair: count for word in words for pair, count in count_pairs({word: words[word]}).items()
    }


task.mistakes(
    (
        "A key is a tuple of two neighbouring tokens, such as ('r', 'a').",
        lambda words: {"".join(pair): count for pair, count in count_pairs(words).items()},
    ),
    (
        "This code counts a pair once per word, because a set or a dictionary drops repetitions: "
        "go through all neighbours, and add the word's count each time.",
        once_a_word,
    ),
    (
        "A later word overwrites the count of an earlier one here: add to it with `+=`.",
        overwrites,
    ),
)
