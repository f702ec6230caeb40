"""Lesson 03: the curve of the learning rate. The true one is counted out in exact fractions."""

import math
import random
from fractions import Fraction

from tlcourse.exercises.expect import CheckFailed, agree, expect_unchanged, real_number, short
from tlcourse.exercises.task import Exercise

task = Exercise(
    __name__,
    number="3.3",
    title="Warm-up, stable, decay",
    difficulty=2,
    minutes=10,
    hints=(
        "three parts, each a straight line. In the example of ten steps, which step is the first "
        "and which the last of each part?",
        "while it rises, step 0 has one part of `warmup`, step 1 two parts. While it falls, count "
        "the steps that are left, this one included: `steps - step`.",
        "`start = max(warmup, round(steps * (1 - decay)))` is the first step of the decay, and "
        "the decay has `steps - start` steps. Ask for `step < warmup` first and for "
        "`step < start` next, and nothing is divided by 0.",
    ),
    imports="import math\nimport torch",
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


@task.right
def by_lists(step, steps, warmup, decay):
    falling = min(steps - round(steps * (1 - decay)), steps - warmup)
    up = [(k + 1) / warmup for k in range(warmup)]
    down = [1 - k / falling for k in range(falling)]
    return (up + [1.0] * (steps - warmup - falling) + down)[step]


@task.right
def by_minimum(step, steps, warmup, decay):
    start = max(warmup, round(steps * (1 - decay)))
    return min(1, (step + 1) / max(1, warmup), (steps - step) / max(1, steps - start))


def factor_at(candidate, step, steps, warmup, decay):
    """The candidate's factor of one step, a float."""
    got = expect_unchanged(candidate, step, steps, warmup, decay)
    factor = real_number(got)
    if factor is None:
        came = "None (is a `return` missing?)" if got is None else short(got)
        raise CheckFailed(f"step {step} of {steps} gave {came}; expected one number, its factor.")
    return factor


def curve(candidate, steps, warmup, decay):
    """The candidate's factors of all steps."""
    return [factor_at(candidate, step, steps, warmup, decay) for step in range(steps)]


def expect_curve(candidate, setting, parts, note="", **likely):
    """Raises CheckFailed unless all steps of `setting` (steps, warmup, decay) have the right factor.

    `parts` are the numbers of steps that rise, stay at 1 and fall. `likely` is said if the first
    wrong step is one of that part ("rising", "stable" or "falling") and no mistake is known.
    """
    (steps, warmup, decay), (up, stable, down) = setting, parts
    right = [k / up for k in range(1, up + 1)] + [1.0] * stable
    right += [float(Fraction(k, down)) for k in range(down, 0, -1)]
    got, close = curve(candidate, *setting), 5e-6
    if agree(got, right, close):
        task.observe(candidate, curve, *setting, gives=right, what="it, again,", tolerance=close)
        return
    step = next(k for k in range(steps) if not agree(got[k], right[k], close))
    part, general = part_of(step, *parts)
    told = task.diagnose(curve, setting, got, close, likely.get(part, general))
    said = f"gave {got[step]:.4g} at step {step}; expected {right[step]:.4g}."
    if steps <= 10:
        came, due = (", ".join(f"{factor:.3g}" for factor in each) for each in (got, right))
        said = f"gave {came}; expected {due}."
    raise CheckFailed(f"steps={steps}, warmup={warmup}, decay={decay:g}{note} {said} {told}")


def part_of(step, up, stable, down):
    """In which part `step` is, and what is true there."""
    if step < up:
        return "rising", f"Step {step} is in the warm-up and has {step + 1} of {up} parts."
    if step < up + stable:
        return "stable", f"Step {step} is after the warm-up and before the decay: it has 1."
    left = up + stable + down - step
    return "falling", (
        f"The decay begins at step {up + stable} and has {down} steps: step {step} is one of the "
        f"last {left} and has {left} of {down} parts."
    )


@task.stage("a share of the learning rate")
def share(candidate):
    for step in (0, 5, 9):
        factor = factor_at(candidate, step, 10, 2, 0.4)
        if not 0 <= factor <= 1:
            raise CheckFailed(
                f"step {step} of 10, warmup=2, decay=0.4 gave {factor:.4g}; expected a number "
                "from 0 to 1. The highest learning rate itself is 1."
            )


@task.stage("the warm-up alone")
def warmup_alone(candidate):
    likely = "With decay=0 nothing falls, and after the warm-up every step has 1."
    expect_curve(candidate, (8, 4, 0.0), (4, 4, 0), stable=likely)
    likely = "Without a warm-up (or with one of a single step) the first step has 1 already."
    expect_curve(candidate, (3, 0, 0.0), (0, 3, 0), stable=likely)
    expect_curve(candidate, (3, 1, 0.0), (1, 2, 0), rising=likely)
    likely = "The whole run is warm-up here, and its last step has 1."
    expect_curve(candidate, (5, 5, 0.0), (5, 0, 0), rising=likely)


@task.stage("the decay alone")
def decay_alone(candidate):
    likely = "Four steps of ten fall: with 4, 3, 2 and 1 parts of four."
    expect_curve(candidate, (10, 0, 0.4), (0, 6, 4), stable=likely, falling=likely)
    for decay, start, told in ((0.33, 7, "6.7"), (0.37, 6, "6.3"), (0.9, 1, "0.9999999999999998")):
        note = f" (the decay begins at step {told}, so {start})"
        expect_curve(candidate, (10, 0, decay), (0, start, 10 - start), note)


@task.stage("where they meet")
def meeting(candidate):
    both = "During the warm-up nothing falls yet, even if the decay's share reaches so far."
    likely = (
        "With decay=1 the decay begins when the warm-up is over, at step `warmup`, which still has "
        "1, and has all steps that are left; the last has one part, not 0."
    )
    expect_curve(candidate, (10, 4, 1.0), (4, 0, 6), rising=both, falling=likely)
    likely = (
        "Without a warm-up and with decay=1 the first step is the decay's own and has 1, the "
        "second has 0.9 already: `warmup` is 0 here, not 1."
    )
    expect_curve(candidate, (10, 0, 1.0), (0, 0, 10), falling=likely)
    likely = "The stable part is what the other two leave, here steps 8 and 9."
    expect_curve(candidate, (20, 8, 0.5), (8, 2, 10), rising=both, stable=likely)
    likely = "The decay would begin at step 2, in the midst of the warm-up: it has to wait."
    expect_curve(candidate, (10, 5, 0.8), (5, 0, 5), rising=likely, falling=likely)


@task.stage("20 runs")
def runs(candidate):
    draw = random.Random(4)
    for _ in range(20):
        steps = draw.randrange(1, 70)
        warmup = draw.randrange(0, steps // draw.choice([1, 2, 8]) + 1)
        percent = draw.choice([p for p in range(101) if steps * p % 100 != 50])  # no tie
        down = min(round(Fraction(steps * percent, 100)), steps - warmup)
        parts = (warmup, steps - warmup - down, down)
        expect_curve(candidate, (steps, warmup, percent / 100), parts)


def falls(fall, begins=lambda steps, warmup, decay: max(warmup, round(steps * (1 - decay)))):
    """A candidate that warms up rightly; from `start` on, its decay is `fall(step, steps, start)`.

    `begins(steps, warmup, decay)` is its `start`.
    """

    def function(step, steps, warmup, decay):
        start = begins(steps, warmup, decay)
        if step < max(warmup, start) or not decay:
            return schedule(step, steps, warmup, 0.0)
        return fall(step, steps, start)

    return function


def line(step, steps, start):
    """The right way down from `start` on."""
    return (steps - step) / (steps - start)


def rises(rise):
    """A candidate that is wrong where there is a warm-up alone: `rise(step, warmup)`."""

    def function(step, steps, warmup, decay):
        wrong = warmup > 1 and not decay
        return rise(step, warmup) if wrong else schedule(step, steps, warmup, decay)

    return function


ZERO = "Step 0 gets 0 and teaches nothing. Steps count from 0: step 0 is the first of four"
for says, wrong in (
    (f"{ZERO} and has 1/4.", rises(lambda k, up: min(1, k / up))),
    (f"{ZERO}, not a start before them: it has 1/4.", rises(lambda k, up: min(1, k / (up - 1)))),
    ("Step 3 is the fourth of four and has 1.", rises(lambda k, up: min(1, (k + 1) / (up + 1)))),
    ("Step 4 is past the warm-up, which has steps 0 to 3.",
     rises(lambda k, up: (k + 1) / up if k <= up else 1)),
    ("After the warm-up it stays at 1.", rises(lambda k, up: (k + 1) / up)),
    ("It does not rise: the first 4 steps are the warm-up.", rises(lambda k, up: 1)),
    ("The warm-up rises; this one falls.", rises(lambda k, up: (up - k) / up if k < up else 1)),
):  # fmt: skip
    task.mistake("the warm-up alone", says)(wrong)

ZERO = "The last step gets 0 and teaches nothing: it is the step *after* it that would have 0"
ROUND = "Round to the nearest whole step, do not"
for says, wrong in (
    (f"{ZERO}, so each part is 1/4 where four fall.",
     falls(lambda k, n, at: (n - 1 - k) / max(1, n - 1 - at))),
    (f"{ZERO}, and step 6, the first of the four, has 1.",
     falls(lambda k, steps, start: (steps - 1 - k) / (steps - start))),
    ("The first step of the decay still has 1.", falls(lambda k, n, at: (n - k) / (n - at + 1))),
    ("All is one step late: steps count from 0.",
     falls(lambda k, steps, start: min(1, line(k - 1, steps, start)))),
    ("This one rises. Count the steps that are left.", falls(lambda k, n, at: (k - at) / (n - at))),
    ("The learning rate jumps where the decay begins: divide by the steps of the decay, here 4, "
     "not by all.",
     falls(lambda k, steps, start: (steps - k) / steps)),
    ("It falls from the beginning. Only the last share of the steps, `decay`, falls.",
     falls(line, lambda steps, up, decay: up)),
    ("It begins at 0.4 of the run; 0.4 is the share of the steps that falls, the last 4.",
     falls(line, lambda steps, up, decay: max(up, round(steps * decay)))),
    ("It never falls.", falls(lambda k, steps, start: 1)),
    (f"{ROUND} cut off: the decay begins at step 6.7, so 7, here.",
     falls(line, lambda steps, up, decay: max(up, int(steps * (1 - decay))))),
    (f"{ROUND} always go up: the decay begins at step 6.3, so 6, here.",
     falls(line, lambda steps, up, decay: max(up, math.ceil(steps * (1 - decay))))),
    ("Divide by whole steps: the decay begins at step 6.7, so 7, and the last stretch has steps - "
     "start = 3 of them, not steps * decay = 3.3. It must reach the values shown.",
     falls(line, lambda steps, up, decay: max(up, steps * (1 - decay)))),
):  # fmt: skip
    task.mistake("the decay alone", says)(wrong)

for says, begins in (
    ("The learning rate jumps: the decay has only the steps that the warm-up leaves, here 6.",
     lambda steps, up, decay: round(steps * (1 - decay))),
    ("`decay` is a share of all steps, here 10 of 20, not of those after the warm-up.",
     lambda steps, up, decay: round(steps - decay * (steps - up))),
):  # fmt: skip
    task.mistake("where they meet", says)(falls(line, begins))


@task.mistake("where they meet", "The warm-up is gone: ask for it before you ask for the decay.")
def decay_before_warmup(step, steps, warmup, decay):
    return schedule(step, steps, warmup if step < round(steps * (1 - decay)) else 0, decay)
