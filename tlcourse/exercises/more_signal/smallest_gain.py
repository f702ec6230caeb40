"""Lesson 06b: the smallest true gain that a study with few draws would usually find."""

import math
import random
import statistics

from scipy import stats

from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying

task = Exercise(
    __name__,
    number="6b.3",
    title="The smallest gain that can be seen",
    difficulty=2,
    importance=3,
    minutes=10,
    hints=(
        "Compute the standard error first: `statistics.stdev(differences)` divided by the root of "
        "their number.",
        "`stats.t.ppf(0.975, n - 1)` is the factor of the 95 % interval; the power's factor is "
        "`stats.t.ppf(power, n - 1)`.",
        "Multiply the sum of both factors by the standard error. The mean is not needed.",
    ),
    imports="import math\nimport statistics\nimport numpy as np\nimport torch\n"
    "from scipy import stats",
    tolerance=1e-4,
)


@task.reference
def smallest_gain(differences, power=0.8):
    """The differences of the draws to the true gain that is found with probability `power`."""
    n = len(differences)
    error = statistics.stdev(differences) / math.sqrt(n)
    return (stats.t.ppf(0.975, n - 1) + stats.t.ppf(power, n - 1)) * error


@task.truth
def by_arrays(differences, power=0.8):
    student = stats.t(len(differences) - 1)
    return float((student.isf(0.025) + student.isf(1 - power)) * stats.sem(differences))


drawn = [random.Random(varying(n)).randrange(-90, 90) / 10 for n in range(6)]
ten = [0.0, 4.0, 1.0, 3.0, 2.0, 5.0, -1.0, 0.5, 2.5, 1.5]

task.stage(
    "by hand",
    case("the differences 1, 2 and 3, a power of 0.8", [1.0, 2.0, 3.0]),
    case(
        "the differences -9, -8 and -7, a power of 0.8",
        [-9.0, -8.0, -7.0],
        hint="Only the spread of the differences counts, not their mean.",
    ),
    hint="The standard deviation is 1, and there are three draws: (4.303 + 1.061) · 1 / √3 = 3.10. "
    "Both factors are Student's t with n - 1 degrees of freedom, at 0.975 and at `power`.",
)
task.stage(
    "more draws, another power",
    case(
        "10 differences (0, 4, 1, 3, …), a power of 0.8",
        ten,
        hint="The standard error is the standard deviation over the root of the number of draws.",
    ),
    case(f"the differences {drawn}, a power of 0.8", drawn),
    case("5 differences (0, 4, 1, 3, 2), a power of 0.9", ten[:5], 0.9),
    hint="`power` is the probability of the second factor.",
)


def varied(quantile=stats.t.ppf, level=0.975, second=lambda power: power):
    """An answer with another distribution, quantile or second factor."""

    def answer(differences, power=0.8):
        n = len(differences)
        factors = [quantile(p, n - 1) for p in (level, second(power))]
        return sum(factors) * statistics.stdev(differences) / math.sqrt(n)

    return answer


task.mistakes(
    (
        "Both factors come from the normal distribution, which is too narrow for so few draws: "
        "take Student's t, `stats.t.ppf`.",
        varied(lambda level, _: stats.norm.ppf(level)),
    ),
    (
        "The first factor is the quantile of 0.95, but an interval of 95 % leaves out 2.5 % on "
        "each side: use 0.975.",
        varied(level=0.95),
    ),
    (
        "This is half the interval, and a true gain of this size would be found only every second "
        "time: add the quantile at `power`.",
        varied(second=lambda power: 0.5),
    ),
    (
        "The second factor is the quantile at 1 - `power`, which is negative: take it at `power`.",
        varied(second=lambda power: 1 - power),
    ),
)
