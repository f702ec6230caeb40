"""Lesson 06b: the smallest true gain that a study of so many draws would usually find."""

import math
import statistics
from collections.abc import Callable

import numpy as np
import torch
from scipy import stats

from tlcourse.exercises.expect import CheckFailed, expect_unchanged, real_number, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="6b.3",
    title="The smallest gain that can be seen",
    difficulty=2,
    minutes=10,
    hints=(
        "first the standard error: `statistics.stdev(differences)` over the root of their number.",
        "`stats.t.ppf(0.975, n - 1)` is the factor of the 95 % interval; the power's factor is "
        "`stats.t.ppf(power, n - 1)`.",
        "the sum of both factors times the standard error. The mean is not needed.",
    ),
    imports="import math\nimport statistics\nimport numpy as np\nimport torch\n"
    "from scipy import stats",
)
Differences = list[float]


@task.reference
def smallest_gain(differences, power=0.8):
    """Differences, draw by draw, to the true gain that is found with this probability."""
    n = len(differences)
    error = statistics.stdev(differences) / math.sqrt(n)
    return (stats.t.ppf(0.975, n - 1) + stats.t.ppf(power, n - 1)) * error


@task.right
def by_arrays(differences, power=0.8):
    degrees = len(differences) - 1
    factors = stats.t(degrees).ppf([0.975, power])
    return float(factors.sum() * stats.sem(differences))


@task.right
def by_tensors(differences, power=0.8):
    values = torch.tensor(differences, dtype=torch.float64)
    upper, more = stats.t.isf(0.025, len(values) - 1), -stats.t.ppf(1 - power, len(values) - 1)
    return values.std() / len(values) ** 0.5 * (upper + more)


def gain_of(candidate, differences: Differences, *power: float) -> float:
    """What the candidate gives; raises CheckFailed unless it is a number."""
    got = expect_unchanged(candidate, differences, *power)
    value = real_number(got)
    if value is None:
        missing = " Is a `return` missing?" if got is None else ""
        raise CheckFailed(f"it gave {short(got)}; expected one number, in points.{missing}")
    return value


def expect(candidate, differences: Differences, *power: float, likely: str = "") -> None:
    """Raises CheckFailed unless the candidate gives what the tables of Student's t say."""
    n, asked = len(differences), power[0] if power else 0.8
    spread = math.sqrt(np.var(differences, ddof=1) / n)
    gives = (stats.t.isf(0.025, n - 1) + stats.t.isf(1 - asked, n - 1)) * spread
    said = ", ".join(f"{each:g}" for each in differences[:4]) + ", …" * (n > 4)
    what = f"{n} differences ({said}) and a power of {asked:g}"
    given = (differences, *power)
    task.observe(candidate, gain_of, *given, gives=gives, what=what, likely=likely, tolerance=1e-4)


@task.stage("a number")
def number(candidate):
    gain_of(candidate, [1.0, 2.0, 3.0])


@task.stage("by hand")
def by_hand(candidate):
    likely = "A standard deviation of 1, three draws: (4.303 + 1.061) · 1 / √3 = 3.10."
    expect(candidate, [1.0, 2.0, 3.0], likely=likely)
    likely = "Only the spread of the differences counts, not their mean."
    expect(candidate, [-9.0, -8.0, -7.0], likely=likely)


@task.stage("more draws, another power")
def others(candidate):
    likely = "The standard error falls with the root of the number of draws."
    expect(candidate, [0.0, 4.0, 1.0, 3.0, 2.0, 5.0, -1.0, 0.5, 2.5, 1.5], likely=likely)
    for power in (0.5, 0.9):
        likely = "`power` is the probability of the second factor."
        expect(candidate, [0.0, 4.0, 1.0, 3.0, 2.0], power, likely=likely)


def with_factors(factors: Callable, spread: Callable = statistics.stdev) -> Callable:
    """A gain by factors of (n, power) and by another measure of the spread."""
    return lambda differences, power=0.8: (
        factors(len(differences), power) * spread(differences) / len(differences) ** 0.5
    )


def right_factors(n: int, power: float) -> float:
    return stats.t.ppf(0.975, n - 1) + stats.t.ppf(power, n - 1)


POPULATION = "The spread of a sample divides by n - 1: `statistics.stdev`, or `ddof=1`."
VARIANCE = "This is the variance; its root, the standard deviation, is wanted."
NO_ROOT = "The standard error is missing: divide by the root of the number of draws."
BY_N = "The standard deviation is divided by the *root* of the number of draws."
NORMAL = "With so few draws the normal distribution is too narrow: take Student's t, `stats.t`."
ONE_SIDED = "An interval of 95 % leaves 2.5 % on each side: 0.975."
INTERVAL = "That is half the interval: a true gain as large would be found every second time."
BETA = "The power's factor is the quantile at `power`, not at 1 - `power`, which is negative."
DEGREES = "n draws have n - 1 degrees of freedom."
MEAN = "The mean is not needed: the smallest gain depends on the spread alone."

for says, wrong in (
    (POPULATION, with_factors(right_factors, statistics.pstdev)),
    (NO_ROOT, lambda x, power=0.8: smallest_gain(x, power) * len(x) ** 0.5),
    (BY_N, lambda x, power=0.8: smallest_gain(x, power) / len(x) ** 0.5),
    (NORMAL, with_factors(lambda n, power: stats.norm.ppf(0.975) + stats.norm.ppf(power))),
    (ONE_SIDED, with_factors(lambda n, p: stats.t.ppf(0.95, n - 1) + stats.t.ppf(p, n - 1))),
    (INTERVAL, with_factors(lambda n, power: stats.t.ppf(0.975, n - 1))),
    (BETA, with_factors(lambda n, p: stats.t.ppf(0.975, n - 1) + stats.t.ppf(1 - p, n - 1))),
    (DEGREES, with_factors(lambda n, power: stats.t.ppf(0.975, n) + stats.t.ppf(power, n))),
    (MEAN, lambda x, power=0.8: abs(statistics.mean(x)) + smallest_gain(x, power)),
):
    task.mistake("by hand", says)(wrong)
task.mistake("more draws, another power", VARIANCE)(
    with_factors(right_factors, statistics.variance)
)
task.mistake("more draws, another power", "`power` is not used.")(
    lambda differences, power=0.8: smallest_gain(differences)
)
