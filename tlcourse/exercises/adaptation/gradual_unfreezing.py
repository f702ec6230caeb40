"""Lesson 05: a schedule that unfreezes from the output to the input."""

import random

import numpy as np

from tlcourse.exercises.adaptation._common import a_function
from tlcourse.exercises.expect import expect_unchanged
from tlcourse.exercises.task import Exercise, case
from tlcourse.exercises.variants import varying


def rows(candidate, at, steps, names, shape, share):
    """The candidate's factors at the steps `at`: one row a step, in the order of the names."""
    factors = expect_unchanged(candidate, steps, names, shape, share)
    a_function(factors, "gradual_unfreezing", "the step")
    return [[now.get(name, "missing") for name in names] for now in map(factors, at)]


task = Exercise(
    __name__,
    number="5.4",
    title="Gradual unfreezing",
    difficulty=2,
    importance=3,
    minutes=15,
    hints=(
        "First find the step at which each group begins. The last one begins at step 0, the first "
        "at `share * steps`, and the others at equal distances. How many distances are there?",
        "With `top = len(names) - 1`, the group at index `i` begins at "
        "`round(share * steps * (top - i) / top)`. A single group begins at 0.",
        "Inside, define `def factors(step):`, which builds the dictionary: `shape(step)` for each "
        "group that has begun by `step`, 0.0 for the others. Return `factors` itself.",
    ),
    imports="import math\n\nimport torch",
    measure=rows,
    tolerance=1e-6,
)


@task.reference
def gradual_unfreezing(steps, names, shape, share=0.5):
    """Returns a function of the step, {name: factor}: `shape(step)` for groups that have begun."""
    top = len(names) - 1
    begins = {
        name: round(share * steps * (top - place) / max(1, top)) for place, name in enumerate(names)
    }

    def factors(step):
        return {name: shape(step) if step >= begin else 0.0 for name, begin in begins.items()}

    return factors


@task.truth
def by_linspace(at, steps, names, shape, share):
    begins = np.linspace(0, share * steps, len(names)).round()[::-1]
    return [[shape(step) if step >= begin else 0.0 for begin in begins] for step in at]


def flat(step):
    """A shape of ones."""
    return 1.0


def falling(step):
    """A shape with another factor at each step."""
    return 1 / (1 + step)


THREE = ["embedding", "block 0", "head"]
AT = "the factors at steps {} (a row for each step)"

task.stage(
    "the head first",
    case(f"20 steps, {THREE}, share 0.5: {AT.format('0 and 2')}", [0, 2], 20, THREE, flat, 0.5),
    hint="Only the last group, the head, is trained from step 0 on. The others are in the "
    "dictionary, too, with the factor 0.",
)
task.stage(
    "one more at a time",
    case(
        f"40 steps, {THREE}, share 0.25: {AT.format('4, 5, 9 and 10')}",
        *([4, 5, 9, 10], 40, THREE, flat, 0.25),
    ),
    hint="With share 0.25 the embedding begins after a quarter of the 40 steps, at step 10, and "
    "the block half-way, at step 5. Both are trained from then on.",
)
task.stage(
    "the shape",
    case(
        f"a shape that falls, 1 / (1 + step): {AT.format('0, 7 and 12')}",
        *([0, 7, 12], 20, THREE, falling, 0.5),
    ),
    hint="Every group that has begun has the factor `shape(step)`, whenever it began.",
)
task.stage(
    "any number of groups",
    case(f"a single group, the head: {AT.format('0 and 4')}", [0, 4], 10, ["head"], falling, 0.5),
    hint="It begins at step 0. Is something divided by 0?",
)


def runs():
    """20 random cases; with a share in 97ths, no group begins half-way between two steps."""
    draw = random.Random(varying(2))
    for _ in range(20):
        names = [f"group {i}" for i in range(draw.randrange(2, 9))]
        steps, part = draw.randrange(10, 97), draw.randrange(10, 97)
        what = f"{steps} steps, {len(names)} groups, share {part}/97: the factors at each step"
        yield case(what, range(steps), steps, names, falling, part / 97)


task.stage(
    "20 runs",
    *runs(),
    hint="Group i of n begins at share × steps × (n - 1 - i) / (n - 1), rounded.",
)


def one_step_late(*given):
    factors = gradual_unfreezing(*given)
    return lambda step: factors(step - 1)


def beginning(begin):
    """An answer in which group i of `top + 1` begins at `begin(steps, share, i, top)`, rounded."""

    def candidate(steps, names, shape, share=0.5):
        top = len(names) - 1
        begins = {name: round(begin(steps, share, i, top)) for i, name in enumerate(names)}
        return lambda step: {n: shape(step) * (step >= begin) for n, begin in begins.items()}

    return candidate


task.mistakes(
    (
        "Every group begins one step late. A group that begins at step 5 is trained at step 5: "
        "`step >= begin`, not `step > begin`.",
        one_step_late,
    ),
    (
        "The order is upside down: names go from the input to the output, so the head, which "
        "begins at step 0, is the last of them.",
        beginning(lambda steps, share, i, top: share * steps * i / max(1, top)),
    ),
    (
        "You divide by the number of groups, but between n groups there are only n - 1 distances: "
        "divide by `len(names) - 1`.",
        beginning(lambda steps, share, i, top: share * steps * (top - i) / (top + 1)),
    ),
    (
        "`share` was not used, so the first group would begin only when all steps are over: "
        "spread the groups over `share * steps`.",
        beginning(lambda steps, share, i, top: steps * (top - i) / max(1, top)),
    ),
)
