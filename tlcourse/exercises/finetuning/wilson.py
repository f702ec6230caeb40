"""Lesson 04: the Wilson interval, compared with SciPy's."""

import math
import random

from scipy import stats

from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="4.5",
    title="The Wilson interval",
    difficulty=1,
    importance=4,
    minutes=5,
    hints=(
        "Compute three quantities: the share `p = errors / n`, the middle, and the half width. "
        "The formula has only `p`, `n` and `z`.",
        "Both the middle and the half width are divided by `1 + z**2 / n`.",
        "Under the root is the sum of `p * (1 - p) / n` and `z**2 / (4 * n**2)`; z times the root "
        "is the half width before the division.",
    ),
    imports="import math\n\nimport numpy as np\nimport torch",
    tolerance=1e-4,
)


@task.reference
def wilson(errors, n, z=1.96):
    """(low, high): the error rates that are compatible with `errors` wrong answers of `n`."""
    p, shrink = errors / n, 1 + z**2 / n
    middle = (p + z**2 / (2 * n)) / shrink
    half = z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / shrink
    return middle - half, middle + half


@task.truth
def by_library(errors, n, z=1.96):
    level = 2 * stats.norm.cdf(z) - 1
    return [*map(float, stats.binomtest(errors, n).proportion_ci(level, method="wilson"))]


draw = random.Random(varying(0))
n = draw.randrange(100, 1000)
errors = draw.randrange(n)

task.stage(
    "a share in the middle",
    case("the two ends for 50 errors of 100", 50, 100),
    hint="Return two fractions, the low end first, and round nothing. Compare each term with the "
    "formula: both the middle and the half width are divided by 1 + z² / n.",
)
task.stage(
    "few errors",
    case("the two ends for 1 error of 20", 1, 20),
    hint="The middle of the interval is not the share itself, but lies a little closer to 1/2.",
)
task.stage(
    "no error, all errors, another z",
    case(f"the two ends for {errors} errors of {n}", errors, n),
    case("the two ends for 0 errors of 100", 0, 100),
    case("the two ends for 100 errors of 100", 100, 100),
    case("the two ends for 18 errors of 500 with z = 1", 18, 500, 1.0, hint="Use the given `z`."),
    hint="No error in 100 questions does not prove an error rate of 0.",
)


def by_the_normal(errors, n, z=1.96):
    p = errors / n
    half = z * math.sqrt(p * (1 - p) / n)
    return p - half, p + half


def half_not_divided(errors, n, z=1.96):
    low, high = wilson(errors, n, z)
    middle, half = (low + high) / 2, (high - low) / 2 * (1 + z**2 / n)
    return middle - half, middle + half


def around_the_share(errors, n, z=1.96):
    low, high = wilson(errors, n, z)
    return errors / n - (high - low) / 2, errors / n + (high - low) / 2


task.mistakes(
    (
        "This is p ± z · sqrt(p (1 - p) / n), which is too narrow near 0: Wilson's interval has "
        "further terms with z².",
        by_the_normal,
    ),
    (
        "The half width is not divided by 1 + z² / n: divide both the middle and the half width.",
        half_not_divided,
    ),
    (
        "The interval is centred on the share itself: add z² / (2n) to it, and divide the sum by "
        "1 + z² / n.",
        around_the_share,
    ),
)
