"""Lesson 04b: the average error of the best of n trials."""

import itertools
import random

from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="4b.3",
    title="The expected best of n trials",
    difficulty=3,
    importance=2,
    minutes=15,
    hints=(
        "Sort the errors. The best of n draws is at least as bad as the third error exactly when "
        "none of the n draws is one of the first two. How probable is that?",
        "With N errors, one draw avoids the first k with probability (N - k) / N, and n draws with "
        "its n-th power. The best is exactly the error at place k if no draw is among the first k, "
        "but not all draws lie behind place k.",
        "So the sorted error at place k = 0, 1, … has the weight `((N - k) / N) ** n - "
        "((N - k - 1) / N) ** n`; the answer is the sum of weight times error.",
    ),
    imports="import math\nimport numpy as np\nimport torch",
    tolerance=1e-6,
)


@task.reference
def expected_best(errors, n):
    """The mean, over all ways to draw n of the errors with replacement, of the smallest drawn."""
    N, total = len(errors), 0.0
    for k, error in enumerate(sorted(errors)):
        total += error * (((N - k) / N) ** n - ((N - k - 1) / N) ** n)
    return total


@task.truth
def by_counting(errors, n):
    ways = list(itertools.product(errors, repeat=n))
    return sum(map(min, ways)) / len(ways)


drawn = [float(each) for each in random.Random(varying(0)).sample(range(1, 60), 5)]

task.stage(
    "one trial",
    case("errors of 30, 10 and 26, n = 1", [30.0, 10.0, 26.0], 1),
    hint="With one trial there is no choice, so the answer is the mean of the errors.",
)
task.stage(
    "two trials",
    case("errors of 30, 12 and 20, n = 2", [30.0, 12.0, 20.0], 2),
    hint="There are nine equally likely ways to draw two of them, with replacement: 30 30, 30 12, "
    "30 20, 12 30, and so on. Average the smaller error of each. A formula by place needs the "
    "errors sorted.",
)
task.stage(
    "equal errors",
    case(f"errors of {drawn}, n = 3", drawn, 3),
    case("three errors of 12, and 20 and 16, n = 2", [12.0, 20.0, 12.0, 16.0, 12.0], 2),
    case("a single error of 9, n = 3", [9.0], 3, hint="A single error is always the best."),
    hint="Equal errors count separately, because each of them can be drawn.",
)
task.stage(
    "many trials",
    case(
        "errors of 30, 10 and 26, n = 5",
        *([30.0, 10.0, 26.0], 5),
        hint="Even with more draws than errors, the smallest error may never be drawn.",
    ),
    case(
        "errors of 1, 2, 3, … 60, n = 20",
        *([*map(float, range(1, 61))], 20),
        expected=sum((k / 60) ** 20 for k in range(1, 61)),
    ),
    case("errors of 30, 10 and 26, n = 400", [30.0, 10.0, 26.0], 400, expected=10.0),
    hint="With very many draws the best is almost surely the smallest error. Use a formula: nobody "
    "can count 60 ** 20 or 3 ** 400 ways.",
)


def without_replacement(errors, n):
    bests = [min(way) for way in itertools.combinations(errors, min(n, len(errors)))]
    return sum(bests) / len(bests)


def not_sorted(errors, n):
    weight = [(k / len(errors)) ** n for k in range(len(errors), -1, -1)]
    return sum(e * (weight[k] - weight[k + 1]) for k, e in enumerate(errors))


task.mistakes(
    (
        "No error is drawn twice here, but each trial is a new draw, *with* replacement: it may "
        "give the same error again.",
        without_replacement,
    ),
    (
        "This is the expected *largest* error. The best is the smallest: reverse the order of the "
        "weights.",
        lambda errors, n: -expected_best([-each for each in errors], n),
    ),
    (
        "The weights of the formula fit sorted errors: go through `sorted(errors)`.",
        not_sorted,
    ),
    (
        "Equal errors are counted once, as in a set. Keep them all, because a frequent error is "
        "drawn more often.",
        lambda errors, n: expected_best(set(errors), n),
    ),
)
