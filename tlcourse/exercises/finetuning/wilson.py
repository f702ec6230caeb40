"""Lesson 04: the Wilson interval. The true ends are found by bisection on the test itself."""

import math

from tlcourse.exercises.expect import CheckFailed, expect_unchanged, real_number, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="4.5",
    title="The Wilson interval",
    difficulty=1,
    minutes=5,
    hints=(
        "three quantities: the share `p = errors / n`, the middle, and the half width. All that "
        "is in the formula is `p`, `n` and `z`.",
        "both the middle and the half width are divided by `1 + z**2 / n`.",
        "under the root are `p * (1 - p) / n` and `z**2 / (4 * n**2)`, and z times the root is "
        "the half width before the division.",
    ),
    imports="import math\n\nimport numpy as np\nimport torch",
)


@task.reference
def wilson(errors, n, z=1.96):
    """(low, high): the error rates that go well with `errors` wrong answers of `n`."""
    p, shrink = errors / n, 1 + z**2 / n
    middle = (p + z**2 / (2 * n)) / shrink
    half = z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / shrink
    return middle - half, middle + half


@task.right
def by_counts(errors, n, z=1.96):
    right, total = n - errors, n + z * z
    root = z * (errors * right / n + z * z / 4) ** 0.5
    return [(errors + z * z / 2 - root) / total, (errors + z * z / 2 + root) / total]


@task.right
def by_roots(errors, n, z=1.96):
    a, b, c = n + z**2, -(2 * errors + z**2), errors**2 / n
    root = math.sqrt(max(b * b - 4 * a * c, 0.0))
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def ends(candidate, errors, n, *more):
    """The candidate's two ends as numbers."""
    got = expect_unchanged(candidate, errors, n, *more)
    try:
        found = [real_number(each) for each in got]
    except TypeError:
        found = []
    if len(found) != 2 or None in found:
        came = "None (is a `return` missing?)" if got is None else short(got)
        raise CheckFailed(f"{errors} of {n} gave {came}; expected two numbers, low and high.")
    if found[0] > found[1]:
        raise CheckFailed(f"{errors} of {n} gave {found[0]:.4f}, {found[1]:.4f}; low comes first.")
    return found


def truth(errors, n, z=1.96):
    """The rates from which the count is exactly z standard deviations away, by bisection."""

    def end(inside, outside):
        for _ in range(80):
            rate = (inside + outside) / 2
            if abs(errors / n - rate) <= z * math.sqrt(rate * (1 - rate) / n):
                inside = rate
            else:
                outside = rate
        return inside

    p = errors / n
    return [end(p, 0.0) if p > 0 else 0.0, end(p, 1.0) if p < 1 else 1.0]


def expect_ends(candidate, errors, n, *more, likely):
    said = f" with z = {more[0]}" if more else ""
    task.observe(
        candidate, ends, errors, n, *more, gives=truth(errors, n, *more), tolerance=1e-4,
        what=f"{errors} of {n}{said}: low and high", likely=likely,
    )  # fmt: skip


@task.stage("a share in the middle")
def middle(candidate):
    likely = "Compare each term with the formula, and round nothing."
    expect_ends(candidate, 50, 100, likely=likely)


@task.stage("few errors")
def few(candidate):
    likely = "Near 0 the interval is not symmetric around the share."
    for errors, n in ((18, 500), (1, 20)):
        expect_ends(candidate, errors, n, likely=likely)


@task.stage("no error, all errors, another z")
def borders(candidate):
    likely = "No error in 100 questions does not prove an error rate of 0."
    for errors, n in ((0, 100), (100, 100)):
        expect_ends(candidate, errors, n, likely=likely)
    expect_ends(candidate, 18, 500, 1.0, likely="`z` is handed in.")


@task.mistake(
    "a share in the middle",
    "That is p ± z · sqrt(p (1 − p) / n), which is too narrow near 0. Wilson's has more terms.",
)
def by_the_normal(errors, n, z=1.96):
    p = errors / n
    half = z * math.sqrt(p * (1 - p) / n)
    return p - half, p + half


@task.mistake("a share in the middle", "The half width must be divided by 1 + z² / n, too.")
def middle_alone_divided(errors, n, z=1.96):
    p, shrink = errors / n, 1 + z**2 / n
    half = z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return (p + z**2 / (2 * n)) / shrink - half, (p + z**2 / (2 * n)) / shrink + half


@task.mistake("a share in the middle", "low comes first.")
def high_first(errors, n, z=1.96):
    return wilson(errors, n, z)[::-1]


@task.mistake("few errors", "The middle is not the share itself: it is drawn towards one half.")
def around_the_share(errors, n, z=1.96):
    low, high = wilson(errors, n, z)
    return errors / n - (high - low) / 2, errors / n + (high - low) / 2


@task.mistake("a share in the middle", "These are percent; fractions are asked for.")
def in_percent(errors, n, z=1.96):
    return tuple(100 * end for end in wilson(errors, n, z))


@task.mistake("no error, all errors, another z", "It is 1.96 whatever `z` is.")
def fixed_z(errors, n, z=1.96):
    return wilson(errors, n)
