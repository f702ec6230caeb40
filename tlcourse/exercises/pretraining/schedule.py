"""Lesson 03: the curve of the learning rate."""

import random
from fractions import Fraction

from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.pretraining._common import number
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying


def factors(candidate, steps, warmup, decay, only=None):
    """The factors of all steps, or of those in `only`."""
    return [
        number(
            expect_unchanged(candidate, step, steps, warmup, decay),
            f"the factor of step {step} of {steps}",
        )
        for step in only or range(steps)
    ]


task = Exercise(
    __name__,
    number="3.3",
    title="Warm-up, stable, decay",
    difficulty=2,
    importance=3,
    minutes=10,
    hints=(
        "There are three parts, each a straight line. In the example of ten steps, which are the "
        "first and the last step of each part?",
        "During the warm-up, step 0 gets one part of `warmup`, step 1 two parts, and so on. During "
        "the decay, count the remaining steps, including this one: `steps - step`.",
        "`start = max(warmup, round(steps * (1 - decay)))` is the first step of the decay, which "
        "has `steps - start` steps. Test `step < warmup` first and `step < start` next, and you "
        "never divide by 0.",
    ),
    imports="import math\nimport torch",
    measure=factors,
    tolerance=5e-6,
)


@task.reference
def schedule(step, steps, warmup, decay):
    """The share of the highest learning rate at `step` of `steps`, counted from 0."""
    start = max(warmup, round(steps * (1 - decay)))  # the first step of the decay
    if step < warmup:
        return (step + 1) / warmup
    if step < start:
        return 1.0
    return (steps - step) / (steps - start)


@task.truth
def by_counting(steps, warmup, decay):
    exact = steps * Fraction(decay).limit_denominator(100)
    down = min(round(exact), steps - warmup)
    flat = [1.0] * (steps - warmup - down)
    return (
        [k / warmup for k in range(1, warmup + 1)] + flat + [k / down for k in range(down, 0, -1)]
    )


def outside(candidate, *setting):
    """Those factors of the first, sixth and last of ten steps that are not between 0 and 1."""
    return [value for value in factors(candidate, *setting, (0, 5, 9)) if not 0 <= value <= 1]


def run(steps, warmup, decay, hint=""):
    """A case."""
    what = f"the factors of all steps where steps={steps}, warmup={warmup}, decay={decay:g}"
    return case(what, steps, warmup, decay, hint=hint)


task.stage(
    "a share of the learning rate",
    case(
        "the factors of steps 0, 5 and 9 of 10 that are not between 0 and 1, warmup=2, decay=0.4",
        *(10, 2, 0.4),
        expected=[],
    ),
    measure=outside,
    hint="Each factor is a share of the highest learning rate: 1 is that rate itself.",
)
task.stage(
    "the warm-up alone",
    run(
        *(8, 4, 0.0),
        "Step k of the warm-up gets k + 1 of 4 parts, so steps 0 to 3 get 1/4, 2/4, 3/4 and 1. "
        "With decay=0 there is no decay: after the warm-up every step gets 1.",
    ),
    run(3, 0, 0.0),
    hint="Without a warm-up, the first step already gets 1.",
)
task.stage(
    "the decay alone",
    run(
        10, 0, 0.4, "The last 4 of 10 steps are the decay: steps 6 to 9 get 4/4, 3/4, 2/4 and 1/4."
    ),
    *(
        run(
            *(10, 0, decay),
            f"Round {start} to the nearest step: the decay begins at step {rounded} and divides by "
            f"the {10 - rounded} remaining steps.",
        )
        for decay, start, rounded in ((0.33, 6.7, 7), (0.37, 6.3, 6))
    ),
)
task.stage(
    "where they meet",
    run(
        *(10, 4, 1.0),
        "There is no decay during the warm-up. With decay=1 the decay begins right after it, at "
        "step `warmup`, which still gets 1. It takes the 6 remaining steps, and the last of them "
        "gets 1/6, not 0.",
    ),
    run(10, 0, 1.0, "`warmup` is 0 here, not 1: the second step already gets 0.9."),
    run(
        *(10, 5, 0.8),
        "The decay would begin at step 2, during the warm-up, so it begins after the warm-up.",
    ),
)


def drawn():
    """Three runs; with a share in 97ths, no decay begins half-way between two steps."""
    draw = random.Random(varying(0))
    for _ in range(3):
        steps = draw.randrange(10, 97)
        yield run(steps, draw.randrange(steps), draw.randrange(98) / 97)


SHARES = (0.0, 0.2), (0.2, 0.0), (0.3, 0.31), (0.5, 0.9), (1.0, 1.0)  # of warm-up and decay
task.stage(
    "23 runs",
    *(run(n, int(up * n), down) for n in (1, 7, 23, 64) for up, down in SHARES),
    *drawn(),
    hint="The decay begins at step `max(warmup, round(steps * (1 - decay)))`.",
)


def to_zero(step, steps, warmup, decay):
    start = max(warmup, round(steps * (1 - decay)))
    if step < start:
        return schedule(step, steps, warmup, 0)
    return (steps - 1 - step) / max(1, steps - 1 - start)


task.mistakes(
    (
        "Step 0 gets 0 here, so the model learns nothing from it: divide `step + 1` by `warmup`.",
        lambda step, steps, warmup, decay: (
            step / warmup if step < warmup else schedule(step, steps, warmup, decay)
        ),
    ),
    (
        "The last step gets 0 here, so the model learns nothing from it: divide `steps - step` by "
        "`steps - start`, so that only the step after the last would get 0.",
        to_zero,
    ),
    (
        "The decay begins at the share `decay` of the run here, but `decay` is the share of the "
        "steps that belong to it: it begins at `1 - decay`.",
        lambda step, steps, warmup, decay: schedule(step, steps, warmup, decay and 1 - decay),
    ),
)
