"""Lesson 03: the curve of the learning rate."""

import random
from fractions import Fraction

from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.pretraining._common import number
from tlcourse.exercises.task import Exercise, case


def factors(candidate, steps, warmup, decay, only=None):
    """The factors of all steps, or of some `only`."""
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
        "There are three parts, each a straight line. In the example of ten steps, which step is "
        "the first and which the last of each part?",
        "While it rises, step 0 has one part of `warmup`, step 1 two parts. While it falls, count "
        "the steps that are left, this one included: `steps - step`.",
        "`start = max(warmup, round(steps * (1 - decay)))` is the first step of the decay, and "
        "the decay has `steps - start` steps. Ask for `step < warmup` first and for "
        "`step < start` next, and nothing is divided by 0.",
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
    """The factors of the first, sixth and last of ten steps that are not from 0 to 1."""
    return [value for value in factors(candidate, *setting, (0, 5, 9)) if not 0 <= value <= 1]


def run(steps, warmup, decay, hint=""):
    """A case."""
    what = f"the factors of all steps where steps={steps}, warmup={warmup}, decay={decay:g}"
    return case(what, steps, warmup, decay, hint=hint)


def twenty_runs():
    draw = random.Random(4)
    for _ in range(20):
        steps = draw.randrange(1, 70)
        warmup = draw.randrange(0, steps // draw.choice([1, 2, 8]) + 1)
        percent = draw.choice([p for p in range(101) if steps * p % 100 != 50])  # no tie
        yield run(steps, warmup, percent / 100)


task.stage(
    "a share of the learning rate",
    case(
        "those of the factors of steps 0, 5 and 9 of 10 that are not from 0 to 1, where warmup=2, "
        "decay=0.4",
        *(10, 2, 0.4),
        expected=[],
    ),
    measure=outside,
    hint="The highest learning rate itself is 1, and each factor is a share of it.",
)
task.stage(
    "the warm-up alone",
    run(
        *(8, 4, 0.0),
        "Step k of the warm-up has k + 1 of 4 parts, so steps 0 to 3 have 1/4, 2/4, 3/4 and 1. "
        "With decay=0 nothing falls, and after the warm-up every step has 1.",
    ),
    run(3, 0, 0.0),
    hint="Without a warm-up the first step has 1 already.",
)
task.stage(
    "the decay alone",
    run(10, 0, 0.4, "Four steps of ten fall: steps 6 to 9 have 4, 3, 2 and 1 parts of four."),
    *(
        run(
            *(10, 0, decay),
            f"Round to the nearest whole step. The decay begins at step {start}, so {rounded}, and "
            f"divides by the {10 - rounded} steps that are left.",
        )
        for decay, start, rounded in ((0.33, 6.7, 7), (0.37, 6.3, 6))
    ),
)
task.stage(
    "where they meet",
    run(
        *(10, 4, 1.0),
        "During the warm-up nothing falls yet. With decay=1 the decay begins when the warm-up is "
        "over, at step `warmup`, which still has 1; it has all steps that are left, here 6, and "
        "the last of them has one part, not 0.",
    ),
    run(10, 0, 1.0, "`warmup` is 0 here, not 1: the second step has 0.9 already."),
    run(20, 8, 0.5, "The stable part is what the other two leave, here steps 8 and 9."),
    run(
        *(10, 5, 0.8),
        "The decay would begin at step 2, in the midst of the warm-up, so it has to wait.",
    ),
)
task.stage(
    "20 runs",
    *twenty_runs(),
    hint="The decay begins at step `max(warmup, round(steps * (1 - decay)))`.",
)


def falls(fall):
    """An answer that warms up rightly; its decay is `fall(step, steps, start)`."""

    def answer(step, steps, warmup, decay):
        start = max(warmup, round(steps * (1 - decay)))
        return schedule(step, steps, warmup, 0) if step < start else fall(step, steps, start)

    return answer


task.mistakes(
    (
        "Step 0 gets 0 and teaches nothing. Steps count from 0, so step 0 is the first of four and "
        "has 1/4.",
        lambda step, steps, warmup, decay: (
            step / warmup if step < warmup else schedule(step, steps, warmup, decay)
        ),
    ),
    (
        "The last step gets 0 and teaches nothing: it is the step *after* it that would have 0.",
        falls(lambda step, steps, start: (steps - 1 - step) / max(1, steps - 1 - start)),
    ),
    (
        "The decay begins at 0.4 of the run; 0.4 is the share of the steps that falls, the last 4.",
        lambda step, steps, warmup, decay: schedule(step, steps, warmup, decay and 1 - decay),
    ),
)
