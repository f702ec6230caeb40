"""Lesson 07: a probe that is right for the wrong reason, and the split that shows it."""

import random
from operator import index

from tlcourse.exercises.expect import CheckFailed, expect_unchanged, short
from tlcourse.exercises.probing._words import (
    SESSION,
    UNSEEDED,
    by_two_seeds,
    in_two_sessions,
    types,
)
from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="7.6",
    title="A probe that is right for the wrong reason",
    difficulty=2,
    importance=3,
    minutes=10,
    hints=(
        "Draw word *types*, not positions in the text.",
        "List the types, shuffle them with `random.Random(seed)`, and take the first "
        "`round(share * len(types))` of them for the test. The list is `sorted(set(words))`, "
        "because a `set` has another order in each session.",
        "Then walk once through `enumerate(words)`: to which of the two lists does each position "
        "belong?",
    ),
    imports="import random\nimport numpy as np\nimport torch",
)


@task.reference
def split_by_word(words, share, seed):
    """(train, test): the positions of words, with no type in both and `share` of types in test."""
    types = sorted(set(words))
    random.Random(seed).shuffle(types)
    held_out = set(types[: round(share * len(types))])
    train = [place for place, word in enumerate(words) if word not in held_out]
    test = [place for place, word in enumerate(words) if word in held_out]
    return train, test


def sides(candidate, words, share, seed):
    """The candidate's (train, test), lists of positions; raises CheckFailed for anything else."""
    got = expect_unchanged(candidate, words, share, seed)
    try:
        train, test = ([index(place) for place in side] for side in got)
    except (TypeError, ValueError):
        raise CheckFailed(
            check="the split",
            yours=short(got),
            expected="two lists of positions, (train, test), which count from 0",
            why="Is a `return` missing?" if got is None else "",
        ) from None
    return train, test


def words_of(candidate, words, share, seed):
    """The different words of train, and those of test."""
    split = sides(candidate, words, share, seed)
    return [{words[place] for place in places} for places in split]


def everywhere(candidate, *setting):
    """All positions of both lists, sorted."""
    return sorted(sum(sides(candidate, *setting), []))


def on_both(candidate, *setting):
    """The first three words that are on both sides."""
    train, test = words_of(candidate, *setting)
    return sorted(train & test)[:3]


def share_of_types(candidate, words, share, seed):
    """The share of types that are in the test."""
    return len(words_of(candidate, words, share, seed)[1]) / len(set(words))


def chance_of_the(candidate, words, share, seeds):
    """The share of seeds with the word "the" in the test."""
    return sum("the" in words_of(candidate, words, share, n)[1] for n in range(seeds)) / seeds


text = ["the", "dog", "sees", "the", "cat", "and", "the", "dog"]
setting = types(200), 0.3

task.stage(
    "every index once",
    case(
        f"`{' '.join(text)}`, share 0.5: the positions in train and test together",
        *(text, 0.5, 0),
        expected=[*range(8)],
    ),
    hint="Each of the 8 positions is in train or in test, and not in both: a type takes all of its "
    "positions to its side, and none is left out.",
    measure=everywhere,
)
task.stage(
    "no word in both parts",
    case(
        "50 types, 6 times each, share 0.8: the first three words that are on both sides",
        *(types(50, 6), 0.8, 2),
        expected=[],
    ),
    hint="Were positions drawn? Then most words are on both sides, and a probe that only remembers "
    "words looks good. Draw types, each with all of its positions.",
    measure=on_both,
)
task.stage(
    "a share of the types",
    case(
        "2,001 types, one of them 4,000 times in the text, share 0.3: the share of types in test",
        *(["the"] * 4000 + types(2000), 0.3, 0),
        expected=0.3,
    ),
    hint="Count types, each once, however frequent it is. `share` is that of the test, which comes "
    "second.",
    measure=share_of_types,
    tolerance=0.05,
)
task.stage(
    "drawn by the seed",
    case(
        "the splits by seed 3 and again by seed 3",
        *(*setting, 3, 3),
        expected="the same",
        hint=UNSEEDED,
    ),
    case("the splits by seed 0 and by seed 1", *setting, 0, 1, expected="different"),
    case(
        "`the` 100 times in the text, 39 other types once, share 0.5: the share of 40 seeds with "
        "`the` in the test",
        *(["the"] * 100 + types(39), 0.5, 40),
        measure=chance_of_the,
        expected=0.5,
        tolerance=0.25,
        hint="Every type has the same chance, however frequent it is: draw from types, each once.",
    ),
    hint="`seed` was not used: another seed has to give another split, and not always the first "
    "words.",
    measure=by_two_seeds(sides),
)
task.stage(
    "in another session",
    case("the splits in two sessions of Python", *setting, 0, expected="the same"),
    hint=SESSION,
    measure=in_two_sessions(sides),
)


def by_positions(words, share, seed):
    places = list(range(len(words)))
    random.Random(seed).shuffle(places)
    border = round(share * len(places))
    return places[border:], places[:border]


task.mistakes(
    (
        "Train and test are swapped: `share` is the share of the test, which comes second.",
        lambda *given: split_by_word(*given)[::-1],
    ),
    (
        "These are words, but the answer has their positions: collect `place` from `for place, "
        "word in enumerate(words)`.",
        lambda words, *more: [
            [words[place] for place in side] for side in split_by_word(words, *more)
        ],
    ),
    (
        "The positions of the text were shuffled, so most words are on both sides: shuffle the "
        "types, `sorted(set(words))`.",
        by_positions,
    ),
)
