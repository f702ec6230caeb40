"""Lesson 06: the mean of paired differences with Student's interval.

The truth is SciPy's paired t-test, which has an interval of its own.
"""

import math
import statistics

import numpy as np
from scipy import stats

from tlcourse.exercises.expect import CheckFailed, expect_unchanged, real_number, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="6.2",
    title="The paired gain and its interval",
    difficulty=2,
    minutes=10,
    hints=(
        "first one list: what the baseline has more than the method, sample by sample. The rest "
        "is about this list alone.",
        "the half-width is t times the standard error: `gains.std(ddof=1) / "
        "math.sqrt(len(gains))`, where `gains = np.subtract(baseline, errors)`.",
        "`stats.t.ppf(0.975, len(gains) - 1)` is t: 2.5 % are left out at either end.",
    ),
    imports="import math\nimport statistics\nimport numpy as np\nfrom scipy import stats",
)


@task.reference
def paired_gain(errors, baseline):
    """The mean of baseline minus errors, and its 95 % interval: (gain, low, high)."""
    gains = np.subtract(baseline, errors)
    mean, n = gains.mean(), len(gains)
    half = stats.t.ppf(0.975, n - 1) * gains.std(ddof=1) / math.sqrt(n)
    return mean, mean - half, mean + half


@task.right
def by_statistics(errors, baseline):
    gains = [other - mine for mine, other in zip(errors, baseline, strict=True)]
    mean, error = statistics.mean(gains), statistics.stdev(gains) / len(gains) ** 0.5
    return mean, *stats.t.interval(0.95, len(gains) - 1, mean, error)


@task.right
def by_hand(errors, baseline):
    n, gains = len(errors), [b - e for e, b in zip(errors, baseline, strict=True)]
    mean = sum(gains) / n
    variance = sum((gain - mean) ** 2 for gain in gains) / (n - 1)
    half = -stats.t.ppf(0.025, n - 1) * math.sqrt(variance / n)
    return [mean, mean - half, mean + half]


def three(candidate, errors, baseline):
    """The three numbers that the candidate gives; raises CheckFailed where these are none."""
    got = expect_unchanged(candidate, errors, baseline)
    values = got.tolist() if hasattr(got, "tolist") else got
    numbers = [real_number(each) for each in values] if isinstance(values, list | tuple) else []
    if len(numbers) != 3 or None in numbers:
        came = "None (is a `return` missing?)" if got is None else short(got)
        raise CheckFailed(f"it gave {came}; expected three numbers: (gain, low, high).")
    return numbers


def gain_alone(candidate, errors, baseline):
    return three(candidate, errors, baseline)[0]


def truth(errors, baseline):
    """Gain, low and high by the paired t-test of SciPy."""
    low, high = stats.ttest_rel(baseline, errors).confidence_interval(0.95)
    return [float(np.mean(np.subtract(baseline, errors))), float(low), float(high)]


def expect(candidate, errors, baseline, likely):
    what = f"errors {short(errors, 60)} and baseline {short(baseline, 60)}: gain, low, high"
    gives = truth(errors, baseline)
    return task.observe(
        candidate, three, errors, baseline, gives=gives, what=what, likely=likely, tolerance=1e-6
    )


@task.stage("the gain")
def gain(candidate):
    what = "errors [28.0, 31.0, 25.0] against a baseline of [30.0, 34.0, 29.0]: the gain"
    task.observe(
        candidate, gain_alone, [28.0, 31.0, 25.0], [30.0, 34.0, 29.0], gives=3.0, what=what,
        likely="2, 3 and 4 points of error fewer: 3 on average.", tolerance=1e-9,
    )  # fmt: skip


@task.stage("the interval of the differences")
def interval(candidate):
    # the samples are 20 points apart, the pairs hardly
    errors, baseline = [20.0, 40.0, 30.0, 25.0], [22.0, 43.0, 31.0, 27.0]
    likely = "What varies here is the difference of a pair, and only that makes the interval wide."
    expect(candidate, errors, baseline, likely)


@task.stage("how many pairs")
def pairs(candidate):
    likely = "t has one degree of freedom less than there are pairs; divide by the root of n."
    expect(candidate, [30.0, 31.0], [33.0, 32.0], likely)
    expect(candidate, [30.0, 31.5, 29.0] * 4, [33.0, 32.0, 30.5] * 4, likely)


@task.stage("20 random lists")
def whole(candidate):
    draw = np.random.default_rng(0)
    for count in range(2, 22):
        level = draw.normal(30, 10, count)
        errors, baseline = (
            (level + draw.normal(shift, 2, count)).tolist() for shift in (0, count % 3 - 1)
        )
        expect(candidate, errors, baseline, "")


def varied(spread=None, quantile=0.975, less=1, root=0.5):
    """A solution with another spread of (errors, baseline, gains), quantile, degrees or root."""

    def candidate(errors, baseline):
        gains = np.subtract(baseline, errors)
        n, sd = len(gains), (spread or (lambda e, b, g: g.std(ddof=1)))(errors, baseline, gains)
        t = stats.norm.ppf(quantile) if less is None else stats.t.ppf(quantile, n - less)
        half = t * sd / n**root
        return gains.mean(), gains.mean() - half, gains.mean() + half

    return candidate


def flipped(errors, baseline):
    return paired_gain(baseline, errors)


def unpaired(errors, baseline, gains):
    return math.sqrt(np.var(errors, ddof=1) + np.var(baseline, ddof=1))


def of_errors(errors, baseline, gains):
    return np.std(errors, ddof=1)


SIGN = "The sign: a gain is what the baseline has *more*, so baseline minus errors."
TOTAL = "This is the sum of the differences; the mean is wanted."
PAIRS = (
    "This is the interval of two independent lists. Take the standard deviation of the "
    "*differences*: what both share in a sample drops out."
)
ONE = "This is the spread of one of the lists; take that of the differences."
WITHIN = "`ddof=1`: the variance of a sample divides by n - 1."
NO_ROOT = "The spread of a *mean* is wanted: divide the standard deviation by the root of n."
BY_N = "Divide the standard deviation by the root of n, not by n."
NORMAL = "This is 1.96, of the normal distribution. With few pairs Student's t is larger."
ONE_SIDE = "95 % in the middle leave 2.5 % at either end: the quantile of 0.975."
DEGREES = "t has n - 1 degrees of freedom."

SORTED = "The lists were sorted. A pair is one sample: leave the order as it is."
ABSOLUTE = "A loss is no gain: keep the sign of each difference."


def in_order(errors, baseline):
    return paired_gain(sorted(errors), sorted(baseline))


def independent(errors, baseline):
    interval = stats.ttest_ind(baseline, errors).confidence_interval(0.95)
    return np.mean(np.subtract(baseline, errors)), *interval


def typed(errors, baseline):
    gains = np.subtract(baseline, errors)
    half = 1.96 * gains.std(ddof=1) / math.sqrt(len(gains))
    return gains.mean(), gains.mean() - half, gains.mean() + half


def absolute(errors, baseline):
    return paired_gain([0.0] * len(errors), np.abs(np.subtract(baseline, errors)))


task.mistake("the gain", SIGN)(flipped)
task.mistake("how many pairs", SORTED)(in_order)
task.mistake("20 random lists", ABSOLUTE)(absolute)
task.mistake("the interval of the differences", PAIRS)(independent)
task.mistake("the interval of the differences", NORMAL)(typed)
task.mistake("the gain", TOTAL)(lambda e, b: tuple(len(e) * x for x in paired_gain(e, b)))
for says, wrong in (
    (PAIRS, varied(unpaired)),
    (ONE, varied(of_errors)),
    (WITHIN, varied(lambda e, b, g: g.std())),
    (NO_ROOT, varied(root=0)),
    (BY_N, varied(root=1)),
    (NORMAL, varied(less=None)),
    (ONE_SIDE, varied(quantile=0.95)),
    (DEGREES, varied(less=0)),
):
    task.mistake("the interval of the differences", says)(wrong)
