"""Lesson 04b: the error that the best of n trials has on average."""

import itertools
import random

from tlcourse.exercises.task import Exercise, case

task = Exercise(
    __name__,
    number="4b.3",
    title="The expected best of n trials",
    difficulty=3,
    importance=2,
    minutes=15,
    hints=(
        "Sort the errors. The best of n draws is at least as bad as the third of them exactly when "
        "none of the n draws was one of the first two. How probable is that?",
        "With N errors, one draw is none of the first k with probability (N - k) / N, and n draws "
        "with its n-th power. The best is exactly the error at place k if none of the first k was "
        "drawn, but not all n draws lie behind it.",
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


draw = random.Random(3)

task.stage(
    "one trial",
    case("errors of 30, 10 and 26, n = 1", [30.0, 10.0, 26.0], 1),
    hint="With one trial nothing is chosen, so the answer is the mean of the errors.",
)
task.stage(
    "two trials",
    case("errors of 30, 12 and 20, n = 2", [30.0, 12.0, 20.0], 2),
    hint="There are nine equally likely ways to draw two of them: 30 30, 30 12, 30 20, 12 30, and "
    "so on.",
)
task.stage(
    "equal errors",
    case("three errors of 12, and 20 and 16, n = 2", [12.0, 20.0, 12.0, 16.0, 12.0], 2),
    case("a single error of 9, n = 3", [9.0], 3, hint="A single error is always the best."),
    hint="Errors may be equal; each of them can be drawn.",
)
task.stage(
    "every way of drawing, counted",
    *(
        case(
            f"{count} errors, n = {n}, compared with all {count**n:,} ways",
            [draw.randint(0, 400) / 10 for _ in range(count)],
            n,
        )
        for count, n in ((5, 3), (3, 7), (7, 2))
    ),
    hint="Write down the ways to draw two of three errors, and how often each error is the best.",
)
task.stage(
    "many trials",
    case("errors of 30, 10 and 26, n = 400", [30.0, 10.0, 26.0], 400, expected=10.0),
    hint="With very many draws the best is the smallest of all. Use the formula: nobody counts "
    "3 ** 400 ways.",
)


def without_replacement(errors, n):
    bests = [min(way) for way in itertools.combinations(errors, min(n, len(errors)))]
    return sum(bests) / len(bests)


def weights_in_order(errors, n):
    weight = [(k / len(errors)) ** n for k in range(len(errors), -1, -1)]
    return sum(e * (weight[k] - weight[k + 1]) for k, e in enumerate(errors))


task.mistakes(
    (
        "No error was drawn twice here. Each trial is a new draw, *with* replacement: it may give "
        "the same error again.",
        without_replacement,
    ),
    (
        "This is the expected *largest*. The best error is the smallest: turn the order round.",
        lambda errors, n: -expected_best([-each for each in errors], n),
    ),
    ("The weights fit sorted errors: sort them first.", weights_in_order),
    (
        "Equal errors were counted once. Each of them can be drawn, so a frequent error is more "
        "probable.",
        lambda errors, n: expected_best(set(errors), n),
    ),
)
