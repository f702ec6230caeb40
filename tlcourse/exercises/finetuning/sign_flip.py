"""Lesson 04: the sign-flip test. The true p comes from counting all flips."""

import itertools

import numpy as np

from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="4.6",
    title="The sign-flip test",
    difficulty=3,
    importance=4,
    minutes=10,
    hints=(
        "The difference of each question is 1, 0 or -1 (or more, with several seeds). Its sum is "
        "what was observed. NumPy does not subtract booleans: `np.asarray(wrong_a, dtype=int)`.",
        "`generator.choice([-1, 1], size=(flips, len(differences)))` holds a row of signs for each "
        "flip; `signs @ differences` are all sums at once.",
        "The p-value is the share of flips with `abs(sum) >= abs(observed)`: larger *or equal*, in "
        "both directions.",
    ),
    imports="import random\n\nimport numpy as np\nimport torch",
    tolerance=0.04,
)


@task.reference
def sign_flip(wrong_a, wrong_b, flips=10_000, seed=0):
    """The share of random flips whose sum is at least as far from 0 as the observed one."""
    differences = np.asarray(wrong_a, dtype=int) - np.asarray(wrong_b, dtype=int)
    generator = np.random.default_rng(seed)
    signs = generator.choice([-1, 1], size=(flips, len(differences)))
    sums = signs @ differences
    return np.mean(abs(sums) >= abs(differences.sum()))


@task.truth
def all_flips(wrong_a, wrong_b, *_):
    apart = [d for d in (wrong_a.astype(int) - wrong_b.astype(int)).tolist() if d]
    flips = itertools.product(*((d, -d) for d in apart))
    return float(np.mean([abs(sum(each)) >= abs(sum(apart)) for each in flips]))


def rows(only_a, only_b, both, neither):
    """Two arrays, True = wrong, in mixed order."""
    a = [True] * only_a + [False] * only_b + [True] * both + [False] * neither
    b = [False] * only_a + [True] * only_b + [True] * both + [False] * neither
    order = np.random.default_rng(1).permutation(len(a))
    return np.array(a)[order], np.array(b)[order]


def different(candidate, *arguments):
    """How many different p-values come in four calls."""
    return len({float(candidate(*arguments)) for _ in range(4)})


task.stage(
    "no difference",
    case("the p-value where 2 are wrong by a alone, 2 by b", *rows(2, 2, 2, 18), 4000, 0),
    hint="The observed sum is 0, and no flip is closer to 0, so p is 1.",
    tolerance=0.02,
)
task.stage(
    "a coin's numbers",
    *(
        case(f"the p-value where {a} are wrong by a alone, {b} by b", *rows(a, b, 4, 11), 4000, 0)
        for a, b in ((1, 7), (8, 3))
    ),
    hint="Draw a sign for each question and each flip, and compare absolute sums with `>=`.",
)
task.stage(
    "several seeds",
    case(
        "the p-value of 11 questions, each with 0 to 3 wrong seeds",
        *np.random.default_rng(5).integers(0, 4, (2, 11)),
        4000,
        0,
    ),
    hint="A question may differ by more than 1: keep the size of each difference.",
)
task.stage(
    "many questions, one seed",
    case("the p-value where 14 of 500 questions differ", *rows(3, 11, 20, 466), 1000, 0),
    case(
        "how many different p-values come in four calls with the same seed",
        *rows(9, 5, 3, 13),
        2000,
        3,
        expected=1,
        measure=different,
        hint="`np.random.default_rng(seed)` makes a generator of your own.",
    ),
    hint="Questions that both have right, or both wrong, change nothing.",
)


def other(signs=(-1, 1), far=lambda sums, seen: abs(sums) >= abs(seen), size=lambda d: d):
    """The test with one of its parts done otherwise."""

    def function(wrong_a, wrong_b, flips=10_000, seed=0):
        d = size(np.asarray(wrong_a, dtype=int) - np.asarray(wrong_b, dtype=int))
        drawn = np.random.default_rng(seed).choice(signs, size=(flips, len(d)))
        return float(np.mean(far((drawn * d).sum(axis=1), d.sum())))

    return function


task.mistakes(
    (
        "`^` and `abs` lose the sign of who is wrong alone. Take a - b, as integers.",
        other(size=abs),
    ),
    (
        "Larger *or equal*: a flip that is just as far from 0 counts.",
        other(far=lambda sums, seen: abs(sums) > abs(seen)),
    ),
    (
        "Flips that are as far on the other side count, too: take the absolute value of both sums.",
        other(far=lambda sums, seen: sums >= seen),
    ),
    ("Signs are -1 and 1. With 0 and 1 questions are left out, not flipped.", other(signs=(0, 1))),
)
