"""Lesson 04: the sign-flip test. The true p comes from counting all flips."""

import itertools

import numpy as np

from tlcourse.exercises.expect import CheckFailed, expect_unchanged, real_number, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="4.6",
    title="The sign-flip test",
    difficulty=3,
    minutes=10,
    hints=(
        "the difference of each question is 1, 0 or -1 (or more, with several seeds). Its sum is "
        "what was observed. NumPy does not subtract booleans: `np.asarray(wrong_a, dtype=int)`.",
        "`generator.choice([-1, 1], size=(flips, len(differences)))` holds a row of signs for each "
        "flip; `signs @ differences` are all sums at once.",
        "the p-value is the share of flips with `abs(sum) >= abs(observed)`: larger *or equal*, in "
        "both directions.",
    ),
    imports="import random\n\nimport numpy as np\nimport torch",
)


@task.reference
def sign_flip(wrong_a, wrong_b, flips=10_000, seed=0):
    """The share of random flips whose sum is at least as far from 0 as the observed one."""
    differences = np.asarray(wrong_a, dtype=int) - np.asarray(wrong_b, dtype=int)
    generator = np.random.default_rng(seed)
    signs = generator.choice([-1, 1], size=(flips, len(differences)))
    sums = signs @ differences
    return np.mean(abs(sums) >= abs(differences.sum()))


@task.right
def by_loop(wrong_a, wrong_b, flips=10_000, seed=0):
    draw = np.random.default_rng(seed)
    apart = [int(a) - int(b) for a, b in zip(wrong_a, wrong_b, strict=True) if a != b]
    far, at_least = 0, abs(sum(apart))
    for _ in range(flips):
        coins = draw.integers(0, 2, len(apart))
        far += abs(sum(d if coin else -d for d, coin in zip(apart, coins, strict=True))) >= at_least
    return far / flips


@task.right
def exactly(wrong_a, wrong_b, flips=10_000, seed=0):
    shares = {0: 1.0}
    differences = [int(a) - int(b) for a, b in zip(wrong_a, wrong_b, strict=True)]
    for d in differences:
        after = {}
        for total, share in shares.items():
            for flipped in (total + d, total - d):
                after[flipped] = after.get(flipped, 0) + share / 2
        shares = after
    return sum(share for total, share in shares.items() if abs(total) >= abs(sum(differences)))


def rows(only_a, only_b, both, neither):
    """Two arrays, True = wrong, in mixed order."""
    a = [True] * only_a + [False] * only_b + [True] * both + [False] * neither
    b = [False] * only_a + [True] * only_b + [True] * both + [False] * neither
    order = np.random.default_rng(1).permutation(len(a))
    return np.array(a)[order], np.array(b)[order]


def p_of(candidate, wrong_a, wrong_b, *more):
    got = expect_unchanged(candidate, wrong_a, wrong_b, *more)
    p = real_number(got)
    if p is None:
        came = "None (is a `return` missing?)" if got is None else short(got)
        raise CheckFailed(f"expected one number, the p-value; got {came}.")
    if not 0 <= p <= 1:
        raise CheckFailed(f"expected a share from 0 to 1; got {p:g}.")
    return p


def truth(wrong_a, wrong_b):
    """Over all flips of the questions that differ, one after the other."""
    apart = [d for d in (wrong_a.astype(int) - wrong_b.astype(int)).tolist() if d]
    signs = itertools.product((-1, 1), repeat=len(apart))
    sums = [abs(sum(s * d for s, d in zip(each, apart, strict=True))) for each in signs]
    return float(np.mean([each >= abs(sum(apart)) for each in sums]))


def expect_p(candidate, pair, *, what, likely, flips=4000, tolerance=0.04):
    task.observe(
        candidate, p_of, *pair, flips, 0, gives=truth(*pair), tolerance=tolerance,
        what=f"{what}: p", likely=likely,
    )  # fmt: skip


def seeds(candidate):
    """Whether a seed repeats its p."""
    pair = rows(9, 5, 3, 13)
    return len({p_of(candidate, *pair, 2000, 3) for _ in range(4)}) == 1


BOTH = "Flips that are as far on the other side count, too: take the absolute value of both sums."


@task.stage("no difference")
def none(candidate):
    expect_p(
        candidate, rows(2, 2, 2, 18), what="2 wrong by a alone, 2 by b alone, 20 alike",
        likely="Every flip is at least as far from 0 as a sum of 0.", tolerance=0.02,
    )  # fmt: skip


@task.stage("a coin's numbers")
def coins(candidate):
    for only_a, only_b in ((5, 0), (1, 7), (8, 3)):
        expect_p(
            candidate, rows(only_a, only_b, 4, 11),
            what=f"{only_a} wrong by a alone, {only_b} by b alone, 15 alike",
            likely="Draw a sign for each question and each flip; compare absolute sums, with >=.",
        )  # fmt: skip


@task.stage("several seeds")
def several(candidate):
    drawn = np.random.default_rng(5)
    a, b = drawn.integers(0, 4, 11), drawn.integers(0, 4, 11)
    expect_p(
        candidate, (a, b), what="counts of 0 to 3 wrong seeds, 11 questions",
        likely="A question may differ by more than 1: keep the size of each difference.",
    )  # fmt: skip


@task.stage("many questions, one seed")
def many(candidate):
    pair = rows(3, 11, 20, 466)
    expect_p(
        candidate, pair, what="500 questions, 14 of them different",
        likely="Questions that both have right, or both wrong, change nothing.", flips=1000,
    )  # fmt: skip
    task.observe(
        candidate, seeds, gives=True, what="whether a seed gives the same p twice",
        likely="`np.random.default_rng(seed)` makes a generator of your own.",
    )  # fmt: skip


def other(signs=None, far=lambda sums, seen: abs(sums) >= abs(seen), size=lambda d: d):
    """The test with one of its parts done otherwise."""

    def function(wrong_a, wrong_b, flips=10_000, seed=0):
        differences = size(np.asarray(wrong_a, dtype=int) - np.asarray(wrong_b, dtype=int))
        generator = np.random.default_rng(seed)
        shape = flips, len(differences)
        drawn = generator.choice([-1, 1], size=shape) if signs is None else signs(generator, shape)
        return float(np.mean(far(drawn @ differences, differences.sum())))

    return function


def one_sign_for_all(generator, shape):
    return np.repeat(generator.choice([-1, 1], size=(shape[0], 1)), shape[1], axis=1)


def no_seed(wrong_a, wrong_b, flips=10_000, seed=0):
    return sign_flip(wrong_a, wrong_b, flips, np.random.randint(10**6))


MISTAKES = [
    ("no difference", "`^` and `abs` lose the sign: who is wrong alone? Take a - b, as integers.",
     other(size=abs)),
    ("no difference", "Larger *or equal*: a flip that is just as far counts.",
     other(far=lambda sums, seen: abs(sums) > abs(seen))),
    ("no difference", BOTH, other(far=lambda sums, seen: sums >= seen)),
    ("a coin's numbers", "Every flip has the same total: draw a sign of its own for each question.",
     other(signs=one_sign_for_all)),
    ("a coin's numbers", "Signs are -1 and 1. With 0 and 1 questions are left out, not flipped.",
     other(signs=lambda generator, shape: generator.integers(0, 2, shape))),
    ("no difference", "That is the share of flips that are *less* far: p is the other share.",
     other(far=lambda sums, seen: abs(sums) < abs(seen))),
    ("several seeds", "A question may differ by more than 1: keep the size of each difference.",
     other(size=np.sign)),
    ("many questions, one seed", "The same seed gave two p-values: make a generator from it.",
     no_seed),
]  # fmt: skip
for stage, says, wrong in MISTAKES:
    task.mistake(stage, says)(wrong)
