"""Lesson 05: a schedule that unfreezes from the output to the input."""

import random

import numpy as np

from tlcourse.exercises.adaptation._common import came, failed
from tlcourse.exercises.expect import expect_unchanged, real_number
from tlcourse.exercises.task import Exercise, case


def rows(candidate, at, steps, names, *rest):
    """The candidate's factors at these steps."""
    factors = expect_unchanged(candidate, steps, names, *rest)
    if not callable(factors):
        what = "what `gradual_unfreezing` returns"
        raise failed(what, came(factors), "a function of the step")
    return [row(factors(step), names, step) for step in at]


def row(got, names, step):
    """A step's factors as numbers, in the order of the names."""
    what = f"what your function returns for step {step}"
    if not isinstance(got, dict):
        raise failed(what, came(got), "a dictionary {name: factor}")
    if missing := [name for name in names if real_number(got.get(name)) is None]:
        why = "A group that stands still is in the dictionary, too, with the factor 0."
        raise failed(what, f"no factor for {missing[0]!r}", "a number for each name", why)
    return [real_number(got[name]) for name in names]


task = Exercise(
    __name__,
    number="5.3",
    title="Gradual unfreezing",
    difficulty=2,
    importance=3,
    minutes=15,
    hints=(
        "First find the step at which each name begins. The last name begins at step 0, the first "
        "at `share * steps`, those between at equal distances. How many distances are there?",
        "With `top = len(names) - 1`, the name at place `i` begins at "
        "`round(share * steps * (top - i) / top)`. A single name has no distance: it begins at 0.",
        "Inside, define `def factors(step):`, which builds the dictionary: `shape(step)` for a "
        "name whose beginning is not after `step`, 0.0 for the others. Return `factors` itself.",
    ),
    imports="import math\n\nimport torch",
    measure=rows,
    tolerance=1e-6,
)


@task.reference
def gradual_unfreezing(steps, names, shape, share=0.5):
    """A function of the step, which gives {name: factor}: `shape(step)` for all that have begun."""
    top = len(names) - 1
    begins = {
        name: round(share * steps * (top - place) / max(1, top)) for place, name in enumerate(names)
    }

    def factors(step):
        return {name: shape(step) if step >= begin else 0.0 for name, begin in begins.items()}

    return factors


@task.truth
def by_linspace(at, steps, names, shape, share=0.5):
    """The factors at the steps `at`: one row a step, in the order of the names."""
    begins = np.linspace(0, share * steps, len(names)).round()[::-1]
    return [[shape(step) if step >= begin else 0.0 for begin in begins] for step in at]


def flat(step):
    """A shape of ones."""
    return 1.0


def falling(step):
    """Another, which tells every step apart."""
    return 1 / (1 + step)


THREE = ["embedding", "block 0", "head"]
AT = "the factors at steps {} (a row for each step)"

task.stage(
    "the head first",
    case(f"20 steps, {THREE}, share 0.5: {AT.format('0 and 2')}", [0, 2], 20, THREE, flat, 0.5),
    hint="The last name, the head, moves from step 0 on, and no other does so early.",
)
task.stage(
    "one more at a time",
    case(
        f"20 steps, {THREE}, no share, which is then 0.5: {AT.format('5, 9, 10 and 19')}",
        *([5, 9, 10, 19], 20, THREE, flat),
        hint="The block begins at step 5, the embedding at step 10, and both go on moving.",
    ),
    case(
        f"40 steps, {THREE}, share 0.25: {AT.format('4, 5, 9 and 10')}",
        *([4, 5, 9, 10], 40, THREE, flat, 0.25),
        hint="With share 0.25 the embedding begins at a quarter of the 40 steps.",
    ),
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
    """20 random cases; in 97ths no beginning lies half-way between two steps."""
    draw = random.Random(2)
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


def due(steps, share, place, top):
    """Where a group begins, before it is rounded."""
    return share * steps * (top - place) / max(1, top)


def faulty(begin=due, factor=lambda step, begin, shape: shape(step) if step >= begin else 0.0):
    """An answer with another `begin` or another `factor`."""

    def candidate(steps, names, shape, share=0.5):
        top = len(names) - 1
        begins = {name: round(begin(steps, share, i, top)) for i, name in enumerate(names)}
        return lambda step: {name: factor(step, at, shape) for name, at in begins.items()}

    return candidate


task.mistakes(
    (
        "This is upside down: names go from the input to the output, so the head is the last.",
        faulty(begin=lambda steps, share, place, top: share * steps * place / max(1, top)),
    ),
    (
        "Every group moves one step late. A group that begins at step 5 moves at step 5: "
        "`step >= begin`, not `step > begin`.",
        faulty(factor=lambda step, begin, shape: shape(step) if step > begin else 0.0),
    ),
    (
        "There is one distance fewer than there are names: divide by `len(names) - 1`.",
        faulty(begin=lambda steps, share, place, top: share * steps * (top - place) / (top + 1)),
    ),
    (
        "`share` is missing: the first name begins only when all steps are over.",
        faulty(begin=lambda steps, share, place, top: due(steps, 1, place, top)),
    ),
)
