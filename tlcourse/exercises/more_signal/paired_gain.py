"""Lesson 06: the mean of paired differences with Student's interval."""

import math

import numpy as np
from scipy import stats

from tlcourse.exercises.expect import expect_equal, expect_unchanged, short
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying


def gain(candidate, *lists):
    """The first of the candidate's three numbers."""
    got = expect_unchanged(candidate, *lists)
    why = "Return three numbers: (gain, low, high)."
    expect_equal(np.shape(got), (3,), "the shape of what your function returns", why)
    return got[0]


task = Exercise(
    __name__,
    number="6.2",
    title="The paired gain and its interval",
    difficulty=2,
    importance=5,
    minutes=10,
    hints=(
        "Compute one list first: by how much the baseline's error exceeds the method's in each "
        "sample. Everything else follows from this list.",
        "The half-width is t times the standard error: `gains.std(ddof=1) / "
        "math.sqrt(len(gains))`, where `gains = np.subtract(baseline, errors)`.",
        "`stats.t.ppf(0.975, len(gains) - 1)` is t, because 2.5 % are left out at either end.",
    ),
    imports="import math\nimport statistics\nimport numpy as np\nfrom scipy import stats",
    tolerance=1e-6,
)


@task.reference
def paired_gain(errors, baseline):
    """The mean of baseline minus errors, and its 95 % interval: (gain, low, high)."""
    gains = np.subtract(baseline, errors)
    mean, n = gains.mean(), len(gains)
    half = stats.t.ppf(0.975, n - 1) * gains.std(ddof=1) / math.sqrt(n)
    return mean, mean - half, mean + half


@task.truth
def by_test(errors, baseline):
    low, high = stats.ttest_rel(baseline, errors).confidence_interval(0.95)
    return [float(np.mean(baseline) - np.mean(errors)), float(low), float(high)]


def pairs(errors, baseline):
    """A case of these two lists."""
    what = f"(gain, low, high) of errors {short(errors, 60)} and baseline {short(baseline, 60)}"
    return case(what, errors, baseline)


draw = np.random.default_rng(varying(0))
levels = [draw.normal(30, 10, count) for count in range(2, 22)]

task.stage(
    "the gain",
    case(
        "the gain of errors [28.0, 31.0, 25.0] and baseline [30.0, 34.0, 29.0]",
        *([28.0, 31.0, 25.0], [30.0, 34.0, 29.0]),
        expected=3.0,
    ),
    measure=gain,
    hint="A gain is baseline minus errors. The errors are lower by 2, 3 and 4 points, so the mean "
    "gain is 3.",
)
task.stage(
    "the interval of the differences",
    pairs([20.0, 40.0, 30.0, 25.0], [22.0, 43.0, 31.0, 27.0]),
    hint="Half the width is t · s / √n: Student's t at 0.975 with n - 1 degrees of freedom, the "
    "standard deviation s of the *differences* (with `ddof=1`), and the number n of pairs.",
)
task.stage(
    "the number of pairs",
    pairs([30.0, 31.5, 29.0] * 4, [33.0, 32.0, 30.5] * 4),
    hint="Student's t has n - 1 degrees of freedom, and the standard deviation is divided by the "
    "root of n.",
)
task.stage(
    "20 random lists",
    *(
        pairs(*((level + draw.normal(by, 2, len(level))).round(2).tolist() for by in (0, 0.5)))
        for level in levels
    ),
    hint="Some of the differences are negative, and they count as losses.",
)


def varied(quantile=stats.t.ppf, level=0.975, ddof=1):
    """An answer with another quantile, or another standard deviation."""

    def answer(errors, baseline):
        gains, n = np.subtract(baseline, errors), len(errors)
        half = quantile(level, n - 1) * gains.std(ddof=ddof) / math.sqrt(n)
        return gains.mean(), gains.mean() - half, gains.mean() + half

    return answer


def unpaired(errors, baseline):
    interval = stats.ttest_ind(baseline, errors).confidence_interval(0.95)
    return np.mean(baseline) - np.mean(errors), *interval


task.mistakes(
    (
        "This is the interval of two independent lists: take the standard deviation of the "
        "*differences*, in which whatever both lists share in a sample cancels.",
        unpaired,
    ),
    (
        "The standard deviation of a sample divides by n - 1, but `np.std` divides by n: use "
        "`ddof=1`.",
        varied(ddof=0),
    ),
    (
        "The factor 1.96 belongs to the normal distribution, but with few pairs Student's t is "
        "larger: use `stats.t.ppf(0.975, n - 1)`.",
        varied(lambda *_: 1.96),
    ),
    (
        "This is the quantile of 0.95, but the 95 % in the middle leave out 2.5 % at either end: "
        "use 0.975.",
        varied(level=0.95),
    ),
)
