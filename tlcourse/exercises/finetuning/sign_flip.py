"""Lesson 04: the sign-flip test, compared with the p-value from all flips."""

import itertools

import numpy as np

from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="4.6",
    title="The sign-flip test",
    difficulty=3,
    importance=4,
    minutes=10,
    hints=(
        "The difference of each question is 1, 0 or -1 (or more, with several seeds). The observed "
        "value is their sum. NumPy does not subtract booleans: `np.asarray(wrong_a, dtype=int)`.",
        "`generator.choice([-1, 1], size=(flips, len(differences)))` holds a row of signs for each "
        "flip; `signs @ differences` computes all sums at once.",
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
    order = np.random.default_rng(varying(1)).permutation(len(a))
    return np.array(a)[order], np.array(b)[order]


def different(candidate, *arguments):
    """The number of different p-values in four calls."""
    return len({float(candidate(*arguments)) for _ in range(4)})


task.stage(
    "no difference",
    case("the p-value if a alone is wrong on 2, b alone on 2", *rows(2, 2, 2, 18), 4000, 0),
    hint="Subtract as integers, a - b, which keeps the sign. The observed sum is 0, and every flip "
    "is at least as far from 0 (`>=`), so p is 1.",
    tolerance=0.02,
)
task.stage(
    "a coin's numbers",
    case("the p-value if a alone is wrong on 8, b alone on 3", *rows(8, 3, 4, 11), 4000, 0),
    case(
        "the p-value if a alone is wrong on 3, b alone on 8",
        *(*rows(3, 8, 4, 11), 4000, 0),
        hint="The observed sum is negative here, so take its absolute value, too.",
    ),
    hint="Draw a sign, -1 or 1, for each question and each flip. Compare the absolute values of "
    "both sums with `>=`, so that flips count in both directions.",
)
task.stage(
    "several seeds",
    case(
        "the p-value of 11 questions, each with 0 to 3 wrong seeds",
        *np.random.default_rng(varying(5)).integers(0, 4, (2, 11)),
        4000,
        0,
    ),
    hint="A difference may be larger than 1: keep its size.",
)
task.stage(
    "many questions, one seed",
    case("the p-value if 14 of 500 questions differ", *rows(3, 11, 20, 466), 1000, 0),
    case(
        "whether the p-value is 0, 1/2 or 1 with `flips=1`",
        *(*rows(8, 3, 4, 11), 1, 0),
        expected=True,
        measure=lambda *given: (2 * float(given[0](*given[1:]))).is_integer(),
        hint="Draw as many flips as `flips` says.",
    ),
    case(
        "the number of different p-values in four calls with the same seed",
        *rows(9, 5, 3, 13),
        2000,
        3,
        expected=1,
        measure=different,
        hint="`np.random.default_rng(seed)` makes your own generator.",
    ),
    hint="Questions that both have right, or both wrong, change nothing.",
)


def other(signs=(-1, 1), far=lambda sums, seen: abs(sums) >= abs(seen), size=lambda d: d):
    """The test with one of its parts replaced."""

    def function(wrong_a, wrong_b, flips=10_000, seed=0):
        d = size(np.asarray(wrong_a, dtype=int) - np.asarray(wrong_b, dtype=int))
        drawn = np.random.default_rng(seed).choice(signs, size=(flips, len(d)))
        return float(np.mean(far((drawn * d).sum(axis=1), d.sum())))

    return function


task.mistakes(
    (
        "`^` and `abs` lose the sign, which says who alone is wrong: subtract as integers, a - b.",
        other(size=abs),
    ),
    (
        "A flip that is exactly as far from 0 as the observed sum counts, too: compare with `>=`, "
        "not with `>`.",
        other(far=lambda sums, seen: abs(sums) > abs(seen)),
    ),
    (
        "Only flips on the side of the observed sum are counted: take the absolute value of both "
        "sums.",
        other(far=lambda sums, seen: sums >= seen),
    ),
    (
        "With signs of 0 and 1, questions are left out instead of flipped: draw -1 or 1.",
        other(signs=(0, 1)),
    ),
)
