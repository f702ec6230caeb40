"""Lesson 04b: the error that the best of n trials has on average."""

import itertools
import random

import numpy as np

from tlcourse.exercises.expect import CheckFailed
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="4b.3",
    title="The expected best of n trials",
    difficulty=3,
    minutes=15,
    hints=(
        "sort the errors. The best of n draws is at least as bad as the third of them exactly when "
        "none of the n draws was one of the first two. How probable is that?",
        "with N errors, one draw is none of the first k with probability (N - k) / N, and n draws "
        "with its n-th power. The best is exactly the error at place k if none of the first k was "
        "drawn, but not all n draws lie behind it.",
        "so the sorted error at place k = 0, 1, … has the weight `((N - k) / N) ** n - "
        "((N - k - 1) / N) ** n`; the answer is the sum of weight times error.",
    ),
    imports="import math\nimport numpy as np\nimport torch",
)


@task.reference
def expected_best(errors, n):
    """The mean, over all ways to draw n of the errors with replacement, of the smallest drawn."""
    N, total = len(errors), 0.0
    for k, error in enumerate(sorted(errors)):
        total += error * (((N - k) / N) ** n - ((N - k - 1) / N) ** n)
    return total


@task.right
def by_arrays(errors, n):
    values = np.sort(np.asarray(errors, dtype=float))
    behind = (np.arange(len(values), -1, -1) / len(values)) ** n
    return values @ (behind[:-1] - behind[1:])


@task.right
def by_steps(errors, n):
    values = sorted(errors)
    best = values[0]
    for k, (one, other) in enumerate(itertools.pairwise(values), start=1):
        best += (other - one) * (1 - k / len(values)) ** n
    return best


@task.right
def by_values(errors, n):
    def above(limit, equal):
        return sum(e >= limit if equal else e > limit for e in errors) / len(errors)

    return sum(v * (above(v, True) ** n - above(v, False) ** n) for v in set(errors))


def by_counting(errors, n):
    """The truth for few errors and draws: every one of the N ** n ways, one after the other."""
    ways = list(itertools.product(errors, repeat=n))
    return sum(map(min, ways)) / len(ways)


def probe(candidate, errors, n, what, likely="", gives=None):
    task.probe(
        candidate, errors, n, gives=by_counting(errors, n) if gives is None else gives,
        what=what, likely=likely, tolerance=1e-6,
    )  # fmt: skip


@task.stage("one trial")
def one_trial(candidate):
    likely = "With one trial nothing is chosen: the answer is the mean of the errors."
    if candidate([30.0, 10.0, 26.0], 1) is None:
        raise CheckFailed("errors of 30, 10 and 26, n = 1 gave None. Is a `return` missing?")
    probe(candidate, [30.0, 10.0, 26.0], 1, "errors of 30, 10 and 26, n = 1", likely)


@task.stage("two trials")
def two_trials(candidate):
    probe(
        candidate, [30.0, 12.0, 20.0], 2, "errors of 30, 12 and 20, n = 2",
        "Nine ways to draw two of them, equally likely: 30 30, 30 12, 30 20, 12 30, and so on.",
    )  # fmt: skip


@task.stage("equal errors")
def equal(candidate):
    probe(candidate, [12.0, 20.0, 12.0, 16.0, 12.0], 2, "three errors of 12, and 20 and 16, n = 2",
          "Errors may be equal; each of them can be drawn.")  # fmt: skip
    probe(candidate, [9.0], 3, "a single error of 9, n = 3", "It is always the best.")


@task.stage("every way of drawing, counted")
def counted(candidate):
    draw = random.Random(3)
    for trials, n in ((5, 3), (4, 5), (3, 7), (7, 2)):
        errors = [draw.randint(0, 400) / 10 for _ in range(trials)]
        probe(candidate, errors, n, f"{trials} errors, n = {n}, against all {trials**n:,} ways")


@task.stage("many trials")
def many(candidate):
    draw = random.Random(4)
    errors = [draw.randint(100, 400) / 10 for _ in range(60)]
    gives = by_steps(errors, 20)
    probe(candidate, errors, 20, "60 errors, n = 20", "Use the formula; nobody counts 60 ** 20.",
          gives=gives)  # fmt: skip
    likely = "With very many draws the best is the smallest of all."
    probe(candidate, [30.0, 10.0, 26.0], 400, "errors of 30, 10 and 26, n = 400", likely, gives=10)


def draws(errors, n, replace, choose=min):
    """A wrong answer that counts other ways of drawing; cut short where there are too many."""
    if not replace and n > len(errors):
        return choose(errors)
    ways = itertools.product(errors, repeat=n) if replace else itertools.combinations(errors, n)
    found = [choose(way) for way in itertools.islice(ways, 50_000)]
    return sum(found) / len(found)


TWO, ONE = "two trials", "one trial"
for stage, says, wrong in (
    (ONE, "This is the smallest of all errors, whatever n. With one trial nothing is chosen.",
     lambda errors, n: min(errors)),
    (ONE, "These are the first n errors. Any of them may be drawn: it is a mean over all draws.",
     lambda errors, n: min(list(errors)[:n])),
    (ONE, "This is the median: with one trial the mean is expected.",
     lambda errors, n: float(np.median(errors))),
    (TWO, "This is the mean of the errors, whatever n: the best of two is better than that.",
     lambda errors, n: sum(errors) / len(errors)),
    (TWO, "No error was drawn twice here. Each trial is a new draw, *with* replacement: it may "
     "give the same error again.", lambda errors, n: draws(errors, n, False)),
    (TWO, "This is the expected *largest*. Of errors the best is the smallest: turn the order "
     "round.", lambda errors, n: -expected_best([-each for each in errors], n)),
    (TWO, "This is the mean of the n smallest. How probable is each of them as the best?",
     lambda errors, n: sum(sorted(errors)[:n]) / min(n, len(errors)) if n > 1
     else sum(errors) / len(errors)),
    (TWO, "The weights fit sorted errors. Sort them first.",
     lambda errors, n: sum(e * (((len(errors) - k) / len(errors)) ** n
                                - ((len(errors) - k - 1) / len(errors)) ** n)
                           for k, e in enumerate(errors))),
    ("equal errors", "Equal errors were counted once. Each of them can be drawn, so a frequent "
     "error is more probable.", lambda errors, n: expected_best(sorted(set(errors)), n)),
):  # fmt: skip
    task.mistake(stage, says)(wrong)
